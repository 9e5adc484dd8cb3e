"""`Plan`: the menu of one applicant."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.reading import is_whole
from copa._core.words import rounded_down, shown
from copa.bounds.certificate import Certificate
from copa.exceptions import InvalidInputError
from copa.plans.card import plan_html
from copa.plans.changes import Change, changed_cells
from copa.plans.rates import Trials
from copa.plans.request import PlanBasis, PlanRequest, PlanTerms
from copa.plans.wording import explain
from copa.tables.cells import as_text, cells_of
from copa.uncertainty.ambiguity import MomentBall

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What one applicant can do, and how surely each option holds.

    Attributes
    ----------
    label : the applicant's index label
    factual : DataFrame of one row, the applicant as given
    options : DataFrame of J rows, numbered 1 to J by its index "option"
    status, message : str, what became of the search, and why
    effort, relaxed_effort : (J,) of each option, in units of the features' spreads; without rounding to real rows
    accepted : (J,) whether today's model accepts the option
    option_lower : (J,) each option holds with at least this probability
    weights : (J,) the worst distribution's mass against each option: the largest breaks first
    lower, upper : float, all options hold with at least, at most, this probability
    any_lower : float, at least one option holds with at least this probability
    gap : float, the exact value of `lower` is at most this much higher
    relaxed_lower : float, `lower` without rounding to real rows
    highest_level : float, highest guarantee in reach; NaN where the one asked for is met, or this does not apply
    points : (J, D) the options as the model sees them
    ball : the distributions that the guarantees hold for
    certificate : their proof, None where there are no options
    seconds : float, time spent
    request : PlanRequest, what was asked
    basis : PlanBasis, the facts that the guarantees rest on
    """

    label: Any
    factual: "pd.DataFrame"
    options: "pd.DataFrame"
    status: str
    message: str
    effort: Array
    relaxed_effort: Array
    accepted: npt.NDArray[np.bool_]
    option_lower: Array
    weights: Array
    lower: float
    upper: float
    any_lower: float
    gap: float
    relaxed_lower: float
    highest_level: float
    points: Array
    ball: MomentBall
    certificate: Certificate | None
    seconds: float
    request: PlanRequest
    basis: PlanBasis
    trials: Trials | None = None

    @property
    def terms(self) -> PlanTerms:
        """Old view of `request` and `basis` as one record."""
        return PlanTerms.of(self.request, self.basis)

    @property
    def n_options(self) -> int:
        """Number of options."""
        return len(self.options)

    @property
    def breaks_first(self) -> int | None:
        """The option that the worst distribution turns against most; None where nothing is promised to break."""
        if self.n_options < 2 or not self.lower > 0.0:
            return None
        return int(np.argmax(self.weights)) + 1

    def changes(self, option: int) -> list[Change]:
        """Return what an option changes: column, value today, new value; also in people's words (`Change.title`, ...).

        Parameters
        ----------
        option : its number, from 1
        """
        return list(self._changes[self.position(option)])

    @cached_property
    def _changes(self) -> list[list[Change]]:
        """What each option changes, in the order of the columns."""
        features = {feature.name: feature for feature in self.basis.schema.features}
        own = self.factual.iloc[np.zeros(self.n_options, dtype=np.intp)]
        flags = changed_cells(own, self.options)
        changes: list[list[Change]] = [[] for _ in range(self.n_options)]
        for k in np.flatnonzero(flags.any(axis=0)).tolist():
            column = self.options.columns[k]
            before, after = cells_of(self.factual.iloc[:, k])[0], cells_of(self.options.iloc[:, k])
            for j in np.flatnonzero(flags[:, k]).tolist():
                changes[j].append(Change(column, before, after[j], features.get(column)))
        return changes

    def position(self, option: Any) -> int:
        """Return the position of the option of a number, or say which numbers there are."""
        numbered = is_whole(option)
        if not numbered or not 1 <= option <= self.n_options:
            known = f"1 to {self.n_options}" if self.n_options else "none, because the plan has no options"
            raise InvalidInputError(f"option must be the number of an option, {known}, got {shown(option)}")
        return int(option) - 1

    def explain(self, option: int | None = None) -> str:
        """Return the plan in plain words, or one of its options, with the assumption behind its probabilities."""
        return explain(self, option)

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
