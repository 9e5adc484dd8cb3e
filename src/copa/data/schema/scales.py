"""Scales of a column's numbers that a few odd values do not spoil: spread, usual range and step."""

import math

import numpy as np

from copa._core.arrays import Array
from copa.data.tables.cells import largest_exact, multiples, snap

TAIL = 0.01  # share of the rows that a range leaves out at each end
MIDDLE = (0.16, 0.84)  # quantiles that are two standard deviations apart where the numbers are normally distributed
# Where more rows than this share have the same number, the middle is that number and little else.
MOSTLY = 2.0 / 3.0
SPREAD_DIGITS = 6
LADDER = (5.0, 2.0, 1.0)  # steps are these, times powers of ten
MOST_DECIMALS = 6  # more, and the decimals are those of a measurement, not of how the value was written down
STEPS_PER_SPREAD = 1000.0  # of a measurement: finer advice than this is of no use to anybody
LEAST_SPREAD = 1e-12  # below, there are no steps
ON_THE_GRID = 0.95  # share of the distinct numbers that must be multiples of a step
MOST_NUMBERS = 5000  # of many distinct ones, so many are looked at
FEW_NUMBERS = 10  # so many distinct ones are multiples of 2 or 5 by chance


def spread_of_numbers(numbers: Array) -> float:
    """Half of the distance between the 16 % and the 84 % quantile of finite numbers (N,).

    Where more than two thirds of them are the same, the standard deviation of those between the 1 % and the 99 %
    quantile, else of all; 1 where none varies.
    """
    if not numbers.size:
        return 1.0
    low, high = np.quantile(numbers, MIDDLE)
    first, last = usual_ends(numbers)
    _, counts = np.unique(numbers, return_counts=True)
    middle = 0.0 if counts.max() > MOSTLY * numbers.size else float(high - low) / 2.0
    for spread in (middle, np.std(numbers[(first <= numbers) & (numbers <= last)]), np.std(numbers)):
        rounded = rounded_spread(float(spread))
        if np.isfinite(rounded) and rounded > 0.0:
            return rounded
    return 1.0


def rounded_spread(spread: float) -> float:
    """Return a spread with few digits: a schema is a file that people read."""
    return float(f"{spread:.{SPREAD_DIGITS}g}")


def usual_ends(numbers: Array) -> tuple[float, float]:
    """The 1 % and the 99 % quantile of some numbers (N,): the least and greatest unless there are more than 100."""
    first = np.quantile(numbers, TAIL, method="inverted_cdf")
    last = -np.quantile(-numbers, TAIL, method="inverted_cdf")
    return float(first) + 0.0, float(last) + 0.0


def usual_range(numbers: Array, step: float | None) -> tuple[float, float]:
    """The 1 % and the 99 % quantile of some numbers (N,), inwards to multiples of a step if there is one."""
    first, last = usual_ends(numbers)
    if step is None:
        return first, last
    inner = float(snap(first, step, "up")), float(snap(last, step, "down"))
    return inner if inner[0] <= inner[1] else (first, last)


def step_of(numbers: Array, spread: float, *, whole: bool, single: bool = False) -> float | None:
    """Greatest of the steps 1, 2 and 5 times a power of ten that numbers (N,) were written down with.

    A step is one of which 95 % of the distinct numbers are multiples. Of measurements, which have more than six
    decimals, it is about a thousandth of the spread.

    Parameters
    ----------
    numbers : ndarray of shape (N,)
        Finite.
    spread : float
        No step is larger; that of whole numbers is at least 1.
    whole : bool
        Whether steps must be whole numbers.
    single : bool
        Whether the numbers were stored in single precision, in which 0.1 has other digits.

    Returns
    -------
    float or None
        None where there is no number but zero.
    """
    distinct = np.unique(numbers[numbers != 0.0])
    if not distinct.size:
        return None
    distinct = distinct[np.linspace(0, len(distinct) - 1, min(len(distinct), MOST_NUMBERS)).astype(np.int64)]
    least = 0 if whole else -MOST_DECIMALS
    highest = math.floor(math.log10(spread)) if len(distinct) >= FEW_NUMBERS else 0
    for exponent in range(max(highest, 0), least - 1, -1):
        for digit in LADDER if len(distinct) >= FEW_NUMBERS else (1.0,):
            step = float(f"{digit:g}e{exponent}")
            if step <= spread and _is_grid(distinct, step, single=single):
                return step
    return 1.0 if whole else _fine_step(distinct, spread)


def _fine_step(distinct: Array, spread: float) -> float | None:
    """About a thousandth of a spread; more, where multiples of that are not exact for the largest numbers."""
    if spread < LEAST_SPREAD:
        return None
    step = float(f"1e{math.floor(math.log10(spread / STEPS_PER_SPREAD))}")
    while np.abs(distinct).max() >= largest_exact(step):
        step = float(f"{10.0 * step:.1g}")
    return step


def _is_grid(distinct: Array, step: float, *, single: bool) -> bool:
    """Return whether nearly all of some distinct numbers are multiples of a step."""
    precision = np.float32 if single else np.float64
    on_grid = multiples(np.rint(distinct / step), step).astype(precision) == distinct.astype(precision)
    return bool(on_grid.mean() >= ON_THE_GRID)
