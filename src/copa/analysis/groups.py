"""Applicants by group, to see whether one gets surer or cheaper menus than another."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa.analysis.totals import RowSample
from copa.plans.wording import value_text
from copa.schema import FeatureSchema
from copa.tables.cells import is_missing, plain

MOST = 8  # groups; the smallest of more are put together
REST = "all others"
MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Group:
    """Numbers of one group of applicants.

    Attributes
    ----------
    name : str, in people's words
    size, with_options, at_level : int, numbers of applicants: all, with a menu, with the status "ok"
    each, any, all, effort : (with_options,) guarantees and least efforts of those with a menu
    """

    name: str
    size: int
    with_options: int
    at_level: int
    each: Array
    any: Array
    all: Array
    effort: Array


def compare_groups(sample: RowSample, column: str, schema: FeatureSchema) -> list[Group]:
    """Cut the applicants of a sample by a column: into its values, or into quartiles where it holds many numbers."""
    values = [None if is_missing(value) else plain(value) for value in sample["group"].tolist()]
    numbers = _numbers(values)
    many = numbers is not None and len(np.unique(numbers[np.isfinite(numbers)])) > MOST
    if many and (column not in schema or schema[column].is_numeric):
        names, order = _quartiles(numbers)
    else:
        names, order = _by_value(values, column, schema)
    return [_group(sample, name, np.array([own == name for own in names], dtype=bool)) for name in order]


def _numbers(values: list[Any]) -> Any:
    """The values as numbers, NaN where missing; None where one of them is no number."""
    if any(isinstance(value, (bool, str)) for value in values):
        return None
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except (TypeError, ValueError):
        return None


def _quartiles(numbers: Array) -> tuple[list[str], list[str]]:
    """Name of each applicant's quarter, and the names in order."""
    known = np.isfinite(numbers)
    cuts = np.unique(np.quantile(numbers[known], [0.25, 0.5, 0.75], method="lower"))
    low, high = numbers[known].min(), numbers[known].max()
    quarter = np.searchsorted(cuts, np.where(known, numbers, low), side="left")
    names = [f"up to {cuts[0]:g}"]
    names += [f"above {a:g}, up to {b:g}" for a, b in pairwise(cuts)]
    if high > cuts[-1]:
        names.append(f"above {cuts[-1]:g}")
    own = [names[k] if there else MISSING for k, there in zip(quarter.tolist(), known.tolist(), strict=True)]
    return own, names + ([] if known.all() else [MISSING])


def _by_value(values: list[Any], column: str, schema: FeatureSchema) -> tuple[list[str], list[str]]:
    """Name of each applicant's value, and the names in the order of the schema, or else of their frequency."""
    own = [MISSING if value is None else value_text(schema, column, value) for value in values]
    names, counts = np.unique(np.array(own, dtype=object), return_counts=True)
    frequent = [str(name) for name in names[np.argsort(-counts, kind="stable")]]
    if len(frequent) > MOST:
        kept = set(frequent[: MOST - 1])
        own = [name if name in kept else REST for name in own]
        frequent = [*frequent[: MOST - 1], REST]
    known = schema[column].values if column in schema else None
    position = {value_text(schema, column, value): k for k, value in enumerate(known or ())}
    return own, sorted(frequent, key=lambda name: position.get(name, len(position)))


def _group(sample: RowSample, name: str, own: npt.NDArray[np.bool_]) -> Group:
    some = own & np.isfinite(sample["each"])
    return Group(
        name=name,
        size=int(own.sum()),
        with_options=int(some.sum()),
        at_level=int((own & sample["ok"]).sum()),
        each=sample["each"][some],
        any=sample["any"][some],
        all=sample["all"][some],
        effort=sample["effort"][some],
    )
