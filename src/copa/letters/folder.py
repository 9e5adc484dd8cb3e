"""A folder of letters: two files for every declined applicant, and a list of who got one."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from copa._core.files import remove_abandoned_parts, write_atomically
from copa._core.progress import stage
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.letters.letter import Letter
from copa.letters.names import safe_names
from copa.letters.writer import UNFINISHED, LetterWriter
from copa.plans import Plan, PlanBatch
from copa.tables.cells import as_text
from copa.tables.files import quoted

INDEX = "index.csv"
WRITING = "writing letters"  # as progress is shown
COLUMNS = ("applicant", "letter", "without_letter", "status", "options", "protected_reasons")
ENDINGS = (".html", ".txt")


class LetterFolder:
    """Writes letters into a folder as their plans come.

    Parameters
    ----------
    folder : Path
        Is made if it is not there, readable for its owner only.
    writer : LetterWriter
    labels : sequence of object
        Labels of all applicants, in the order in which their plans come.

    Attributes
    ----------
    counts : Counter
        Applicants with a letter ("letters"), and those without one by why.
    protected : Counter
        Letters by protected column that they give as a reason.
    n_protected : int
        Letters that give a protected column as a reason.
    n_fragile : int
        Options of fragile plans that letters do not offer.
    """

    def __init__(self, folder: Path, writer: LetterWriter, labels: Sequence[Any]) -> None:
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.protected: Counter[str] = Counter()
        self.n_protected = self.n_fragile = 0
        self._writer = writer
        self._names = safe_names(labels, taken=["index"])
        self._rows: list[list[Any]] = []
        self._written: list[Path] = []

    def require_free(self) -> None:
        """Raise if the folder holds letters already."""
        there = next((path for path in self._paths() if path.exists()), None)
        if there is not None:
            raise InvalidInputError(
                f"{self.folder} holds letters already ({there.name}); give another folder, or replace them with --force"
            )

    @contextmanager
    def opened(self, *_: Any) -> Iterator[list["LetterFolder"]]:
        """Take plans (`add`), and complete the list in the end; where something goes wrong no new letter stays.

        Letters of an earlier run that its list names are removed first. The list names all files before the first is
        written, so that those of a run that was killed are found, too.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._remove_earlier()
        remove_abandoned_parts(*self._paths())
        self._write_list([["", name, UNFINISHED, "", "", ""] for name in self._names])
        try:
            yield [self]
            self._write_list(self._rows)
        except BaseException:
            for path in (*self._written, self.folder / INDEX):
                path.unlink(missing_ok=True)
            raise

    def _write_list(self, rows: list[list[Any]]) -> None:
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows([quoted(cell) for cell in row] for row in rows)
        write_atomically(self.folder / INDEX, text.getvalue().encode("utf-8"))

    def add(self, batch: PlanBatch) -> None:
        """Write the letters of the next plans."""
        with stage(WRITING, len(batch), "letters") as advance:
            for plan, found in zip(batch, self._writer.write(batch), strict=True):
                self._rows.append([_name(plan.label), *self._kept(plan, found)])
                advance(1)

    def _kept(self, plan: Plan, found: Letter | str) -> list[Any]:
        """Write a letter, if it is one, and return what the list says of it."""
        if isinstance(found, str):
            self.counts[found] += 1
            return ["", found, plan.status, plan.n_options, ""]
        name = self._names[len(self._rows)]
        self._written += found.write(self.folder, name, swept=True)
        self.counts["letters"] += 1
        self.protected.update(found.protected)
        self.n_protected += bool(found.protected)
        self.n_fragile += found.fragile_left_out
        return [name, "", plan.status, plan.n_options - found.fragile_left_out, " ".join(found.protected)]

    def _paths(self) -> Iterator[Path]:
        yield self.folder / INDEX
        yield from (self.folder / f"{name}{ending}" for name in self._names for ending in ENDINGS)

    def _remove_earlier(self) -> None:
        """Remove the letters that a list in the folder names, and then the list."""
        index = self.folder / INDEX
        try:
            with index.open(encoding="utf-8", newline="") as file:
                names = [row["letter"] for row in csv.DictReader(file)]
        except FileNotFoundError:
            return
        except (KeyError, UnicodeDecodeError, csv.Error) as error:
            raise InvalidInputError(f"{index} is not a list of letters ({shown(str(error))}); remove it") from error
        paths = [(name, self.folder / f"{name}{ending}") for name in filter(None, names) for ending in ENDINGS]
        own = [path for name, path in paths if path.parent == self.folder and path.name == f"{name}{path.suffix}"]
        for path in own:  # of names, and no paths
            path.unlink(missing_ok=True)
        remove_abandoned_parts(*own)
        index.unlink(missing_ok=True)


def _name(label: Any) -> str:
    """A label as the file of applicants has it, so that the two can be joined."""
    return label if isinstance(label, str) else as_text(label)
