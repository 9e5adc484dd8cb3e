"""The worst distribution of one score, found numerically: no inequality of a textbook is used.

A unimodal distribution is a mixture of uniform ones between its mode and another point (Khinchin), so that the least
probability of a positive score with given moments is a linear program for each mode.
"""

import numpy as np
from scipy.optimize import linprog, minimize_scalar
from scipy.special import ndtr


def least_probability(family, mean, std, n=1201):
    """Return the least P(score > 0) over distributions of a family with this mean and standard deviation."""
    if family == "gaussian":
        return float(ndtr(mean / std))
    far = 3.0 * (mean + std**2 / mean)  # beyond twice the second moment per mean, pieces only cost
    ends = np.unique(np.concatenate([np.linspace(-far, 0.0, n // 2), np.linspace(0.0, far, n // 2)]))
    if family == "any":
        return _program(mean, std, ends, ends**2, ends > 0.0)
    return min(_unimodal(mean, std, ends, mode) for mode in _modes(mean, std, ends))


def _modes(mean, std, ends):
    coarse = np.linspace(-0.5, 1.5, 41) * (mean + std**2 / mean)
    best = min(coarse, key=lambda mode: _unimodal(mean, std, ends, mode))
    step = coarse[1] - coarse[0]
    found = minimize_scalar(
        lambda mode: _unimodal(mean, std, ends, mode), bounds=(best - step, best + step), method="bounded"
    )
    return [best, float(found.x), 0.0]


def _unimodal(mean, std, ends, mode):
    """Mixture of uniform distributions between a mode and each of the ends, and the mode itself."""
    low, high = np.minimum(ends, mode), np.maximum(ends, mode)
    length = high - low
    with np.errstate(invalid="ignore", divide="ignore"):
        positive = np.where(length > 0.0, np.clip(high, 0.0, None) - np.clip(low, 0.0, None), 0.0) / length
    positive = np.where(length > 0.0, positive, mode > 0.0)
    square = (low**2 + low * high + high**2) / 3.0
    # The mode itself, a uniform distribution of no length.
    return _program(
        mean, std, np.append((low + high) / 2.0, mode), np.append(square, mode**2), np.append(positive, mode > 0.0)
    )


def _program(mean, std, means, squares, positive):
    """Least total of `positive` over weights whose mixture has the moments; infinite where there is none."""
    equalities = np.array([np.ones_like(means), means, squares])
    found = linprog(np.asarray(positive, dtype=float), A_eq=equalities, b_eq=[1.0, mean, mean**2 + std**2])
    return float(found.fun) if found.status == 0 else np.inf


def least_over_disc(family_level, mean, std, reach, n=4001):
    """Return the least family_level(mean'/std') over moments (mean', std') in the disc of radius `reach`."""
    turns = np.linspace(0.0, 2.0 * np.pi, n)

    def value(turn, share=1.0):
        spread = std + share * reach * np.sin(turn)
        score = mean + share * reach * np.cos(turn)
        return family_level(score, spread) if spread > 0.0 else float(score > 0.0)

    grid = np.array([[value(turn, share) for turn in turns[::8]] for share in (0.0, 0.5, 1.0)])
    first = turns[::8][int(np.argmin(grid[-1]))]
    step = 16 * np.pi / n * 2
    found = minimize_scalar(value, bounds=(first - step, first + step), method="bounded", options={"xatol": 1e-10})
    return min(float(found.fun), float(grid.min()))
