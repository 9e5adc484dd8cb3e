"""Whatever the schema, the pipeline, the model and the route: an independent exact judge refuses no delivered row."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import copa
from cases import mostly_extended
from property.exact_judge import rare_targets, refusals
from property.random_worlds import make_world

FAST = {"guarantee": 0.6, "n_options": 3, "n_starts": 4, "n_jobs": 1, "random_state": 0, "progress": False}
ROUTES = {
    "each": ("linear", {}),
    "all": ("linear", {"guarantee_for": "all", "cost": "l2"}),
    "any": ("linear", {"guarantee_for": "any"}),
    "paper": ("linear", {"objective": copa.PaperObjective()}),
    "feature map": ("feature map", {}),
    "black box": ("black box", {"later_models": copa.LaterModels(n_refits=4)}),
    "lime": ("black box", {"surrogate": "lime"}),
    "level": ("linear", {}),
    "requirement": ("linear", {}),
    "mahalanobis": ("linear", {}),
    "level on a feature map": ("feature map", {}),
    "level on a black box": ("black box", {"later_models": copa.LaterModels(n_refits=4)}),
}
CORRECTIONS = ("level", "requirement", "mahalanobis", "level on a feature map", "level on a black box")


@dataclass
class Tally:
    """What was judged, and what was refused."""

    applicants: int = 0
    outside: int = 0
    options: int = 0
    left_out: int = 0
    refused: tuple[str, ...] = ()

    def add(self, world, owner, rows, where):
        """Judge delivered rows, and what the model says of them."""
        origins = world.applicants.iloc[owner]
        faults = refusals(world.schema, origins, rows) + rare_targets(world.schema, world.training, origins, rows)
        found = [f"{where}: {fault}" for fault in faults]
        if len(rows) and not world.pipeline.predict(rows).all():
            found.append(f"{where}: the model refuses a row")
        self.applicants += len(world.applicants)
        self.outside += world.n_outside
        self.options += len(rows)
        self.refused += tuple(found)


def planner_of(world, **settings):
    given = (
        {} if world.moments is None else {"later_models": copa.MomentBall(world.moments.mean, world.moments.cov, 0.05)}
    )
    planner = copa.RecoursePlanner(world.pipeline, schema=world.schema, favourable=True, **given | FAST | settings)
    return planner.fit(world.training, world.labels)


def tally_of(route, n_worlds, n_applicants, first_seed=0):
    model, settings = ROUTES[route]
    tally = Tally()
    for seed in range(first_seed, first_seed + n_worlds):
        world = make_world(model, seed, n_applicants)
        if len(world.applicants) == 0:
            continue
        planner = planner_of(world, **settings)
        batch = planner.plan(world.applicants)
        if route in CORRECTIONS:
            plans = broken_plans(world, batch, seed)
            asking = planner.set_params(guarantee=0.8)
            how = {"method": route.split()[0], "budget": 0.5, "n_corrections": 1 if seed % 2 else None}
            corrected = asking.correct(plans, world.applicants, **how)
            assert len(corrected.before.options) == sum(map(len, plans))
            batch, tally.left_out = corrected.after, tally.left_out + int(corrected.left_out.sum())
        assert "error" not in set(batch.status), batch.message
        if route not in CORRECTIONS:
            assert (batch.plausibility >= 0.05).all()
        tally.add(world, batch.owner, batch.options, f"{route}, seed {seed}")
    return tally


def broken_plans(world, batch, seed):
    """For each applicant a good option (if there is one), the own row, which the model declines, and another's.

    The last changes immutable columns, and its numbers are off the steps or far out of the ranges.
    """
    rng = np.random.default_rng(seed)
    others = world.training.iloc[rng.integers(len(world.training), size=len(batch))].copy()
    for feature in world.schema.features:
        if feature.kind in ("numeric", "integer"):
            moves = rng.choice([0, 1, 10_000] if feature.kind == "integer" else [0.0, 0.037, 1e6], size=len(batch))
            others[feature.name] = (others[feature.name] + moves).astype(world.training[feature.name].dtype)
    parts = [(plan.options[:1], world.applicants.iloc[[i]], others.iloc[[i]]) for i, plan in enumerate(batch)]
    return [pd.concat([part for part in three if len(part)], ignore_index=True) for three in parts]


def require_clean(tally, n_applicants):
    assert tally.refused == ()
    assert tally.applicants >= n_applicants
    assert tally.outside >= tally.applicants // 20
    assert tally.options >= tally.applicants // 20


# Worlds and applicants of each: 1,500 and more in the quick run, 100,000 and more in the slow one.
QUICK = {
    "each": (4, 250), "all": (2, 100), "any": (2, 100), "paper": (2, 60),
    "feature map": (1, 20), "black box": (1, 20), "lime": (1, 20),
    "level": (1, 60), "requirement": (1, 60), "mahalanobis": (1, 60),
    "level on a feature map": (1, 10), "level on a black box": (1, 10),
}  # fmt: skip
SLOW = {
    "each": (340, 200), "all": (60, 100), "any": (60, 100), "paper": (120, 100),
    "feature map": (100, 20), "black box": (150, 20), "lime": (100, 20),
    "level": (60, 100), "requirement": (20, 100), "mahalanobis": (20, 100),
    "level on a feature map": (40, 12), "level on a black box": (40, 12),
}  # fmt: skip


@pytest.mark.parametrize("route", mostly_extended(ROUTES, ("each", "any", "feature map", "black box", "level")))
def test_an_exact_judge_refuses_no_delivered_row(route):
    n_worlds, n_applicants = QUICK[route]
    tally = tally_of(route, n_worlds, n_applicants)
    require_clean(tally, int(0.9 * n_worlds * n_applicants))
    assert (tally.left_out > 0) == (route in CORRECTIONS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::copa.exceptions.WeakModelWarning")  # of many random tables some say nothing
@pytest.mark.parametrize("route", ROUTES)
def test_an_exact_judge_refuses_none_of_very_many_rows(route):
    n_worlds, n_applicants = SLOW[route]
    require_clean(tally_of(route, n_worlds, n_applicants, first_seed=1000), int(0.95 * n_worlds * n_applicants))


def test_the_numbers_of_applicants_are_those_that_are_stated():
    assert sum(0.9 * n_worlds * n_applicants for n_worlds, n_applicants in QUICK.values()) >= 1_500
    assert sum(0.95 * n_worlds * n_applicants for n_worlds, n_applicants in SLOW.values()) >= 100_000
