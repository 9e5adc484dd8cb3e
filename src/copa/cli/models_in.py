"""Models in files, and the only way that one gets into a bundle: skops, which names every type before it makes any."""

import copy
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from copa.cli.kinds import NUMBER, TEXT, TRUTH
from copa.cli.messages import MisuseError
from copa.exceptions import DataError
from copa.schema.names import listed

# Parts of scikit-learn's and numpy's own objects that hold data only, and that skops does not trust by itself.
DATA_TYPES = (
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
)
PICKLES = (".pkl", ".pickle", ".joblib")


def load_model(path: Path, *, trust_pickle: bool) -> Any:
    """Load a fitted model from a .skops file, or from a pickle that the user vouches for."""
    if not path.is_file():
        raise MisuseError(f"the model {path} does not exist (looked for {path.absolute()})")
    suffix = path.suffix.lower()
    if suffix == ".skops":
        return unpack_model(path.read_bytes(), str(path))
    if suffix not in PICKLES:
        raise MisuseError(f"a model must be a .skops file, or a pickle (.pkl, .joblib), got {path.name}")
    if not trust_pickle:
        raise MisuseError(
            f"{path} is a pickle, and loading a pickle runs whatever code is in it; if you made it yourself add "
            "--trust-pickle, otherwise ask for a .skops file"
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # a pickle can raise anything
        raise DataError(f"the model {path} cannot be loaded: {type(error).__name__}: {error}") from error


def unpack_model(raw: bytes, name: str) -> Any:
    """Load a model from the bytes of a skops file; types beyond the trusted ones are refused before any is made."""
    import skops.io

    try:
        untrusted = _untrusted(raw)
        if not untrusted:
            return skops.io.loads(raw, trusted=list(DATA_TYPES))
    except Exception as error:  # a damaged file can go wrong anywhere, and means the same wherever it does
        raise DataError(
            f"the model {name} is not a skops file, or is damaged: {type(error).__name__}: {error}"
        ) from error
    raise MisuseError(
        f"the model {name} holds types that are not trusted: {listed(untrusted)}; those of linear models and "
        "of transformers of scikit-learn are"
    )


def pack_model(model: Any) -> bytes:
    """Return the bytes of a skops file that `unpack_model` loads, or say why there is none."""
    import skops.io

    plain = _without_tables(copy.deepcopy(getattr(model, "best_estimator_", model)))
    try:
        raw = skops.io.dumps(plain)
        untrusted = _untrusted(raw)
    except Exception as error:  # skops raises what its parts raise
        raise MisuseError(
            f"the model cannot be put into a bundle: skops cannot save it ({type(error).__name__}: {error}); "
            "use copa.RecoursePlanner from Python"
        ) from error
    if untrusted:
        raise MisuseError(
            f"the model cannot be put into a bundle: loading its parts {listed(untrusted)} could run code of others; "
            "bundles hold scikit-learn's own parts only. Use copa.RecoursePlanner from Python"
        )
    return bytes(raw)


def _untrusted(raw: bytes) -> list[str]:
    import skops.io

    return sorted(set(skops.io.get_untrusted_types(file=io.BytesIO(raw))) - set(DATA_TYPES))


def _without_tables(model: Any) -> Any:
    """The model with lists where a ColumnTransformer was given pandas' columns, which skops cannot save."""
    for transformer in _column_transformers(model):
        transformer.transformers = [(n, t, _listed(columns)) for n, t, columns in transformer.transformers]
        transformer.transformers_ = [(n, t, _listed(columns)) for n, t, columns in transformer.transformers_]
        transformer._columns = [_listed(columns) for columns in transformer._columns]  # noqa: SLF001 - nothing else says it
    return model


def _listed(columns: Any) -> Any:
    return columns.tolist() if type(columns).__module__.startswith("pandas") else columns


def _column_transformers(model: Any) -> Iterator[Any]:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        for _, step in model.steps:
            yield from _column_transformers(step)
    elif isinstance(model, ColumnTransformer):
        yield model
        for _, step, _ in model.transformers_:
            yield from _column_transformers(step)


def expected_kinds(model: Any) -> dict[str, str]:
    """Kinds of the columns whose categories an encoder of the model has learned: the code "1" is not the number 1."""
    kinds = {}
    for columns, step in _encoders(model, None):
        for name, categories in zip(columns, step.categories_, strict=False):
            kind = _kind_of_categories(categories)
            if kind is not None:
                kinds[str(name)] = kind
    return kinds


def _encoders(model: Any, columns: Any) -> Iterator[tuple[Any, Any]]:
    """Encoders at the beginning of the model, with the raw columns that they are given."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    names = getattr(model, "feature_names_in_", columns)
    if isinstance(model, Pipeline):
        yield from _encoders(model.steps[0][1], names)
    elif isinstance(model, ColumnTransformer):
        for _, step, chosen in model.transformers_:
            own = getattr(step, "feature_names_in_", None)
            yield from _encoders(step, chosen if own is None else own)
    elif hasattr(model, "categories_") and names is not None:
        yield names, model


def _kind_of_categories(categories: Any) -> str | None:
    seen = [value for value in list(categories) if value is not None and value == value]  # noqa: PLR0124 - NaN is not itself
    if seen and all(isinstance(value, str) for value in seen):
        return TEXT
    if seen and all(str(value) in ("True", "False") for value in seen):
        return TRUTH
    return NUMBER if seen and categories.dtype.kind == "f" else None
