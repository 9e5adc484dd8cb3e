"""Fitted tree ensembles as nodes: scikit-learn's from their public attributes, the others by Treelite.

Histogram gradient boosting, LightGBM and XGBoost keep their trees in forms of their own, and Treelite reads all three.
Nothing is taken on trust: `ensembles` compares what is read with the model's own probabilities.
"""

from typing import Any

import numpy as np

from copa.models.trees.nodes import CategorySet, Ensemble, Nodes, joined

LEAF, NUMERICAL, CATEGORICAL = 0, 1, 2  # node types of Treelite
LESS, LESS_OR_EQUAL = 2, 3  # its comparisons that are met


class NotTreesError(Exception):
    """A model that is no tree ensemble, or none that can be read; the message says why."""


def read_ensemble(classifier: Any, *, sparse: bool) -> Ensemble:
    """Read a fitted classifier.

    Parameters
    ----------
    classifier : object
        With two classes, without its encoders.
    sparse : bool
        Whether it is given sparse rows.

    Raises
    ------
    NotTreesError
        If it is none of those that are known.
    """
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

    kind = type(classifier)
    if kind in (RandomForestClassifier, ExtraTreesClassifier):
        return _averaged([tree.tree_ for tree in classifier.estimators_])
    if kind in (DecisionTreeClassifier, ExtraTreeClassifier):
        return _averaged([classifier.tree_])
    if kind is GradientBoostingClassifier:
        return _boosted(classifier)
    if kind is HistGradientBoostingClassifier:
        return _by_treelite("sklearn", classifier, unknown_is_missing=True)
    package = kind.__module__.partition(".")[0]
    if package == "lightgbm" and hasattr(classifier, "booster_"):
        return _by_treelite("lightgbm", classifier.booster_, sharpness=_sharpness(classifier))
    if package == "xgboost" and hasattr(classifier, "get_booster"):
        single = {"reads_single": True, "sums_single": True, "zero_is_missing": sparse}
        return _by_treelite("xgboost", _as_stopped(classifier), **single)
    raise NotTreesError(f"{kind.__name__} is no tree ensemble that is known")


def _averaged(trees: list[Any]) -> Ensemble:
    """Mean of the second label's share in leaves."""
    if trees[0].n_outputs != 1:
        raise NotTreesError("it has several outputs")
    nodes = joined([_nodes_of(tree, tree.value[:, 0, 1]) for tree in trees])
    return Ensemble(nodes, 0.0, float(len(trees)), True, True, False, False, False)


def _boosted(classifier: Any) -> Ensemble:
    """Sum of leaves after a constant; scikit-learn takes the constant from the labels."""
    if classifier.loss != "log_loss":
        raise NotTreesError(f"its loss is {classifier.loss}")
    trees = [tree.tree_ for tree in classifier.estimators_[:, 0]]
    nodes = joined([_nodes_of(tree, classifier.learning_rate * tree.value[:, 0, 0]) for tree in trees])
    single = np.zeros((1, classifier.n_features_in_), dtype=np.float32)
    of_trees = sum(classifier.learning_rate * float(tree.predict(single)[0, 0]) for tree in trees)
    base = 0.0 if classifier.init_ == "zero" else float(classifier.decision_function(_plain(classifier, single))[0]) - of_trees
    return Ensemble(nodes, base, 1.0, False, True, False, False, False)


def _plain(classifier: Any, rows: Any) -> Any:
    """Rows with the names of columns that a classifier was fitted with, if it was."""
    import pandas as pd

    names = getattr(classifier, "feature_names_in_", None)
    return rows if names is None else pd.DataFrame(rows, columns=names)


def _nodes_of(tree: Any, value: Any) -> Nodes:
    """The nodes of one of scikit-learn's trees."""
    inner = tree.children_left >= 0
    none = np.full(tree.node_count, -1, dtype=np.int64)
    missing_left = getattr(tree, "missing_go_to_left", None)
    return Nodes(
        first=np.array([0, tree.node_count]),
        feature=np.where(inner, tree.feature, -1).astype(np.int64),
        threshold=np.asarray(tree.threshold, dtype=np.float64),
        missing_left=np.zeros(tree.node_count, dtype=np.bool_) if missing_left is None else missing_left.astype(np.bool_),
        category_set=none,
        left=tree.children_left.astype(np.int64),
        right=tree.children_right.astype(np.int64),
        value=np.asarray(value, dtype=np.float64),
    )


def _sharpness(classifier: Any) -> float:
    """Factor of LightGBM's logistic function."""
    return float(classifier.get_params().get("sigmoid", 1.0))


def _as_stopped(classifier: Any) -> Any:
    """XGBoost's trees up to where early stopping found the best: those that it predicts with."""
    booster = classifier.get_booster()
    best = getattr(booster, "best_iteration", None) if classifier.get_params().get("early_stopping_rounds") else None
    return booster if best is None else booster[: int(best) + 1]


def _by_treelite(
    source: str,
    model: Any,
    *,
    sharpness: float = 1.0,
    reads_single: bool = False,
    sums_single: bool = False,
    unknown_is_missing: bool = False,
    zero_is_missing: bool = False,
) -> Ensemble:
    """Read a model by Treelite."""
    import treelite

    read = {
        "sklearn": treelite.sklearn.import_model,
        "lightgbm": treelite.frontend.from_lightgbm,
        "xgboost": treelite.frontend.from_xgboost,
    }[source]
    try:
        trees = read(model)
    except Exception as error:
        raise NotTreesError(f"Treelite cannot read it ({type(error).__name__}: {error})") from error
    header = trees.get_header_accessor()
    link = header.get_field("postprocessor")
    if link not in ("sigmoid", "identity") or int(np.prod(header.get_field("leaf_vector_shape"))) != 1:
        raise NotTreesError(f"its probabilities are made by {link}")
    sets: list[CategorySet] = []
    parts = [_nodes_by_treelite(trees.get_tree_accessor(t), sets, sharpness) for t in range(trees.num_tree)]
    averaged = bool(header.get_field("average_tree_output")[0])
    return Ensemble(
        joined(parts)._replace(category_sets=tuple(sets)),
        base=sharpness * float(header.get_field("base_scores")[0]),
        divisor=float(len(parts)) if averaged else 1.0,
        is_probability=link == "identity",
        reads_single=reads_single,
        sums_single=sums_single,
        unknown_is_missing=unknown_is_missing,
        zero_is_missing=zero_is_missing,
    )


def _nodes_by_treelite(tree: Any, sets: list[CategorySet], sharpness: float) -> Nodes:
    """The nodes of one tree; sets of categories are added to those that are known."""
    get = tree.get_field
    kind, compares = get("node_type"), get("cmp")
    numerical, categorical = kind == NUMERICAL, kind == CATEGORICAL
    if not np.isin(compares[numerical], (LESS, LESS_OR_EQUAL)).all():
        raise NotTreesError("it compares in a way that is not known")
    threshold = np.asarray(get("threshold"), dtype=np.float64)
    strict = numerical & (compares == LESS)
    if strict.any():
        below = np.nextafter(np.asarray(get("threshold")), np.asarray(-np.inf, dtype=get("threshold").dtype))
        threshold = np.where(strict, below.astype(np.float64), threshold)
    category_set = np.full(len(kind), -1, dtype=np.int64)
    if categorical.any():
        members, begin, end = get("category_list"), get("category_list_begin"), get("category_list_end")
        to_the_right = get("category_list_right_child")
        for node in np.flatnonzero(categorical).tolist():
            category_set[node] = len(sets)
            listed = frozenset(members[int(begin[node]) : int(end[node])].tolist())
            sets.append(CategorySet(listed, not bool(to_the_right[node])))
    return Nodes(
        first=np.array([0, len(kind)]),
        feature=np.where(kind == LEAF, -1, get("split_index")).astype(np.int64),
        threshold=threshold,
        missing_left=np.asarray(get("default_left"), dtype=np.bool_),
        category_set=category_set,
        left=np.asarray(get("cleft"), dtype=np.int64),
        right=np.asarray(get("cright"), dtype=np.int64),
        value=sharpness * np.asarray(get("leaf_value"), dtype=np.float64),
    )
