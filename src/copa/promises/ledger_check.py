"""`LedgerCheck`: what the verification of a ledger found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LedgerCheck:
    """What `Ledger.verify` found.

    Parameters
    ----------
    ok : bool
        Whether nothing is wrong.
    first_bad : int or None
        Number of the first event that was changed, removed or put elsewhere; None where no event is.
    events : int
        Events that were checked.
    message : str
        What is wrong, in words; "" if nothing is.
    checkpoint : str
        Number of events and digest of the last one, for `verify(expect=...)` later; "" if something is wrong.

    Examples
    --------
    >>> from copa.promises import LedgerCheck
    >>> LedgerCheck(ok=False, first_bad=17, events=16, message="event 17 was changed").first_bad
    17
    """

    ok: bool
    first_bad: int | None
    events: int
    message: str = ""
    checkpoint: str = ""

    def __bool__(self) -> bool:
        return self.ok
