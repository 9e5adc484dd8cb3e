"""The Small Business Administration case file, which does not come with the package: where it is looked for."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from copa import DataError

if TYPE_CHECKING:
    import pandas as pd

FILE = "SBAcase.csv"
N_ROWS = 2102
URBAN_RURAL = {0: "unknown", 1: "urban", 2: "rural"}
NUMBERS = (
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
NEEDED = (*NUMBERS, "UrbanRural", "ApprovalFY", "Default")


def find_sba_file(folder: str | Path | None = None) -> Path:
    """Return the path of the case file.

    Parameters
    ----------
    folder : where it lies; None looks where the environment variable COPA_DATA points, or else in folders named `data`
        here, one level up, and beside this folder

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
        if (place / FILE).is_file():
            return place / FILE
    where = "this folder and the folders named data near it" if said is None else str(said)
    raise DataError(
        f"{FILE} was not found in {where}; it is the file of the case study of Li, Mickel and Taylor (2018), Journal "
        "of Statistics Education 26(1), in the supplement of the article (California, real estate, 2102 loans); "
        "download it, and say where it is by --data FOLDER or the environment variable COPA_DATA"
    )


def read_sba(folder: str | Path | None = None) -> "pd.DataFrame":
    """Read the columns that the experiments use, one row per loan."""
    import pandas as pd

    path = find_sba_file(folder)
    try:
        table = pd.read_csv(path, encoding="utf-8-sig", usecols=list(NEEDED))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not the case file: {error}; it needs the columns {', '.join(NEEDED)}") from error
    if len(table) != N_ROWS:
        raise DataError(f"{path} must have {N_ROWS} loans, as published, got {len(table)}")
    table["UrbanRural"] = table["UrbanRural"].map(URBAN_RURAL)
    return table
