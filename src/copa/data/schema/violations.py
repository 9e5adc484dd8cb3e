"""Judgement of given options by a schema: one option, one column, one rule at a time, in raw units.

Written for being read, and on purpose with nothing in common with the arrays that the search for options works on:
it is the judge of what that search delivers. Nothing here is rounded: whole numbers are whole numbers, and decimals are
the decimals that are printed, so that 0.1 is one tenth in a range, in a step and in the sum of a rule.
"""

import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import listed, shown
from copa.data.schema.columns import entries_of, read_table
from copa.data.schema.feature import Feature
from copa.data.schema.rules import LinearRule
from copa.data.schema.support import why_withheld
from copa.data.tables.cells import Scalar
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd


Row = Mapping[str, Any]
OBSERVED = " (99 % of the training rows have no {})"


@dataclass(frozen=True)
class Violation:
    """One way in which an option breaks a schema.

    Attributes
    ----------
    column : str
        What people call the column; "" where it is about several.
    constraint : str
        The field of a `Feature` or of a `FeatureSchema` that is not obeyed, or "values" for what no option can hold.
    limit : str
        What the constraint says.
    got : str
        What the option has instead, in the words of the column; "" where `limit` says it all.

    Examples
    --------
    >>> import pandas as pd
    >>> import copa
    >>> schema = copa.FeatureSchema([copa.Feature("savings", "numeric", lower=0, upper=9000, direction="increase")])
    >>> today, option = pd.DataFrame({"savings": [500.0]}), pd.DataFrame({"savings": [100.0]})
    >>> found = schema.find_violations(today, option)[0][0]
    >>> found.column, found.constraint, str(found)
    ('savings', 'direction', 'savings: may only increase from 500.0, got 100.0')
    """

    column: str
    constraint: str
    limit: str
    got: str = ""

    def sentence(self, instead: str = "got") -> str:
        """Return it in words, with what the option has instead behind the word `instead`."""
        where = f"{self.column}: " if self.column else ""
        return f"{where}{self.limit}{f', {instead} {self.got}' if self.got else ''}"

    def __str__(self) -> str:
        return self.sentence()


def read_origins(origin: Any, names: tuple[str, ...], n_options: int) -> "pd.DataFrame":
    """Read the applicants of some options from a Series or a DataFrame, one for all or one for each: a row for each."""
    import pandas as pd

    table = read_table(origin.to_frame().T if isinstance(origin, pd.Series) else origin, names, "origin")
    if len(table) not in {1, n_options}:
        raise InvalidInputError(
            f"origin must be one applicant, or one row for each of the {n_options} options, got {len(table)} rows; "
            "pass X.iloc[[i]]"
        )
    return table if len(table) == n_options else table.iloc[np.zeros(n_options, dtype=np.int64)]


def rows_of(table: "pd.DataFrame") -> Iterator[Row]:
    """Yield every row as a mapping from column to value, each in the type of its column."""
    columns = {name: entries_of(table[name]) for name in table}
    for i in range(len(table)):
        yield {name: column[i] for name, column in columns.items()}


def change_violations(changed: list[str], max_changes: int | None) -> list[Violation]:
    """Say whether an option changes more columns than it may, by their headings."""
    if max_changes is None or len(changed) <= max_changes:
        return []
    limit = f"changes {len(changed)} columns ({', '.join(changed)}), at most {max_changes} are allowed"
    return [Violation("", "max_changes", limit)]


def _is_missing(value: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _is_number(value: Any) -> bool:
    if isinstance(value, np.timedelta64) or not isinstance(value, (numbers.Real, Decimal, np.bool_)):
        return False  # a duration is an integer to numpy
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def exact(value: Any) -> Fraction:
    """Return a finite number as it is printed: 0.1 is one tenth, also in single precision."""
    if isinstance(value, (float, np.floating)):
        return _decimal(str(value))
    return Fraction(int(value)) if isinstance(value, (int, np.integer, np.bool_)) else Fraction(value)


@lru_cache(maxsize=2**16)
def _decimal(text: str) -> Fraction:
    return Fraction(text)


def _position(feature: Feature, value: Any) -> int | None:
    """Position of the feature's value that it is: by value, else by text if one of the two is text."""
    if _is_missing(value):
        return None
    for i, known in enumerate(feature.values or ()):
        if isinstance(known, str) == isinstance(value, str) and known == value:
            return i
    for i, known in enumerate(feature.values or ()):
        if isinstance(known, str) != isinstance(value, str) and _text(known) == _text(value):
            return i
        if isinstance(value, np.floating) and _text(known) == _text(value):  # 0.1 stored in single precision
            return i
    return None


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, (float, np.floating)) and float(value).is_integer() else str(value)


def is_unchanged(feature: Feature, own: Any, new: Any) -> bool:
    """Return whether an option leaves a value as it is: exactly, without any tolerance."""
    if _is_missing(own) or _is_missing(new):
        return _is_missing(own) and _is_missing(new)
    if feature.is_categorical and _position(feature, own) is not None:
        return _position(feature, own) == _position(feature, new)
    if _is_number(own) and _is_number(new):
        return exact(own) == exact(new)
    return bool(own == new)


def column_violations(feature: Feature, own: Any, new: Any) -> list[Violation]:
    """Say in what the value of one column breaks the schema; its rules and the number of changes are not looked at.

    A value that is the applicant's own is a fact and no advice: it breaks nothing, even outside the range. A missing
    value stays so, or leaves for any allowed one where the schema says that it may.
    """
    if feature.immutable:
        if is_unchanged(feature, own, new):
            return []
        return [Violation(feature.heading, "immutable", f"is immutable at {_said(feature, own)}", _said(feature, new))]
    if _is_missing(new):
        return [] if _is_missing(own) else [Violation(feature.heading, "missing", "must not become missing")]
    if _is_missing(own) and feature.missing == "stay":
        return [Violation(feature.heading, "missing", "is missing, and may not change", _said(feature, new))]
    judge = _numeric_violations if feature.is_numeric else _categorical_violations
    return [Violation(feature.heading, *parts) for parts in judge(feature, own, new)]


def _numeric_violations(feature: Feature, own: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Yield constraint, limit and what is there instead."""
    if not _is_number(new):
        yield "values", "must be a finite number", shown(new)
        return
    if not _is_number(own) and not _is_missing(own):
        yield "values", "the applicant's own value must be a finite number", shown(own)
        return
    if is_unchanged(feature, own, new):
        return
    got = _number(feature, new)
    if _is_special(feature, new):
        yield "special", f"must not change to the special code {got}", ""
        return
    yield from _range_violations(feature, new)
    if not _is_missing(own) and not _is_special(feature, own):
        yield from _distance_violations(feature, own, new)
    if feature.step is not None and exact(new) % exact(feature.step) != 0:
        yield "step", f"may only change to multiples of {feature.step:g}", got


def _is_special(feature: Feature, value: Any) -> bool:
    return any(exact(code) == exact(value) for code in feature.special)


def _distance_violations(feature: Feature, own: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with the way from one amount to another."""
    before, after = exact(own), exact(new)
    start, got = _number(feature, own), _number(feature, new)
    if feature.direction == "increase" and after < before:
        yield "direction", f"may only increase from {start}", got
    if feature.direction == "decrease" and after > before:
        yield "direction", f"may only decrease from {start}", got
    if isinstance(feature.max_change, Mapping):
        for side, word, way in (("up", "increase", after - before), ("down", "decrease", before - after)):
            most = feature.max_change.get(side)
            if most is not None and way > exact(most):
                yield "max_change", f"may {word} by at most {most:.15g} from {start}", got
    elif feature.max_change is not None:
        share = exact(feature.max_change)
        if abs(after - before) > share * abs(before):
            yield "max_change", f"may change by at most {float(100 * share):.15g} % of {start}", got


def _categorical_violations(feature: Feature, own: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Yield constraint, limit and what is there instead."""
    values = feature.values or ()
    here, there = _position(feature, own), _position(feature, new)
    if there is None:
        yield "values", f"must be one of {_listed(feature, values)}", shown(new)
        return
    if here is None and not _is_missing(own):
        yield "values", f"the applicant's own value must be one of {_listed(feature, values)}", shown(own)
        return
    if here == there:
        return
    got = _said(feature, new)
    if feature.lower is not None or feature.upper is not None:
        yield from _range_violations(feature, values[there])
    if feature.allowed is not None and values[there] not in feature.allowed:
        yield "allowed", f"may only change to {_listed(feature, feature.allowed)}", got
    if values[there] in feature.withheld:
        yield "withheld", f"{got} {why_withheld(feature, values[there])}", ""
    if here is not None:
        for constraint, limit in _move_violations(feature, here, there):
            yield constraint, limit, got


def _move_violations(feature: Feature, here: int, there: int) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the way from one of a column's values to another, by their positions."""
    values = feature.values or ()
    start = _said(feature, values[here])
    if feature.transitions is not None and values[here] in feature.transitions:
        targets = feature.transitions[values[here]]
        if values[there] not in targets:
            yield "transitions", f"may only change from {start} to {_listed(feature, targets)}"
    onwards = {"increase": values[here + 1 :], "decrease": values[:here]}.get(feature.direction, values)
    if values[there] not in onwards and feature.direction != "both":
        increase_or_decrease = f"{feature.direction} from {start}"
        # Words for values have their own up and down: "increase" could be read either way.
        yield "direction", f"may only {_way(feature, start, onwards) if feature.labels else increase_or_decrease}"
    if isinstance(feature.max_change, Mapping):
        up, down = (feature.max_change.get(side, math.inf) for side in ("up", "down"))
        near = tuple(value for k, value in enumerate(values) if 0 < k - here <= up or 0 < here - k <= down)
        if values[there] not in near:
            yield "max_change", f"may only {_way(feature, start, near)}"


def _way(feature: Feature, start: str, targets: tuple[Scalar, ...]) -> str:
    return f"change from {start} to {_listed(feature, targets)}" if targets else f"stay at {start}"


def _range_violations(feature: Feature, new: Any) -> Iterator[tuple[str, str, str]]:
    if feature.lower is not None and exact(new) < exact(feature.lower):
        usual = OBSERVED.format("less") if "lower" in feature.observed else ""
        yield "lower", f"must be at least {feature.lower:.15g}{usual}", _number(feature, new)
    if feature.upper is not None and exact(new) > exact(feature.upper):
        usual = OBSERVED.format("more") if "upper" in feature.observed else ""
        yield "upper", f"must be at most {feature.upper:.15g}{usual}", _number(feature, new)


def _said(feature: Feature, value: Any) -> str:
    """Return a value in people's words, or as it is written."""
    label = feature.label_of(value)
    return shown(value if label is None else label)


def _number(feature: Feature, value: Any) -> str:
    """Return a number in people's words, or with the decimals it has."""
    label = feature.label_of(value)
    return str(value) if label is None else shown(label)


def _listed(feature: Feature, values: tuple[Scalar, ...]) -> str:
    return listed([feature.labels.get(value, value) for value in values])


def rule_violations(rule: LinearRule, features: Mapping[str, Feature], option: Row) -> list[Violation]:
    """Say whether an option breaks a rule: the exact sum of the decimals that are printed.

    A rule is about amounts: it does not apply to an option that has a special code in one of its columns.
    """
    if any(_is_number(option[name]) and _is_special(features[name], option[name]) for name in rule.coefficients):
        return []
    total, limit = Fraction(0), exact(rule.upper)
    for name, coefficient in rule.coefficients.items():
        value = option[name]
        if features[name].is_categorical:
            position = _position(features[name], value)
            value = None if position is None else (features[name].values or ())[position]
        if not _is_number(value):
            return [Violation("", "rules", f"rule {rule.text}: {name} must be a number", shown(option[name]))]
        total += exact(coefficient) * exact(value)
    if total <= limit:
        return []
    reached, allowed = f"{float(total):.15g}", f"{rule.upper:.15g}"
    excess = f" by {float(total - limit):.2g}" if reached == allowed else ""
    return [Violation("", "rules", f"rule {rule.text} does not hold: {reached} is above {allowed}{excess}")]
