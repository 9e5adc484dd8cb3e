"""Nothing leaves that the schema or the model refuses, whatever a search proposes: attacks that once got through."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, SplineTransformer, StandardScaler

import copa
from copa import Feature, FeatureSchema, InvalidInputError
from copa.data.schema.columns import ReadTable
from copa.planner.plan import REFUSED_BY_MODEL
from copa.planner.strategies import linear
from copa.planner.strategies.base import Strategy
from property.exact_judge import refusals
from unit.planner import loans

NUMBERS = ["income", "debt", "years"]
KINDS = {
    "linear": (StandardScaler(), LogisticRegression(C=0.3)),
    "products": (make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False)), LogisticRegression(C=0.3)),
    "splines": (make_pipeline(StandardScaler(), SplineTransformer(n_knots=4)), LogisticRegression(C=0.3)),
    "forest": (StandardScaler(), RandomForestClassifier(10, min_samples_leaf=5, random_state=0)),
}
SOME_SLOW = {"products": pytest.mark.slow, "splines": pytest.mark.slow}
FIELDS = {
    "income": {"direction": "increase", "step": 10},
    "debt": {"direction": "decrease", "step": 10},
    "home": {"immutable": True},
}


def borrowers():
    """The table of docs/models.md, and who paid back."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "income": rng.normal(3000, 800, 400).round(-1).clip(800, 8000),
            "debt": rng.gamma(2.0, 400.0, 400).round(-1),
            "years": rng.integers(0, 30, 400),
            "home": rng.choice(["rent", "own"], 400),
        }
    )
    score = table["income"] / 1000 - 6 * table["debt"] / table["income"] + 0.05 * table["years"]
    return table, (score + (table["home"] == "own") + rng.logistic(size=400) > 2.2).to_numpy()


def fitted_model(kind):
    table, labels = borrowers()
    features, classifier = KINDS[kind]
    encoder = make_column_transformer((features, NUMBERS), (OneHotEncoder(), ["home"]))
    return make_pipeline(encoder, classifier).fit(table, labels)


def planner_for(kind, schema, **settings):
    fast = {
        "guarantee": 0.7,
        "n_options": 2,
        "later_models": copa.LaterModels(n_refits=8 if kind == "forest" else 50),
        "n_starts": 4,
        "n_jobs": 1,
    }
    return copa.RecoursePlanner(fitted_model(kind), schema=schema, **fast | settings).fit(*borrowers())


ATTACKS = {
    "years 34, increase only": ({"direction": "increase"}, 34),
    "upper 10, increase only": ({"direction": "increase", "upper": 10}, None),
    "lower 10, decrease only": ({"direction": "decrease", "lower": 10}, None),
    "in or out of a range": ({"lower": 5, "upper": 10}, None),
}


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=SOME_SLOW.get(kind, ())) for kind in KINDS])
@pytest.mark.parametrize(("years", "own"), ATTACKS.values(), ids=ATTACKS)
def test_who_stands_outside_a_range_gets_no_forbidden_advice(kind, years, own):
    table, _ = borrowers()
    schema = FeatureSchema.infer(table, features=FIELDS | {"years": years})
    planner = planner_for(kind, schema)
    people = table if own is None else table.assign(years=own)
    people = people[~planner.model.predict(people)].iloc[:12]
    batch = planner.plan(people)
    origins = people.iloc[batch.owner]
    assert len(batch.options) > 5
    assert refusals(schema, origins, batch.options) == []
    if own is not None:
        assert set(batch.options["years"]) == {own}


def test_who_may_come_into_a_range_does_so_where_that_is_needed():
    table, _ = borrowers()
    schema = FeatureSchema.infer(
        table, features={"years": {"lower": 40, "upper": 90}}, immutable=["income", "debt", "home"]
    )
    planner = planner_for("linear", schema, guarantee=0.3, plausibility=0.0, **loans.BALL)
    people = table[~planner.model.predict(table)].iloc[:12]
    batch = planner.plan(people)
    assert len(batch.options) > 5
    assert batch.options["years"].between(40, 90).all()


def test_who_may_come_into_a_range_keeps_the_value_where_that_asks_for_less():
    table, _ = borrowers()
    far = {"lower": 40, "upper": 90, "weight": 100}
    income = {"direction": "increase", "step": 10, "upper": 20000}
    schema = FeatureSchema.infer(table, features={"years": far, "income": income}, immutable=["debt", "home"])
    planner = planner_for("linear", schema, guarantee=0.3, n_options=1)
    people = table[~planner.model.predict(table)].iloc[:12]
    batch = planner.plan(people)
    assert len(batch.options) > 5
    assert (batch.options["years"].to_numpy() == people["years"].to_numpy()[batch.owner]).all()


@pytest.mark.parametrize("kind", ["linear", "products", "forest"])
def test_a_value_that_the_encoder_never_saw_is_named_when_the_planner_is_fitted(kind):
    table, _ = borrowers()
    home = {"kind": "categorical", "values": ["rent", "own", "boat"], "rare": "offer"}
    schema = FeatureSchema.infer(table, features={"home": home})
    with pytest.raises(InvalidInputError, match=r"'boat'") as raised:
        planner_for(kind, schema)
    assert "column 'home'" in str(raised.value)


def test_whole_numbers_beyond_what_is_exact_are_refused_by_name():
    with pytest.raises(InvalidInputError, match=r"column 'debt': upper must be smaller than 9007199254740992"):
        Feature("debt", "integer", lower=0, upper=10**17, step=5)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"debt": rng.integers(0, 1000, 200), "income": rng.integers(0, 1000, 200)})
    labels = (table["income"] - table["debt"] + rng.normal(0, 100, 200) > 0).to_numpy()
    schema = FeatureSchema([Feature("debt", "integer", step=5), Feature("income", "integer", upper=1000)])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, labels)
    planner = copa.RecoursePlanner(model, schema=schema, later_models=copa.LaterModels(n_refits=50), n_jobs=1).fit(
        table, labels
    )
    huge = pd.DataFrame({"debt": 10**17 + np.arange(60), "income": 0})
    batch = planner.plan(huge)
    assert set(batch.status) == {"error"}
    assert all("column 'debt' must be smaller than 9007199254740992" in message for message in batch.message)


WRITE = Strategy.write_options


def forbidden(*given):
    """A search gone wrong: everyone's debt becomes 61, above the range, and 7.25 is added to the income."""
    found = WRITE(*given)
    rows = found.table.assign(debt=61, income=found.table["income"] + 7.25)
    wrong = replace(found, rows=ReadTable(rows))
    wrong.rows.once((wrong.model, "accepts"), lambda: np.ones(len(rows), dtype=bool))
    return wrong


@pytest.mark.parametrize("objective", [None, copa.PaperObjective()], ids=["level", "paper"])
def test_what_a_broken_search_proposes_does_not_leave_and_the_message_says_so(
    planner, model, declined, monkeypatch, objective
):
    ball = loans.same_ball(planner)
    schema = FeatureSchema(loans.SCHEMA.features)
    wrong = loans.planner(model, schema=schema, objective=objective, **ball)
    monkeypatch.setattr(Strategy, "write_options", forbidden)
    batch = wrong.plan(declined.iloc[:5])
    assert len(batch.options) == 0
    assert set(batch.status) == {"infeasible"}
    for message in batch.message:
        assert "Found but refused: income: may only change to multiples of 0.5, got" in message
        assert "debt: must be at most 60, got 61" in message


def test_what_the_model_refuses_does_not_leave_and_the_message_says_so(planner, declined, monkeypatch):
    monkeypatch.setattr(linear, "ATTEMPTS", 0)

    def refused(*given):
        found = WRITE(*given)
        found.rows.once((found.model, "accepts"), lambda: np.zeros(len(found.owner), dtype=bool))
        return found

    monkeypatch.setattr(Strategy, "write_options", refused)
    batch = planner.plan(declined.iloc[:3])
    assert len(batch.options) == 0
    assert set(batch.status) == {"infeasible"}
    assert all(REFUSED_BY_MODEL in message for message in batch.message)


def test_rules_hold_exactly_where_columns_have_no_step():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((300, 3)), columns=["a", "b", "c"])
    labels = (table.sum(axis=1) + rng.normal(0, 0.3, 300) > 1.7).to_numpy()
    schema = FeatureSchema(
        [Feature(name, "numeric", lower=0, upper=1) for name in table],
        rules=["0.1*a + 0.7*b <= 0.6", "a <= 0.3*c + 0.6"],
    )
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, labels)
    planner = copa.RecoursePlanner(
        model, schema=schema, later_models=copa.LaterModels(n_refits=50), n_jobs=1, n_options=3, guarantee=0.6
    )
    people = table[~model.predict(table)]
    batch = planner.fit(table, labels).plan(people)
    assert refusals(schema, people.iloc[batch.owner], batch.options) == []
    assert (batch.status == "ok").mean() > 0.9


@pytest.mark.parametrize(
    ("record", "place"), [("Delivered", "planner/plan.py"), ("Options", "planner/strategies/base.py")]
)
def test_what_leaves_is_evaluated_judged_and_bounded_in_one_place(record, place):
    sources = Path(copa.__file__).parent
    makers = set()
    for path in sources.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == record:
                makers.add(path.relative_to(sources).as_posix())
    assert makers == {place}
