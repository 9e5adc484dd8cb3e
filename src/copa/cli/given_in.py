"""Plans that someone made, read from any file that holds some: tables, DiCE's JSON, and plans of copa itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa.adapters.formulas import is_own_table, unquoted_table
from copa.archive import parse_json
from copa.cli.bundles import Bundle
from copa.cli.messages import MisuseError
from copa.cli.tables_in import ApplicantStream, CsvFile, open_table
from copa.exceptions import DataError
from copa.plans import PlanBatch
from copa.plans.document import FORMAT, require_document

if TYPE_CHECKING:
    import pandas as pd

SAVED = (".copa", ".zip")


@dataclass(frozen=True)
class Reading:
    """How files are read.

    Attributes
    ----------
    label, group : columns of the applicants with their names, and with the groups that a report compares
    delimiter : between the cells of a CSV file
    raw_cells : whether the cells of plans stay as they are, in the table of plans that copa wrote too
    """

    label: str | None
    group: str | None
    delimiter: str
    raw_cells: bool


def read_given(
    path: Path, bundle: Bundle, applicants: Path | None, reading: Reading
) -> tuple[Any, "pd.DataFrame | None"]:
    """Return plans and applicants as `RecoursePlanner.audit` takes them."""
    if not path.is_file():
        raise MisuseError(f"the plans {path} do not exist (looked for {path.absolute()})")
    people = None
    if applicants is not None:
        table = open_table(applicants, reading.delimiter)
        stream = ApplicantStream(table, bundle.kinds, label=reading.label, group=reading.group)
        people = stream.whole()
    suffix = path.suffix.lower()
    if suffix in SAVED:
        return PlanBatch.load(path), people
    if suffix == ".json":
        content = _read_json(path)
        if content.get("format") == FORMAT:
            require_document(content)
        return content, people
    if people is None:
        raise MisuseError(f"--applicants is needed: {path.name} holds options, not what the applicants are like today")
    return _read_options(path, reading), people


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        content = parse_json(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} must hold a JSON object, got {type(content).__name__}")
    return content


def _read_options(path: Path, reading: Reading) -> "pd.DataFrame":
    """A table of options, cells as they are or were; lines of applicants who have none are left out."""
    import pandas as pd

    table = open_table(path, reading.delimiter)
    cells: list[list[Any]] = [[] for _ in table.names]
    for block in table.blocks(table.names):
        for column, part in zip(cells, block, strict=True):
            column.extend(None if cell == "" else cell for cell in part)
    frame = pd.DataFrame(dict(zip(table.names, cells, strict=True)), dtype=object)
    if is_own_table(frame):
        frame = frame[frame["option"].notna()]
        if isinstance(table, CsvFile) and not reading.raw_cells:
            frame = unquoted_table(frame)
    if len(frame) == 0:
        raise DataError(f"{path} has no options")
    return frame
