"""Fits in files: taken apart by a pattern and put together, trees that lead astray, rows that give nobody away."""

import io
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from copa.exceptions import DataError
from copa.models.black_box import typical_rows
from copa.models.storage import (
    UntrustedTypesError,
    pack_estimator,
    unpack_estimator,
    untrusted_types,
)
from copa.models.stored_fits import NotAlikeError, Pattern
from copa.models.trusted_types import require_sound

ALIKE = [
    RandomForestClassifier(6, max_depth=4),
    GradientBoostingClassifier(n_estimators=5, subsample=0.8),
    MLPClassifier((4,), max_iter=400, tol=0.1),
    BaggingClassifier(n_estimators=4),
    VotingClassifier([("bayes", GaussianNB()), ("trees", RandomForestClassifier(3))], voting="soft"),
    CalibratedClassifierCV(RandomForestClassifier(3), cv=2),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(200, 2))
    return pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "c": rng.choice(["x", "y", "z"], 200)})


@pytest.fixture(scope="module")
def fitted(table):
    def fit(classifier, seed):
        """A pipeline fitted to resampled rows."""
        rng = np.random.default_rng(seed)
        texts = OneHotEncoder(sparse_output=False)
        columns = make_column_transformer((texts, ["c"]), (StandardScaler(), ["a", "b"]))
        model = make_pipeline(columns, clone(classifier))
        seeds = [name for name in model.get_params() if name.endswith("random_state")]
        rows = table.iloc[rng.integers(200, size=200)]
        return model.set_params(**dict.fromkeys(seeds, seed)).fit(rows, rows["a"] + 0.5 * (rows["c"] == "x") > 0.2)

    return fit


@pytest.mark.parametrize("classifier", [ALIKE[0], GaussianNB(), HistGradientBoostingClassifier(max_iter=3)])
def test_the_same_estimator_gives_the_same_bytes(fitted, table, classifier):
    raw = pack_estimator(fitted(classifier, 1))
    assert pack_estimator(fitted(classifier, 1)) == raw
    loaded = unpack_estimator(raw)
    assert pack_estimator(loaded) == raw
    np.testing.assert_array_equal(loaded.predict_proba(table), fitted(classifier, 1).predict_proba(table))


@pytest.mark.parametrize("classifier", ALIKE, ids=lambda c: type(c).__name__)
def test_a_fit_is_put_together_from_the_pattern_and_what_differs(fitted, table, classifier):
    first, other = fitted(classifier, 1), fitted(classifier, 2)
    before = other.predict_proba(table)
    assert not np.array_equal(first.predict_proba(table), before)
    pattern = Pattern(unpack_estimator(pack_estimator(first)))
    again = pattern.unpack(pattern.pack(other))
    np.testing.assert_array_equal(again.predict_proba(table), before)
    np.testing.assert_array_equal(pattern.estimator.predict_proba(table), first.predict_proba(table))
    assert json.dumps(again.get_params(), default=str) == json.dumps(other.get_params(), default=str)


def test_a_part_in_two_places_stays_one(fitted):
    first, other = (fitted(ALIKE[4], seed) for seed in (1, 2))
    pattern = Pattern(first)
    voting = pattern.unpack(pattern.pack(other))[-1]
    assert voting.named_estimators_["trees"] is voting.estimators_[1]


@pytest.mark.parametrize(
    "other",
    [
        RandomForestClassifier(7, max_depth=4),
        GradientBoostingClassifier(n_estimators=5),
        HistGradientBoostingClassifier(max_iter=3),
    ],
    ids=lambda c: type(c).__name__,
)
def test_what_has_other_parts_is_not_taken_apart(fitted, other):
    with pytest.raises(NotAlikeError):
        Pattern(fitted(ALIKE[0], 1)).pack(fitted(other, 2))


def test_what_is_not_looked_into_is_not_taken_apart(fitted):
    """Histogram trees hold compiled parts: they are written whole."""
    boosting = HistGradientBoostingClassifier(max_iter=3, early_stopping=True)
    with pytest.raises(NotAlikeError):
        Pattern(fitted(boosting, 1)).pack(fitted(boosting, 2))


@pytest.fixture(scope="module")
def packed(fitted):
    pattern = Pattern(fitted(ALIKE[0], 1))
    return pattern, pattern.pack(fitted(ALIKE[0], 2))


def changed(raw, **changes):
    """The bytes with some arrays changed."""
    with np.load(io.BytesIO(raw)) as stored:
        arrays = dict(stored)
    for name, change in changes.items():
        arrays[name] = change(arrays[name])
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def first_to(value):
    def change(array):
        array = array.copy()
        array[0] = value
        return array

    return change


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trees/nodes/left_child": first_to(10**6)}, "decision trees"),
        ({"trees/nodes/right_child": first_to(0)}, "decision trees"),
        ({"trees/nodes/feature": first_to(77)}, "decision trees"),
        ({"trees/count": first_to(10**6)}, "damaged.*another number of nodes"),
        ({"trees/count": first_to(10**15)}, "damaged.*another number of nodes"),
        ({"trees/place": lambda places: places + 1}, "damaged"),
        ({"walk": lambda walk: walk + 1}, "another version of scikit-learn"),
        ({"plain": lambda _: np.frombuffer(b'[[0, {"a": 1}]]', dtype=np.uint8)}, "damaged"),
        ({"plain": lambda _: np.array([{"a": 1}], dtype=object)}, "damaged.*objects, which are never loaded"),
    ],
    ids=lambda part: next(iter(part)) if isinstance(part, dict) else None,
)
def test_damaged_and_forged_numbers_are_refused(packed, changes, words):
    pattern, raw = packed
    with pytest.raises(DataError, match=words):
        pattern.unpack(changed(raw, **changes))


def test_half_of_the_bytes_are_refused(packed):
    pattern, raw = packed
    with pytest.raises(DataError, match="damaged"):
        pattern.unpack(raw[: len(raw) // 2])


@pytest.mark.parametrize(("name", "value"), [("left", 500), ("right", 0), ("feature_idx", 9)])
def test_histogram_trees_that_lead_astray_are_refused(fitted, name, value):
    model = fitted(HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5), 1)
    require_sound(model)
    model[-1]._predictors[1][0].nodes[name][0] = value
    with pytest.raises(DataError, match="decision trees"):
        require_sound(model)


def test_foreign_types_are_named_before_any_is_made_and_made_only_for_who_trusts_them():
    raw = pack_estimator({"call": pickle.dumps})
    assert untrusted_types(raw) == ["_pickle.dumps"]
    with pytest.raises(UntrustedTypesError, match=r"_pickle\.dumps"):
        unpack_estimator(raw)
    assert unpack_estimator(raw, ["_pickle.dumps"]) == {"call": pickle.dumps}


def test_columns_that_were_given_as_pandas_has_them_are_stored(table):
    numbers = table.select_dtypes("number").columns
    encoder = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), make_column_selector("c")))
    model = make_pipeline(encoder, RandomForestClassifier(3, random_state=0)).fit(table, table["a"] > 0)
    again = unpack_estimator(pack_estimator(model))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert model[0].transformers[0][2] is numbers  # the user's own is left as it is


def test_typical_rows_have_the_types_of_the_table_and_are_nobodys():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "name": [f"person {k}" for k in range(90)],
            "age": rng.integers(20, 70, 90),
            "income": rng.normal(size=90).astype(np.float32),
            "maybe": pd.array([None, 1, 2] * 30, dtype="Int64"),
            "job": pd.Categorical(rng.choice(["clerk", "nurse"], 90)),
            "home": rng.random(90) < 0.5,
            "since": pd.date_range("2020-01-01", periods=90),
        }
    )
    rows = typical_rows(table)
    assert rows.dtypes.equals(table.dtypes)
    assert len(rows.merge(table, how="inner")) == 0
    assert rows["name"].nunique() == 1  # of names that nobody shares there is one
    assert rows["age"].nunique() > 5
    assert set(rows["job"]) == {"clerk", "nurse"}
    assert rows["maybe"].notna().all()
    pd.testing.assert_frame_equal(rows, typical_rows(table))
