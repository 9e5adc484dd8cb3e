"""Days of promises: as they are given, and whether they have come."""

from datetime import UTC, date, datetime
from typing import Any

from copa._core.words import shown
from copa.exceptions import InvalidInputError


def today() -> date:
    """Today's date, in UTC."""
    return datetime.now(UTC).date()


def read_day(as_of: Any, name: str = "as_of") -> date:
    """Return a date, given as one, as a point in time, or as text like 2026-11-18; None is today, in UTC."""
    if as_of is None:
        return today()
    try:
        if isinstance(as_of, datetime):
            return as_of.date()
        return as_of if isinstance(as_of, date) else date.fromisoformat(as_of)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be a date, such as 2026-11-18, got {shown(as_of)}") from None


def read_past_day(as_of: Any, name: str = "as_of") -> date:
    """Return a day as `read_day` does; one that has not come is refused: nobody knows what happens until then."""
    day = read_day(as_of, name)
    if day > today():
        raise InvalidInputError(f"{name} is {day}, which has not come: today is {today()}, in UTC")
    return day
