"""What is wrong with the rows of a table, before any option is looked for."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import listed, shown
from copa.schema.columns import Flags, column_codes, column_numbers
from copa.schema.feature import Feature
from copa.tables.steps import largest_exact

if TYPE_CHECKING:
    import pandas as pd


def row_messages(features: tuple[Feature, ...], needed: frozenset[str], table: "pd.DataFrame") -> list[str]:
    """Say for every row what is wrong with it, "" where nothing is.

    Parameters
    ----------
    features : tuple of Feature
    needed : frozenset of str
        Columns that must not be missing although no option changes them.
    table : DataFrame
        With all columns of the schema.

    Returns
    -------
    list of str
    """
    found: dict[int, list[str]] = {}
    for feature in features:
        column = table[feature.name]
        said = np.zeros(len(table), dtype=np.bool_)  # one sentence per column is enough
        may_be_missing = feature.immutable and feature.name not in needed
        for flags, wish in _requirements(feature, column, may_be_missing=may_be_missing):
            rows = np.flatnonzero(flags & ~said)
            for row, value in zip(rows.tolist(), column.iloc[rows], strict=True):
                found.setdefault(row, []).append(f"column {feature.name!r} {wish}, got {shown(value)}")
            said |= flags
    messages = [""] * len(table)
    labels = table.index.tolist() if found else []
    for row, parts in found.items():
        messages[row] = f"row {shown(labels[row])}: {'; '.join(parts)}"
    return messages


def _requirements(feature: Feature, column: "pd.Series[Any]", *, may_be_missing: bool) -> Iterator[tuple[Flags, str]]:
    """Yield flags (N,) of the rows that break a requirement, and the requirement."""
    missing: Flags = column.isna().to_numpy(dtype=np.bool_)
    if not may_be_missing:
        yield missing, f"must not be missing ({_allowed(feature)})"
    if feature.is_categorical:
        codes = column_codes(feature, column)
        yield (codes < 0) & ~missing, f"must be one of {listed(feature.values or ())}"
        return
    numbers, wrong = column_numbers(column)
    yield wrong, "must be a number"
    yield np.isinf(numbers), "must be finite"
    if feature.kind == "integer":
        with np.errstate(invalid="ignore"):
            yield np.isfinite(numbers) & (numbers != np.rint(numbers)), "must be a whole number"
    if feature.step is not None and not feature.immutable:
        largest = largest_exact(feature.step)
        wish = (
            f"must be smaller than {largest:.16g}, where multiples of {feature.step:g} are exact (rescale the column)"
        )
        yield np.abs(numbers) >= largest, wish  # false where missing


def _allowed(feature: Feature) -> str:
    if feature.is_categorical:
        return f"one of {listed(feature.values or ())}"
    return f"a number {_range(feature)}".rstrip()


def _range(feature: Feature) -> str:
    if feature.lower is not None and feature.upper is not None:
        return f"between {feature.lower:.15g} and {feature.upper:.15g}"
    if feature.lower is not None:
        return f"at least {feature.lower:.15g}"
    return "" if feature.upper is None else f"at most {feature.upper:.15g}"
