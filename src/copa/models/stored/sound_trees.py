"""Decision trees from a file, checked before they are used: compiled code follows their numbers wherever they lead."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from copa.exceptions import DataError

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
