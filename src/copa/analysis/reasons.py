"""Reasons for a decline: the difference of an applicant's score from that of a typical accepted row, by column."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.data.schema import FeatureSchema
from copa.data.schema.recognition import why_protected
from copa.data.schema.typical import typical_row
from copa.data.tables.cells import cells_of
from copa.exceptions import InvalidInputError
from copa.models.refits.versions import scores_of
from copa.planner.search.accepted import FEWEST, is_accepted

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.search.plausibility import Plausibility
    from copa.planner.strategies.base import Strategy

MOST_REASONS = 4
LEAST_SHARE = 0.02  # of what the applicant lacks to the reference; what contributes less is no principal reason
EXACT, REPLACEMENT = "exact", "replacement"
ACCEPTED, NEIGHBOURS = "accepted", "neighbours"
N_NEIGHBOURS = (10, 50, 250)  # accepted rows whose typical values stand for the neighbours; more where it is declined
N_GROUPS = 50  # accepted rows whose own neighbours are tried where nothing is typical of all
BLOCK = 100  # applicants whose rows are held at once


class Reason(NamedTuple):
    """One reason for a decline.

    Attributes
    ----------
    column : str
    value : object
        The applicant's.
    reference : object
        The value that it is compared with.
    contribution : float
        By how much the score would rise with the reference in its place.
    """

    column: str
    value: Any
    reference: Any
    contribution: float


@dataclass(frozen=True, eq=False)
class Reasons:
    """The difference of an applicant's score from that of a reference which is accepted, split by column.

    `contributions` and `together` add up to `reference_score - score`.

    Attributes
    ----------
    columns : tuple of str
        Columns of the model, those that speak most against the applicant first.
    values, references : tuple
        The applicant's cells, and those of the reference: of a linear model, what is typical of the training rows that
        it accepts (median, most frequent level); of others, what is typical of the accepted rows nearest to the
        applicant. The model accepts every reference.
    contributions : ndarray of shape (C,)
        By how much the score rises with the reference's cell; negative where the applicant's is the better one.
    together : float
        What the columns do only together; 0, but for rounding, where the model is a sum over columns.
    score, reference_score : float
        Of the applicant, and of the reference as a whole; accepted from 0 on.
    found_by : {"exact", "replacement"}
        "exact": the model is a sum over columns, and a contribution is the same whatever the other columns hold.
        "replacement": it is the mean of two, with the other cells the applicant's and with those of the reference.
    compared_with : {"accepted", "neighbours"}
        Whose typical values the reference has: all training rows that are accepted, or those of them nearest to the
        applicant.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> from copa.analysis.reasons import find_reasons
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] + draw.normal(0, 5, 300) > 25
    >>> model = LogisticRegression().fit(X, y)
    >>> planner = copa.RecoursePlanner(model, later_models=copa.LaterModels(n_refits=50), progress=False).fit(X, y)
    >>> (reasons,) = find_reasons(planner.strategy_, X[~model.predict(X)].head(1))
    >>> [(reason.column, reason.value, reason.reference) for reason in reasons.principal()]
    [('income', 23, 48)]
    >>> gap = reasons.reference_score - reasons.score
    >>> bool(np.isclose(reasons.contributions.sum() + reasons.together, gap)), reasons.found_by
    (True, 'exact')
    """

    columns: tuple[str, ...]
    values: tuple[Any, ...]
    references: tuple[Any, ...]
    contributions: Array
    together: float
    score: float
    reference_score: float
    found_by: str
    compared_with: str = ACCEPTED

    def principal(self, most: int = MOST_REASONS) -> list[Reason]:
        """Return the reasons that count most, the most important first.

        Parameters
        ----------
        most : int
            Reasons to return at most.

        Returns
        -------
        list of Reason
            None of them contributes less than 2 % of all that speaks against the applicant.
        """
        least = LEAST_SHARE * float(np.maximum(self.contributions, 0.0).sum())
        reasons = [
            Reason(*parts)
            for parts in zip(self.columns, self.values, self.references, self.contributions.tolist(), strict=True)
        ]
        counted = [r for r in reasons if r.contribution > 0.0 and r.contribution >= least]
        return counted[:most]


def protected_columns(schema: FeatureSchema, columns: tuple[str, ...]) -> dict[str, str]:
    """Return the columns that the law may protect, each with why it looks so, by its name and its title."""
    protected = {}
    for name in columns:
        titles = (name, schema[name].heading) if name in schema else (name,)
        why = next(filter(None, map(why_protected, titles)), "")
        if why:
            protected[name] = why
    return protected


def find_reasons(strategy: "Strategy", table: "pd.DataFrame") -> list[Reasons]:
    """Find out why applicants are declined.

    Parameters
    ----------
    strategy : Strategy
        `strategy_` of a planner.
    table : DataFrame
        One applicant per row.

    Returns
    -------
    list of Reasons
        One per row, which does not depend on the other rows.

    Examples
    --------
    >>> import copa
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.analysis.reasons import find_reasons
    >>> data = copa.datasets.load_german()
    >>> X = data.features[["duration", "amount"]]
    >>> model = LogisticRegression(max_iter=500).fit(X, data.favourable)
    >>> later = copa.LaterModels(n_refits=50)
    >>> planner = copa.RecoursePlanner(model, later_models=later, progress=False).fit(X, data.favourable)
    >>> [reasons.principal()[0].column for reasons in find_reasons(planner.strategy_, X[~model.predict(X)].head(2))]
    ['duration', 'duration']
    """
    references, reasons = _References(strategy), []
    for first in range(0, len(table), BLOCK):
        people = table.iloc[first : first + BLOCK]
        rows, words = references.of_each(people)
        reasons += _compare(strategy, people[list(strategy.model.columns)], rows, words)
    return reasons


def require_reference(strategy: "Strategy") -> None:
    """Raise where a planner knows nobody to compare applicants with, before any work is done for them."""
    _ = _References(strategy).everybody


class _References:
    """Typical accepted rows, with which applicants are compared."""

    def __init__(self, strategy: "Strategy") -> None:
        self._schema, self._model, self._accepted_row = strategy.schema, strategy.model, strategy.accepted_row
        self._columns, plausibility = list(strategy.model.columns), strategy.space.plausibility
        self._neighbours: Plausibility | None = None
        if plausibility is not None and not strategy.additive and set(self._columns) <= set(plausibility.schema.names):
            self._rows = plausibility.table()
            self._accepted: Indices = np.flatnonzero(self._model.accepts(self._rows[self._columns]))
            self._neighbours = plausibility if len(self._accepted) >= N_NEIGHBOURS[0] else None

    def of_each(self, people: "pd.DataFrame") -> tuple["pd.DataFrame", list[str]]:
        """Return a typical accepted row near each applicant, or else that of all accepted, and which of them it is."""
        import pandas as pd

        if self._neighbours is None:
            return self.everybody.iloc[np.zeros(len(people), dtype=np.intp)], [ACCEPTED] * len(people)
        near = [self._typical_of_nearest(people.iloc[[i]], N_NEIGHBOURS) for i in range(len(people))]
        words = [ACCEPTED if row is None else NEIGHBOURS for row in near]
        return pd.concat([self.everybody if row is None else row for row in near]), words

    def _cluster(self) -> "pd.DataFrame | None":
        """Return the typical row of accepted rows near each other, the best scores first; None if none is accepted."""
        accepted = self._rows.iloc[self._accepted]
        scores = scores_of(self._model, accepted[self._columns])
        for i in np.argsort(-scores, kind="stable")[:N_GROUPS].tolist():
            typical = self._typical_of_nearest(accepted.iloc[[i]], (N_NEIGHBOURS[0], FEWEST))
            if typical is not None:
                return typical
        return None

    def _typical_of_nearest(self, row: "pd.DataFrame", sizes: Sequence[int]) -> "pd.DataFrame | None":
        """Return the typical row of as few nearest accepted rows as make it accepted; None where it never is."""
        nearest = cast("Plausibility", self._neighbours).nearest(row, self._accepted)
        for size in sizes:
            typical = typical_row(self._schema, self._rows.iloc[nearest[:size]], self._columns)
            if is_accepted(self._model, typical):
                return typical
        return None

    @cached_property
    def everybody(self) -> "pd.DataFrame":
        """Typical row of all that are accepted, and accepted itself."""
        if self._accepted_row is not None and is_accepted(self._model, self._accepted_row):
            return self._accepted_row
        typical = None if self._neighbours is None else self._cluster()
        if typical is None:
            raise InvalidInputError(
                "reasons compare an applicant with those accepted, and this planner knows nobody to compare with: no "
                "training row is accepted, what is typical of the accepted ones is declined itself, or it was saved by "
                "an earlier version of copa. Fit it again to the training data"
            )
        return typical


def _compare(
    strategy: "Strategy", people: "pd.DataFrame", references: "pd.DataFrame", words: list[str]
) -> list[Reasons]:
    """Split the differences of N applicants from their references."""
    columns, n = strategy.model.columns, len(people)
    # Of each column one row with the reference's cell in the applicant's row, and one the other way round; then the two
    # rows themselves.
    here = np.vstack([np.eye(len(columns), dtype=bool), np.zeros((1, len(columns)), dtype=bool)])
    mixed = _mixed(people, references, np.vstack([here, ~here]))
    scores = scores_of(strategy.model, mixed).reshape(n, 2, len(columns) + 1)
    cells, reference_cells = ([cells_of(table[name]) for name in columns] for table in (people, references))
    compared = []
    for i, (forward, back) in enumerate(scores):
        score, reference_score = float(forward[-1]), float(back[-1])
        parts = 0.5 * ((forward[:-1] - score) + (reference_score - back[:-1]))
        order = np.argsort(-parts, kind="stable").tolist()
        compared.append(
            Reasons(
                columns=tuple(columns[k] for k in order),
                values=tuple(cells[k][i] for k in order),
                references=tuple(reference_cells[k][i] for k in order),
                contributions=parts[order],
                together=reference_score - score - float(parts.sum()),
                score=score,
                reference_score=reference_score,
                found_by=EXACT if strategy.additive else REPLACEMENT,
                compared_with=words[i],
            )
        )
    return compared


def _mixed(people: "pd.DataFrame", references: "pd.DataFrame", taken: npt.NDArray[np.bool_]) -> "pd.DataFrame":
    """Return R rows for each of N applicants, with the reference's cells where `taken`, (R, C), and else their own."""
    import pandas as pd

    mixed = {}
    for k, name in enumerate(people.columns):
        both = pd.concat([people[name], _in_dtype_of(references[name], people[name])], ignore_index=True)
        places = np.arange(len(people))[:, None] + len(people) * taken[:, k]
        mixed[name] = both.take(places.ravel()).reset_index(drop=True)
    return pd.DataFrame(mixed)


def _in_dtype_of(column: "pd.Series[Any]", like: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a column in the dtype of another one, where that can hold it."""
    if column.dtype == like.dtype:
        return column
    try:
        cast_column = column.astype(like.dtype)
    except (TypeError, ValueError):
        return column
    missing = cast_column.isna()
    same = missing.equals(column.isna()) and (missing | (cast_column.astype(object) == column.astype(object))).all()
    return cast_column if same else column
