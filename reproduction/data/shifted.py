"""Data before (D1) and after (D2) a shift: as the paper takes them, and by a sound protocol beside it.

The sound protocol trains on the past and lets the future decide: other customers (German), later loans (SBA). It drops
columns that are known only afterwards or follow from others, takes "paid in full" as the favourable outcome, and lets
nobody change age, family or the past.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa import DataError, FeatureSchema
from copa.data.datasets import load_german, load_south_german, load_student
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

SBA_FILE = "SBAcase.csv"
SBA_ROWS = 2102
URBAN_RURAL = {0: "unknown", 1: "urban", 2: "rural"}
SBA_NUMBERS = (
    "Selected",
    "Term",
    "NoEmp",
    "CreateJob",
    "RetainedJob",
    "ChgOffPrinGr",
    "GrAppv",
    "SBA_Appv",
    "New",
    "RealEstate",
    "Portion",
    "Recession",
)
SBA_NEEDED = (*SBA_NUMBERS, "UrbanRural", "ApprovalFY", "Default")
# Known only after a default, the case authors' own split, and columns that follow from others:
# RealEstate is Term >= 240, Portion is SBA_Appv / GrAppv.
SBA_DROPPED = ("ChgOffPrinGr", "Selected", "RealEstate", "Portion")
SBA_FIRST_LATE_YEAR = 2006


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and outcomes.

    Attributes
    ----------
    features : DataFrame
        One row per person.
    favourable : ndarray of shape (n,), bool
    """

    features: "pd.DataFrame"
    favourable: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True, eq=False)
class ShiftedData:
    """What a model is trained on today, and what it will be retrained on.

    Attributes
    ----------
    name, protocol : str
        Which data, and by which protocol.
    present, shifted : Table
        The paper's D1 and D2, with the same columns: numeric ones first, then categorical ones.
    schema : FeatureSchema
        What an option that is delivered may be.
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
    name : {"german", "sba", "student"}
    protocol : {"paper", "sound"}
    folder : str or Path, optional
        Where the file of the SBA case is; the other data come with the package.

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
        whole = Table(loans[[*SBA_NUMBERS, "UrbanRural"]], (loans["Default"] == 1).to_numpy())
        return _as_in_the_paper("sba", _rows(whole, late), _rows(whole, ~late))
    columns = [name for name in (*SBA_NUMBERS, "UrbanRural") if name not in SBA_DROPPED]
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


def find_sba_file(folder: str | Path | None = None) -> Path:
    """Return the path of the Small Business Administration case file, which does not come with the package.

    Parameters
    ----------
    folder : str or Path, optional
        Where it is; by default where the environment variable COPA_DATA points, or else in folders named `data` here,
        one level up, and beside this folder.

    Raises
    ------
    DataError
        If it is not there; the message says where to get it and what to do.
    """
    said = folder if folder is not None else os.environ.get("COPA_DATA")
    here = Path.cwd()
    near = [here, here / "data", here.parent / "data", *sorted(here.parent.glob("*/data"))]
    places = near if said is None else [Path(said)]
    for place in places:
        if (place / SBA_FILE).is_file():
            return place / SBA_FILE
    where = "this folder and the folders named data near it" if said is None else str(said)
    raise DataError(
        f"{SBA_FILE} was not found in {where}; it is the file of the case study of Li, Mickel and Taylor (2018), "
        "Journal of Statistics Education 26(1), in the supplement of the article (California, real estate, 2102 "
        "loans); download it, and say where it is by --data FOLDER or the environment variable COPA_DATA"
    )


def read_sba(folder: str | Path | None = None) -> "pd.DataFrame":
    """Read the columns that the experiments use, one row per loan."""
    import pandas as pd

    path = find_sba_file(folder)
    try:
        table = pd.read_csv(path, encoding="utf-8-sig", usecols=list(SBA_NEEDED))
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path} is not the case file: {error}; it needs the columns {', '.join(SBA_NEEDED)}"
        ) from error
    if len(table) != SBA_ROWS:
        raise DataError(f"{path} must have {SBA_ROWS} loans, as published, got {len(table)}")
    table["UrbanRural"] = table["UrbanRural"].map(URBAN_RURAL)
    return table


def _as_in_the_paper(name: str, present: Table, shifted: Table) -> ShiftedData:
    """Whatever is in the data may change; numbers are decimals, as in the paper's files."""
    tables = [Table(_decimals(table.features), table.favourable) for table in (present, shifted)]
    return ShiftedData(name, "paper", tables[0], tables[1], free_schema(tables[0].features))


def free_schema(table: "pd.DataFrame") -> FeatureSchema:
    """Whatever is in the data may change, as far as the data go."""
    schema = FeatureSchema.infer(table, features={name: {"immutable": False} for name in table.columns})
    numbers = [feature.name for feature in schema.features if feature.is_numeric]
    return schema.replace({name: {"lower": table[name].min(), "upper": table[name].max()} for name in numbers})


def _decimals(features: "pd.DataFrame") -> "pd.DataFrame":
    numbers = features.select_dtypes("number").columns
    return features.astype(dict.fromkeys(numbers, "float64"))


def _rows(table: Table, chosen: npt.NDArray[np.bool_]) -> Table:
    return Table(table.features[chosen].reset_index(drop=True), table.favourable[chosen])


def _without(table: Table, taken: Table) -> Table:
    """Rows of a table that are not also in another one, each counted as often as it occurs there."""
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
