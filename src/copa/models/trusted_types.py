"""The types that a skops file may hold, and what must be true of each before its compiled code reads it.

NumPy checks every index itself: of a model that is read by NumPy alone a forged file can change the answers only. The
compiled code of scikit-learn does not look twice: wherever it follows an index or relies on a shape, a check stands
here. A type without a line in the tables is not loaded.

The checks read private attributes of scikit-learn: those are what a file stores, and what compiled code is given. None
is called.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from copa.exceptions import DataError

TREE = "sklearn.tree._tree.Tree"
FOREST_TREES = ("sklearn.tree._classes.DecisionTreeClassifier", "sklearn.tree._classes.ExtraTreeClassifier")
BOOSTED_TREE = "sklearn.tree._classes.DecisionTreeRegressor"
HISTOGRAM_TREE = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
DUMMY = "sklearn.dummy.DummyClassifier"
LINKS = tuple(f"sklearn._loss.link.{name}" for name in ("LogitLink", "HalfLogitLink", "MultinomialLogit"))
TWO_CLASS_LOSSES = ("sklearn._loss.loss.HalfBinomialLoss", "sklearn._loss.loss.ExponentialLoss")
MANY_CLASS_LOSS = "sklearn._loss.loss.HalfMultinomialLoss"
LEAF = -1  # child of a leaf, as scikit-learn has it
KERNELS = ("linear", "poly", "rbf", "sigmoid")  # `precomputed` and functions are read by other rules
TWISTER_KEYS = 624  # numbers that a Mersenne Twister holds, and an index into them


def type_name(part: Any) -> str:
    """Return the full name of a thing's type, as skops writes it; types are not imported, which costs more."""
    return f"{type(part).__module__}.{type(part).__qualname__}"


def is_tree(part: Any) -> bool:
    """Return whether something is a tree of scikit-learn's forests."""
    return type_name(part) == TREE


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise DataError(what)


def _require_array(model: Any, name: str, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return an attribute that is an array of this type and shape."""
    array = vars(model).get(name)
    sound = type(array) is np.ndarray and array.dtype == dtype and array.shape == shape
    _require(sound, f"{name} of its {type(model).__name__} is not an array of the shape {shape} and of {dtype}")
    return array


def _width(model: Any) -> int:
    """Return the number of columns that a model takes: without it scikit-learn lets any number pass."""
    width = vars(model).get("n_features_in_")
    _require(type(width) is int and width > 0, f"its {type(model).__name__} does not say how many columns it takes")
    return int(width)


def _n_classes(model: Any) -> int:
    classes = vars(model).get("classes_")
    sound = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1
    _require(sound, f"its {type(model).__name__} does not say what classes there are")
    return len(classes)


def _require_tree(model: Any) -> None:
    """Check a decision tree: its nodes lead downwards, by columns that there are."""
    tree = vars(model).get("tree_")
    astray = "one of its decision trees leads to nodes or columns that there are not"
    _require(is_tree(tree) and 0 < tree.node_count <= tree.capacity, astray)  # else the arrays would end elsewhere
    left, right = tree.children_left, tree.children_right
    _require(_leads_downwards(left, right, (left == LEAF) & (right == LEAF), tree.feature, _width(model)), astray)


def _require_histogram_tree(predictor: Any, width: int) -> None:
    nodes = vars(predictor).get("nodes")
    sound = type_name(predictor) == HISTOGRAM_TREE and type(nodes) is np.ndarray and nodes.ndim == 1 and len(nodes)
    _require(sound, "one of its decision trees has no nodes")
    leaf = nodes["is_leaf"].astype(bool)
    left, right = (nodes[side].astype(np.int64) for side in ("left", "right"))
    by_category = nodes["is_categorical"].astype(bool) & ~leaf
    _require(not by_category.any(), "its HistGradientBoostingClassifier has categorical columns, which are not loaded")
    sound = _leads_downwards(left, right, leaf, nodes["feature_idx"], width)
    _require(sound, "one of its decision trees leads to nodes or columns that there are not")


def _leads_downwards(left: Any, right: Any, leaf: Any, feature: Any, n_columns: int) -> bool:
    """Return whether every inner node leads to two later nodes by a column that there is."""
    inner = np.flatnonzero(~leaf)
    ends = np.concatenate([left[inner], right[inner]])
    starts = np.concatenate([inner, inner])
    columns = feature[inner]
    return bool(((ends > starts) & (ends < len(left))).all() and ((columns >= 0) & (columns < n_columns)).all())


def _require_forest(model: Any) -> None:
    """Check a forest: its trees are given rows of the forest's columns without another look."""
    trees, width = vars(model).get("estimators_"), _width(model)
    sound = type(trees) is list and all(type_name(tree) in FOREST_TREES and _width(tree) == width for tree in trees)
    _require(sound, f"the trees of its {type(model).__name__} take other columns than it does")


def _require_gradient_boosting(model: Any) -> None:
    """Check boosted trees: tree k of each iteration writes into column k of an array that other parts have made."""
    width, n_classes = _width(model), _n_classes(model)
    n_columns = 1 if n_classes == 2 else n_classes  # one score for two classes
    trees = vars(model).get("estimators_")
    shaped = type(trees) is np.ndarray and trees.dtype == object and trees.ndim == 2
    shaped = shaped and trees.shape[1] == n_columns and len(trees) > 0
    _require(
        shaped and vars(model).get("n_trees_per_iteration_") == n_columns,
        f"estimators_ of its {type(model).__name__} does not have {n_columns} tree(s) in each iteration",
    )
    for tree in trees.ravel():
        sound = type_name(tree) == BOOSTED_TREE and _width(tree) == width and is_tree(vars(tree).get("tree_"))
        _require(
            sound and tree.tree_.value.shape[1:] == (1, 1),
            f"the trees of its {type(model).__name__} take other columns than it does, or give more than one number",
        )
    loss = vars(model).get("_loss")
    fitting = type_name(loss) in (TWO_CLASS_LOSSES if n_columns == 1 else (MANY_CLASS_LOSS,))
    fitting = fitting and type_name(vars(loss).get("link")) in LINKS
    _require(fitting, f"the loss of its {type(model).__name__} is not that of its classes")
    _require_first_scores(model, n_classes)


def _require_first_scores(model: Any, n_classes: int) -> None:
    """Check what boosting starts from: its answer has one row for each applicant, and a column for each class."""
    first = vars(model).get("init_")
    if isinstance(first, str) and first == "zero":
        return
    _require(
        type_name(first) == DUMMY, f"its {type(model).__name__} starts from a model of its own; only priors are loaded"
    )
    state = vars(first)
    plain = state.get("_strategy") == "prior" and type(state.get("n_outputs_")) is int and state["n_outputs_"] == 1
    _require(plain, f"its {type(model).__name__} starts from other probabilities than those of the classes")
    _require_array(first, "class_prior_", np.float64, (n_classes,))


def _require_histogram_boosting(model: Any) -> None:
    """Check boosting by histograms; of categorical columns a file of skops would need parts that run code."""
    width = _width(model)
    state = vars(model)
    _require(
        state.get("_preprocessor") is None and not state.get("_in_fit"),
        f"its {type(model).__name__} has categorical columns, which are not loaded, or is not fitted",
    )
    iterations = state.get("_predictors")
    _require(
        type(iterations) is list and all(type(trees) is list for trees in iterations),
        f"the trees of its {type(model).__name__} are not listed by iteration",
    )
    for trees in iterations:
        for tree in trees:
            _require_histogram_tree(tree, width)


def _require_support_vectors(model: Any) -> None:
    """Check what libsvm is given: it takes all sizes from the numbers of classes and of support vectors."""
    state, width, n_classes = vars(model), _width(model), _n_classes(model)
    kind = type(model).__name__
    readable = state.get("kernel") in KERNELS and state.get("_sparse") is False
    _require(readable, f"the kernel of its {kind} is not loaded")
    counts = _require_array(model, "_n_support", np.int32, (n_classes,))
    n_vectors = int(counts.sum(dtype=np.int64))
    _require((counts >= 0).all() and n_vectors > 0, f"_n_support of its {kind} has counts below 0, or only zeros")
    n_pairs = n_classes * (n_classes - 1) // 2
    _require_array(model, "support_", np.int32, (n_vectors,))
    _require_array(model, "support_vectors_", np.float64, (n_vectors, width))
    _require_array(model, "_intercept_", np.float64, (n_pairs,))
    for name in ("_dual_coef_", "dual_coef_"):
        _require_array(model, name, np.float64, (n_classes - 1, n_vectors))
    n_probabilities = n_pairs if np.size(state.get("_probA")) else 0
    for name in ("_probA", "_probB"):
        _require_array(model, name, np.float64, (n_probabilities,))


def _require_one_hot(encoder: Any) -> None:
    """Check that every category has a column: SciPy's compiled code writes to the column that it is given."""
    state, wrong = vars(encoder), "a category of its OneHotEncoder has a column that there is not"
    width = _width(encoder)
    categories, n_columns = state.get("categories_"), state.get("_n_features_outs")
    listed = all(type(part) is list and len(part) == width for part in (categories, n_columns))
    _require(listed, "its OneHotEncoder does not list the categories of each column")
    dropped = state.get("_drop_idx_after_grouping")
    _require(dropped is None or np.shape(dropped) == (width,), wrong)
    for i, (values, n_own) in enumerate(zip(categories, n_columns, strict=True)):
        _require(type(values) is np.ndarray and values.ndim == 1 and type(n_own) is int, wrong)
        if values.dtype.kind not in "OUS":  # found by bisection, which may end anywhere in numbers without an order
            _require(np.array_equal(np.sort(values), values, equal_nan=values.dtype.kind == "f"), wrong)
        columns = _grouped(state, i, len(values))
        if dropped is not None and dropped[i] is not None:
            columns = columns[columns != dropped[i]]
            columns = columns - (columns > dropped[i])
        _require(((columns >= 0) & (columns < n_own)).all(), wrong)


def _grouped(state: dict[str, Any], i: int, n_values: int) -> Any:
    """Return the place of each category of column i, once infrequent ones share one."""
    if not state.get("_infrequent_enabled"):
        return np.arange(n_values)
    places = state["_default_to_infrequent_mappings"][i]
    if places is None:
        _require(state["_infrequent_indices"][i] is None, "its OneHotEncoder groups categories that have no group")
        return np.arange(n_values)
    sound = type(places) is np.ndarray and places.shape == (n_values,) and places.dtype.kind == "i"
    _require(sound, "its OneHotEncoder does not group each of its categories")
    # A dropped category that is None leaves everything in place, also what scikit-learn compares with the number of
    # categories: no place is beyond it.
    _require((places < n_values).all(), "its OneHotEncoder groups categories beyond their number")
    return places


def _require_polynomial(features: Any) -> None:
    """Check the flag that compiled code of sparse columns counts with."""
    state = vars(features)
    plain = type(state.get("interaction_only")) is bool
    plain = plain and all(type(state.get(name, 1)) is int for name in ("_min_degree", "_max_degree"))
    _require(plain, "interaction_only of its PolynomialFeatures is not true or false, or its degrees are no numbers")


def _require_nan_distances(imputer: Any) -> None:
    """Check that distances are those of NumPy: other metrics are compiled, with arrays of their own."""
    _require(imputer.metric == "nan_euclidean", "the metric of its KNNImputer is not loaded")


def _require_random_state(source: Any) -> None:
    place = source.get_state(legacy=False)["state"]["pos"]
    _require(0 <= place <= TWISTER_KEYS, "a source of random numbers is at a place that there is not")


def _require_generator(source: Any) -> None:
    _require(type(source.bit_generator).__name__ == "PCG64", "a source of random numbers is not PCG64")


def _named(module: str, names: str) -> list[str]:
    return [f"sklearn.{module}.{name}" for name in names.split()]


# Read by NumPy only, or by compiled code that is given nothing of theirs.
READ_BY_NUMPY = (
    *_named("_loss.link", "HalfLogitLink Interval LogitLink MultinomialLogit"),
    *_named("_loss.loss", "ExponentialLoss HalfBinomialLoss HalfMultinomialLoss"),
    *_named("calibration", "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration"),
    *_named("compose._column_transformer", "ColumnTransformer _RemainderColsList make_column_selector"),
    *_named("decomposition._pca", "PCA"),
    *_named("decomposition._truncated_svd", "TruncatedSVD"),
    *_named("discriminant_analysis", "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis"),
    *_named("dummy", "DummyClassifier"),
    *_named("ensemble._bagging", "BaggingClassifier"),
    *_named("ensemble._hist_gradient_boosting.binning", "_BinMapper"),
    *_named("ensemble._stacking", "StackingClassifier"),
    *_named("ensemble._voting", "VotingClassifier"),
    *_named("ensemble._weight_boosting", "AdaBoostClassifier"),
    *_named("feature_selection._from_model", "SelectFromModel"),
    *_named("feature_selection._variance_threshold", "VarianceThreshold"),
    *_named("impute._base", "MissingIndicator SimpleImputer"),
    *_named("isotonic", "IsotonicRegression"),
    *_named("linear_model._logistic", "LogisticRegression LogisticRegressionCV"),
    *_named("linear_model._passive_aggressive", "PassiveAggressiveClassifier"),
    *_named("linear_model._perceptron", "Perceptron"),
    *_named("linear_model._ridge", "RidgeClassifier RidgeClassifierCV"),
    *_named("linear_model._stochastic_gradient", "SGDClassifier"),
    *_named("metrics._scorer", "_PassthroughScorer"),
    *_named("model_selection._classification_threshold", "FixedThresholdClassifier"),
    *_named("model_selection._search", "GridSearchCV RandomizedSearchCV"),
    *_named("model_selection._split", "KFold StratifiedKFold"),
    *_named("multiclass", "OneVsRestClassifier"),
    *_named("naive_bayes", "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB"),
    *_named("neural_network._multilayer_perceptron", "MLPClassifier"),
    *_named("neural_network._stochastic_optimizers", "AdamOptimizer SGDOptimizer"),
    *_named("pipeline", "FeatureUnion Pipeline"),
    *_named("preprocessing._data", "Binarizer MaxAbsScaler MinMaxScaler Normalizer PowerTransformer"),
    *_named("preprocessing._data", "QuantileTransformer RobustScaler StandardScaler"),
    *_named("preprocessing._discretization", "KBinsDiscretizer"),
    *_named("preprocessing._encoders", "OrdinalEncoder"),
    *_named("preprocessing._function_transformer", "FunctionTransformer"),
    *_named("preprocessing._label", "LabelBinarizer LabelEncoder"),
    *_named("preprocessing._target_encoder", "TargetEncoder"),
    *_named("svm._classes", "LinearSVC"),
    HISTOGRAM_TREE,  # with the boosting that it belongs to
)
# What compiled code is given: the attribute without which it is not called, and the check.
CHECKS: dict[str, tuple[str, Callable[[Any], None]]] = {
    **dict.fromkeys([*FOREST_TREES, BOOSTED_TREE], ("tree_", _require_tree)),
    **dict.fromkeys(
        _named("ensemble._forest", "ExtraTreesClassifier RandomForestClassifier"), ("estimators_", _require_forest)
    ),
    **dict.fromkeys(_named("svm._classes", "NuSVC SVC"), ("support_vectors_", _require_support_vectors)),
    "sklearn.ensemble._gb.GradientBoostingClassifier": ("estimators_", _require_gradient_boosting),
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier": (
        "_predictors",
        _require_histogram_boosting,
    ),
    "sklearn.impute._knn.KNNImputer": ("metric", _require_nan_distances),
    "sklearn.preprocessing._encoders.OneHotEncoder": ("categories_", _require_one_hot),
    "sklearn.preprocessing._polynomial.PolynomialFeatures": ("interaction_only", _require_polynomial),
}
SOURCES = {"RandomState": _require_random_state, "Generator": _require_generator}  # of random numbers, by NumPy
LOSSES = (  # compiled, used while a model is fitted; made of a number at most
    *_named("linear_model._sgd_fast", "EpsilonInsensitive Hinge Huber Log ModifiedHuber SquaredEpsilonInsensitive"),
    *_named("linear_model._sgd_fast", "SquaredHinge SquaredLoss"),
    *_named("_loss._loss", "CyExponentialLoss CyHalfBinomialLoss CyHalfMultinomialLoss"),
    "_loss.CyExponentialLoss",  # where they were before scikit-learn 1.9
    "_loss.CyHalfBinomialLoss",
    "_loss.CyHalfMultinomialLoss",
)
FUNCTIONS = tuple(  # of a FunctionTransformer: one number for each
    f"numpy.{name}"
    for name in (
        *("absolute", "arcsinh", "cbrt", "exp", "expm1", "log", "log10", "log1p", "log2", "negative", "sign", "sqrt"),
        *("square", "tanh"),
    )
)
# How skops may make each: `TreeNode` and its like are names in a file of skops.
LOADERS = {
    **dict.fromkeys([*READ_BY_NUMPY, *CHECKS], "ObjectNode"),
    **dict.fromkeys(LOSSES, "LossNode"),
    **dict.fromkeys(FUNCTIONS, "FunctionNode"),
    TREE: "TreeNode",
    "sklearn.utils._bunch.Bunch": "DictNode",
    "numpy.dtype": "DTypeNode",
}
# Lists, arrays and the like: of these skops itself knows which types there are.
PLAIN_LOADERS = (
    *("DictNode", "JsonNode", "ListNode", "MaskedArrayNode", "NdArrayNode", "RandomGeneratorNode", "RandomStateNode"),
    *("SetNode", "SliceNode", "TupleNode", "TypeNode"),
)


def untabled_types(nodes: Iterable[dict[str, Any]]) -> set[str]:
    """Return the types of a skops file that are in none of the tables, or would be made in another way than theirs."""
    pairs = {(f"{node['__module__']}.{node['__class__']}", node["__loader__"]) for node in nodes}
    return {name for name, loader in pairs if LOADERS.get(name) != loader and not _is_plain(name, loader)}


def _is_plain(name: str, loader: str) -> bool:
    return name not in LOADERS and loader in PLAIN_LOADERS


def require_sound(estimator: Any) -> None:
    """Raise if compiled code could be led astray by any part of an estimator.

    Raises
    ------
    DataError
        It names the part.
    """
    for part in _parts(estimator):
        name = type_name(part)
        if isinstance(part, (np.random.RandomState, np.random.Generator)):
            SOURCES[type(part).__name__](part)
        elif LOADERS.get(name) == "ObjectNode":
            hidden = next((own for own in vars(part) if hasattr(type(part), own)), None)
            _require(hidden is None, f"its {type(part).__name__} brings a {hidden} of its own in place of its type's")
            attribute, check = CHECKS.get(name, ("", None))
            if check is not None and attribute in vars(part):  # a model that is not fitted has nothing to read
                check(part)


def _parts(estimator: Any) -> Iterator[Any]:
    """Every part of an estimator, itself included, once."""
    seen: dict[int, Any] = {}  # with the objects, so that no number is given twice
    waiting = [estimator]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, (list, tuple, set)):
            waiting += part
        elif isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype == object else []
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            waiting += vars(part).values()
