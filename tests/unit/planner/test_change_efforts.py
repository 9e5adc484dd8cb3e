"""Effort of each change: by the cost that was planned with, kept by files, and unknown in older ones."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from copa.plans import PlanBatch
from copa.plans.cost import L1, Cost
from unit.planner import loans


class DearLevels(Cost):
    """Changes of categories cost twice as much."""

    def prices(self, columns):
        prices = L1().prices(columns)
        return prices._replace(gaps=2.0 * prices.gaps)


@pytest.fixture(scope="module", params=["l1", "l2", DearLevels()], ids=["l1", "l2", "own"])
def planner(request):
    return loans.planner(loans.fitted_pipeline(), cost=request.param, **loans.BALL)


@pytest.fixture(scope="module")
def batch(planner):
    table = loans.people(300, 0)
    return planner.plan(table[~planner.model.predict(table)].head(8))


def by_hand(batch, cost):
    """Efforts of the changes in the raw columns, from the definition of the costs."""
    schema = batch.basis.schema
    for row in batch.to_frame().itertuples(index=False):
        feature = schema[row.column]
        before, after = row[3], row[4]
        if feature.is_numeric:
            yield feature.weight * abs(after - before) / feature.spread
        else:
            ranks = abs(after - before) if feature.kind == "ordinal" else 1.0
            yield feature.weight * ranks / (feature.spread or 1.0) * (2.0 if cost == "dearlevels" else 1.0)


def test_a_change_has_the_effort_of_its_own_price(batch):
    assert len(batch.options) > 4
    assert batch.to_frame()["effort"].to_numpy() == pytest.approx(list(by_hand(batch, batch.request.cost)))


def test_changes_add_up_to_the_effort_of_the_option(batch):
    frame, power = batch.to_frame(), 2 if batch.request.cost == "l2" else 1
    totals = (frame["effort"] ** power).groupby([frame["applicant"], frame["option"]], sort=False).sum() ** (1 / power)
    options = batch.options_frame().set_index(["applicant", "option"])
    pd.testing.assert_series_equal(totals, options["effort"], check_exact=False, rtol=1e-12)
    assert (batch.change_effort[~batch.changed] == 0.0).all()


def test_efforts_of_changes_are_kept_by_selections_files_and_documents(batch, tmp_path):
    batch.save(tmp_path / "plans.copa")
    again = PlanBatch.load(tmp_path / "plans.copa")
    np.testing.assert_array_equal(again.change_effort, batch.change_effort)
    parts = PlanBatch.concat([batch[:3], batch[3:]])
    np.testing.assert_array_equal(parts.change_effort, batch.change_effort)
    np.testing.assert_array_equal(batch[2].change_effort, batch[2:3].change_effort)
    told = [option["changes"] for entry in json.loads(batch.to_json())["applicants"] for option in entry["options"]]
    assert [change["effort"] for changes in told for change in changes] == batch.to_frame()["effort"].tolist()


def test_an_audit_finds_the_same_efforts(planner, batch):
    np.testing.assert_allclose(planner.audit(batch).change_effort, batch.change_effort, rtol=1e-12)


def test_what_an_older_file_does_not_know_is_not_a_number(batch):
    older = replace(batch, change_effort=None)
    assert older.to_frame()["effort"].isna().all()
    assert older.options_frame()["effort"].tolist() == batch.effort.tolist()
