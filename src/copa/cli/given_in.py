"""Plans that someone made, read from any file that holds some: tables, DiCE's JSON, and plans of copa itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa.archive import parse_json
from copa.cli.bundles import Bundle
from copa.cli.messages import MisuseError
from copa.cli.tables_in import ApplicantStream, open_table
from copa.exceptions import DataError
from copa.plans import PlanBatch
from copa.plans.document import FORMAT, require_document

if TYPE_CHECKING:
    import pandas as pd

SAVED = (".copa", ".zip")


def read_given(
    path: Path, bundle: Bundle, applicants: Path | None, *, label: str | None, group: str | None, delimiter: str
) -> tuple[Any, "pd.DataFrame | None"]:
    """Return plans and applicants as `RecoursePlanner.audit` takes them."""
    if not path.is_file():
        raise MisuseError(f"the plans {path} do not exist (looked for {path.absolute()})")
    people = None
    if applicants is not None:
        stream = ApplicantStream(open_table(applicants, delimiter), bundle.kinds, label=label, group=group)
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
    return _read_options(path, delimiter), people


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        content = parse_json(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} must hold a JSON object, got {type(content).__name__}")
    return content


def _read_options(path: Path, delimiter: str) -> "pd.DataFrame":
    """A table of options, cells as they are; lines of applicants who have none are left out."""
    import pandas as pd

    table = open_table(path, delimiter)
    cells: list[list[Any]] = [[] for _ in table.names]
    for block in table.blocks(table.names):
        for column, part in zip(cells, block, strict=True):
            column.extend(None if cell == "" else cell for cell in part)
    frame = pd.DataFrame(dict(zip(table.names, cells, strict=True)), dtype=object)
    if "option" in frame.columns and "plan_status" in frame.columns:
        frame = frame[frame["option"].notna()]
    if len(frame) == 0:
        raise DataError(f"{path} has no options")
    return frame
