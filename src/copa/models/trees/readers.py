"""Fitted tree ensembles as nodes.

scikit-learn's trees are public attributes, and XGBoost's are in the JSON that it documents. Histogram gradient boosting
and LightGBM keep them in forms of their own, which Treelite reads. Nothing is taken on trust: `conformance` compares
what is read with the model's own probabilities.
"""

import json
from collections.abc import Hashable, Mapping
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from copa.models.trees.nodes import CategorySet, Ensemble, Nodes, NotTreesError, joined

LEAF, NUMERICAL, CATEGORICAL = 0, 1, 2  # node types of Treelite
LESS, LESS_OR_EQUAL = 2, 3  # its comparisons that are met
CLOSEST = float(np.finfo(np.float32).eps)  # to 0 and 1, of the share that scikit-learn's boosting starts from
ZERO = float(np.float32(1e-35))  # LightGBM leaves out of its rows what is no larger
DOUBLE, SINGLE = 1e-13, 2.5e-7  # last digits of a probability that a logistic function returns


class ReadClassifier(NamedTuple):
    """A fitted classifier."""

    ensemble: Ensemble
    categories: Mapping[int, Mapping[Hashable, int]]  # of its columns that it encodes itself, the number of each value


def read_classifier(classifier: Any, position: int, X: Any, *, sparse: bool) -> ReadClassifier:
    """Read a fitted classifier.

    Parameters
    ----------
    classifier : object
        With two classes, without its encoders.
    position : int
        Of the favourable label among them.
    X : DataFrame or None
        Rows with the types of the columns that it is given; None where encoders are in front.
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
        return ReadClassifier(_averaged([tree.tree_ for tree in classifier.estimators_], position), {})
    if kind in (DecisionTreeClassifier, ExtraTreeClassifier):
        return ReadClassifier(_averaged([classifier.tree_], position), {})
    if kind is GradientBoostingClassifier:
        return ReadClassifier(_boosted(classifier), {})
    if kind is HistGradientBoostingClassifier:
        return _histogram(classifier)
    package = kind.__module__.partition(".")[0]
    if package == "lightgbm" and hasattr(classifier, "booster_"):
        return _lightgbm(classifier, X)
    if package == "xgboost" and hasattr(classifier, "get_booster"):
        return _xgboost(classifier, X, sparse=sparse)
    raise NotTreesError(f"{kind.__name__} is no tree ensemble that is known")


def _averaged(trees: list[Any], position: int) -> Ensemble:
    """Mean of the favourable label's share in leaves; several threads add the trees in any order."""
    if trees[0].n_outputs != 1:
        raise NotTreesError("it has several outputs")
    nodes = joined([_nodes_of(tree, tree.value[:, 0, position]) for tree in trees])
    rounding = len(trees) * float(np.finfo(np.float64).eps)
    return Ensemble(nodes, 0.0, float(len(trees)), is_probability=True, rounding=rounding, reads_single=True)


def _boosted(classifier: Any) -> Ensemble:
    """Sum of leaves after the log-odds of the second label's share in the training rows."""
    from sklearn.dummy import DummyClassifier

    if classifier.loss != "log_loss":
        raise NotTreesError(f"its loss is {classifier.loss}")
    base = 0.0
    if type(classifier.init_) is DummyClassifier and classifier.init_.strategy == "prior":
        from scipy.special import logit

        base = float(logit(np.clip(classifier.init_.class_prior_[1], CLOSEST, 1.0 - CLOSEST)))
    elif classifier.init_ != "zero":
        raise NotTreesError("it adds trees to another model (init)")
    trees = [tree.tree_ for tree in classifier.estimators_[:, 0]]
    nodes = joined([_nodes_of(tree, classifier.learning_rate * tree.value[:, 0, 0]) for tree in trees])
    return Ensemble(nodes, base, 1.0, is_probability=False, rounding=DOUBLE, reads_single=True)


def _nodes_of(tree: Any, value: Any) -> Nodes:
    """The nodes of one of scikit-learn's trees."""
    inner = tree.children_left >= 0
    return Nodes(
        first=np.array([0, tree.node_count]),
        feature=np.where(inner, tree.feature, -1).astype(np.int64),
        threshold=np.asarray(tree.threshold, dtype=np.float64),
        missing_left=np.asarray(tree.missing_go_to_left, dtype=np.bool_),
        category_set=np.full(tree.node_count, -1, dtype=np.int64),
        left=tree.children_left.astype(np.int64),
        right=tree.children_right.astype(np.int64),
        value=np.asarray(value, dtype=np.float64),
    )


def _histogram(classifier: Any) -> ReadClassifier:
    """Histogram gradient boosting, which encodes categories itself.

    Treelite reads no categories of text: it is given a copy in which they are numbered.
    """
    from sklearn.compose import ColumnTransformer

    numbered, categories = copy(classifier), {}
    for name, encoders in vars(classifier).items():
        if type(encoders) is not ColumnTransformer:
            continue
        (what, encoder, columns), *others = encoders.transformers_
        places = np.flatnonzero(classifier.is_categorical_).tolist()
        for column, values in zip(places, encoder.categories_, strict=True):
            categories[column] = {value: code for code, value in enumerate(values.tolist()) if value == value}  # noqa: PLR0124 - not NaN
        renamed, whole = copy(encoder), copy(encoders)
        renamed.categories_ = [np.arange(len(values), dtype=np.float64) for values in encoder.categories_]
        whole.transformers_ = [(what, renamed, columns), *others]
        setattr(numbered, name, whole)
    trees = _by_treelite("sklearn", numbered, "histogram gradient boosting")
    return ReadClassifier(_ensemble(trees)._replace(unknown_is_missing=True), categories)


def _lightgbm(classifier: Any, X: Any) -> ReadClassifier:
    """LightGBM numbers the categories of pandas itself, as in the rows that it was fitted to."""
    booster, sharpness = classifier.booster_, float(classifier.get_params().get("sigmoid", 1.0))
    ensemble = _ensemble(_by_treelite("lightgbm", booster, "LightGBM"), sharpness)
    lists = booster.pandas_categorical or []
    columns = [] if X is None else _categorical_columns(X)
    if lists and len(lists) != len(columns):
        raise NotTreesError("its categories are not those of the table's columns")
    categories = {
        k: {value: code for code, value in enumerate(values)} for k, values in zip(columns, lists, strict=False)
    }
    return ReadClassifier(ensemble._replace(smallest=ZERO), categories)


def _xgboost(classifier: Any, X: Any, *, sparse: bool) -> ReadClassifier:
    """Read XGBoost's own JSON; it numbers the categories of pandas as they come.

    It predicts up to where early stopping found the best, in single precision, and a listed category goes to the right.
    """
    given = classifier.get_params()
    if not np.isnan(given.get("missing", np.nan)):
        raise NotTreesError("it takes a number for a missing value")
    booster = classifier.get_booster()
    if given.get("early_stopping_rounds"):
        booster = booster[: int(booster.best_iteration) + 1]
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    kind, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if kind != "gbtree" or objective != "binary:logistic":
        raise NotTreesError(f"it is a {kind} with the objective {objective}, not a gbtree with binary:logistic")
    sets: list[CategorySet] = []
    parts = [_nodes_of_xgboost(tree, sets) for tree in learner["gradient_booster"]["model"]["trees"]]
    share = np.float32(str(learner["learner_model_param"]["base_score"]).strip("[]"))
    columns = [] if X is None else _categorical_columns(X)
    categories = {k: {value: code for code, value in enumerate(X.iloc[:, k].cat.categories)} for k in columns}
    ensemble = Ensemble(
        joined(parts)._replace(category_sets=tuple(sets)),
        base=float(-np.log(np.float32(1.0) / share - np.float32(1.0))),
        divisor=1.0,
        is_probability=False,
        rounding=SINGLE,
        reads_single=True,
        sums_single=True,
        zero_is_missing=sparse,
    )
    return ReadClassifier(ensemble, categories)


def _nodes_of_xgboost(tree: dict[str, Any], sets: list[CategorySet]) -> Nodes:
    """The nodes of one of XGBoost's trees; sets of categories are added to those that are known."""
    left = np.array(tree["left_children"], dtype=np.int64)
    cuts = np.array(tree["split_conditions"], dtype=np.float32)  # of leaves their values
    inner, category_set = left >= 0, np.full(len(left), -1, dtype=np.int64)
    spans = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    for node, first, size in spans:
        category_set[node] = len(sets)
        sets.append(CategorySet(frozenset(tree["categories"][first : first + size]), go_left=False))
    return Nodes(
        first=np.array([0, len(left)]),
        feature=np.where(inner, tree["split_indices"], -1),
        threshold=np.nextafter(cuts, np.float32(-np.inf)).astype(np.float64),  # what is below goes left
        missing_left=np.array(tree["default_left"], dtype=np.bool_),
        category_set=category_set,
        left=left,
        right=np.array(tree["right_children"], dtype=np.int64),
        value=np.where(inner, 0.0, cuts.astype(np.float64)),
    )


def _categorical_columns(X: Any) -> list[int]:
    """Positions of columns of pandas' categories."""
    import pandas as pd

    return [k for k, dtype in enumerate(X.dtypes) if isinstance(dtype, pd.CategoricalDtype)]


def _by_treelite(source: str, model: Any, what: str) -> Any:
    """A model as Treelite has it."""
    try:
        import treelite
    except ImportError as error:
        raise NotTreesError(f"trees of {what} are read by Treelite; pip install treelite") from error
    read = {
        "sklearn": treelite.sklearn.import_model,
        "lightgbm": treelite.frontend.from_lightgbm,
    }[source]
    try:
        return read(model)
    except Exception as error:
        raise NotTreesError(f"Treelite cannot read it ({type(error).__name__}: {error})") from error


def _ensemble(trees: Any, sharpness: float = 1.0) -> Ensemble:
    """The trees of Treelite; `sharpness` is the factor in the logistic function."""
    header = trees.get_header_accessor()
    link = header.get_field("postprocessor")
    averaged = bool(header.get_field("average_tree_output")[0])
    if link != "sigmoid" or averaged or int(np.prod(header.get_field("leaf_vector_shape"))) != 1:
        raise NotTreesError(f"its probabilities are made in a way that is not known ({link})")
    sets: list[CategorySet] = []
    parts = [_nodes_by_treelite(trees.get_tree_accessor(t), sets, sharpness) for t in range(trees.num_tree)]
    base = sharpness * float(header.get_field("base_scores")[0])
    nodes = joined(parts)._replace(category_sets=tuple(sets))
    return Ensemble(nodes, base, 1.0, is_probability=False, rounding=DOUBLE)


def _nodes_by_treelite(tree: Any, sets: list[CategorySet], sharpness: float) -> Nodes:
    """The nodes of one tree; sets of categories are added to those that are known."""
    get = tree.get_field
    kind, compares = get("node_type"), get("cmp")
    numerical, categorical = kind == NUMERICAL, kind == CATEGORICAL
    if not np.isin(compares[numerical], (LESS, LESS_OR_EQUAL)).all():
        raise NotTreesError("it compares in a way that is not known")
    raw = np.asarray(get("threshold"))
    threshold = raw.astype(np.float64)
    strict = numerical & (compares == LESS)
    if strict.any():
        threshold[strict] = np.nextafter(raw[strict], raw.dtype.type(-np.inf))
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
