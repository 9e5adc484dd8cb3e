"""The share of promises that may be broken, and the interval of a share that was counted.

A person may hold several promises, which one model keeps or breaks together; the interval counts them accordingly.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.reading import is_number, is_whole
from copa._core.words import shown
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    from copa._core.arrays import Array

ROUNDING = 1e-9  # of a share times a number of promises
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Limit:
    """Most promises that may be broken.

    Parameters
    ----------
    given : str
        As it was given.
    value : float
        Number of promises, or share of them.
    is_share : bool
        True for a share.

    Examples
    --------
    >>> from copa.promises.broken_share import Limit
    >>> [Limit.read(given).of(200) for given in (1, "1", 0.01, "1%", "100%")]
    [1, 1, 2, 2, 200]
    """

    given: str
    value: float
    is_share: bool

    @classmethod
    def read(cls, max_broken: Any) -> "Limit":
        """Read a limit: a whole number is a count, a fraction below 1 or a percentage is a share.

        1.0 is refused, because it could mean one promise or all of them.

        Parameters
        ----------
        max_broken : int, float or str
            As a number, or as the command line has it: "3", "0.02" or "2%".

        Raises
        ------
        InvalidInputError
            If it is neither a count nor a share.
        """
        limit = _of_text(max_broken.strip()) if isinstance(max_broken, str) else _of_number(max_broken)
        if limit is None:
            raise InvalidInputError(
                "max_broken must be a whole number of promises such as 3, or a share of them below 1 such as 0.02 or "
                f"'2%', got {shown(max_broken)}"
            )
        return limit

    def of(self, n_promises: int) -> int:
        """Return the number of promises that may be broken, of all that there are."""
        return math.floor(self.value * n_promises + ROUNDING) if self.is_share else int(self.value)

    def in_words(self, n_promises: int) -> str:
        """Return the limit and where it comes from."""
        n_allowed = self.of(n_promises)
        limit = f"at most {n_allowed:,} may be broken" if n_allowed else "none may be broken"
        why = f", a share of {n_promises:,}" if self.is_share else ", the default" if n_allowed == 0 else ""
        return f"{limit} (max_broken={self.given}{why})"


def _of_number(given: Any) -> Limit | None:
    if is_whole(given) and given >= 0:
        return Limit(str(int(given)), int(given), is_share=False)
    if is_number(given) and not is_whole(given) and 0.0 <= given < 1.0:
        return Limit(f"{float(given):g}", float(given), is_share=True)
    return None


def _of_text(given: str) -> Limit | None:
    """Read what a command line is given."""
    if given.isdecimal():
        return _of_number(int(given))
    is_percentage = given.endswith("%")
    try:
        number = float(given.removesuffix("%"))
    except ValueError:
        return None
    share = number / 100.0 if is_percentage else number
    inside = 0.0 <= share <= 1.0 if is_percentage else 0.0 <= share < 1.0
    return Limit(given, share, is_share=True) if inside else None


class Interval(NamedTuple):
    """Ends of an interval.

    Attributes
    ----------
    low, high : float
    """

    low: float
    high: float


def clopper_pearson(count: float, size: float, confidence: float = CONFIDENCE) -> Interval:
    """Return the exact interval of the probability behind a count of successes in independent trials.

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
    >>> from copa.promises.broken_share import clopper_pearson
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
    """Return the number of independent trials that a share among people with several promises each is worth.

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
    >>> from copa.promises.broken_share import effective_size
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
    """Return the interval of a share among other people of the same kind: Clopper and Pearson's, at the effective size.

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
    >>> from copa.promises.broken_share import share_interval
    >>> alone = share_interval(np.arange(60) < 6, np.arange(60))
    >>> in_threes = share_interval(np.arange(60) < 6, np.arange(60) // 3)
    >>> in_threes.low < alone.low < 0.1 < alone.high < in_threes.high
    True
    """
    size = effective_size(flags, owner)
    return clopper_pearson(float(flags.mean()) * size, size, confidence)
