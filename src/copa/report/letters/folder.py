"""A folder of letters: two files for every declined applicant, and a list of who got one."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from copa._core.files import PART, remove_abandoned_parts, write_atomically
from copa._core.progress import stage
from copa.data.tables.cells import as_text
from copa.data.tables.files import quoted
from copa.exceptions import InvalidInputError
from copa.plans import Plan, PlanBatch
from copa.report.letters.letter import Letter
from copa.report.letters.writer import LetterWriter

INDEX = "index.csv"
NAME = "letter-{:06d}"  # by the applicant's row in the input, from 1
OURS = re.compile(r"letter-\d{6,}\.(html|txt)|index\.csv")
WRITING = "writing letters"  # as progress is shown
COLUMNS = ("applicant", "letter", "without_letter", "status", "options", "protected_reasons")


class LetterFolder:
    """Writes letters into a folder as their plans come.

    Parameters
    ----------
    folder : Path
        Is made if it is not there, readable for its owner only.
    writer : LetterWriter

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

    def __init__(self, folder: Path, writer: LetterWriter) -> None:
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.protected: Counter[str] = Counter()
        self.n_protected = self.n_fragile = 0
        self._writer = writer
        self._rows: list[list[Any]] = []

    def require_free(self) -> None:
        """Raise if the folder holds letters already."""
        there = min(self._letters(), default=None)
        if there is not None:
            raise InvalidInputError(
                f"{self.folder} holds letters already ({there.name}); give another folder, or replace them with --force"
            )

    @contextmanager
    def opened(self, *_: Any) -> Iterator[list["LetterFolder"]]:
        """Take plans (`add`), and write the list in the end; where something goes wrong no letter stays.

        Letters of an earlier run are removed first, also of one that was killed.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._empty()
        try:
            yield [self]
            text = io.StringIO()
            table = csv.writer(text, lineterminator="\n")
            table.writerow(COLUMNS)
            table.writerows([quoted(cell) for cell in row] for row in self._rows)
            write_atomically(self.folder / INDEX, text.getvalue().encode("utf-8"))
        except BaseException:
            self._empty()
            raise

    def add(self, batch: PlanBatch) -> None:
        """Write the letters of the next plans."""
        with stage(WRITING, len(batch), "letters") as advance:
            for plan, written in zip(batch, self._writer.write(batch), strict=True):
                self._rows.append([_name(plan.label), *self._kept(plan, written)])
                advance(1)

    def _kept(self, plan: Plan, written: Letter | str) -> list[Any]:
        """Write a letter, if it is one, and return what the list says of it."""
        if isinstance(written, str):
            self.counts[written] += 1
            return ["", written, plan.status, plan.n_options, ""]
        name = NAME.format(len(self._rows) + 1)
        written.write(self.folder, name, swept=True)
        self.counts["letters"] += 1
        self.protected.update(written.protected)
        self.n_protected += bool(written.protected)
        self.n_fragile += written.fragile_left_out
        return [name, "", plan.status, plan.n_options - written.fragile_left_out, " ".join(written.protected)]

    def _letters(self) -> list[Path]:
        """Files of the folder that have the name of a letter, or of the list."""
        there = self.folder.iterdir() if self.folder.is_dir() else ()
        return [path for path in there if OURS.fullmatch(path.name)]

    def _empty(self) -> None:
        """Remove the letters and the list, and what a writer that was killed left of them."""
        for path in self._letters():
            path.unlink(missing_ok=True)
        parts = filter(None, (PART.fullmatch(path.name) for path in self.folder.iterdir()))
        remove_abandoned_parts(*(self.folder / part[1] for part in parts if OURS.fullmatch(part[1])))


def _name(label: Any) -> str:
    """Return a label as the file of applicants has it, so that the two can be joined."""
    return label if isinstance(label, str) else as_text(label)
