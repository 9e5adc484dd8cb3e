"""`Strategy`: what a planner knows of one kind of model, and how it plans with it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.words import rounded_down
from copa.exceptions import InvalidInputError
from copa.models.base import Model
from copa.plans.rates import HeldOutRates
from copa.plans.request import PlanBasis, PlanRequest
from copa.plans.wording import WHOM
from copa.schema import FeatureSchema
from copa.search._kernels.arguments import FoundPlans, FoundRows, Regions
from copa.search.problem import ActionSpace, read_regions
from copa.search.rows import make_room, write_rows
from copa.uncertainty.ambiguity import AmbiguitySet
from copa.uncertainty.reliability import LEAST_RELIABILITY
from copa.uncertainty.weight_moments import WeightMoments

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from copa._core.formats import Archive
    from copa.planner.settings import Execution, FitSettings
    from copa.uncertainty.history import Drift

Flags = npt.NDArray[np.bool_]
# The rows delivered are bounded again; asking for this much more keeps rounding from taking the level away.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class Strategy(ABC):
    """The fitted state of one kind of model, and how plans are built with it.

    The planner knows no other interface: a new kind of model, or a new surrogate of black boxes, is a subclass (a
    frozen dataclass) that says how it is fitted, how a row becomes a point of its ambiguity set, and how it searches.
    The rows it proposes are evaluated, judged and bounded by `planner.plan`, never by the strategy itself.

    Attributes
    ----------
    model : Model
        The model in force.
    space : ActionSpace
        The columns that may change.
    radius_source : str
        Where the radius comes from, in words.
    confidence : float or None
        In today's data, where the ambiguity set follows from it.
    reliability : float or None
        Share of today's scores that another sample is expected to find (`uncertainty.reliability`).
    n_rows : int or None
        Rows of the training data.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.normal(size=(100, 2)).round(2), columns=["income", "savings"])
    >>> y = X["income"] + X["savings"] > 0
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), n_models=20).fit(X, y)
    >>> strategy = planner.fitted_
    >>> isinstance(strategy, copa.planner.Strategy), strategy.kind, strategy.subject
    (True, 'linear', 'parameters')
    >>> strategy.ambiguity(n_options=3).dimension  # intercept and two columns
    3
    """

    kind: ClassVar[str]
    """Its word in messages."""
    subject: ClassVar[str]
    """What the ambiguity set is about, see `PlanBasis`."""
    additive: ClassVar[bool] = False
    """Whether an encoded row is a sum over columns. Corrections of points, the paper's objective and an attribution by
    column need that."""

    model: Model
    space: ActionSpace
    radius_source: str
    confidence: float | None = None
    reliability: float | None = None
    n_rows: int | None = None

    @classmethod
    @abstractmethod
    def fit(cls, model: Any, schema: FeatureSchema, X: "pd.DataFrame", y: Any, settings: "FitSettings") -> "Strategy":
        """Learn how the model varies when it is retrained.

        Parameters
        ----------
        model : LinearModel or BlackBox
        schema : FeatureSchema
        X : DataFrame
            The training data.
        y : array_like of shape (n,), optional
            Its labels.
        settings : FitSettings
        """

    @abstractmethod
    def ambiguity(self, n_options: int) -> AmbiguitySet:
        """The distributions that the guarantees of plans with up to `n_options` options hold for."""

    @abstractmethod
    def encode(self, table: "pd.DataFrame") -> Array:
        """The numbers that the model makes of rows, (N, k): a row for which one is not finite cannot be used."""

    @abstractmethod
    def start(self, table: "pd.DataFrame", encoded: Array | None = None) -> Array:
        """Applicants as the search sees them, (N, D); `encoded` is what `encode` says of them, if it was called."""

    @abstractmethod
    def points(
        self,
        rows: "pd.DataFrame",
        owner: Indices,
        n_options: int,
        n_jobs: int | None = None,
        encoded: Array | None = None,
    ) -> Array:
        """Rows as points of `ambiguity(n_options)`, (M, D).

        Parameters
        ----------
        rows : DataFrame
            M rows.
        owner : ndarray of shape (M,)
            The applicant of each row, ascending.
        n_options : int
        n_jobs : int, optional
        encoded : ndarray of shape (M, k), optional
            What `encode` says of the rows, if it was called.
        """

    @abstractmethod
    def build(self, applicants: "Applicants", request: PlanRequest, run: "Execution") -> "Found":
        """Search the plans of applicants whom the model declines."""

    def explain(
        self,
        applicants: "Applicants",  # noqa: ARG002 - for strategies that can say more
        plans: FoundPlans,
        levels: Array,
        request: PlanRequest,
        run: "Execution",  # noqa: ARG002
    ) -> list[str]:
        """Say for each applicant why there is no plan that reaches the level.

        Parameters
        ----------
        applicants : Applicants
            N of them.
        plans : FoundPlans
            What was found for them.
        levels : ndarray of shape (N,)
            What was to be reached; -1 for acceptance by today's model alone.
        request : PlanRequest
        run : Execution
        """
        return [
            "the model accepts none of the allowed rows that were tried; there may be others"
            if level < 0.0
            else f"{out_of_reach(request, best)}; retraining changes the answers of this model too much here"
            for level, best in zip(levels, plans.highest, strict=True)
        ]

    def expecting(self) -> "Strategy":
        """The strategy whose ambiguity set is the one law that is expected of the next model, to search by it.

        Its levels are expected rates, averaged over training data, and no guarantees.
        """
        raise InvalidInputError(f"an expected rate cannot be planned for with {type(self).__name__}; ask for a number")

    def moments(self, n_options: int) -> WeightMoments:
        """Nominal moments of the ambiguity set, towards the favourable label and cut off."""
        ambiguity = self.ambiguity(n_options)
        return WeightMoments(ambiguity.mean, ambiguity.cov, oriented=True)

    def spreads(self, points: Array) -> Array:  # noqa: ARG002 - for strategies that estimate them
        """Standard deviations of retraining of the scores of points (M, D), in the units of the model's score, (M,)."""
        raise InvalidInputError(f"{type(self).__name__} says nothing of how scores vary; leave out the history")

    def widened(self, drift: "Drift", horizon: int) -> "Strategy":  # noqa: ARG002 - for strategies that can
        """The same state with an ambiguity set that allows for the moves of past versions."""
        raise InvalidInputError(f"{type(self).__name__} cannot allow for a history; leave it out")

    def expected_rates(
        self,
        options: "Options",  # noqa: ARG002 - for strategies with held-out refits
        n_applicants: int,  # noqa: ARG002
        n_jobs: int | None,  # noqa: ARG002
        fidelity: Array | None = None,  # noqa: ARG002
    ) -> HeldOutRates | None:
        """Shares of refits that accept options and that nothing was chosen by; None where there are no such refits.

        Parameters
        ----------
        options : Options
        n_applicants : int
            Whose options they are.
        n_jobs : int or None
        fidelity : ndarray of shape (N,), optional
            See `Found`.
        """
        return None

    def nearest_rows(
        self,
        applicants: "Applicants",
        owner: Indices,
        targets: Array,
        run: "Execution",
        *,
        margin: float = -np.inf,
        levels: Array | None = None,
    ) -> FoundRows:
        """The allowed and accepted rows nearest to encoded points, where `additive`.

        Parameters
        ----------
        applicants : Applicants
        owner : ndarray of shape (M,)
            The applicant of each point.
        targets : ndarray of shape (M, D)
        run : Execution
        margin : float
            Least mean score.
        levels : ndarray of shape (M,), optional
            What each row must reach.
        """
        raise NotImplementedError

    def require_method(self, method: str) -> None:
        """Raise if plans for this model cannot be corrected by a method."""
        if method != "level" and not self.additive:
            raise InvalidInputError(
                f"method={method!r} requires a model that is linear in the columns, and this one is not; "
                "method='level' searches from each option for a row that reaches the guarantee"
            )

    def require_audits(self) -> None:  # noqa: B027 - most strategies can
        """Raise if plans made elsewhere cannot be bounded."""

    def changes(self, before: "pd.DataFrame", after: "pd.DataFrame", points: tuple[Array, Array]) -> Array:  # noqa: ARG002 - for strategies whose points are not the rows
        """How far M rows were moved, (M,): in the encoded units of their points before and after."""
        return np.asarray(np.linalg.norm(points[1] - points[0], axis=1))

    @abstractmethod
    def pack(self) -> "Archive":
        """What a saved planner holds of it, besides what all planners have."""

    @classmethod
    @abstractmethod
    def unpack(
        cls, archive: "Archive", schema: FeatureSchema, model: Any, path: "str | Path"
    ) -> tuple[Self, dict[str, Any]]:
        """Read what `pack` returned, for the model that it was fitted with.

        Returns
        -------
        strategy : Strategy
        settings : dict
            Settings of the planner that follow from it.
        """

    @property
    def basis(self) -> PlanBasis:
        """The facts that guarantees rest on, beside the ambiguity set."""
        return PlanBasis(
            favourable=self.model.favourable,
            threshold=self.model.threshold,
            radius_source=self.radius_source,
            schema=self.schema,
            subject=self.subject,
            confidence=self.confidence,
            reliability=self.reliability,
            n_rows=self.n_rows,
            n_columns=self.n_columns,
        )

    @property
    def n_columns(self) -> int | None:
        """Columns of the training data, as the model encodes them; None where it says nothing of that."""
        return None

    @property
    def shortage(self) -> str:
        """Why the training data are too few for a guarantee, whatever the level; "" where they are enough."""
        if self.reliability is None or self.reliability >= LEAST_RELIABILITY:
            return ""
        columns = "" if self.n_columns is None else f" for {self.n_columns} columns"
        few = f"too few data for this level: {self.n_rows} rows{columns}"
        if self.reliability == 0.0:
            return f"{few}. No declined row among them shows that scores by which rows are chosen are reliable"
        return (
            f"{few}. Of a score that half of them find, the other half finds so little that a model on all rows is "
            f"{self.reliability:.2f} reliable, and {LEAST_RELIABILITY:g} is needed"
        )

    @property
    def schema(self) -> FeatureSchema:
        """The schema, with the spreads that it was fitted with."""
        return self.space.schema


@dataclass(frozen=True, eq=False)
class Applicants:
    """Applicants whose rows are good, as the table, the search and the model see them.

    Attributes
    ----------
    table : DataFrame
        Where the search begins, one row each.
    origins : DataFrame
        The applicants as they are, whom the constraints are about; other rows than those of `table` where a search
        begins at an option (`search_from_options`).
    regions : Regions
        What each may change.
    encoded : ndarray of shape (N, D)
    slack : ndarray of shape (N, R)
        Of the rules.
    """

    table: "pd.DataFrame"
    origins: "pd.DataFrame"
    regions: Regions
    encoded: Array
    slack: Array

    @classmethod
    def read(cls, strategy: Strategy, table: "pd.DataFrame", encoded: Array | None = None) -> "Applicants":
        """Read a checked table; an error, before any search, where it has no room for what options may hold.

        Parameters
        ----------
        strategy : Strategy
        table : DataFrame
        encoded : ndarray, optional
            What `strategy.encode` says of it.
        """
        table = make_room(strategy.space, table)
        regions = read_regions(strategy.space, table)
        return cls(table, table, regions, strategy.start(table, encoded), strategy.space.slack(table))

    def take(self, rows: Any) -> "Applicants":
        """Some of the applicants."""
        table = self.table.iloc[rows]
        origins = table if self.origins is self.table else self.origins.iloc[rows]
        return Applicants(table, origins, self.regions.take(rows), self.encoded[rows], self.slack[rows])

    def __len__(self) -> int:
        return len(self.encoded)


@dataclass(frozen=True, eq=False)
class Options:
    """The rows of N plans, M in all, and what the model in force says of them.

    Attributes
    ----------
    model : Model
        The one in force, which says whether it accepts the rows; nobody can say so in its place.
    table : DataFrame
        M rows.
    owner : ndarray of shape (M,)
    points : ndarray of shape (M, D)
        Points of the ambiguity set.
    effort : ndarray of shape (M,)
    relaxed_effort : ndarray of shape (M,)
        Before the values were rounded to steps.
    """

    model: Model
    table: "pd.DataFrame"
    owner: Indices
    points: Array
    effort: Array
    relaxed_effort: Array

    @cached_property
    def accepted(self) -> Flags:
        """Whether the model accepts each row, (M,)."""
        return self.model.accepts(self.table)

    def take(self, flags: Flags) -> "Options":
        """Some of the rows."""
        arrays = {f.name: getattr(self, f.name)[flags] for f in fields(self) if f.name not in ("model", "table")}
        taken = Options(model=self.model, table=self.table[flags].reset_index(drop=True), **arrays)
        vars(taken)["accepted"] = self.accepted[flags]  # known already
        return taken


@dataclass(frozen=True, eq=False)
class Found:
    """What a strategy found for N applicants.

    Attributes
    ----------
    plans : FoundPlans
    options : Options
        The rows of these plans.
    relaxed : tuple of ndarray, optional
        The plans before they became rows: points (M', D) and the applicant of each; None for those of the rows.
    fidelity : ndarray of shape (N,), optional
        Share of fresh rows near an applicant's options of which the surrogate says what the model says.
    """

    plans: FoundPlans
    options: Options
    relaxed: tuple[Array, Indices] | None = None
    fidelity: Array | None = None


def reference_applicants(strategy: Strategy, X: "pd.DataFrame", n: int) -> Applicants:
    """Up to n declined rows of the training data that the schema finds good, spread over the table."""
    good = np.flatnonzero(np.array([not message for message in strategy.schema.check(X)], dtype=bool))
    declined = good[~strategy.model.accepts(X.iloc[good])]
    few = declined[np.unique(np.linspace(0, len(declined) - 1, n).astype(int))] if len(declined) else declined
    return Applicants.read(strategy, X.iloc[few].reset_index(drop=True))


def out_of_reach(request: PlanRequest, highest: float) -> str:
    """Say that no option was found at the level asked for, and the highest level that was."""
    what = "a guarantee" if request.aim == "guarantee" else "an expected rate"
    return (
        f"accepted today, but {what} of {request.guarantee:g} for {WHOM[request.guarantee_for]} is out of reach: "
        f"the highest that was found for an option is {rounded_down(highest)}"
    )


def obstacles(ambiguity: AmbiguitySet, options: "Options", n_applicants: int, request: PlanRequest) -> list[str]:
    """Say for each applicant whether it is the radius or the family that keeps its surest option from the level.

    Parameters
    ----------
    ambiguity : AmbiguitySet
    options : Options
        What was found.
    n_applicants : int
    request : PlanRequest
    """
    others = {}
    if ambiguity.radius > 0.0:
        others[f"the radius of {ambiguity.radius:.3g}: at radius 0"] = replace(ambiguity, radius=0.0)
    if ambiguity.has_form and ambiguity.family != "gaussian":
        others[f"the family {ambiguity.family!r}: with family='gaussian'"] = replace(ambiguity, family="gaussian")
    words: list[list[str]] = [[] for _ in range(n_applicants)]
    today = np.zeros(n_applicants)  # where one option reaches the level already, its radius is not what is in the way
    np.maximum.at(today, options.owner, ambiguity.option_guarantees(options.points))
    for what, other in others.items():
        best = np.zeros(n_applicants)
        np.maximum.at(best, options.owner, other.option_guarantees(options.points))
        for i in np.flatnonzero((best >= request.guarantee) & (today < request.guarantee)).tolist():
            words[i].append(f"{what} an option would have {rounded_down(best[i])}")
    return [f"What stands in the way is {'; and '.join(found)}" if found else "" for found in words]


def write_options(
    strategy: Strategy,
    applicants: Applicants,
    plans: FoundPlans,
    n_jobs: int | None,
    points: Array | None = None,
) -> Options:
    """Write the options of plans out as rows, and evaluate each; `points` (M, D) replace those of the strategy."""
    owner, option = plans.positions
    space, own, rows = strategy.space, applicants.regions.own, plans.options[owner, option]
    table = write_rows(space, applicants.table, own, owner, rows)
    effort = space.effort(own[owner], rows)
    if points is None:
        points = strategy.points(table, owner, plans.options.shape[1], n_jobs)
    relaxed_effort = space.effort(own[owner], plans.relaxed[owner, option])
    return Options(strategy.model, table, owner, points, effort, relaxed_effort)


def read_options(
    strategy: Strategy,
    origins: "pd.DataFrame",
    table: "pd.DataFrame",
    owner: Indices,
    n_options: int,
    n_jobs: int | None,
    encoded: Array | None = None,
) -> Options:
    """Evaluate rows that someone else made for the applicants in `origins`; the others as in `Strategy.points`."""
    own, rows = read_regions(strategy.space, origins).own[owner], read_regions(strategy.space, table).own
    effort = strategy.space.effort(own, rows)
    points = strategy.points(table, owner, n_options, n_jobs, encoded)
    return Options(strategy.model, table, owner, points, effort, effort)
