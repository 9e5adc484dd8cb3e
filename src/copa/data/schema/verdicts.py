"""Verdicts of `violations` on many options, with each distinct pair of cells judged once."""

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.data.schema.columns import Codes, Flags, ReadColumn, ReadTable, entries_of
from copa.data.schema.feature import Feature
from copa.data.schema.rules import LinearRule
from copa.data.schema.violations import (
    Violation,
    change_violations,
    column_violations,
    exact,
    is_unchanged,
    rows_of,
    rule_violations,
)

if TYPE_CHECKING:
    import pandas as pd


# A sum of floats this close to the limit of its rule, relative to its terms, is done again in exact arithmetic. It is
# far more than the sum can be off, single precision included; half precision is less than that (`_is_precise`).
IN_DOUBT = 1e-5
SINGLE = 4  # bytes of a number in single precision
OF_ONE_KIND = ("string", "integer", "floating", "boolean")  # objects among which equal ones are the same


def obeying(
    features: tuple[Feature, ...],
    rules: tuple[LinearRule, ...],
    max_changes: int | None,
    origins: ReadTable,
    options: ReadTable,
    owner: Indices | None = None,
) -> Flags:
    """Return whether each option (M rows) obeys the schema for its applicant, (M,).

    That is the one in the row `owner` (M,) of `origins`, or in the same row.
    """
    good = np.ones(len(options), dtype=np.bool_)
    changes = np.zeros(len(options), dtype=np.int64)
    for feature in features:
        fine, changed = _judge_column(feature, origins[feature.name], options[feature.name], owner)
        good &= fine
        changes += changed
    if max_changes is not None:
        good &= changes <= max_changes
    by_name = {feature.name: feature for feature in features}
    for rule in rules:
        some = options if good.all() else options.take(np.flatnonzero(good))
        good[good] = _holds(rule, by_name, some)
    return good


def violations_of_each(
    features: tuple[Feature, ...],
    rules: tuple[LinearRule, ...],
    max_changes: int | None,
    origins: ReadTable,
    options: ReadTable,
) -> list[list[Violation]]:
    """Say in what each option (M rows) breaks the schema; only those that do are put into words."""
    violations: list[list[Violation]] = [[] for _ in range(len(options))]
    changed = np.zeros((len(options), len(features)), dtype=np.bool_)
    for k, feature in enumerate(features):
        own, new = origins[feature.name], options[feature.name]
        fine, changed[:, k] = _judge_column(feature, own, new)
        bad = np.flatnonzero(~fine)
        cells = zip(entries_of(own.series.iloc[bad]), entries_of(new.series.iloc[bad]), strict=True)
        for i, (before, after) in zip(bad.tolist(), cells, strict=True):
            violations[i] += column_violations(feature, before, after)
    by_name = {feature.name: feature for feature in features}
    for rule in rules:
        broken = np.flatnonzero(~_holds(rule, by_name, options))
        rows = rows_of(options.frame[list(rule.coefficients)].iloc[broken])
        for i, row in zip(broken.tolist(), rows, strict=True):
            violations[i] += rule_violations(rule, by_name, row)
    for i in np.flatnonzero(changed.sum(axis=1) > max_changes).tolist() if max_changes is not None else []:
        headings = [features[k].heading for k in np.flatnonzero(changed[i])]
        violations[i] += change_violations(headings, max_changes)
    return violations


def _judge_column(
    feature: Feature, origins: ReadColumn, options: ReadColumn, owner: Indices | None = None
) -> tuple[Flags, Flags]:
    """Return whether the values of one column are allowed, and whether they are changes, (M,) both."""
    of_numbers = judge_numbers(feature, origins.series, options.series, owner)
    if of_numbers is not None:
        return of_numbers
    before, owns = _distinct(origins)
    before = before if owner is None else before[owner]
    after, news = _distinct(options)
    pairs, which = np.unique(before * len(news) + after, return_inverse=True)
    fine, changed = np.ones(len(pairs), dtype=np.bool_), np.zeros(len(pairs), dtype=np.bool_)
    for k, pair in enumerate(pairs.tolist()):
        own, new = owns[pair // len(news)], news[pair % len(news)]
        if type(own) is type(new) and own == new and feature.index.position(new) >= 0:
            continue  # one of the values, and the same cell
        fine[k] = not column_violations(feature, own, new)
        changed[k] = not is_unchanged(feature, own, new)
    return fine[which], changed[which]


def _distinct(column: ReadColumn) -> tuple[Codes, list[Any]]:
    """For each row which of a list of entries it holds; a missing one is the last of them."""
    from pandas.api.types import infer_dtype, is_object_dtype

    if is_object_dtype(column.dtype) and infer_dtype(column.series, skipna=True) not in OF_ONE_KIND:
        # 1, 1.0 and True are equal, and may be spelled for different values.
        return np.arange(len(column)), list(column.series)
    positions, distinct = column.entries
    return np.where(positions < 0, len(distinct), positions), [*distinct, None]


def _holds(rule: LinearRule, features: Mapping[str, Feature], options: ReadTable) -> Flags:
    """Return whether options obey a rule, (M,); one with a special code in a column of the rule does."""
    total, size = np.full(len(options), -rule.upper), np.full(len(options), abs(rule.upper))
    for name, coefficient in rule.coefficients.items():
        term = coefficient * _numbers(features[name], options[name])
        total += term
        size += np.abs(term)
    holds: Flags = total <= -IN_DOUBT * size
    for name in rule.coefficients:
        holds &= _is_precise(features[name], options[name].dtype)
    for name in rule.coefficients:
        holds |= options[name].special(features[name])
    doubtful = np.flatnonzero(~holds)
    some = options.frame[list(rule.coefficients)].iloc[doubtful]
    holds[doubtful] = [not rule_violations(rule, features, row) for row in rows_of(some)]
    return holds


def _is_precise(feature: Feature, dtype: Any) -> bool:
    """Return whether the numbers of a column differ from the decimals that are printed by far less than `IN_DOUBT`."""
    if feature.is_categorical:
        return True
    kind = getattr(dtype, "numpy_dtype", dtype)
    return isinstance(kind, np.dtype) and (kind.kind in "iub" or (kind.kind == "f" and kind.itemsize >= SINGLE))


def _numbers(feature: Feature, column: ReadColumn) -> Array:
    """A column as numbers, NaN where there is none."""
    if feature.is_numeric:
        return column.numbers
    codes = column.codes(feature)
    return np.where(codes < 0, np.nan, feature.numbers[codes])


def count_cells(features: tuple[Feature, ...], table: ReadTable) -> dict[str, dict[str, int]]:
    """Count cells that are missing, a special code or an amount outside the range, by column; only what there is."""
    counts = {}
    for feature in features:
        column = table[feature.name]
        special, numbers = column.special(feature), None
        if feature.lower is not None or feature.upper is not None:
            numbers = np.where(special, np.nan, _numbers(feature, column))
        of_column = {
            "missing": int(column.missing.sum()),
            "special": int(special.sum()),
            "outside": 0 if numbers is None else int(_outside(feature, numbers, column.dtype).sum()),
        }
        if any(of_column.values()):
            counts[feature.name] = {what: n_cells for what, n_cells in of_column.items() if n_cells}
    return counts


def _outside(feature: Feature, numbers: Array, dtype: Any) -> Flags:
    """Return whether numbers (N,) are outside their column's range, in its own precision; not where they are NaN."""
    precision = np.float32 if str(dtype).lower().startswith("float32") else np.float64
    lower, upper = (
        -np.inf if feature.lower is None else feature.lower,
        np.inf if feature.upper is None else feature.upper,
    )
    rounded = numbers.astype(precision)
    flags: Flags = np.logical_or(rounded < precision(lower), rounded > precision(upper))
    return flags


# Columns of plain numbers are judged as arrays. A judge by decimals as they are printed (`violations.exact`) and one by
# floats agree on which of two numbers is greater: of two floats of double precision the greater has the greater
# decimals, and so have whole numbers up to 2^53 against any float. Differences of whole numbers are whole, and so are
# multiples of them. What else there is to compute with floats, steps that are not whole or differences of them, is left
# to exact arithmetic.

# Of whole numbers, and of the parts of a share of them: differences, and multiples of these, are then exact as well.
LARGEST, MOST_PARTS = 2.0**40, 2**20
Whole = npt.NDArray[np.int64]


def judge_numbers(
    feature: Feature, origins: "pd.Series[Any]", options: "pd.Series[Any]", owner: Indices | None = None
) -> tuple[Flags, Flags] | None:
    """Return whether the numbers of a column are allowed, and whether they are changes, (M,) both.

    Those of the applicants are in the rows `owner` (M,) of `origins`, or in the same rows.

    Returns
    -------
    tuple of ndarray or None
        None where that takes exact arithmetic, or a column is none of plain numbers.
    """
    own, new = _plain(feature, origins), _plain(feature, options)
    if own is None or new is None:
        return None
    own = own if owner is None else own[owner]
    changed: Flags = own != new
    if feature.immutable:
        return ~changed, changed
    if not _is_exact(feature, whole=own.dtype.kind == "i" and new.dtype.kind == "i"):
        return None
    return _allowed(feature, own, new) | ~changed, changed


def _allowed(feature: Feature, own: Whole | Array, new: Whole | Array) -> Flags:
    """Return whether an applicant at `own` may change to `new`, (M,)."""
    fine = np.ones(len(new), dtype=np.bool_)
    if feature.lower is not None:
        fine &= new >= feature.lower
    if feature.upper is not None:
        fine &= new <= feature.upper
    most = feature.max_change if isinstance(feature.max_change, Mapping) else {}
    for side, barred, way in (("up", "decrease", new - own), ("down", "increase", own - new)):
        if feature.direction == barred:
            fine &= way <= 0
        if most.get(side) is not None:
            fine &= way <= most[side]
    if feature.max_change is not None and not isinstance(feature.max_change, Mapping):
        share = exact(feature.max_change)
        fine &= np.abs(new - own) * share.denominator <= share.numerator * np.abs(own)
    if feature.step is not None:
        fine &= new % int(feature.step) == 0
    return fine


def _is_exact(feature: Feature, *, whole: bool) -> bool:
    """Return whether arrays of floats decide as decimals do for a column, of whole numbers or others."""
    if not whole:
        return feature.step is None and feature.max_change is None
    step = 1.0 if feature.step is None else float(feature.step)
    share = Fraction(0)
    if feature.max_change is not None and not isinstance(feature.max_change, Mapping):
        share = exact(feature.max_change)
    return step.is_integer() and step <= LARGEST and max(share.numerator, share.denominator) <= MOST_PARTS


def _plain(feature: Feature, column: "pd.Series[Any]") -> Whole | Array | None:
    """A column of whole numbers, or of double precision, all of them finite; None for any other."""
    if not feature.is_numeric or feature.special or not isinstance(column.dtype, np.dtype):
        return None
    cells: npt.NDArray[Any] = column.to_numpy()
    if column.dtype.kind == "i" and ((cells >= -LARGEST) & (cells <= LARGEST)).all():
        return cells.astype(np.int64)
    return cells if column.dtype == np.float64 and np.isfinite(cells).all() else None
