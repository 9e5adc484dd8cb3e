"""A planner is a scikit-learn estimator, and a file without code in it."""

import copy
import inspect
import io
import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_info, threadpool_limits

import copa
from copa.exceptions import DataError, InvalidInputError
from copa.planner import recourse_planner
from copa.planner.bundle import load_bundle
from copa.report.letters import write_letter
from forged_files import members, rewritten, sealed
from unit.planner import loans


@pytest.fixture
def saved(tmp_path, planner):
    path = tmp_path / "planner.copa"
    planner.save(path)
    return path


def edited(path, change):
    contents = members(path)
    content = json.loads(contents["planner.json"])
    change(content)
    rewritten(path, sealed(contents | {"planner.json": json.dumps(content)}))


def test_parameters_are_got_and_set(model):
    planner = copa.RecoursePlanner(model, guarantee=0.7)
    assert planner.get_params(deep=False)["guarantee"] == 0.7
    assert planner.get_params()["model__logisticregression__C"] == 1.0
    assert planner.set_params(guarantee=0.6, n_options=2) is planner
    assert (planner.guarantee, planner.n_options) == (0.6, 2)
    with pytest.raises(ValueError, match="garantee"):
        planner.set_params(garantee=0.5)
    with pytest.raises(TypeError, match="garantee"):
        copa.RecoursePlanner(model, garantee=0.5)
    with pytest.raises(InvalidInputError, match="set later_models as a whole"):
        planner.set_params(later_models__confidence=0.5)


def test_the_signature_names_every_setting_with_its_default(model):
    parameters = inspect.signature(copa.RecoursePlanner).parameters
    assert sorted(parameters) == sorted(copa.RecoursePlanner(model).get_params(deep=False))
    assert not any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values())
    keywords = {name: p.default for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert keywords == {name: getattr(copa.RecoursePlanner(model), name) for name in keywords}


def test_a_planner_says_whether_it_is_fitted_and_to_which_columns(model, planner):
    check_is_fitted(planner)
    assert planner.feature_names_in_.tolist() == list(loans.people(1, 0).columns)
    fresh = copa.RecoursePlanner(model)
    assert not hasattr(fresh, "feature_names_in_")
    with pytest.raises(NotFittedError, match="call fit"):
        fresh.plan(loans.people(1, 0))


def test_a_parameter_of_the_model_can_be_set_through_the_planner(declined):
    model = loans.fitted_pipeline()
    planner = loans.planner(model)
    batch = planner.plan(declined.iloc[:2])
    planner.set_params(model__logisticregression__C=0.5)
    assert model.named_steps["logisticregression"].C == 0.5
    assert planner.plan(declined.iloc[:2]).to_json() == batch.to_json()  # the fit is the same until it is fitted again


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda planner: pickle.loads(pickle.dumps(planner))])  # noqa: S301 - ours
def test_a_copy_of_a_fitted_planner_makes_the_same_plans(planner, declined, copied):
    people = declined.iloc[:2]
    assert copied(planner).plan(people).to_json() == planner.plan(people).to_json()


def test_nothing_is_checked_or_changed_at_construction(model):
    settings = {"guarantee": "later", "schema": 3, "later_models": "auto"}
    planner = copa.RecoursePlanner(model, **settings)
    assert {name: planner.get_params(deep=False)[name] for name in settings} == settings


def test_a_clone_is_not_fitted_and_keeps_the_fitted_model(model, planner, batch, declined):
    again = clone(planner)
    assert again is not planner
    assert again.model is model
    check_is_fitted(again.model)
    assert not hasattr(again, "strategy_")
    training = loans.people(300, 0)
    assert again.fit(training, loans.outcomes(training)).plan(declined).to_json() == batch.to_json()


def test_a_clone_of_a_subclass_is_of_the_subclass(model):
    class Careful(copa.RecoursePlanner):
        def __init__(self, model, *, care=0.99):
            super().__init__(model, guarantee=care)
            self.care = care

    again = clone(Careful(model, care=0.95))
    assert type(again) is Careful
    assert (again.care, again.guarantee) == (0.95, 0.95)


def test_fit_returns_the_planner_and_the_repr_is_short(model, planner):
    assert isinstance(planner, copa.RecoursePlanner)
    assert "RecoursePlanner" in repr(planner)
    assert "RecoursePlanner" in repr(copa.RecoursePlanner(model))
    assert planner._repr_html_()
    assert not is_classifier(planner)


def test_settings_may_be_changed_between_plans(model, declined):
    planner = loans.planner(model)
    two = planner.set_params(n_options=2).plan(declined)
    assert set(two.counts) == {2}
    assert two.request.n_options == 2


def test_a_loaded_planner_makes_the_same_plans(saved, model, planner, batch, declined):
    loaded = copa.RecoursePlanner.load(saved, model)
    assert loaded.plan(declined).to_json() == batch.to_json()
    assert loaded.schema_ == planner.schema_
    assert loaded.radius_source_ == planner.radius_source_
    assert loaded.guarantee == planner.guarantee
    np.testing.assert_array_equal(loaded.drift_, planner.drift_)


@pytest.mark.parametrize(
    "settings",
    [
        {"favourable": np.bool_(False), "threshold": np.float64(0.4), "cost": "l2"},
        {"later_models": copa.MomentBall(radius=0.1), "time_limit": np.int64(100), "guarantee_for": "any"},
        {"schema": None, "diversity_weight": 1},
        {"schema": loans.SCHEMA.replace({"grade": {"transitions": {1: [2, 3], 2: [3]}}})},
        {"schema": loans.SCHEMA.replace({"married": {"labels": {False: "single"}}, "grade": {"labels": {1: "one"}}})},
    ],
    ids=["turned", "given radius", "inferred schema", "transitions between numbers", "labels"],
)
def test_settings_of_every_type_survive_a_file(tmp_path, model, settings):
    planner = loans.planner(model, **settings)
    planner.save(tmp_path / "p")
    loaded = copa.RecoursePlanner.load(tmp_path / "p", model)
    people = loans.people(30, 4)
    assert loaded.plan(people).to_json() == planner.plan(people).to_json()
    again = tmp_path / "again"
    loaded.save(again)
    assert copa.RecoursePlanner.load(again, model).plan(people).to_json() == planner.plan(people).to_json()


def test_another_model_is_refused(saved):
    labels = loans.outcomes(loans.people(300, 0), seed=2)
    with pytest.raises(InvalidInputError, match="another model"):
        copa.RecoursePlanner.load(saved, loans.fitted_pipeline(labels=labels))
    with pytest.raises(InvalidInputError, match="another model"):
        copa.RecoursePlanner.load(saved, loans.fitted_pipeline(drop="first"))


def test_a_newer_version_is_refused_with_advice(saved, model):
    edited(saved, lambda content: content.update(version=4))
    with pytest.raises(DataError, match=r"version 4.*update"):
        copa.RecoursePlanner.load(saved, model)


def test_another_format_is_refused(saved, model):
    edited(saved, lambda content: content.update(format="copa-plans"))
    with pytest.raises(DataError, match="not a bundle"):
        copa.RecoursePlanner.load(saved, model)


@pytest.mark.parametrize(
    "key", ["settings", "schema", "columns", "radius", "radius_source", "floor", "lines", "choices"]
)
def test_a_file_that_lacks_a_part_is_damaged(saved, model, key):
    edited(saved, lambda content: content.pop(key))
    with pytest.raises(DataError, match="damaged"):
        copa.RecoursePlanner.load(saved, model)


def test_an_unknown_setting_names_the_version_that_wrote_it(saved, model):
    edited(saved, lambda content: content["settings"].update(magic=1) or content.update(made_with={"copa": "0.9.0"}))
    told = rf"written by COPA 0\.9\.0, with the setting 'magic'; this is COPA {copa.__version__}.*update copa-recourse"
    with pytest.raises(DataError, match=told):
        copa.RecoursePlanner.load(saved, model)
    edited(saved, lambda content: content.pop("made_with"))
    with pytest.raises(DataError, match="written by an unknown version of COPA, with the setting 'magic'"):
        copa.RecoursePlanner.load(saved, model)


@pytest.mark.parametrize("setting", ["guarantee_for", "n_options", "threshold", "surrogate"])
def test_a_setting_that_is_not_in_the_file_takes_its_default(saved, model, setting):
    edited(saved, lambda content: content["settings"].pop(setting))
    loaded = copa.RecoursePlanner.load(saved, model)
    assert getattr(loaded, setting) == getattr(copa.RecoursePlanner(model), setting)


def test_a_file_with_the_model_is_all_that_planning_needs(planner, batch, declined, tmp_path):
    planner.save(tmp_path / "whole.copa", include_model=True)
    loaded = copa.RecoursePlanner.load(tmp_path / "whole.copa")
    assert loaded.plan(declined).to_json() == batch.to_json()
    bundle = load_bundle(tmp_path / "whole.copa")
    assert bundle.planner.plan(declined).to_json() == batch.to_json()
    assert list(bundle.template) == list(planner.template_) == list(loaded.template_)
    loaded.save(tmp_path / "again.copa", include_model=True)
    assert (tmp_path / "again.copa").read_bytes() == (tmp_path / "whole.copa").read_bytes()


def test_without_the_model_a_file_asks_for_it(saved):
    for load in (copa.RecoursePlanner.load, load_bundle):
        with pytest.raises(DataError, match=r"holds no model: give RecoursePlanner.load the model"):
            load(saved)


def test_a_file_says_which_version_wrote_it(saved):
    assert json.loads(members(saved)["planner.json"])["made_with"] == {"copa": copa.__version__}


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_damaged(saved, model, share):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(DataError):
        copa.RecoursePlanner.load(saved, model)


def test_flipped_bytes_are_damage_or_change_nothing(saved, model, batch, declined):
    whole = saved.read_bytes()
    seen = set()
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        try:
            loaded = copa.RecoursePlanner.load(saved, model)
        except DataError:
            seen.add("damaged")
            continue
        seen.add("the same")
        assert (
            loaded.plan(declined.iloc[:2]).to_json().splitlines()[1]
            == batch.to_json().splitlines()[1].rstrip(",") + ","
        )
    assert "damaged" in seen


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code from a file was executed",))


def test_code_in_a_file_is_never_executed(saved, model):
    contents = members(saved)
    with np.load(io.BytesIO(contents["arrays.npz"])) as stored:
        arrays = dict(stored)
    for bad in (np.array([Bomb()], dtype=object), np.array([{"a": 1}], dtype=object)):
        buffer = io.BytesIO()
        np.savez(buffer, **arrays | {"mean": bad})
        rewritten(saved, contents | {"arrays.npz": buffer.getvalue()})
        with pytest.raises(DataError):
            copa.RecoursePlanner.load(saved, model)
    for content in ({"planner.json": pickle.dumps(Bomb())}, {"arrays.npz": pickle.dumps(Bomb())}):
        rewritten(saved, contents | content)
        with pytest.raises(DataError):
            copa.RecoursePlanner.load(saved, model)
    saved.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(DataError):
        copa.RecoursePlanner.load(saved, model)


def test_a_file_is_plain_data_and_leaves_nothing_beside_it(saved):
    contents = members(saved)
    assert set(contents) == {"planner.json", "arrays.npz"}
    json.loads(contents["planner.json"])
    with np.load(io.BytesIO(contents["arrays.npz"]), allow_pickle=False) as stored:
        cells = ("accepted_row/", "references/")  # of tables
        learned = [name for name in stored.files if not name.startswith(cells)]
        assert all(stored[name].dtype == np.float64 for name in learned)
    assert list(saved.parent.iterdir()) == [saved]


def test_a_file_that_is_not_there_is_named_in_one_line(tmp_path, model):
    with pytest.raises(DataError, match=r"^the file .*nowhere\.copa cannot be read: No such file or directory$"):
        copa.RecoursePlanner.load(tmp_path / "nowhere.copa", model)


def test_fit_uses_one_thread_of_blas_and_gives_back_the_others(monkeypatch, model):
    def blas_threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    loans.planner(model)  # loads every library that a fit loads
    seen = []
    learn = recourse_planner.learn
    monkeypatch.setattr(recourse_planner, "learn", lambda *given: (seen.append(blas_threads()), learn(*given))[1])
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()  # 1 is among them where a library that another test loaded does not take more
        loans.planner(model)
        assert (seen, blas_threads()) == ([{1}], before)
        assert 2 in before


REFITTED = "the model was fitted again after the planner was.* call fit"


@pytest.mark.parametrize("classifier", [LogisticRegression(), RandomForestClassifier(5, max_depth=3, random_state=0)])
def test_a_model_that_was_fitted_again_in_place_is_refused(classifier, declined, tmp_path):
    model = loans.fitted_pipeline(clone(classifier))
    planner = loans.planner(model, later_models=copa.LaterModels(n_refits=6))
    people = declined.iloc[:2]
    batch = planner.plan(people)
    assert planner.plan(people).to_json() == batch.to_json()
    planner.save(tmp_path / "planner.copa")
    loaded = copa.RecoursePlanner.load(tmp_path / "planner.copa", model)
    assert loaded.plan(people).status.tolist() == batch.status.tolist()
    asking = planner.with_wishes(copa.Wishes(guarantee=0.7))
    later = loans.people(300, 5)
    model.fit(later, loans.outcomes(later))
    for calling in (
        lambda: planner.plan(people),
        lambda: planner.audit(batch),
        lambda: planner.correct(batch),
        lambda: write_letter(planner, batch[0]),
        lambda: planner.save(tmp_path / "other.copa"),
        lambda: loaded.plan(people),
        lambda: asking.plan(people),
    ):
        with pytest.raises(copa.InvalidInputError, match=REFITTED):
            calling()
    assert planner.fit(later, loans.outcomes(later)).plan(people).status.size == 2
