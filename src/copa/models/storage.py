"""Fitted estimators as bytes: skops, which names every type in a file before it makes any. Nothing is unpickled."""

import copy
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.archive import ArchiveReader, Budget, repacked, require_arrays
from copa._core.words import listed
from copa.exceptions import DataError, InvalidInputError, MissingPackageError

if TYPE_CHECKING:
    import pandas as pd


LEAF = -1  # child of a leaf, as scikit-learn has it


def require_sound_trees(estimator: Any) -> None:
    """Raise if a tree anywhere in an estimator leads out of itself, round in circles, or to a column there is not."""
    for tree, n_columns in _trees(estimator):
        sound = _is_sound(tree, n_columns) if is_tree(tree) else _is_sound_histogram_tree(tree, n_columns)
        if not sound:
            raise DataError("one of its decision trees leads to nodes or columns that there are not")


def _kind(part: Any) -> str:
    """Name of a tree's type; by name, because loading the types costs more than most models need."""
    names = {"sklearn.tree._tree": "Tree", "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor"}
    kind = type(part)
    return kind.__name__ if names.get(kind.__module__) == kind.__name__ else ""


def is_tree(part: Any) -> bool:
    """Whether something is a tree of scikit-learn's forests."""
    return _kind(part) == "Tree"


def _trees(estimator: Any) -> Iterator[tuple[Any, int | None]]:
    """Every tree, with the number of columns of the estimator that it belongs to."""
    seen: dict[int, Any] = {}  # with the objects, so that no number is given twice
    waiting: list[tuple[Any, int | None]] = [(estimator, None)]
    while waiting:
        part, n_columns = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        if _kind(part):
            yield part, n_columns
        elif isinstance(part, dict):
            waiting += [(inner, n_columns) for inner in part.values()]
        elif isinstance(part, (list, tuple)):
            waiting += [(inner, n_columns) for inner in part]
        elif isinstance(part, np.ndarray):
            waiting += [(inner, n_columns) for inner in part.ravel().tolist()] if part.dtype == object else []
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            own = vars(part)
            width = own.get("n_features_in_", own.get("_n_features", n_columns))
            waiting += [(inner, width) for inner in own.values()]


def _is_sound(tree: Any, n_columns: int | None) -> bool:
    if not 0 < tree.node_count <= tree.capacity:  # what comes next would read beyond the nodes
        return False
    left, right = tree.children_left, tree.children_right
    known = tree.n_features if n_columns is None else min(int(n_columns), tree.n_features)
    return _leads_downwards(left, right, (left == LEAF) & (right == LEAF), tree.feature, known)


def _is_sound_histogram_tree(tree: Any, n_columns: int | None) -> bool:
    nodes = tree.nodes
    leaf = nodes["is_leaf"].astype(bool)
    by_bits = nodes["is_categorical"].astype(bool) & ~leaf
    known = np.inf if n_columns is None else float(n_columns)
    bits_known = bool((nodes["bitset_idx"][by_bits] < len(tree.raw_left_cat_bitsets)).all())
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    return len(nodes) > 0 and bits_known and _leads_downwards(left, right, leaf, nodes["feature_idx"], known)


def _leads_downwards(left: Any, right: Any, leaf: Any, feature: Any, n_columns: float) -> bool:
    """Whether every inner node leads to two later nodes by a column that there is."""
    inner = np.flatnonzero(~leaf)
    ends = np.concatenate([left[inner], right[inner]])
    starts = np.concatenate([inner, inner])
    columns = feature[inner]
    return bool(((ends > starts) & (ends < len(left))).all() and ((columns >= 0) & (columns < n_columns)).all())


N_ROWS = 48
SHARES = np.linspace(0.05, 0.95, 10)  # of a column of numbers, the values at these shares of its order
MOST_FREQUENT = 10  # values of any other column, if at least two people have them
SEED = 20


def typical_rows(table: "pd.DataFrame") -> "pd.DataFrame":
    """Rows of the columns' typical values, each column drawn by itself: what goes with what is not kept."""
    import pandas as pd

    rng = np.random.default_rng(SEED)
    columns = {}
    for name in table:
        places = _typical_places(table[name])
        columns[name] = table[name].iloc[rng.choice(places, N_ROWS)].reset_index(drop=True)
    return pd.DataFrame(columns, columns=table.columns)


def _typical_places(column: "pd.Series[Any]") -> Any:
    """Positions of entries that stand for a column."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype):
        known = np.flatnonzero(column.notna())
        order = known[np.argsort(column.iloc[known].to_numpy(), kind="stable")]
        return order[np.rint(SHARES * (len(order) - 1)).astype(int)] if len(order) else np.arange(1)
    try:
        codes = column.array.factorize()[0]
    except TypeError:  # lists and the like
        return np.arange(1)
    values, first, counts = np.unique(codes, return_index=True, return_counts=True)
    shared = np.flatnonzero((values >= 0) & (counts > 1))
    frequent = shared[np.argsort(-counts[shared], kind="stable")[:MOST_FREQUENT]]
    return first[frequent] if len(frequent) else np.arange(1)


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
    """Return the bytes of a skops file, or say why there can be none; the same estimator gives the same bytes."""
    skops_io = _skops()
    try:
        return repacked(_renumbered(bytes(skops_io.dumps(storable(estimator)))), compresslevel=6)
    except Exception as error:  # skops raises what its parts raise
        raise InvalidInputError(
            f"skops cannot save {type(estimator).__name__} ({type(error).__name__}: {error}); leave out of the model "
            "what holds functions or open resources"
        ) from error


SCHEMA = "schema.json"  # member of a skops file that describes its objects


def _renumbered(raw: bytes) -> bytes:
    """Number the objects of a skops file from 0, and name its arrays so: skops takes addresses in memory for both."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    numbers: dict[Any, int] = {}
    files: dict[str, str] = {}

    def renumber(node: Any) -> Any:
        if isinstance(node, list):
            return [renumber(part) for part in node]
        if not isinstance(node, dict):
            return node
        found = {key: renumber(part) for key, part in node.items()}
        if isinstance(node.get("__id__"), int):
            # Whether two equal numbers or texts are one object is chance; of all else it says what belongs together.
            own = object() if node.get("is_json") else node["__id__"]
            found["__id__"] = numbers.setdefault(own, len(numbers))
        file = node.get("file")
        if isinstance(file, str) and file in members:
            found["file"] = files.setdefault(file, f"{len(files)}{PurePath(file).suffix}")
        return found

    schema = json.dumps(renumber(json.loads(members.pop(SCHEMA))))
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as archive:
        for name in sorted(members, key=lambda name: files.get(name, name)):
            archive.writestr(files.get(name, name), _without_padding(members[name]))
        archive.writestr(SCHEMA, schema)
    return result.getvalue()


def _without_padding(raw: bytes) -> bytes:
    """Return an array in a file with zeros between its fields: the nodes of trees hold there what was in memory."""
    if not raw.startswith(b"\x93NUMPY") or b"('', '|V" not in raw[:1000]:
        return raw
    nodes = np.load(io.BytesIO(raw), allow_pickle=False)
    clean = np.zeros(nodes.shape, nodes.dtype)
    for name in nodes.dtype.names:
        clean[name] = nodes[name]
    return raw[: len(raw) - nodes.nbytes] + clean.tobytes("A")


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
