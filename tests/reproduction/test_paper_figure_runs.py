from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reproduction.data.synthetic import synthetic_case
from reproduction.experiments import figures
from reproduction.methods.dice import linear_layer, write_plan
from reproduction.pages import figures as figure_pages

pytestmark = pytest.mark.extended


def test_no_random_future_leaves_the_bounds(session):
    found = figures.run_radius(session)
    assert figures.count_outside(found["futures"]) == 0
    assert len(found["futures"]) == 2 * session.settings.n_futures  # one plan, COPA's, and two means
    bounds = found["bounds"].groupby("mean")
    assert (bounds["lower"].first() >= bounds["lower"].last()).all()  # a larger ball promises less
    assert (bounds["upper"].last() >= bounds["upper"].first()).all()


def test_a_future_outside_the_bounds_is_counted():
    row = {"validity": 0.5, "lower": 0.1, "upper": 0.9, "samples": 10_000}
    assert figures.count_outside(pd.DataFrame([row, row | {"lower": 0.51}])) == 0  # two standard errors
    assert figures.count_outside(pd.DataFrame([row, row | {"lower": 0.55}, row | {"upper": 0.45}])) == 2


def test_the_printed_matrix_is_no_covariance_and_ours_is():
    assert np.linalg.eigvalsh(figures.PRINTED_A)[0] == pytest.approx(1.0 - np.sqrt(2.0))
    ours = figures.covariance(correlated=True)
    np.testing.assert_allclose(np.linalg.eigvalsh(ours), np.sort(np.abs(np.linalg.eigvalsh(figures.PRINTED_A))))
    np.testing.assert_array_equal(figures.covariance(correlated=False), np.eye(3))


@pytest.mark.parametrize("correlated", [False, True])
def test_validity_falls_as_the_shift_grows(session, correlated):
    table = figures.run_shift(session, correlated=correlated)
    assert set(table["method"]) == {"COPA"}  # DiCE was not asked for
    for _, rows in table.groupby("kind"):
        assert rows["validity"].iloc[-1] < rows["validity"].iloc[0]
    assert any("DiCE" in what for what in session.skipped)


def test_more_corrections_raise_the_bound(session, monkeypatch):
    pytest.importorskip("torch")  # without it the row of DiCE is left out, plans in the cache or not
    monkeypatch.setattr("reproduction.session.DATA_SETS", ("german",))
    few = replace(session, settings=replace(session.settings, n_dice=2))
    case = few.case("german")
    rows = case.data.present.features
    good = rows[case.encoding.encode(rows) @ case.theta > 0.2].head(5)
    for label in case.applicants.index[:2]:
        folder = few.cache / "dice" / "paper-german-linear-seed0-J5"
        write_plan(folder / f"{label}.json", [linear_layer(case)], good, 1.0)
    table = figures.run_mahalanobis(few)
    sweep = table[(table["data"] == "german") & (table["sweep"] == "corrections")]
    assert (np.diff(sweep["lower"]) >= -1e-6).all()
    assert sweep["lower"].iloc[-1] > sweep["lower"].iloc[0]
    assert list(sweep["n_corrections"]) == [0, 1, 2, 3, 4, 5]


def test_pictures_are_written_as_png_and_pdf(tmp_path):
    lines = pd.DataFrame({"plan": "COPA", "mean": ["inside", "outside"], "radius": 0.0, "lower": 0.1, "upper": 0.9})
    points = pd.DataFrame({"plan": "COPA", "mean": ["inside", "outside"], "distance": 0.5, "validity": 0.5})
    figure_pages.draw_radius(lines, points, tmp_path)
    sweep = {"data": "german", "sweep": ["corrections", "budget"], "n_corrections": [0, 3], "budget": 0.1}
    measures = {f"{m}{s}": 0.1 for m in ("lower", "diversity", "proximity") for s in ("", "_sd")}
    figure_pages.draw_mahalanobis(pd.DataFrame(sweep | measures), tmp_path, "fig_m")
    shift = {"kind": ["mean", "covariance", "both"], "method": "COPA", "size": 0.0, "validity": 0.5, "validity_sd": 0.1}
    figure_pages.draw_shift(pd.DataFrame(shift), tmp_path, "fig_s")
    for name in ("fig_radius", "fig_m", "fig_s"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_the_synthetic_classifier_separates_the_clouds(tiny):
    case = synthetic_case(tiny)
    rows = case.encoding.encode(case.data.present.features)
    assert ((rows @ case.theta >= 0.0) == case.data.present.favourable).mean() > 0.99
    np.testing.assert_array_equal(case.moments.mean, case.theta)
    np.testing.assert_array_equal(case.moments.cov, 0.5 * np.eye(3))
