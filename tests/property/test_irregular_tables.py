"""Missing values, special codes, outliers and bins: an independent exact judge refuses no delivered row."""

from dataclasses import replace

import pytest

import copa
from cases import mostly_extended
from copa.data.schema import FeatureSchema
from property.irregular_worlds import CODES, PIPELINES, make_irregular_world
from property.test_judged_applicants import Tally, planner_of

QUICK = ("kbins onehot quantile", "imputed mean True")
FEW = ("kbins onehot quantile", "imputed mean True", "cut-offs by hand", "splines and bins", "boosting")


def judged(name, n_worlds, n_applicants, tally):
    """Plan for the applicants of some worlds; return how many irregular cells were left, and of how many options."""
    left = 0
    for seed in range(n_worlds):
        world = make_irregular_world(name, seed, n_applicants)
        if len(world.applicants) == 0:
            continue
        planner = planner_of(world, **({"later_models": copa.LaterModels(n_refits=4)} if world.moments is None else {}))
        batch = planner.plan(world.applicants)
        assert "error" not in set(batch.status), batch.message
        tally.add(world, batch.owner, batch.options, f"{name}, seed {seed}")
        before, after = world.applicants.iloc[batch.owner].reset_index(drop=True), batch.options
        for column in ("months", "lines"):
            left += int((before[column].isin(CODES) & ~after[column].isin(CODES)).sum())
        left += int((before.isna() & after.notna()).to_numpy().sum())
    return left


@pytest.mark.parametrize("name", mostly_extended(FEW, QUICK))
def test_no_delivered_row_is_refused(name):
    tally = Tally()
    judged(name, 1, 8, tally)
    assert tally.refused == ()
    assert tally.options > 0


@pytest.mark.parametrize("name", mostly_extended(FEW, QUICK))
@pytest.mark.filterwarnings("ignore:column .* enters the model in bins")
def test_a_rule_does_not_apply_to_a_special_code(name):
    world = make_irregular_world(name, 0, 40)
    world = replace(world, schema=FeatureSchema(world.schema.features, ["lines <= 2 * months + 10"]))
    coded = world.applicants[["months", "lines"]].isin(CODES).any(axis=1).to_numpy()
    few_refits = {"later_models": copa.LaterModels(n_refits=4)} if world.moments is None else {}
    batch = planner_of(world, **few_refits).plan(world.applicants)
    assert "error" not in set(batch.status), batch.message
    assert (batch.counts[coded] > 0).any()
    tally = Tally()
    tally.add(world, batch.owner, batch.options, name)
    assert tally.refused == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PIPELINES))
def test_no_delivered_row_is_refused_in_many_tables(name):
    tally = Tally()
    left = judged(name, 6, 30, tally)
    assert tally.refused == ()
    assert tally.applicants > 100
    assert tally.options > 50
    assert left > 0 or name == "splines and bins"  # a feature map leaves an entry only where its draws lead
