"""Results on disk: every finished cell is kept, so that a run that was stopped goes on where it was."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.settings import Settings


@dataclass(frozen=True)
class Store:
    """A folder of tables.

    Parameters
    ----------
    folder : where tables, pictures and pages go; cells lie in a folder of it
    settings : those of the run; a cell that was computed with others is not taken
    """

    folder: Path
    settings: "Settings"

    def cell(self, name: str, compute: Callable[[], "pd.DataFrame"]) -> "pd.DataFrame":
        """Return the stored table of that name, or compute and store it."""
        import pandas as pd

        path = self.folder / "cells" / f"{name}-{self._mark()}.csv"
        if not path.is_file():
            table = compute()
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(".tmp")
            table.to_csv(temporary, index=False)
            temporary.replace(path)
        return pd.read_csv(path, keep_default_na=False, na_values=[""])

    def table(self, name: str, table: "pd.DataFrame") -> Path:
        """Write a result as CSV and return its path."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.csv"
        table.to_csv(path, index=False)
        return path

    def _mark(self) -> str:
        """Short text that differs between settings."""
        text = json.dumps(asdict(self.settings), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]
