"""Days of promises: read from dates, text and points in time, all in UTC; the last day of a span."""

import calendar
import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from copa._core.words import shown
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

_SPAN = re.compile(r"\s*([0-9]{1,5})\s*(day|week|month|year)s?\s*")


def now() -> datetime:
    """Return the time, in UTC: the clock of the ledger."""
    return datetime.now(UTC)


def today() -> date:
    """Return today's date, in UTC."""
    return now().date()


def read_day(as_of: Any, name: str = "as_of") -> date:
    """Return a date, given as one, as a point in time, or as text like 2026-11-18; None is today, in UTC."""
    if as_of is None:
        return today()
    day = _as_day(as_of)
    if day is None:
        raise InvalidInputError(f"{name} must be a date, such as 2026-11-18, got {shown(as_of)}")
    return day


def days_of(cells: "Iterable[Any]") -> list[date | None]:
    """Return the day of each cell of a table, that in UTC of a point in time; None where a cell holds none."""
    cells = list(cells)
    days = {cell: _day_of_cell(cell) for cell in dict.fromkeys(cells)}  # few different ones among many
    return [days[cell] for cell in cells]


def _day_of_cell(cell: Any) -> date | None:
    if not isinstance(cell, str):
        return _as_day(cell)
    try:
        return _as_day(datetime.fromisoformat(cell.strip()))
    except ValueError:
        return None


def _as_day(given: Any) -> date | None:
    """Return a date, None for what is none: pandas' NaT is a datetime that is not itself."""
    if isinstance(given, date):
        if given != given:  # noqa: PLR0124
            return None
        if not isinstance(given, datetime):
            return given
        try:
            return given.date() if given.tzinfo is None else given.astimezone(UTC).date()
        except OverflowError:  # an hour before the first or after the last year that dates have
            return given.date()
    try:
        return date.fromisoformat(given)
    except (TypeError, ValueError):
        return None


def read_past_day(as_of: Any, name: str = "as_of") -> date:
    """Return a day as `read_day` does; one that has not come is refused: nobody knows what happens until then."""
    day = read_day(as_of, name)
    if day > today():
        raise InvalidInputError(f"{name} is {day}, which has not come: today is {today()}, in UTC")
    return day


def read_end(valid_for: Any, made: date) -> date:
    """Return the last day of a promise: given as a span, as text such as "12 months", or as the day itself."""
    end = _end(valid_for, made)
    if end is None:
        raise InvalidInputError(
            f'valid_for must be a span such as "12 months" or "90 days", a timedelta, or a date, got {shown(valid_for)}'
        )
    if end < made:
        raise InvalidInputError(f"the promise would end on {end}, before it is made on {made}; give a later date")
    return end


def _end(valid_for: Any, made: date) -> date | None:  # noqa: PLR0911 - one per way to say it
    try:
        if isinstance(valid_for, timedelta):
            return made + valid_for
        if isinstance(valid_for, date):
            return _as_day(valid_for)
        if not isinstance(valid_for, str):
            return None
        span = _SPAN.fullmatch(valid_for.lower())
        if span is None:
            return date.fromisoformat(valid_for.strip())
        number, unit = int(span[1]), span[2]
        if unit in ("day", "week"):
            return made + timedelta(days=number * (7 if unit == "week" else 1))
        return _months_later(made, number * (12 if unit == "year" else 1))
    except (OverflowError, ValueError):
        return None


def _months_later(day: date, months: int) -> date:
    """Return the same day of a later month, or its last one where there is none."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
