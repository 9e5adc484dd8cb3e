import numpy as np
import pytest

from copa.analysis.attribution import first_break
from unit.planner import loans


@pytest.fixture(scope="module")
def planner():
    return loans.planner(loans.fitted_pipeline())


@pytest.fixture(scope="module")
def batch(planner):
    table = loans.people(40, 7)
    return planner.plan(table[~planner.model.predict(table)].head(6))


def test_the_shares_add_up_to_the_scores_of_the_option(planner, batch):
    for i in range(len(batch)):
        found = first_break(planner.fitted_, batch, i)
        point = batch[i].points[found.option - 1]
        worst = batch.certificates[i].worst_case()
        expected, broken = (sum(getattr(s, side) for s in found.shares) for side in ("expected", "broken"))
        assert expected == pytest.approx(point @ planner.fitted_.parameters.mean, abs=1e-9)
        assert broken == pytest.approx(point @ worst.location[found.option - 1], abs=1e-9)
        assert broken <= 1e-6  # the models that refuse the option do so on average


def test_the_option_with_the_largest_mass_breaks_first(planner, batch):
    for i, plan in enumerate(batch):
        found = first_break(planner.fitted_, batch, i)
        assert found.option == plan.breaks_first
        assert found.probability == pytest.approx(plan.weights.max(), abs=1e-6)


def test_a_share_is_what_the_model_gives_for_the_change_alone(planner, batch):
    # Undo one change after another: what the encoded row loses is what the column's share is about.
    plan = batch[0]
    found = first_break(planner.fitted_, batch, 0)
    model, mean = planner.fitted_.model, planner.fitted_.parameters.mean
    broken = plan.certificate.worst_case().location[found.option - 1]
    option = plan.options.iloc[[found.option - 1]]
    changes = plan.changes(found.option)
    assert len(changes) + 1 == len(found.shares)
    for change, share in zip(changes, found.shares, strict=False):
        undone = option.copy()
        undone[change.column] = plan.factual[change.column].to_numpy()
        gain = (model.encode(option) - model.encode(undone))[0]
        assert share.expected == pytest.approx(gain @ mean, abs=1e-9)
        assert share.broken == pytest.approx(gain @ broken, abs=1e-9)


def test_words_name_the_columns_that_lose_most(planner, batch):
    found = first_break(planner.fitted_, batch, 0)
    loser = min(found.shares, key=lambda share: share.broken - share.expected)
    assert loser.part in found.in_words()
    assert found.in_words().startswith(f"Option {found.option} breaks first. At worst, with probability 0.")
    assert found.to_dict()["shares"][0]["part"] == found.shares[0].part


def test_nothing_breaks_where_there_is_no_option(planner):
    table = loans.people(40, 7)
    accepted = planner.plan(table[planner.model.predict(table)].head(1))
    assert first_break(planner.fitted_, accepted, 0) is None


def test_a_hopeless_option_breaks_for_certain(planner):
    table = loans.people(40, 7)
    person = table[~planner.model.predict(table)].head(1)
    audited = planner.audit([person], person)
    found = first_break(planner.fitted_, audited, 0)
    assert audited.lower[0] == 0.0
    assert found.probability > 0.99
    assert np.isfinite([share.broken for share in found.shares]).all()
