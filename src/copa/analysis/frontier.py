"""Effort against guarantee: plans for the same applicants at other levels."""

import copy
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.progress import counting
from copa._core.records import reduce_segments
from copa._core.representation import short_repr

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99)
SECONDS = 60.0
LEAST_REACHED = 3  # applicants of whom a median says something


@dataclass(frozen=True, eq=False)
class Frontier:
    """Least effort found at each level, for N applicants and L levels.

    Parameters
    ----------
    levels : ndarray of shape (L,)
        Guarantees or expected rates asked for, ascending.
    effort : ndarray of shape (N, L)
        Of the cheapest option of a plan at each level, NaN where no plan was found. An option that holds at a level
        holds at every lower one: the attribute has the least effort at this level or a higher one.
    complete : bool
        Whether the time was enough for all levels.
    tried : ndarray of bool of shape (N, L), optional
        Whether there was time to plan for each applicant at each level; None where there was for all of them. Where
        there was not, NaN says nothing.

    Examples
    --------
    Of four applicants, three reach 0.8; the median follows these three:

    >>> import numpy as np
    >>> from copa.analysis.frontier import Frontier
    >>> effort = [[1.0, 2.0, np.nan], [2.0, 4.0, 5.0], [3.0, 3.5, np.nan], [9.0, np.nan, np.nan]]
    >>> cost = Frontier(np.array([0.6, 0.8, 0.9]), np.array(effort), complete=True)
    >>> cost.n_reached.tolist(), cost.followed.tolist(), cost.medians.tolist()
    ([4, 3, 1], [True, True, True, False], [2.0, 3.5, nan])
    """

    __repr__ = short_repr

    levels: Array
    effort: Array
    complete: bool
    tried: npt.NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        least = np.fmin.accumulate(self.effort[:, ::-1], axis=1)[:, ::-1]
        object.__setattr__(self, "effort", least)

    def only_tried(self) -> "Frontier":
        """Return the levels at which there was time to plan for everybody."""
        if self.tried is None:
            return self
        return Frontier(self.levels[some := self.tried.all(axis=0)], self.effort[:, some], self.complete)

    @property
    def n_reached(self) -> npt.NDArray[np.intp]:
        """Number of applicants who reach each level, (L,)."""
        counts: npt.NDArray[np.intp] = np.isfinite(self.effort).sum(axis=0)
        return counts

    @property
    def n_drawn(self) -> int:
        """Number of levels that enough applicants reach for a median: half of those tried, and at least three."""
        return int((self.n_reached >= max(LEAST_REACHED, 0.5 * len(self.effort))).sum())

    @property
    def followed(self) -> npt.NDArray[np.bool_]:
        """Applicants who reach the highest of these levels, and all below it, (N,)."""
        drawn = self.n_drawn
        reached = np.isfinite(self.effort)
        return reached[:, drawn - 1] if drawn else np.zeros(len(reached), dtype=np.bool_)

    @property
    def medians(self) -> Array:
        """Median of the effort over the applicants followed, the same at every level, (L,); NaN above these levels."""
        drawn = self.n_drawn
        medians = np.full(len(self.levels), np.nan)
        if drawn:
            medians[:drawn] = np.median(self.effort[self.followed, :drawn], axis=0)
        return medians


def frontier(
    planner: "RecoursePlanner", applicants: "pd.DataFrame", seconds: float = SECONDS, levels: tuple[float, ...] = LEVELS
) -> Frontier:
    """Plan for the same applicants at each level.

    Parameters
    ----------
    planner : RecoursePlanner
        Fitted. Its own level is looked at too, and it stays as it is. Where that is an expected rate,
        so are the others.
    applicants : DataFrame
        N rows.
    seconds : float
        Time for all levels together; levels whose turn has not come by then stay NaN.
    levels : tuple of float
        Levels to ask for.

    Returns
    -------
    Frontier

    Examples
    --------
    >>> from copa.analysis.frontier import frontier
    >>> import copa
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> data = copa.datasets.load_german()
    >>> X, y = data.features, data.favourable
    >>> words = X.select_dtypes(exclude="number").columns
    >>> encoder = make_column_transformer((OneHotEncoder(), words))
    >>> model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(X, y)
    >>> later = copa.LaterModels(n_refits=50)
    >>> planner = copa.RecoursePlanner(model, data.schema, later_models=later, n_starts=2, random_state=0).fit(X, y)
    >>> cost = frontier(planner, X[~model.predict(X)].head(3), levels=(0.6, 0.8))
    >>> cost.levels.tolist(), cost.effort.shape
    ([0.6, 0.8, 0.9], (3, 3))
    """
    started = perf_counter()
    asked = float(planner.guarantee)
    wanted = np.unique([*levels, asked])
    effort = np.full((len(applicants), len(wanted)), np.nan)
    tried = np.zeros(effort.shape, dtype=np.bool_)
    # The level asked for first: where time runs out, it is the one that must be there.
    order = sorted(range(len(wanted)), key=lambda k: abs(wanted[k] - asked))
    for k in counting(order, "planning at other levels", len(order), "levels"):
        left = seconds - (perf_counter() - started)
        if left <= 0.0:
            break
        level = float(wanted[k])
        batch = copy.copy(planner).set_params(guarantee=level, time_limit=left).plan(applicants)
        tried[:, k] = batch.status != "time_limit"
        cheapest = reduce_segments(np.minimum, batch.effort, batch.counts)
        effort[:, k] = np.where(batch.status == "ok", cheapest, np.nan)
    return Frontier(levels=wanted, effort=effort, complete=bool(tried.all()), tried=tried)
