"""Forged skops files, each loaded and asked in a process of its own: what a forgery can do is to end the process.

Run as a script with the names of models and a number of files for each, or with `reproduced`. It prints one JSON line
for each file: who was forged, how, and what came of it.
"""

import copy
import io
import json
import os
import resource
import signal
import sys
import warnings

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

from copa.exceptions import DataError
from copa.models.storage import pack_estimator, unpack_estimator
from forged_files import members, zipped

N_ROWS, SECONDS, GIGABYTES = 80, 20, 8
NUMBERS = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 7, 1000, 2**31 - 1, 2**31, 2**40, 2**63 - 1]
OTHERS = [None, True, False, "", "x", 0.5, float("nan"), [], [1, 2], {}]
DTYPES = ["f8", "f4", "i8", "i4", "u4", "u1", "?", "c16", "U3", ">f8", "V8"]


def table():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(N_ROWS, 3))
    jobs = rng.choice(["clerk", "nurse", "smith", "vicar"], N_ROWS, p=[0.5, 0.4, 0.06, 0.04])
    return pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "c": numbers[:, 2], "job": jobs})


def made(classifier, numbers=None, texts=None):
    texts = OneHotEncoder(sparse_output=False) if texts is None else texts
    numbers = StandardScaler() if numbers is None else numbers
    return make_pipeline(make_column_transformer((texts, ["job"]), (numbers, ["a", "b", "c"])), classifier)


def models():
    """Models by name; each type with a check of its own is in one."""
    line = LogisticRegression()
    grouped = OneHotEncoder(drop="first", min_frequency=10, handle_unknown="infrequent_if_exist", sparse_output=False)
    return {
        "logistic": made(line, texts=OneHotEncoder()),
        "grouped": made(SGDClassifier(loss="log_loss", random_state=0), SimpleImputer(add_indicator=True), grouped),
        "polynomial": made(
            line, make_union(PolynomialFeatures(2), KBinsDiscretizer(3)), OneHotEncoder(drop="if_binary")
        ),
        "sparse": make_pipeline(
            make_column_transformer((OneHotEncoder(), ["job"]), (KBinsDiscretizer(3), ["a", "b", "c"])),
            PolynomialFeatures(2),
            DecisionTreeClassifier(max_depth=4, random_state=0),
        ),
        "ordinal": made(GaussianNB(), QuantileTransformer(n_quantiles=9), OrdinalEncoder()),
        "target": made(line, KNNImputer(), TargetEncoder(cv=2, random_state=0)),
        "tree": made(DecisionTreeClassifier(max_depth=4, random_state=0)),
        "forest": made(RandomForestClassifier(3, max_depth=4, random_state=np.random.RandomState(0))),
        "extra": made(ExtraTreesClassifier(3, max_depth=4, random_state=0)),
        "boosting": made(GradientBoostingClassifier(n_estimators=6, random_state=0)),
        "many_trees": made(GradientBoostingClassifier(n_estimators=400, max_depth=1, random_state=0)),
        "zero": made(GradientBoostingClassifier(n_estimators=6, init="zero", loss="exponential", random_state=0)),
        "histogram": made(HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, random_state=0)),
        "svc": made(SVC()),
        "svc_probability": made(SVC(probability=True, random_state=0)),
        "nusvc": made(NuSVC(kernel="poly")),
        "mlp": made(MLPClassifier((4,), max_iter=30, random_state=0)),
        "bagging": made(BaggingClassifier(n_estimators=3, max_features=0.5, random_state=0)),
        "adaboost": made(AdaBoostClassifier(n_estimators=3, random_state=0)),
        "voting": made(VotingClassifier([("line", line), ("trees", RandomForestClassifier(2, random_state=0))])),
        "stacking": made(StackingClassifier([("line", line), ("svc", SVC())], cv=2)),
        "calibrated": made(CalibratedClassifierCV(SVC(), cv=2, method="isotonic")),
    }


def fitted(name):
    people = table()
    rng = np.random.default_rng(1)
    outcome = people["a"] + 0.5 * (people["job"] == "clerk") + 0.5 * rng.normal(size=N_ROWS) > 0.2
    return models()[name].fit(people, outcome)


def changed_array(array, rng):
    """The array in another shape, of another type, or with other numbers."""
    kind = rng.integers(7)
    if kind == 0 and array.ndim:
        array = array.T if array.ndim > 1 else array.reshape(1, -1)
    elif kind == 1 and array.size > 1:
        rows = int(rng.choice([array.size // k for k in (1, 2, 3, 4, 8) if array.size % k == 0]))
        array = array.reshape(rows, array.size // rows)
    elif kind == 2 and array.ndim:
        array = array[: int(rng.integers(len(array) + 1))]
    elif kind == 3 and array.ndim:
        array = np.concatenate([array] * int(rng.integers(2, 5)))
    elif kind == 4 and array.dtype.names is None and array.dtype.kind in "biufc":
        array = array.astype(rng.choice(DTYPES))
    else:
        array = changed_entry(array, rng)
    return np.ascontiguousarray(array)


def changed_entry(array, rng):
    flat = array.copy().reshape(-1)
    if not flat.size:
        return np.zeros(3, dtype=array.dtype)
    place = int(rng.integers(flat.size))
    field = flat[str(rng.choice(flat.dtype.names))] if flat.dtype.names else flat
    if field.dtype.kind in "iu":
        field[place] = np.array(NUMBERS[int(rng.integers(len(NUMBERS)))]).astype(field.dtype)
    elif field.dtype.kind == "f":
        field[place] = rng.choice([np.nan, np.inf, -1e308, 1e308, 0.0])
    elif flat.size > 1:
        flat[place] = flat[place - 1]
    return flat.reshape(array.shape)


def nodes(part, name=""):
    """Entries of a schema that say how something is made, with the attribute that holds them."""
    if isinstance(part, dict):
        if "__loader__" in part:
            yield name, part
        for key, inner in part.items():
            yield from nodes(inner, key if key != "content" else name)
    elif isinstance(part, list):
        for inner in part:
            yield from nodes(inner, name)


def changed_schema(schema, rng):
    """The schema with one thing changed: a number or word, a nested list, an attribute that is lost or another's."""
    everything = [(name, node) for name, node in nodes(schema) if node["__class__"] != "type"]
    kind = rng.integers(4)
    plain = [(name, node) for name, node in everything if node["__loader__"] == "JsonNode" and name != "n_jobs"]
    lists = [node for _, node in everything if node["__loader__"] in ("ListNode", "TupleNode") and node["content"]]
    arrays = [node for _, node in everything if node.get("type") == "json" and node["content"]]
    owners = [node for _, node in everything if node["__loader__"] == "DictNode" and len(node["content"]) > 1]
    if kind == 0:
        _, node = plain[int(rng.integers(len(plain)))]
        values = NUMBERS if rng.random() < 0.5 else OTHERS
        node["content"] = json.dumps(values[int(rng.integers(len(values)))])
    elif kind == 1:
        node = (arrays or lists)[int(rng.integers(len(arrays or lists)))]
        inner = node["content"]
        nested = all(isinstance(each.get("content"), list) for each in inner)
        flat = [part for each in inner for part in each["content"]] if nested and rng.random() < 0.7 else inner
        width = int(rng.integers(1, 4))
        group = {key: value for key, value in lists[0].items() if key != "__id__"} | {"__loader__": "ListNode"}
        group |= {"__class__": "list", "__module__": "builtins"}
        rows = [flat[k : k + width] for k in range(0, len(flat), width)]
        node["content"] = [group | {"content": row} for row in rows] if rng.random() < 0.7 else flat[:-1]
    else:
        node = owners[int(rng.integers(len(owners)))]
        keys = list(node["content"])
        one, other = (keys[int(k)] for k in rng.integers(len(keys), size=2))
        if kind == 2:
            del node["content"][one]
            node["key_types"]["content"] = node["key_types"]["content"][: len(keys) - 1]
        else:
            node["content"][one] = copy.deepcopy(node["content"][other])
    return schema


def forged(raw, seed):
    """A file with one to three changes."""
    rng = np.random.default_rng(seed)
    contents = members(raw)
    names = [name for name in contents if name.endswith(".npy")]
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.5:
            name = names[int(rng.integers(len(names)))]
            array = np.load(io.BytesIO(contents[name]), allow_pickle=False)
            buffer = io.BytesIO()
            np.save(buffer, changed_array(array, rng), allow_pickle=False)
            contents[name] = buffer.getvalue()
        else:
            contents["schema.json"] = json.dumps(changed_schema(json.loads(contents["schema.json"]), rng)).encode()
    return zipped(contents)


def outcome_of(raw, people):
    """What comes of a file, in a process that may die of it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES * 2**30,) * 2)
        warnings.simplefilter("ignore")
        os.write(writing, _asked(raw, people).encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        words = stream.read().decode()
    _, status = os.waitpid(child, 0)
    return words if status == 0 else f"died: {status}"


def _asked(raw, people):
    try:
        model = unpack_estimator(raw)
    except (DataError, MemoryError) as error:
        return f"refused: {error}"
    told = []
    for method in ("predict", "predict_proba", "decision_function"):
        for rows in (people, people.iloc[:1], people):
            try:
                getattr(model, method)(rows)
            except Exception as error:  # noqa: BLE001 - Python's own errors harm nobody
                told.append(type(error).__name__)
    return f"answered: {' '.join(sorted(set(told)))}"


def _with(model, part, **attributes):
    vars(part).update(attributes)
    return pack_estimator(model)


def reproduced():
    """Forgeries that ended a process, or wrote beyond its arrays, when nothing looked at them."""
    boosting = fitted("many_trees")
    trees = boosting[-1].estimators_.reshape(1, -1)
    yield "many_trees", "estimators_ reshaped", _with(boosting, boosting[-1], estimators_=trees)
    boosting = fitted("boosting")
    vars(boosting[-1].init_)["class_prior_"] = np.empty((0, 2))
    yield "boosting", "a prior without rows", pack_estimator(boosting)
    boosting = fitted("boosting")
    wide = boosting[-1].estimators_[0, 0]
    narrow = DecisionTreeClassifier(max_depth=2).fit(np.eye(40), np.arange(40) % 2)
    yield "boosting", "a tree of more columns", _with(boosting, wide, tree_=narrow.tree_, n_features_in_=40)
    machine = fitted("svc")
    counts = machine[-1]._n_support
    yield (
        "svc",
        "_n_support that still sums up",
        _with(machine, machine[-1], _n_support=counts + np.int32([10**9, -(10**9)])),
    )
    machine = fitted("svc")
    many = np.zeros(400, dtype=np.int32)
    many[:2] = machine[-1]._n_support
    yield "svc", "_n_support of more classes", _with(machine, machine[-1], _n_support=many)
    machine = fitted("svc_probability")
    few = {"_intercept_": np.empty(0), "_probA": np.zeros(1), "_probB": np.zeros(0)}
    yield "svc_probability", "probabilities without numbers", _with(machine, machine[-1], **few)
    forest = fitted("forest")
    del forest[-1].n_features_in_
    yield "forest", "no number of columns", pack_estimator(forest)
    forest = fitted("forest")
    yield "forest", "a check of its own", _with(forest, forest[-1], _validate_X_predict=np.absolute)
    forest = fitted("forest")
    source = np.random.RandomState(0)
    told = source.get_state(legacy=False)
    told["state"]["pos"] = 2**30
    source.set_state(told)
    yield "forest", "random numbers from elsewhere", _with(forest, forest[-1], random_state=source)
    line = fitted("logistic")
    encoder = line[0].named_transformers_["onehotencoder"]
    yield "logistic", "categories without columns", _with(line, encoder, _n_features_outs=[1])
    line = fitted("grouped")
    encoder = line[0].named_transformers_["onehotencoder"]
    places = [np.where(places == places.max(), 2**40, places) for places in encoder._default_to_infrequent_mappings]
    yield "grouped", "a group far away", _with(line, encoder, _default_to_infrequent_mappings=places)
    histogram = fitted("histogram")
    histogram[-1]._predictors[0][0].nodes["is_categorical"] = 1
    yield "histogram", "categories without bits", pack_estimator(histogram)
    tree = members(pack_estimator(fitted("tree")))
    schema = json.loads(tree["schema.json"])
    made_of = next(node for _, node in nodes(schema) if node["__loader__"] == "TreeNode")["__reduce__"]["args"]
    made_of["content"][2]["content"] = "100000000"
    yield "tree", "more outputs than it lists", zipped(tree | {"schema.json": json.dumps(schema)})


def tell(model, forgery, raw, people):
    sys.stdout.write(json.dumps({"model": model, "forgery": forgery, "outcome": outcome_of(raw, people)}) + "\n")


def main(names, n_files):
    people = table()
    if names == ["reproduced"]:
        for name, how, raw in reproduced():
            tell(name, how, raw, people)
        return
    for name in names:
        raw = pack_estimator(fitted(name))
        tell(name, "none", raw, people)
        for seed in range(n_files):
            tell(name, seed, forged(raw, seed), people)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1].split(), int(sys.argv[2]))
