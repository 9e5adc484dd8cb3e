"""Models in files, and the only way that one gets into a bundle: skops, which names every type before it makes any."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from copa.archive import Budget
from copa.cli.kinds import NUMBER, TEXT, TRUTH
from copa.cli.messages import MisuseError
from copa.exceptions import DataError, InvalidInputError
from copa.models.stored.estimators import UntrustedTypesError, pack_estimator, unpack_estimator, untrusted_types
from copa.schema.names import listed

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


def unpack_model(raw: bytes, name: str, budget: Budget | None = None) -> Any:
    """Load a model from the bytes of a skops file; types beyond the trusted ones are refused before any is made.

    Parameters
    ----------
    name : where the bytes come from, for messages
    budget : of the file which they are inside of; None for a file of its own
    """
    try:
        return unpack_estimator(raw, budget=budget)
    except UntrustedTypesError as error:
        raise MisuseError(
            f"the model {name} holds types that are not trusted: {listed(error.types)}; those of the usual models and "
            "transformers of scikit-learn are"
        ) from error
    except DataError as error:
        raise DataError(f"the model {name} cannot be loaded: {error}") from error


def pack_model(model: Any) -> bytes:
    """Return the bytes of a skops file that `unpack_model` loads, or say why there is none."""
    try:
        raw = pack_estimator(getattr(model, "best_estimator_", model))
        untrusted = untrusted_types(raw)
    except InvalidInputError as error:
        raise MisuseError(
            f"the model cannot be put into a bundle: {error}; or use copa.RecoursePlanner from Python"
        ) from error
    if untrusted:
        raise MisuseError(
            f"the model cannot be put into a bundle: loading its parts {listed(untrusted)} could run code of others; "
            "bundles hold scikit-learn's own parts only. Use copa.RecoursePlanner from Python, whose `save` and `load` "
            "take the types of your model"
        )
    return raw


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
