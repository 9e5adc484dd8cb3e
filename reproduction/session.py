"""One run of experiments: what was asked for, what is kept, and what had to be left out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from copa import DataError
from reproduction.case import Case, prepare
from reproduction.data import DATA_SETS, TITLES, load_shifted
from reproduction.methods.dice import Dice
from reproduction.results import Store
from reproduction.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

Item = TypeVar("Item")


@dataclass
class Session:
    """Shared by all experiments of a run.

    Parameters
    ----------
    settings : Settings
    protocol : "paper" or "sound"
    folder : for results
    cache : for DiCE's plans
    data_folder : where the file of the SBA case lies, None to look for it
    tell : called with lines of text about what is going on
    progress : whether to show progress bars
    skipped : what was left out, and why
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
        what : the name of the row, for people
        """
        return self.attempt(what, partial(self.store.cell, key, partial(work, *arguments, **named)))

    def dice(self, limit: int | None = None) -> Dice:
        """Return DiCE with this run's cache."""
        return Dice(self.cache, self.settings.n_dice if limit is None else limit, self.tell)

    def each(self, items: Iterable[Item], what: str) -> Iterator[Item]:
        """Go through items with a progress bar."""
        from tqdm.auto import tqdm

        yield from tqdm(list(items), desc=what, disable=None if self.progress else True, leave=False)
