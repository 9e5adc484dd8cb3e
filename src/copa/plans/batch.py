"""`Plan`, the options of one applicant, and `PlanBatch`, the plans of many."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from copa._core.files import write_atomically
from copa._core.words import rounded_down
from copa.data.tables.cells import as_text
from copa.data.tables.frames import PANDAS, as_backend
from copa.plans import document, storage
from copa.plans import frames as tables
from copa.plans.card import batch_html, plan_html
from copa.plans.records import BatchRecord, PlanRecord
from copa.plans.wording import explain


class Plan(PlanRecord):
    """Options of one applicant, with the probabilities that the next model accepts them.

    A plan is a view of one row of a `PlanBatch`: `batch[i]` is the plan of applicant i.

    Parameters
    ----------
    batch : PlanBatch
        Holds the plans of many applicants.
    row : int
        Position of the applicant in it.

    Attributes
    ----------
    label : object
        The applicant's index label.
    factual : DataFrame
        The applicant as given, one row.
    options : DataFrame
        The J options, numbered 1 to J by the index "option".
    status, message : str
        Outcome of the search, and the reason in plain words.
    effort : ndarray of shape (J,)
        Effort of each option in units of the features' spreads.
    accepted : ndarray of bool of shape (J,)
        Whether today's model accepts the option.
    option_lower : ndarray of shape (J,)
        Each option is accepted with at least this probability.
    weights : ndarray of shape (J,)
        Mass of the worst distribution against each option, or for another set than the paper's ball one minus the
        option's guarantee (see `breaks_first`).
    lower, upper : float
        All options are accepted with at least, at most, this probability.
    any_lower : float
        At least one option is accepted with at least this probability.
    gap : float
        The exact value of `lower` is at most this much higher; one minus `lower` where nothing better is known.
    change_effort : ndarray of shape (J, number of columns)
        Effort of each change by itself; see `PlanBatch`.
    highest_level : float
        Highest guarantee in reach; NaN where the one asked for is met, or this does not apply.
    points : ndarray of shape (J, D)
        The options as the model sees them; where `reliability` is known, last what is deducted from their scores.
    certificate : Certificate or None
        Proof of the bounds; None where there are no options.
    seconds : float
        Time spent.
    ambiguity : AmbiguitySet
        Distributions that the guarantees hold for.
    request : PlanRequest
        Request that the plan was made for.
    basis : PlanBasis
        Facts that the guarantees rest on.
    n_held_out : int
        Number of refits that the search did not use; 0 where there are none.
    expected_rate : ndarray of shape (J,)
        Share of them that accept each option: a frequency, not a bound.
    all_rate, any_rate : float
        Shares of them that accept all options, and at least one.
    reliability : float
        Share of today's scores that another sample is expected to find within what the applicant may change; NaN where
        it was not estimated for each.
    fidelity : float
        Share of fresh rows near the options on which the local surrogate agrees with the model.
    at_least, at_most : ndarray of shape (J, number of columns)
        Intervals of the changed numbers; see `PlanBatch`.
    interval_level : ndarray of shape (J,)
        Guarantee that each option keeps within its intervals.
    plausibility : ndarray of shape (J,)
        Share of the training rows that are at least as far from their nearest neighbours as the option is; NaN where it
        is not known.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] > 25
    >>> model = LogisticRegression().fit(X, y)
    >>> planner = copa.RecoursePlanner(model, n_options=2, random_state=0, progress=False).fit(X, y)
    >>> plan = planner.plan(X[~model.predict(X)].head(1))[0]
    >>> plan.status, plan.n_options
    ('ok', 2)
    >>> [change.column for change in plan.changes(1)]
    ['income']
    >>> print(plan.explain(1).splitlines()[0])
    Option 1 (effort ...)
    """

    def explain(self, option: int | None = None) -> str:
        """Return the plan in plain words, or one of its options, with the assumption behind its probabilities.

        Parameters
        ----------
        option : int, optional
            Number of the option, from 1.
        """
        return explain(self, option)

    def to_frame(self) -> Any:
        """Return the options as rows, in the library that the applicants came in (`PlanBatch.backend`).

        Returns
        -------
        DataFrame
            J rows. Of pandas, `options`; of others, their numbers are the first column, "option".
        """
        rows = self.options if self.batch.backend == PANDAS else self.options.reset_index()
        return as_backend(rows, self.batch.backend)

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        parts = [f"applicant {as_text(self.label)}", self.status, f"{self.n_options} options"]
        if self.n_options:
            parts += [
                f"each at least {rounded_down(self.option_lower.min())}",
                f"any at least {rounded_down(self.any_lower)}",
                f"all at least {rounded_down(self.lower)}",
            ]
        return f"Plan({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return plan_html(self)


@dataclass(frozen=True, eq=False, repr=False)
class PlanBatch(BatchRecord[Plan]):
    """Plans of N applicants with M options in all. `batch[i]` is the `Plan` of applicant i, a slice another batch.

    Every number is about the row delivered, which is the row in `options`.

    Parameters
    ----------
    applicants : DataFrame
        The N applicants as given.
    options : DataFrame
        The M options, in the columns of `applicants`.
    owner : ndarray of shape (M,)
        Position of the applicant of each option, ascending.
    status : ndarray of shape (N,)
        "ok", "already_valid", "fragile", "infeasible", "time_limit" or "error".
    message : ndarray of shape (N,)
        Reason of the status in plain words; "" for "ok".
    effort : ndarray of shape (M,)
        Effort of each option in units of the features' spreads.
    accepted : ndarray of bool of shape (M,)
        Whether today's model accepts the option.
    option_lower : ndarray of shape (M,)
        Each option is accepted with at least this probability.
    option_weights : ndarray of shape (M,)
        Mass of the worst distribution against each option, or for another set than the paper's ball one minus the
        option's guarantee (see `Plan.breaks_first`).
    lower, upper : ndarray of shape (N,)
        All options of a plan are accepted with at least, at most, this probability.
    any_lower : ndarray of shape (N,)
        At least one option is accepted with at least this probability.
    gap : ndarray of shape (N,)
        The exact value of `lower` is at most this much higher; one minus `lower` where nothing better is known.
    highest_level : ndarray of shape (N,)
        Highest guarantee in reach; NaN where the one asked for is met, or this does not apply.
    points : ndarray of shape (M, D)
        The options as the model sees them, the intercept first; where `reliability` is known, last what is deducted
        from their scores (`encoded` is without it).
    seconds : ndarray of shape (N,)
        Time spent.
    ambiguity : AmbiguitySet
        Distributions that the guarantees hold for.
    request : PlanRequest
        Request that the plans were made for.
    basis : PlanBasis
        Facts that the guarantees rest on.
    backend : str
        Library of the tables that `to_frame`, `options_frame` and `summary` return, "pandas", "polars" or "pyarrow":
        that of the applicants that a planner was given. The tables in the batch are pandas'; a batch from a file
        returns pandas.
    plausibility : ndarray of shape (M,), optional
        Share of the training rows that are at least as far from their nearest neighbours as the option is; NaN where it
        is not known.
    change_effort : ndarray of shape (M, number of columns), optional
        Effort of each change by itself, by the cost that was planned with; 0 where a cell stays, NaN where it is not
        known. Of a cost whose prices add up ("l1"), the changes of an option add up to its
        `effort`; of one whose squares do ("l2"), `effort` is the root of the sum of their squares.
    reliability : ndarray of shape (N,), optional
        Share of today's scores that another sample is expected to find within what each applicant may change; NaN
        where it was not estimated for each.
    n_held_out : int
        Number of refits that the search did not use; 0 where there are none.
    expected_rate : ndarray of shape (M,), optional
        Share of these refits that accept each option; NaN where there are none. A frequency, not a bound: it is
        reported beside the guarantee, never in its place.
    all_rate, any_rate : ndarray of shape (N,), optional
        Share of them that accept all, at least one, of an applicant's options; NaN without options.
    fidelity : ndarray of shape (N,), optional
        Share of fresh rows near an applicant's options on which the local surrogate agrees with the model; NaN where
        there is none.
    at_least, at_most : ndarray of shape (M, number of columns), optional
        Ends of the interval of each changed number, inclusive: with any values in the intervals of an option, also
        together, today's model accepts it and its guarantee is at least `interval_level`. NaN where a cell stays, or
        nothing is known.
    interval_level : ndarray of shape (M,), optional
        Guarantee that holds everywhere in the intervals of an option; an expected rate where that was asked for.

    Notes
    -----
    Where an applicant has no option, `lower`, `upper`, `any_lower` and `gap` are the empty statements 0, 1, 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] + draw.normal(0, 5, 300) > 25
    >>> model = LogisticRegression().fit(X, y)
    >>> planner = copa.RecoursePlanner(model, n_options=2, random_state=0, progress=False).fit(X, y)
    >>> batch = planner.plan(X[~model.predict(X)].head(3))
    >>> batch
    PlanBatch(3 applicants, 4 options: 3 ok)
    >>> batch.select(batch.status == "ok")[1:].owner.tolist()
    [0, 1]
    >>> batch.summary()["n_options"].tolist()
    [2, 1, 1]
    >>> batch.options_frame()["n_changes"].tolist()
    [1, 2, 1, 1]
    """

    plan_type = Plan

    def to_frame(self) -> Any:
        """Return one row per changed cell.

        Applicant, option, column, from, to, the effort of this change (`change_effort`), the option's guarantee,
        accepted and plausibility, and the ends of the change's interval, at_least and at_most; NaN where these are not
        known. `options_frame` has the effort of whole options.

        Returns
        -------
        DataFrame
            Of the library that the applicants came in (`backend`); outside of pandas, `from` and `to` are text where
            they hold values of several kinds.
        """
        return as_backend(tables.changes_table(self), self.backend)

    def options_frame(self) -> Any:
        """Return one row per option, in the order of `options`, which has the rows themselves.

        Applicant, option, the status of the plan, the option's guarantee, expected rate (the share of held-out refits
        that accept it), effort, number of changes, whether it is accepted today, plausibility, and whether it is the
        one of its plan that breaks first. NaN, or null, where a number is not known.

        Returns
        -------
        DataFrame
            Of the library that the applicants came in (`backend`).
        """
        return as_backend(tables.options_table(self), self.backend)

    def summary(self) -> Any:
        """Return one row per applicant: status, message, number of options, guarantees and least effort.

        Returns
        -------
        DataFrame
            Of the library that the applicants came in (`backend`). Guarantees and effort are NaN, or null, where there
            is no option.
        """
        return as_backend(tables.summary_table(self), self.backend)

    def to_json(self, path: str | Path | None = None, *, certificates: bool = False) -> str:
        """Return the batch as JSON for other programs.

        Parameters
        ----------
        path : str or Path, optional
            File to write it to as well.
        certificates : bool
            Write the proofs too, from which `copa verify` checks every bound.
        """
        text = document.batch_document(self, certificates=certificates)
        if path is not None:
            write_atomically(Path(path), text.encode("utf-8"))
        return text

    def save(self, path: str | Path) -> None:
        """Write the batch to one file, which `load` reads again to the last bit."""
        storage.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> "PlanBatch":
        """Read a file written by `save`; this never executes code.

        Raises
        ------
        DataError
            If the file cannot be read, is damaged, or has a newer version.
        """
        return storage.load(cls, Path(path))

    def __repr__(self) -> str:
        statuses, counts = np.unique(self.status, return_counts=True)
        parts = [f"{count} {status}" for status, count in zip(statuses, counts, strict=True)]
        of_all = f": {', '.join(parts)}" if parts else ""
        return f"PlanBatch({len(self)} applicants, {len(self.options)} options{of_all})"

    def _repr_html_(self) -> str:
        return batch_html(self)
