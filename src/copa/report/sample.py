"""Numbers of many applicants in little memory: all of them, or from some number on a fair sample."""

from collections.abc import Mapping
from typing import Any

import numpy as np

SIZE = 20_000  # applicants; beyond that, quartiles of a sample cannot be told from those of everybody


class RowSample:
    """Keeps up to `size` rows of what passes by.

    Each row draws a random number when it arrives, and those with the smallest stay: every row has the same chance, and
    how the rows were cut into blocks makes no difference.
    """

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self.seen = 0
        self._rng = np.random.default_rng(0)
        self._draws = np.zeros(0)
        self._columns: dict[str, Any] = {}

    def add(self, rows: Mapping[str, Any]) -> None:
        """Take some rows in, given by columns, arrays of one length n, (n,)."""
        n = len(next(iter(rows.values())))
        self.seen += n
        draws = np.concatenate([self._draws, self._rng.random(n)])
        kept = np.sort(np.argsort(draws, kind="stable")[: self.size])
        self._draws = draws[kept]
        self._columns = {
            name: np.concatenate([self._columns[name], column])[kept] if self._columns else np.asarray(column)[kept]
            for name, column in rows.items()
        }

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __len__(self) -> int:
        return len(self._draws)

    @property
    def is_complete(self) -> bool:
        """Whether every row that passed by is still here."""
        return self.seen == len(self)
