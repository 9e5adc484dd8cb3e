"""Records of arrays with one leading axis."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copa._core.records import ArrayRecord


@dataclass(frozen=True, eq=False)
class Inner(ArrayRecord):
    score: Any


@dataclass(frozen=True, eq=False)
class Record(ArrayRecord):
    points: Any
    names: Any
    table: Any
    inner: Any
    nothing: Any = None
    n_models: int = 0
    shared = ("n_models",)


def record(start, length):
    rows = np.arange(start, start + length)
    table = pd.DataFrame({"a": rows}, index=[f"r{i}" for i in rows])
    return Record(rows[:, None] * [1.0, 10.0], [f"n{i}" for i in rows], table, Inner(rows.astype(float)), n_models=7)


def rows_of(made):
    """The same numbers from every field, after all of them were seen to agree."""
    rows = made.table["a"].tolist()
    assert made.points.tolist() == [[i, 10.0 * i] for i in rows]
    assert made.names == [f"n{i}" for i in rows]
    assert made.table.index.tolist() == [f"r{i}" for i in rows]
    assert made.inner.score.tolist() == rows
    assert (made.nothing, made.n_models, len(made)) == (None, 7, len(rows))
    return rows


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([3, 1, 1], [3, 1, 1]),
        (np.array([True, False, False, True]), [0, 3]),
        (slice(1, 3), [1, 2]),
        (np.array([], dtype=int), []),
    ],
)
def test_rows_are_taken_from_every_field(rows, expected):
    assert rows_of(record(0, 4).take(rows)) == expected


def test_records_are_put_one_after_another():
    assert rows_of(Record.concat([record(0, 2), record(5, 0), record(7, 1)])) == [0, 1, 7]


def test_some_rows_are_replaced_in_a_copy():
    first = record(0, 4)
    assert rows_of(first.replaced([2, 0], record(8, 2))) == [9, 1, 8, 3]
    assert rows_of(first.replaced(np.array([False, True, False, False]), record(8, 1))) == [0, 8, 2, 3]
    assert rows_of(first) == [0, 1, 2, 3]
