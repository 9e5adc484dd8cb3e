"""Fitted estimators as bytes: skops, which names every type in a file before it makes any. Nothing is unpickled."""

import copy
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from copa.archive import ArchiveReader, Budget, repacked, require_arrays
from copa.exceptions import DataError, InvalidInputError, MissingPackageError
from copa.models.stored.sound_trees import require_sound_trees
from copa.schema.names import listed

OLDEST_SKOPS = (0, 14)
SCHEMA = "schema.json"
MEMBERS = r"schema\.json|[0-9]+\.np[yz]|[0-9a-f-]+\.bin"
# Parts of scikit-learn's and numpy's own objects that hold data only, and that skops does not trust by itself. Trees
# are read by compiled code that does not look twice: they are checked before anyone uses them.
DATA_TYPES = (
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
)


class UntrustedTypesError(DataError):
    """A file names types that nobody has vouched for; none of them was made."""

    def __init__(self, types: list[str]) -> None:
        super().__init__(f"it holds types that are not trusted: {listed(types)}")
        self.types = types


def pack_estimator(estimator: Any) -> bytes:
    """Return the bytes of a skops file, or say why there can be none."""
    skops_io = _skops()
    try:
        return repacked(bytes(skops_io.dumps(storable(estimator))), compresslevel=6)
    except Exception as error:  # skops raises what its parts raise
        raise InvalidInputError(
            f"skops cannot save {type(estimator).__name__} ({type(error).__name__}: {error}); leave out of the model "
            "what holds functions or open resources"
        ) from error


def storable(estimator: Any) -> Any:
    """The estimator, or one that says the same and that skops can save."""
    return _without_tables(copy.deepcopy(estimator)) if _has_tables(estimator) else estimator


def unpack_estimator(raw: bytes, trusted: Iterable[str] = (), budget: Budget | None = None) -> Any:
    """Make an estimator from the bytes of a skops file.

    Parameters
    ----------
    trusted : names of types beyond those of scikit-learn that may be made
    budget : of the file which the bytes are inside of; None for a file of its own

    Raises
    ------
    UntrustedTypesError
        Before anything is made.
    DataError
        If the bytes are no such file, or it is damaged.
    """
    skops_io = _skops()
    allowed = {*DATA_TYPES, *trusted}
    try:
        _require_limits(raw, Budget(len(raw)) if budget is None else budget)
        unknown = sorted(set(untrusted_types(raw)) - allowed)
        if not unknown:
            estimator = skops_io.loads(raw, trusted=sorted(allowed))
            require_sound_trees(estimator)
            return estimator
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can go wrong anywhere, and means the same wherever it does
        raise DataError(f"it is not a skops file, or is damaged: {type(error).__name__}: {error}") from error
    raise UntrustedTypesError(unknown)


def untrusted_types(raw: bytes) -> list[str]:
    """Names of the types in a skops file that are neither skops's own choice nor known to hold data only."""
    return sorted(set(_skops().get_untrusted_types(file=io.BytesIO(raw))) - set(DATA_TYPES))


def _require_limits(raw: bytes, budget: Budget) -> None:
    """Raise if skops would read more from its file than the budget has; it reads a member each time it is named."""
    with ArchiveReader(raw, MEMBERS, budget) as archive:
        named = Counter[str]()
        archive.read_json(SCHEMA, object_hook=lambda entry: named.update(_named(entry)) or entry)
        for name in archive.names:
            budget.take(archive.size(name) * max(1, named[name]), name)
            if name.endswith(".npy"):
                archive.require_array(name)
            elif name.endswith(".npz"):
                require_arrays(archive.read(name), budget)


def _named(entry: dict[str, Any]) -> list[str]:
    """The member that an entry of the schema names, if it names one."""
    return [entry["file"]] if isinstance(entry.get("file"), str) else []


def _skops() -> Any:
    try:
        import skops
        import skops.io
    except ImportError as error:
        raise MissingPackageError(
            "models are stored in files by skops, which is not installed: pip install 'copa-recourse[cli]'"
        ) from error
    if tuple(int(part) for part in re.findall(r"\d+", skops.__version__)[:2]) < OLDEST_SKOPS:
        raise MissingPackageError(
            f"COPA requires skops {'.'.join(map(str, OLDEST_SKOPS))} or newer, and {skops.__version__} is installed: "
            "pip install --upgrade 'copa-recourse[cli]'"
        )
    return skops.io


def _without_tables(model: Any) -> Any:
    """The model with lists where a ColumnTransformer was given pandas' columns, which skops cannot save."""
    for transformer in _column_transformers(model):
        transformer.transformers = [(n, t, _listed(columns)) for n, t, columns in transformer.transformers]
        transformer.transformers_ = [(n, t, _listed(columns)) for n, t, columns in transformer.transformers_]
        transformer._columns = [_listed(columns) for columns in transformer._columns]  # noqa: SLF001 - nothing else says it
    return model


def _has_tables(model: Any) -> bool:
    return any(_listed(part[2]) is not part[2] for inner in _column_transformers(model) for part in inner.transformers_)


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
