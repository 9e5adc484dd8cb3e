"""One option by itself: the worst-case probability in closed form."""

import numpy as np

from copa.arrays import Array


def single_option_lower(mean: Array, spread: Array, reach: Array) -> Array:
    """Least probability that a score is positive, over all distributions in the ball.

    With the score's nominal mean m and standard deviation s, and its reach r (how far the whole radius can move
    it), the bound is sin^2(max(0, atan2(m, s) - asin(min(1, r / hypot(m, s))))): Cantelli's m^2 / (m^2 + s^2) at
    r = 0, and zero as soon as m <= r (docs/theory.md, "One option"). Broadcasts over its arguments.

    Parameters
    ----------
    mean, spread, reach : arrays of one shape (...,)

    Returns
    -------
    (...,) probabilities
    """
    length = np.hypot(mean, spread)
    with np.errstate(invalid="ignore", divide="ignore"):
        tilt = np.arcsin(np.minimum(1.0, np.where(length > 0.0, reach / length, 1.0)))
    angle = np.where(mean > reach, np.maximum(0.0, np.arctan2(mean, spread) - tilt), 0.0)
    lower: Array = np.sin(angle) ** 2
    return lower
