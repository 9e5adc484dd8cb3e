"""A planner for a black box on disk: its refits come back as they were, and nothing else does."""

import io
import json
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import copa
from copa.exceptions import DataError, InvalidInputError, MissingPackageError
from copa.models.storage import pack_estimator, unpack_estimator
from forged_files import forge
from unit.planner import loans

FAST = {"later_models": copa.LaterModels(n_refits=6), "n_starts": 4, "n_options": 2, "guarantee": 0.6}


def forest(seed: int = 0) -> RandomForestClassifier:
    return RandomForestClassifier(10, min_samples_leaf=5, random_state=seed)


@pytest.fixture(scope="module")
def model():
    return loans.fitted_pipeline(forest())


@pytest.fixture(scope="module")
def planner(model):
    return loans.planner(model, **FAST)


@pytest.fixture(scope="module")
def declined(model):
    table = loans.people(80, 7)
    return table[~model.predict(table)].iloc[:6]


@pytest.fixture(scope="module")
def batch(planner, declined):
    return planner.plan(declined)


@pytest.fixture(scope="module")
def file(planner, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "planner.copa"
    planner.save(path)
    return path


@pytest.fixture(scope="module")
def naive():
    """A model without trees, whose refits are stored as they are."""
    return loans.fitted_pipeline(GaussianNB(), sparse_output=False)


@pytest.fixture(scope="module")
def file_of_naive(naive, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "planner.copa"
    loans.planner(naive, **FAST).save(path)
    return path


@pytest.fixture
def saved(file, tmp_path):
    """A copy of the file, which a test may damage."""
    return Path(shutil.copy(file, tmp_path))


def same_plans(one, other):
    """Whether two batches are the same to the last bit, but for the time they took."""
    pd.testing.assert_frame_equal(one.options, other.options, check_exact=True)
    pd.testing.assert_frame_equal(one.applicants, other.applicants, check_exact=True)
    for name in ("owner", "status", "message", "effort", "option_lower", "lower", "upper", "any_lower", "points"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.request, one.basis) == (other.request, other.basis)
    assert one.ambiguity.radius == other.ambiguity.radius
    assert (one.n_held_out == 0) == (other.n_held_out == 0)
    return True


def rewritten(path, change):
    """The file with its members changed by a function of (name, bytes), and its digests; None leaves one out."""

    def change_all(contents):
        changed = {name: change(name, raw) for name, raw in contents.items()}
        contents.clear()
        contents.update((name, raw) for name, raw in changed.items() if raw is not None)

    forge(path, path, change_all)


def test_a_loaded_planner_plans_and_audits_to_the_last_bit_as_the_saved_one(planner, model, declined, batch, saved):
    loaded = copa.RecoursePlanner.load(saved, model)
    again = loaded.plan(declined)
    assert len(batch.options) > 4
    assert same_plans(again, batch)
    np.testing.assert_array_equal(again.expected_rate, batch.expected_rate)
    assert same_plans(loaded.audit(batch), planner.audit(batch))
    assert loaded.radius_source_ == planner.radius_source_
    assert (loaded.guarantee, loaded.later_models.n_refits, loaded.later_models.ambiguity) == (0.6, 6, None)
    assert loaded.strategy_.reliability == planner.strategy_.reliability
    assert loaded.strategy_.n_held_out == 9


def test_a_loaded_planner_can_be_saved_again(model, declined, batch, saved, tmp_path):
    again = tmp_path / "again.copa"
    copa.RecoursePlanner.load(saved, model).save(again)
    assert same_plans(copa.RecoursePlanner.load(again, model).plan(declined), batch)


def test_a_model_that_went_through_a_file_itself_is_the_same(model, declined, batch, saved):
    loaded = copa.RecoursePlanner.load(saved, unpack_estimator(pack_estimator(model)))
    assert same_plans(loaded.plan(declined), batch)


@pytest.mark.extended
@pytest.mark.parametrize(
    "classifier",
    [
        GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0),
        HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, random_state=0),
        MLPClassifier((4,), learning_rate_init=0.05, max_iter=600, tol=1e-2, random_state=0),
    ],
    ids=lambda c: type(c).__name__,
)
@pytest.mark.filterwarnings("ignore:the model is no better")
def test_refits_of_every_kind_come_back(classifier, tmp_path):
    model = loans.fitted_pipeline(classifier, sparse_output=False)
    planner = loans.planner(model, **(FAST | {"later_models": copa.LaterModels(n_refits=2)}))
    planner.save(tmp_path / "p")
    loaded = copa.RecoursePlanner.load(tmp_path / "p", model).strategy_
    people = loans.people(40, 5)
    before, after = (strategy.held_out_scores(people, 1) for strategy in (planner.strategy_, loaded))
    assert len(before) >= 2
    np.testing.assert_array_equal(before, after)


def test_the_papers_stand_in_comes_back_without_refits(model, declined, tmp_path):
    planner = loans.planner(model, **FAST | {"later_models": copa.MomentBall(radius=0.02)}, surrogate="lime")
    planner.save(tmp_path / "p")
    loaded = copa.RecoursePlanner.load(tmp_path / "p", model)
    assert same_plans(loaded.plan(declined), planner.plan(declined))
    assert loaded.later_models.ambiguity.radius == pytest.approx(0.02)
    table = loans.people(300, 0)
    assert loaded.fit(table, loans.outcomes(table)).radius_ == pytest.approx(planner.radius_)


def test_pandas_categories_and_bare_arrays_are_remembered(tmp_path):
    table = loans.people(300, 0).drop(columns=["job", "married"])
    model = forest().fit(table.to_numpy(), loans.outcomes(loans.people(300, 0)))
    planner = copa.RecoursePlanner(model, **(loans.FAST | FAST)).fit(table, loans.outcomes(loans.people(300, 0)))
    planner.save(tmp_path / "p")
    loaded = copa.RecoursePlanner.load(tmp_path / "p", model)
    assert same_plans(loaded.plan(table.iloc[:4]), planner.plan(table.iloc[:4]))


@pytest.mark.parametrize(
    "other",
    [
        lambda: loans.fitted_pipeline(forest(1)),
        lambda: loans.fitted_pipeline(forest(), labels=loans.outcomes(loans.people(300, 0), seed=9)),
        lambda: loans.fitted_pipeline(LogisticRegression()),
    ],
)
def test_another_model_is_refused(saved, other):
    with pytest.raises(InvalidInputError, match="fitted with another model"):
        copa.RecoursePlanner.load(saved, other())


def test_a_file_for_a_linear_model_is_refused_for_a_forest(model, tmp_path):
    loans.planner(loans.fitted_pipeline()).save(tmp_path / "p")
    with pytest.raises(InvalidInputError, match="linear"):
        copa.RecoursePlanner.load(tmp_path / "p", model)


def test_no_row_of_the_training_data_is_in_the_file(planner, saved):
    with zipfile.ZipFile(saved) as archive, np.load(io.BytesIO(archive.read("arrays.npz"))) as arrays:
        assert len(arrays["scores"]) >= 32
    rows = planner.strategy_.model.typical
    assert rows.dtypes.equals(loans.people(300, 0)[list(rows)].dtypes)
    assert len(rows.merge(loans.people(300, 0), how="inner")) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda name, raw: None if name == "arrays.npz" else raw, "not a bundle, or is damaged"),
        (lambda name, raw: raw.replace(b'"seed"', b'"sed"') if name == "planner.json" else raw, "it lacks 'seed'"),
        (lambda name, raw: raw.replace(b'"cells"', b'"cels"') if name == "planner.json" else raw, "is damaged"),
        (
            lambda name, raw: raw.replace(b'"version": 1', b'"version": 9') if name == "planner.json" else raw,
            "version 9",
        ),
    ],
)
def test_damaged_files_are_refused(saved, model, change, words):
    rewritten(saved, change)
    with pytest.raises(DataError, match=words):
        copa.RecoursePlanner.load(saved, model)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda name, raw: None if name.startswith("refits/0007") else raw, "lacks refits/0007"),
        (
            lambda name, raw: raw[: len(raw) // 2] if name.endswith("0000.skops") else raw,
            "a refit: it is not a skops file, or is damaged",
        ),
        (lambda name, raw: raw[:300] if name.endswith("0003.npz") else raw, "its numbers are damaged"),
    ],
)
def test_damaged_refits_are_refused(file_of_naive, naive, tmp_path, change, words):
    saved = Path(shutil.copy(file_of_naive, tmp_path))
    rewritten(saved, change)
    with pytest.raises(DataError, match=words):
        copa.RecoursePlanner.load(saved, naive)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("radius", "x"),
        ("clip", None),
        ("seed", "q"),
        ("seed", -5),
        ("columns", 5),
        ("refits", None),
        ("refits", [0, 9]),
        ("refits", [-1, 10]),
        ("reliability", 0.0),
        ("reliability", 1.5),
        ("reliability", "x"),
    ],
)
def test_numbers_that_no_planner_has_are_refused_when_the_file_is_read(saved, model, part, value):
    def change(name, raw):
        return json.dumps(json.loads(raw) | {part: value}).encode() if name == "planner.json" else raw

    rewritten(saved, change)
    with pytest.raises(DataError, match="not a bundle, or is damaged"):
        copa.RecoursePlanner.load(saved, model)


@pytest.mark.parametrize("changed", [{"cost": "l7"}, {"surrogate": "lime"}])
def test_settings_that_are_not_those_of_the_strategy_are_refused(saved, model, changed):
    def change(name, raw):
        if name != "planner.json":
            return raw
        content = json.loads(raw)
        return json.dumps(content | {"settings": content["settings"] | changed}).encode()

    rewritten(saved, change)
    with pytest.raises(DataError, match="not a bundle, or is damaged"):
        copa.RecoursePlanner.load(saved, model)


def test_types_that_the_model_does_not_have_are_refused_before_any_is_made(file_of_naive, naive, tmp_path):
    saved = Path(shutil.copy(file_of_naive, tmp_path))
    strange = skops.io.dumps(FunctionTransformer(func=json.loads))
    rewritten(saved, lambda name, raw: strange if name == "refits/0000.skops" else raw)
    with pytest.raises(DataError, match=r"neither scikit-learn nor the model given has.*json.*loads"):
        copa.RecoursePlanner.load(saved, naive)


@pytest.mark.parametrize(("field", "value"), [("left", 10**6), ("right", 0), ("column", 99), ("column", -7)])
def test_trees_that_lead_out_of_themselves_are_refused_before_they_are_used(saved, model, field, value):
    """Compiled code would follow them beyond the memory that is theirs."""

    def forged(name, raw):
        if name != "arrays.npz":
            return raw
        with np.load(io.BytesIO(raw)) as arrays:
            content = dict(arrays)
        content[f"trees/{field}"] = content[f"trees/{field}"].copy()
        content[f"trees/{field}"][0] = value
        written = io.BytesIO()
        np.savez(written, **content)
        return written.getvalue()

    rewritten(saved, forged)
    with pytest.raises(DataError, match="its trees are damaged"):
        copa.RecoursePlanner.load(saved, model)


def test_a_planner_for_trees_is_saved_without_their_objects(planner, file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    planner.save(tmp_path / "p")
    with zipfile.ZipFile(file) as archive:
        assert set(archive.namelist()) >= {"planner.json", "arrays.npz"}
        assert not [name for name in archive.namelist() if name.startswith("refits/")]


def test_without_skops_it_is_said_what_to_install(naive, tmp_path, monkeypatch):
    planner = loans.planner(naive, **FAST)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingPackageError, match=r"copa-recourse\[cli\]"):
        planner.save(tmp_path / "p")
    assert not list(tmp_path.iterdir())


class Opaque(RandomForestClassifier):
    """Keeps something open that no file can hold."""

    def fit(self, X, y):
        super().fit(X, y)
        self.source_ = (number for number in range(3))
        return self


def test_what_skops_cannot_hold_is_named_and_nothing_is_written(tmp_path):
    planner = loans.planner(
        loans.fitted_pipeline(Opaque(5, random_state=0)), **(FAST | {"later_models": copa.LaterModels(n_refits=2)})
    )
    with pytest.raises(InvalidInputError, match=r"skops cannot save Pipeline.*generator"):
        planner.save(tmp_path / "p")
    assert not list(tmp_path.iterdir())


def test_a_function_that_cannot_be_found_again_is_refused_when_it_is_saved(tmp_path):
    table = loans.people(300, 0)
    double = make_pipeline(
        loans.encoder(sparse_output=False), FunctionTransformer(lambda rows: 2.0 * rows), GaussianNB()
    )
    planner = loans.planner(
        double.fit(table, loans.outcomes(table)), **(FAST | {"later_models": copa.LaterModels(n_refits=2)})
    )
    with pytest.raises(InvalidInputError, match=r"cannot be loaded again.*lambda"):
        planner.save(tmp_path / "p")
    assert not list(tmp_path.iterdir())
