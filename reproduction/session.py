"""One run of experiments: what was asked for, what is kept on disk, and what had to be left out."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from copa import DataError
from reproduction.data.case import Case, prepare
from reproduction.data.shifted import DATA_SETS, TITLES, load_shifted
from reproduction.methods.dice import Dice
from reproduction.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

Item = TypeVar("Item")


@dataclass(frozen=True)
class Store:
    """A folder of tables: every finished cell is kept, so that a run that was stopped goes on where it was.

    Parameters
    ----------
    folder : Path
        Where tables, pictures and pages go; cells are in its folder `cells`.
    settings : Settings
        Those of the run; a cell that was computed with others is not taken.
    """

    folder: Path
    settings: Settings

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


@dataclass
class Session:
    """Shared by all experiments of a run.

    Parameters
    ----------
    settings : Settings
    protocol : {"paper", "sound"}
    folder : Path
        For results.
    cache : Path
        For DiCE's plans.
    data_folder : Path, optional
        Where the file of the SBA case is; by default it is looked for.
    tell : callable
        Called with lines of text about what is going on.
    progress : bool
        Whether to show progress bars.
    skipped : dict of str to str
        What was left out, and why.
    """

    settings: Settings
    protocol: str
    folder: Path
    cache: Path
    data_folder: Path | None = None
    tell: Callable[[str], None] = print
    progress: bool = True
    skipped: dict[str, str] = field(default_factory=dict)
    _cases: dict[tuple[str, str], Case] = field(default_factory=dict, repr=False)

    @property
    def store(self) -> Store:
        """Where results are kept."""
        return Store(self.folder, self.settings)

    def case(self, name: str, protocol: str | None = None) -> Case:
        """Return a data set made ready, once per run."""
        key = (name, protocol or self.protocol)
        if key not in self._cases:
            self._cases[key] = prepare(load_shifted(*key, self.data_folder), self.settings)
        return self._cases[key]

    def cases(self, protocol: str | None = None) -> Iterator[Case]:
        """Return the data sets that can be loaded; the others are noted as left out."""
        for name in DATA_SETS:
            case = self.attempt(TITLES[name], partial(self.case, name, protocol))
            if case is not None:
                yield case

    def attempt(self, what: str, work: Callable[[], Item]) -> Item | None:
        """Do something that may lack a file or a package; if it does, note why and go on."""
        try:
            return work()
        except DataError as error:
            if what not in self.skipped:
                self.tell(f"left out: {what}: {error}")
            self.skipped[what] = str(error)
            return None

    def cell(
        self, what: str, key: str, work: Callable[..., "pd.DataFrame"], *arguments: Any, **named: Any
    ) -> "pd.DataFrame | None":
        """Return the stored table of a key, or do the work and store it; None, and a note, if something is missing.

        Parameters
        ----------
        what : str
            The name of the row, for people.
        key : str
            The name of the stored table.
        work : callable
            Given the arguments, returns the table.
        """
        return self.attempt(what, partial(self.store.cell, key, partial(work, *arguments, **named)))

    def dice(self, limit: int | None = None) -> Dice:
        """Return DiCE with this run's cache."""
        return Dice(self.cache, self.settings.n_dice if limit is None else limit, self.tell)

    def each(self, items: Iterable[Item], what: str) -> Iterator[Item]:
        """Go through items with a progress bar."""
        from tqdm.auto import tqdm

        yield from tqdm(list(items), desc=what, disable=None if self.progress else True, leave=False)
