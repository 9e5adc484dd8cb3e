"""Whether an option is allowed, by exact arithmetic on what is printed: nothing of `copa.data.schema` is used.

It reads the fields of a schema, and knows none of the code that judges or searches by them.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd


def printed(cell: Any) -> Fraction:
    """A number as a person reads it: whole numbers as such, decimals by their digits."""
    return Fraction(int(cell)) if isinstance(cell, (int, np.integer, bool, np.bool_)) else Fraction(str(cell))


def refusals(schema: Any, origins: pd.DataFrame, options: pd.DataFrame) -> list[str]:
    """What is wrong with options (M rows) for the applicants in the same rows of `origins`, one text per fault."""
    before, after = _cells(origins), _cells(options)
    found = []
    for row in range(len(options)):
        own = {name: column[row] for name, column in before.items()}
        new = {name: column[row] for name, column in after.items()}
        found += [f"row {row}: {fault}" for fault in _faults(schema, own, new)]
    return found


def rare_targets(schema: Any, training: pd.DataFrame, origins: pd.DataFrame, options: pd.DataFrame) -> list[str]:
    """Moves to a value that fewer than 15 training rows have, where the schema does not offer such; one text each."""
    found = []
    for feature in schema.features:
        if feature.kind in ("numeric", "integer") or feature.rare == "offer":
            continue
        seen = list(training[feature.name])
        before, after = list(origins[feature.name]), list(options[feature.name])
        for row, (own, new) in enumerate(zip(before, after, strict=True)):
            n_rows = sum(entry == new for entry in seen)
            if own != new and not pd.isna(new) and n_rows < 15:
                found.append(f"row {row}: {feature.name} to {new!r}, {n_rows} training rows")
    return found


def _cells(table: pd.DataFrame) -> dict[str, list[Any]]:
    return {name: [table[name].array[i] for i in range(len(table))] for name in table.columns}


def _faults(schema: Any, own: dict[str, Any], new: dict[str, Any]) -> list[str]:
    described = {feature.name: feature for feature in schema.features}
    changed = [name for name in own if not _equal(described.get(name), own[name], new[name])]
    found = [f"{name} is not in the schema" for name in changed if name not in described]
    for name in changed:
        if name in described:
            fault = _change_fault(described[name], own[name], new[name])
            found += [f"{name} from {own[name]!r} to {new[name]!r}: {fault}"] if fault else []
    for rule in schema.rules:
        if any(_is_special(described[name], new[name]) for name in rule.coefficients):
            continue  # a code is no amount: the rule does not apply
        if any(_is_missing(new[name]) for name in rule.coefficients):
            found.append(f"rule {rule.text}: a missing value")
            continue
        terms = [
            printed(weight) * printed(_number(described[name], new[name])) for name, weight in rule.coefficients.items()
        ]
        if sum(terms) > printed(rule.upper):
            found.append(f"rule {rule.text}: {float(sum(terms))!r}")
    if schema.max_changes is not None and len(changed) > schema.max_changes:
        found.append(f"{len(changed)} changes")
    return found


def _is_missing(cell: Any) -> bool:
    return cell is None or cell is pd.NA or cell != cell  # noqa: PLR0124 - NaN is not itself


def _is_special(feature: Any, cell: Any) -> bool:
    return not _is_missing(cell) and any(printed(cell) == printed(code) for code in feature.special)


def _is_irregular(feature: Any, cell: Any) -> bool:
    """Whether a cell is missing or a special code."""
    return _is_missing(cell) or _is_special(feature, cell)


def _equal(feature: Any, own: Any, new: Any) -> bool:
    if _is_missing(own) or _is_missing(new):
        return _is_missing(own) and _is_missing(new)
    if feature is not None and feature.kind in ("numeric", "integer"):
        return printed(own) == printed(new)
    return bool(own == new)


def _position(feature: Any, cell: Any) -> int:
    return next((k for k, value in enumerate(feature.values) if value == cell), -1)


def _number(feature: Any, cell: Any) -> Any:
    return cell if feature.kind in ("numeric", "integer") else feature.values[_position(feature, cell)]


def _change_fault(feature: Any, own: Any, new: Any) -> str:
    """What is wrong with a value that was changed, "" if nothing."""
    if feature.immutable:
        return "immutable"
    if _is_missing(new):
        return "becomes missing"
    if _is_missing(own) and feature.missing == "stay":
        return "does not stay missing"
    is_numeric = feature.kind in ("numeric", "integer")
    if not is_numeric and _position(feature, new) < 0:
        return "no value of the column"
    if _is_irregular(feature, new):
        return "becomes a special code"
    value = printed(_number(feature, new)) if feature.lower is not None or feature.upper is not None else Fraction(0)
    faults = {
        "below the range": feature.lower is not None and value < printed(feature.lower),
        "above the range": feature.upper is not None and value > printed(feature.upper),
        "off the step": feature.step is not None and (printed(new) / printed(feature.step)).denominator != 1,
        "not allowed": feature.allowed is not None and new not in feature.allowed,
        "withheld": new in feature.withheld,
    }
    if not _is_irregular(feature, own):
        way = printed(new) - printed(own) if is_numeric else _position(feature, new) - _position(feature, own)
        up, down = _farthest(feature, own)
        faults |= {
            "not upwards": feature.direction == "increase" and way < 0,
            "not downwards": feature.direction == "decrease" and way > 0,
            "no such transition": not is_numeric and new not in _targets(feature, own),
            "too far": (up is not None and way > up) or (down is not None and -way > down),
        }
    return ", ".join(fault for fault, is_there in faults.items() if is_there)


def _farthest(feature: Any, own: Any) -> tuple[Fraction | None, Fraction | None]:
    """How far up and down a value may go, None where there is no limit."""
    if feature.max_change is None:
        return None, None
    if isinstance(feature.max_change, float):
        return (printed(feature.max_change) * abs(printed(own)),) * 2
    up, down = (feature.max_change.get(side) for side in ("up", "down"))
    return None if up is None else printed(up), None if down is None else printed(down)


def _targets(feature: Any, own: Any) -> Any:
    return (feature.transitions or {}).get(feature.values[_position(feature, own)], feature.values)
