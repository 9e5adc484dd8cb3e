"""Drift: the moves of scores between versions of a model, which a promise must survive."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, as_floats, require_finite
from copa._core.reading import read_count, read_number
from copa._core.representation import short_repr
from copa._core.words import counted
from copa.exceptions import InvalidInputError
from copa.models.refits.versions import refit_versions, version_scores

__all__ = ["Drift", "Past", "measure_drift", "refit_versions", "version_scores"]

STILL = 1e-9  # of the size of the scores: a smaller spread is rounding
QUANTILE = 0.95  # of the rows of one retraining; an observed distance, and nothing between two of them


@dataclass(frozen=True, eq=False)
class Drift:
    """Moves of scores over 1, 2, ... H retrainings, in standard deviations of retraining.

    Rows of one retraining move together. A move is therefore one number for a pair of versions: the distance that 95 %
    of the rows do not exceed.

    Attributes
    ----------
    largest : ndarray of shape (H,)
        Largest of the moves over h retrainings; NaN where there are too few versions to see any.
    n_versions : int
        Versions V, the model in force included.
    n_moves : ndarray of shape (H,)
        Moves over h retrainings: pairs of versions that are so far apart, V - h or none.
    n_rows : int
        Reference rows whose scores were compared.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.models.refits.history import measure_drift
    >>> scores = np.array([[1.0, 2.0], [1.2, 2.1], [1.5, 2.6]])  # of two rows by three versions, oldest first
    >>> drift = measure_drift(scores, spreads=np.array([0.1, 0.2]), horizon=4)
    >>> drift.largest.round(2).tolist(), round(drift.radius(1), 2), round(drift.radius(4), 2)
    ([3.0, 5.0, nan, nan], 3.0, 5.0)
    >>> print(drift.in_words())
    2 older versions show 2 moves over 1 retraining and 1 over 2; nothing was seen over 3 or 4
    >>> print(drift.largest_in_words(2).partition(";")[0])
    5, the largest of 3 moves (a move is the distance that 95 % of the options stay within)
    """

    __repr__ = short_repr

    largest: Array
    n_versions: int
    n_moves: npt.NDArray[np.int64]
    n_rows: int

    @property
    def horizon(self) -> int:
        """Retrainings H that were asked about."""
        return len(self.largest)

    @property
    def n_measured(self) -> int:
        """Longest horizon over which a move was seen, at most V - 1."""
        return int((self.n_moves > 0).sum())

    def radius(self, horizon: int | None = None) -> float:
        """Largest move over 1, ..., `horizon` retrainings, as far as they were seen; 0 where none was.

        Parameters
        ----------
        horizon : int, optional
            Retrainings that a promise must survive; None for all H.
        """
        last = self.horizon if horizon is None else read_count(horizon, "horizon", most=self.horizon)
        return float(self.largest[: min(last, self.n_measured)].max(initial=0.0))

    def over(self, horizon: int) -> "Drift":
        """The same for so many retrainings; nothing was seen over those that were not asked about.

        Parameters
        ----------
        horizon : int
        """
        missing = max(0, horizon - self.horizon)
        largest = np.concatenate([self.largest, np.full(missing, np.nan)])[:horizon]
        n_moves = np.concatenate([self.n_moves, np.zeros(missing, dtype=np.int64)])[:horizon]
        return replace(self, largest=largest, n_moves=n_moves)

    def in_words(self, horizon: int | None = None) -> str:
        """Say how many moves were seen, and over how many retrainings none was.

        Parameters
        ----------
        horizon : int, optional
            Retrainings that a promise must survive; None for all H.
        """
        last = self.horizon if horizon is None else read_count(horizon, "horizon", most=self.horizon)
        seen = min(last, self.n_measured)
        if seen == 0:
            noun = "retraining" if last == 1 else "retrainings"
            return f"no older version, so that no move over {_joined(range(1, last + 1), 'or')} {noun} was seen"
        first = f"{counted(int(self.n_moves[0]), 'move')} over 1 retraining"
        further = [f"{self.n_moves[h - 1]} over {h}" for h in range(2, seen + 1)]
        shows = "shows" if self.n_versions == 2 else "show"
        words = f"{counted(self.n_versions - 1, 'older version')} {shows} {_joined([first, *further], 'and')}"
        if seen < last:
            words += f"; nothing was seen over {_joined(range(seen + 1, last + 1), 'or')}"
        return words

    def largest_in_words(self, horizon: int) -> str:
        """Say how far scores moved at most, of how many moves that is the largest, and what was not seen.

        Parameters
        ----------
        horizon : int
            Retrainings that a promise must survive.
        """
        n = int(self.n_moves[:horizon].sum())
        of = f", the largest of {counted(n, 'move')} (a move is the distance that 95 % of the options stay within)"
        return f"{self.radius(horizon):.3g}{of if n else ''}; {self.in_words(horizon)}"


@dataclass(frozen=True, eq=False)
class Past:
    """The drift that a history shows, and the radius without it: all that another horizon needs.

    Attributes
    ----------
    drift : Drift
        Over as many retrainings as the history shows, or were asked about.
    radius : float
        Without the history.
    radius_source : str
        Where that comes from, in words.
    """

    __repr__ = short_repr

    drift: Drift
    radius: float
    radius_source: str

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        drift = self.drift
        return {
            "largest": [None if np.isnan(move) else move for move in drift.largest.tolist()],
            "n_moves": drift.n_moves.tolist(),
            "n_versions": drift.n_versions,
            "n_rows": drift.n_rows,
            "radius": self.radius,
            "radius_source": self.radius_source,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Past":
        """Read what `to_json` returned; a `TypeError`, `KeyError` or `ValueError` where it is not such."""
        largest = [np.nan if move is None else read_number(move, "a move") for move in content["largest"]]
        n_moves = [read_count(number, "n_moves", least=0) for number in content["n_moves"]]
        if not largest or np.isnan(largest).tolist() != [number == 0 for number in n_moves]:
            raise ValueError("its history has moves over no retrainings, or no move over some")
        numbers = read_count(content["n_versions"], "n_versions"), read_count(content["n_rows"], "n_rows", least=0)
        drift = Drift(np.array(largest), numbers[0], np.array(n_moves, dtype=np.int64), numbers[1])
        return cls(drift, read_number(content["radius"], "radius"), str(content["radius_source"]))


def _joined(values: Iterable[object], word: str) -> str:
    """Values in a sentence: 1, 2 and 3."""
    texts = [str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {word} {texts[-1]}"


def measure_drift(scores: Any, spreads: Any, horizon: int) -> Drift:
    """Measure how far the scores of reference rows moved over 1, ..., `horizon` retrainings.

    Parameters
    ----------
    scores : array_like of shape (V, M)
        Of M reference rows by V versions, oldest first, the model in force last.
    spreads : array_like of shape (M,)
        Standard deviation of each row's score over refits, the unit of its moves. Rows that no refit moves have no
        such unit, and are left out.
    horizon : int
        Retrainings H to look at.

    Returns
    -------
    Drift
        With, for each h, the largest over all t of the 95 % quantiles over the rows of |score of version t + h - score
        of version t| / spread: the smallest observed distance that at least 95 % of the rows do not exceed.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.models.refits.history import measure_drift
    >>> drift = measure_drift(np.array([[0.0, 1.0], [0.5, 1.0]]), spreads=np.array([0.5, 0.5]), horizon=1)
    >>> drift.largest.tolist(), drift.n_moves.tolist()
    ([1.0], [1])
    """
    table, units = as_floats(scores, "scores"), as_floats(spreads, "spreads")
    last = read_count(horizon, "horizon")
    if table.ndim != 2 or len(table) == 0:
        raise InvalidInputError(f"scores must have shape (V, M) with V >= 1 versions, got {table.shape}")
    if units.shape != table.shape[1:]:
        raise InvalidInputError(f"spreads must have shape ({table.shape[1]},), one per row, got {units.shape}")
    require_finite(table, "scores")
    require_finite(units, "spreads")
    moving = units > STILL * np.abs(table).max(initial=0.0)
    n_versions, n_rows = len(table), int(moving.sum())
    if n_versions > 1 and n_rows == 0:
        raise InvalidInputError(
            "the drift is counted in standard deviations of retraining, and no reference row has one above 0: no "
            "refit changes any of their scores"
        )
    relative = table[:, moving] / units[moving]
    largest, n_moves = np.full(last, np.nan), np.zeros(last, dtype=np.int64)
    for h in range(1, min(last, n_versions - 1) + 1):
        distances = np.abs(relative[h:] - relative[:-h])
        moves = np.quantile(distances, QUANTILE, axis=1, method="inverted_cdf")
        largest[h - 1], n_moves[h - 1] = moves.max(), len(moves)
    return Drift(largest, n_versions, n_moves, n_rows)
