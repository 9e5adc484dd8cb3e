"""The interval of a share that was counted among people with several promises each."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    from copa._core.arrays import Array

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """Ends of an interval.

    Attributes
    ----------
    low, high : float
    """

    low: float
    high: float


def clopper_pearson(count: float, size: float, confidence: float = CONFIDENCE) -> Interval:
    """Exact interval of the probability behind a count of successes in independent trials.

    Parameters
    ----------
    count : float
        Successes, from 0 to `size`; need not be whole (see `effective_size`).
    size : float
        Trials, above 0.
    confidence : float
        That the interval covers the probability.

    Returns
    -------
    Interval

    Examples
    --------
    >>> from copa.promises.share_interval import clopper_pearson
    >>> clopper_pearson(0, 60).high.__round__(4)
    0.0596
    """
    from scipy.stats import beta

    if not 0.0 <= count <= size or size <= 0.0:
        raise InvalidInputError(f"count must be from 0 to size, which is positive, got {count:g} of {size:g}")
    rest = 0.5 * (1.0 - confidence)
    low = 0.0 if count <= 0.0 else float(beta.ppf(rest, count, size - count + 1.0))
    high = 1.0 if count >= size else float(beta.ppf(1.0 - rest, count + 1.0, size - count))
    return Interval(low, high)


def effective_size(flags: npt.NDArray[np.bool_], owner: npt.NDArray[np.integer]) -> float:
    """How many independent trials a share among people with several promises each is worth.

    The promises of one person are accepted or refused together. The variance of the share over people, against that of
    independent promises, says how much fewer they are. Where people do not differ more than independent promises would
    make them, all promises count, also where everybody has the same share; where all or none are true nothing is seen
    of it, and a person counts as one trial.

    Parameters
    ----------
    flags : ndarray of bool of shape (n,)
    owner : ndarray of int of shape (n,)
        Whose promise each is, any numbers.

    Returns
    -------
    float
        From 1 to n.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.promises.share_interval import effective_size
    >>> effective_size(np.array([True, True, False, False] * 50), np.repeat(np.arange(100), 2)).__round__()
    99
    """
    n = flags.size
    _, place = np.unique(owner, return_inverse=True)
    people = int(place.max()) + 1
    share = float(flags.mean())
    if people == n:
        return float(n)
    if share in (0.0, 1.0) or people == 1:
        return float(people)
    sizes = np.bincount(place).astype(np.float64)
    off: Array = np.bincount(place, weights=flags) - share * sizes
    variance = float((off**2).sum()) / n**2 * people / (people - 1.0)
    independent = share * (1.0 - share)
    return float(n) if variance * n <= independent else max(1.0, independent / variance)


def share_interval(
    flags: npt.NDArray[np.bool_], owner: npt.NDArray[np.integer], confidence: float = CONFIDENCE
) -> Interval:
    """Interval of a share among other people of the same kind: Clopper and Pearson's, for the effective size.

    Parameters
    ----------
    flags : ndarray of bool of shape (n,)
    owner : ndarray of int of shape (n,)
        Whose promise each is.
    confidence : float

    Returns
    -------
    Interval

    Examples
    --------
    >>> import numpy as np
    >>> from copa.promises.share_interval import share_interval
    >>> alone = share_interval(np.arange(60) < 6, np.arange(60))
    >>> in_threes = share_interval(np.arange(60) < 6, np.arange(60) // 3)
    >>> in_threes.low < alone.low < 0.1 < alone.high < in_threes.high
    True
    """
    size = effective_size(flags, owner)
    return clopper_pearson(float(flags.mean()) * size, size, confidence)
