"""`Limit`: how many of the promises may be broken, given as a count or as a share of them."""

import math
from dataclasses import dataclass
from typing import Any

from copa._core.reading import is_number, is_whole
from copa._core.words import shown
from copa.exceptions import InvalidInputError

ROUNDING = 1e-9  # of a share times a number of promises


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
        Which of the two it is.

    Examples
    --------
    >>> from copa.promises.limit import Limit
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
        """Return how many of so many promises may be broken."""
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
