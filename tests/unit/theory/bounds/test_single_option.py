import numpy as np
import pytest

from unit.theory.bounds.one_option import guarantee


@pytest.mark.parametrize("mean", [1e-6, 0.5, 1.0, 30.0])
@pytest.mark.parametrize("spread", [1e-6, 0.5, 1.0, 30.0])
def test_without_reach_it_is_cantellis_inequality(mean, spread):
    assert guarantee(mean, spread, 0.0) == pytest.approx(mean**2 / (mean**2 + spread**2), rel=1e-14)


@pytest.mark.parametrize(("mean", "reach"), [(-1.0, 0.0), (0.0, 0.0), (-1.0, 2.0), (0.5, 0.5), (0.5, 0.7)])
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_it_is_zero_where_the_reach_covers_the_mean(mean, spread, reach):
    assert guarantee(mean, spread, reach) == 0.0


def test_a_certain_score_beyond_its_reach_loses_the_square_of_its_share():
    # The ball spends its radius on moving a part p of the mass by m: p m^2 <= r^2.
    assert guarantee(2.0, 0.0, 0.5) == pytest.approx(1.0 - (0.5 / 2.0) ** 2, rel=1e-15)
    assert guarantee(2.0, 0.0, 0.0) == 1.0


def test_the_worst_distribution_of_the_ball_attains_it():
    # One number: minimise over the attack's nominal location b and mass p. The mass p at nominal score b moves to zero
    # at cost p b^2 <= r^2, and moments allow it if p (1 + ((m - b) / s)^2) <= 1.
    m, s, r = 1.3, 0.8, 0.35
    b = np.linspace(1e-9, m, 200_001)
    attack = np.minimum(r**2 / b**2, 1.0 / (1.0 + ((m - b) / s) ** 2)).max()
    assert guarantee(m, s, r) == pytest.approx(1.0 - attack, abs=1e-5)  # the grid's step over the kink


def test_it_falls_with_spread_and_reach_and_rises_with_the_mean():
    grid = np.linspace(0.0, 2.0, 50)
    assert (np.diff(guarantee(1.0, grid, 0.2)) < 0.0).all()
    assert (np.diff(guarantee(1.0, 0.5, grid)) <= 0.0).all()
    assert (np.diff(guarantee(grid, 0.5, 0.2)) >= 0.0).all()


def test_arguments_broadcast():
    result = guarantee(np.ones((4, 1)), np.array([0.5, 1.0, 2.0]), 0.1)
    assert result.shape == (4, 3)
    np.testing.assert_array_equal(result[0], result[3])


def test_it_does_not_depend_on_the_unit():
    values = np.array([0.7, 0.4, 0.1])
    for unit in (1e-150, 1e-8, 1e8, 1e150):
        assert guarantee(*(values * unit)) == pytest.approx(guarantee(*values), rel=1e-13)
