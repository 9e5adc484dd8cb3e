"""Data before (D1) and after (D2) a shift: as the paper takes them, and by a sound protocol beside it.

The sound protocol trains on the past and lets the future decide: other customers (German), later loans (SBA). It drops
columns that are known only afterwards or follow from others, takes "paid in full" as the favourable outcome, and lets
nobody change age, family or the past.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa import FeatureSchema
from copa.datasets import load_german, load_south_german, load_student
from reproduction.sba_file import NUMBERS, read_sba
from reproduction.settings import require_known

if TYPE_CHECKING:
    import pandas as pd

PROTOCOLS = ("paper", "sound")
DATA_SETS = ("german", "sba", "student")
SHIFTS = {"german": "correction", "sba": "temporal", "student": "geospatial", "synthetic": "simulated"}
TITLES = {"german": "German Credit", "sba": "SBA loans", "student": "Student", "synthetic": "synthetic"}

GERMAN_COLUMNS = ("duration", "amount", "age", "personal_status")
STUDENT_NUMBERS = ("age", "Medu", "Fedu", "studytime", "freetime", "goout", "health", "absences", "G1", "G2")
STUDENT_CHOICES = ("famsup", "higher", "internet", "romantic")
# Known only after a default, the case authors' own split, and columns that follow from others:
# RealEstate is Term >= 240, Portion is SBA_Appv / GrAppv.
SBA_DROPPED = ("ChgOffPrinGr", "Selected", "RealEstate", "Portion")
SBA_FIRST_LATE_YEAR = 2006


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and outcomes: `features` one row per person, `favourable` (n,) bool."""

    features: "pd.DataFrame"
    favourable: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True, eq=False)
class ShiftedData:
    """What a model is trained on today, and what it will be retrained on.

    Attributes
    ----------
    name, protocol : which data, and as whom
    present, shifted : the paper's D1 and D2, with the same columns: numbers first, then categories
    schema : what an option that is delivered may be
    """

    name: str
    protocol: str
    present: Table
    shifted: Table
    schema: FeatureSchema

    @property
    def shift(self) -> str:
        """The paper's name of the shift."""
        return SHIFTS[self.name]

    @property
    def title(self) -> str:
        """The data set's name, for people."""
        return TITLES[self.name]


def load_shifted(name: str, protocol: str = "paper", folder: str | Path | None = None) -> ShiftedData:
    """Load a pair of data sets.

    Parameters
    ----------
    name : "german", "sba" or "student"
    protocol : "paper" or "sound"
    folder : where the file of the SBA case lies; the others come with the package

    Raises
    ------
    DataError
        If the file is needed and is not there.
    """
    require_known("protocol", protocol, PROTOCOLS)
    require_known("data", name, DATA_SETS)
    if name == "german":
        return _german(protocol)
    if name == "student":
        return _student(protocol)
    return _sba(protocol, folder)


def _german(protocol: str) -> ShiftedData:
    old, new = load_german(), load_south_german()
    columns = list(GERMAN_COLUMNS)
    corrected = new.features.rename(columns={"personal_status_sex": "personal_status"})[columns]
    corrected = corrected.assign(personal_status="A9" + corrected["personal_status"].astype(str))
    present = Table(old.features[columns], old.favourable.to_numpy())
    shifted = Table(corrected, new.favourable.to_numpy())
    if protocol == "paper":
        return _as_in_the_paper("german", present, shifted)
    half = np.random.default_rng(0).permutation(len(present)) < len(present) // 2
    present = _rows(present, half)
    return ShiftedData("german", "sound", present, _without(shifted, present), _part(old.schema, columns))


def _student(protocol: str) -> ShiftedData:
    data = load_student()
    columns = [*STUDENT_NUMBERS, *STUDENT_CHOICES]
    first = (data.features["school"] == "GP").to_numpy()
    whole = Table(data.features[columns], data.favourable.to_numpy())
    present, shifted = _rows(whole, first), _rows(whole, ~first)
    if protocol == "paper":
        return _as_in_the_paper("student", present, shifted)
    return ShiftedData("student", "sound", present, shifted, _part(data.schema, columns))


def _sba(protocol: str, folder: str | Path | None) -> ShiftedData:
    loans = read_sba(folder)
    late = (loans["ApprovalFY"] >= SBA_FIRST_LATE_YEAR).to_numpy()
    if protocol == "paper":  # in which 1 is a default, and the late loans are the present
        whole = Table(loans[[*NUMBERS, "UrbanRural"]], (loans["Default"] == 1).to_numpy())
        return _as_in_the_paper("sba", _rows(whole, late), _rows(whole, ~late))
    columns = [name for name in (*NUMBERS, "UrbanRural") if name not in SBA_DROPPED]
    whole = Table(loans[columns], (loans["Default"] == 0).to_numpy())
    present = _rows(whole, ~late)
    # The business, its place and the times are what they are; what is asked for may change.
    schema = FeatureSchema.infer(
        present.features,
        immutable=["NoEmp", "New", "Recession", "UrbanRural"],
        features={"GrAppv": {"step": 1000}, "SBA_Appv": {"step": 1000}},
        rules=["SBA_Appv <= GrAppv"],
    )
    return ShiftedData("sba", "sound", present, _rows(whole, late), schema)


def _as_in_the_paper(name: str, present: Table, shifted: Table) -> ShiftedData:
    """Whatever is in the data may change; numbers are decimals, as in the paper's files."""
    tables = [Table(_decimals(table.features), table.favourable) for table in (present, shifted)]
    return ShiftedData(name, "paper", tables[0], tables[1], FeatureSchema.infer(tables[0].features))


def _decimals(features: "pd.DataFrame") -> "pd.DataFrame":
    numbers = features.select_dtypes("number").columns
    return features.astype(dict.fromkeys(numbers, "float64"))


def _rows(table: Table, chosen: npt.NDArray[np.bool_]) -> Table:
    return Table(table.features[chosen].reset_index(drop=True), table.favourable[chosen])


def _without(table: Table, taken: Table) -> Table:
    """Rows of a table that are not also in another one, each counted as often as it occurs there."""
    from collections import Counter

    left = Counter(_keys(taken))
    keep = np.ones(len(table), dtype=bool)
    for i, key in enumerate(_keys(table)):
        if left[key]:
            left[key] -= 1
            keep[i] = False
    return _rows(table, keep)


def _keys(table: Table) -> list[tuple[Any, ...]]:
    rows = table.features.itertuples(index=False)
    return [(*row, bool(good)) for row, good in zip(rows, table.favourable, strict=True)]


def _part(schema: FeatureSchema, columns: Sequence[str]) -> FeatureSchema:
    return FeatureSchema(tuple(schema[name] for name in columns))
