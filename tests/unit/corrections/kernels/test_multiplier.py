import math

import pytest

from compiled_kernels import callable_from_python
from copa.corrections._kernels import spectral

next_guess, variance_per_score = map(callable_from_python, (spectral.next_guess, spectral.variance_per_score))


@pytest.mark.parametrize(("a", "b", "c"), [(1.0, 2.0, 3.0), (1.0, -2.0, 3.0), (2.0, -1.0, 0.0), (0.0, 2.0, 3.0)])
def test_kappa_is_the_positive_root(a, b, c):
    kappa, spread = variance_per_score(a, b, c)
    assert kappa > 0.0
    assert a * kappa**2 + b * kappa - c == pytest.approx(0.0, abs=1e-12)
    assert spread == pytest.approx(math.sqrt(b * b + 4.0 * a * c))


def test_kappa_keeps_its_digits_where_the_linear_term_dominates():
    kappa, _ = variance_per_score(1.0, 1e9, 1.0)
    assert kappa == pytest.approx(1e-9, rel=1e-15)


def test_without_a_quadratic_term_a_negative_slope_has_no_root():
    assert variance_per_score(0.0, -1.0, 1.0)[0] == math.inf


def test_the_guess_is_exact_for_a_length_that_falls_like_a_hyperbola():
    # length = 3 / (1 + tau), budget 0.5: tau = 5.
    tau = 1.0
    assert next_guess(0.0, math.inf, tau, 3.0 / 2.0, -3.0 / 4.0, 0.5, 0) == pytest.approx(5.0, rel=1e-15)


@pytest.mark.parametrize(("low", "high", "expected"), [(1.0, math.inf, 16.0), (0.0, 1.0, 1.0 / 64.0), (1.0, 16.0, 4.0)])
def test_a_length_that_does_not_fall_is_bracketed_instead(low, high, expected):
    assert next_guess(low, high, 1.0, 2.0, 0.5, 1.0, 0) == pytest.approx(expected)


def test_patience_ends():
    assert next_guess(1.0, 4.0, 1.0, 1.1, -1.0, 1.0, 14) == pytest.approx(2.0)
    assert next_guess(1.0, 4.0, 1.0, 1.1, -1.0, 1.0, 13) == pytest.approx(1.0 + 0.11)
