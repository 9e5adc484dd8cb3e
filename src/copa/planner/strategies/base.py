"""`Strategy`: what a planner knows of one kind of model, and how it plans with it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.words import counted, rounded_down
from copa.data.schema import FeatureSchema
from copa.data.schema.columns import ReadTable
from copa.exceptions import InvalidInputError
from copa.models.base import Model
from copa.models.refits.reliability import LEAST_RELIABILITY
from copa.planner.search.arguments import FoundPlans, FoundRows
from copa.planner.search.problem import ActionSpace, Linearisation
from copa.planner.search.regions import as_written, read_regions
from copa.planner.search.rows import make_room, write_rows
from copa.planner.search.run import Shrinkage
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.options import Found, Options, in_table
from copa.plans.records import ExpectedRates, Intervals
from copa.plans.request import PlanBasis, PlanRequest
from copa.plans.wording import WHOM
from copa.theory.sets.ambiguity import AmbiguitySet
from copa.theory.sets.weight_moments import WeightMoments

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from copa._core.formats import Archive
    from copa.models.refits.history import Drift, Past
    from copa.planner.search.cheapest import Bound
    from copa.planner.settings import Execution, FitSettings

Texts = npt.NDArray[np.object_]
# The rows delivered are bounded again; asking for this much more keeps rounding from taking the level away.
ROUNDING = 1e-9


class OtherModelError(InvalidInputError):
    """The model given is not the one that a saved planner was fitted with."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
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
    accepted_row : DataFrame or None
        What is typical of the training rows that the model accepts, as one row (`schema.typical`): reasons compare
        applicants with it. None where no training row is accepted.
    past : Past or None
        What a history has shown. None without one.
    wished : bool
        Whether one person's wishes have changed columns since the planner was fitted.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.normal(size=(100, 2)).round(2), columns=["income", "savings"])
    >>> y = X["income"] + X["savings"] > 0
    >>> later = copa.LaterModels(n_refits=20)
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), later_models=later).fit(X, y)
    >>> strategy = planner.strategy_
    >>> isinstance(strategy, copa.planner.Strategy), strategy.kind, strategy.subject
    (True, 'linear', 'parameters')
    >>> strategy.ambiguity(n_options=3).dimension  # intercept, two columns, and what is deducted
    4
    """

    kind: ClassVar[str]
    """Name of the kind of model in messages."""
    subject: ClassVar[str]
    """Subject of the ambiguity set, see `PlanBasis`."""
    additive: ClassVar[bool] = False
    """Whether an encoded row is a sum over columns. Corrections of points, the paper's objective and an attribution by
    column need that."""

    model: Model
    space: ActionSpace
    radius_source: str
    confidence: float | None = None
    reliability: float | None = None
    n_rows: int | None = None
    accepted_row: "pd.DataFrame | None" = None
    past: "Past | None" = None
    wished: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind}, {counted(len(self.space.columns), 'column')}, {self.model!r})"

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
        """Encode rows as numbers, (N, k); a row with one that is not finite cannot be used."""

    @abstractmethod
    def start(self, table: "pd.DataFrame", encoded: Array | None = None) -> Array:
        """Return applicants in the coordinates of the search, (N, D); `encoded` is what `encode` returns."""

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
    def build(self, applicants: Applicants, request: PlanRequest, run: "Execution") -> Found:
        """Search the plans of applicants whom the model declines."""

    def read_applicants(
        self,
        rows: "pd.DataFrame | ReadTable",
        encoded: Array | None = None,
        *,
        n_jobs: int | None = None,  # noqa: ARG002 - for strategies that judge each applicant's limits
        deadline: float = np.inf,  # noqa: ARG002
    ) -> Applicants:
        """Read checked rows; an error, before any search, where a column has no room for what options may hold.

        Parameters
        ----------
        rows : DataFrame or ReadTable
        encoded : ndarray, optional
            What `encode` says of them.
        n_jobs : int, optional
        deadline : float
            See `Execution`.
        """
        table = make_room(self.space, ReadTable.of(rows, self.schema.names))
        regions = read_regions(self.space, table)
        return Applicants(table, table, regions, self.start(table, encoded), self.space.slack(table))

    def write_options(
        self, applicants: Applicants, plans: FoundPlans, n_jobs: int | None, points: Array | None = None
    ) -> Options:
        """Write the options of plans out as rows, and evaluate each; `points` (M, D) replace those of `points`."""
        owner, option = plans.positions
        space, regions, rows = self.space, applicants.regions.take(owner), plans.options[owner, option]
        written = write_rows(space, applicants.table, applicants.regions, owner, rows)
        effort = space.effort(regions, rows)
        change_effort = in_table(space, written.frame, space.change_efforts(regions, rows))
        if points is None:
            points = self.points(written, owner, plans.options.shape[1], n_jobs)
        reliability = None if applicants.reliability is None else applicants.reliability[owner]
        points = self.deducted(points, reliability)
        return Options(self.model, written, owner, points, effort, change_effort, space, reliability)

    def evaluate_options(
        self,
        origins: "pd.DataFrame | ReadTable",
        rows: "pd.DataFrame | ReadTable",
        owner: Indices,
        n_options: int,
        n_jobs: int | None,
        encoded: Array | None = None,
    ) -> Options:
        """Evaluate rows that someone else made for the applicants in `origins`; the others as in `points`."""
        space, table = self.space, ReadTable.of(rows)
        regions, values = as_written(space, read_regions(space, origins).take(owner), table)
        change_effort = in_table(space, table.frame, space.change_efforts(regions, values))
        reliability = self.reliability_of(ReadTable.of(origins), owner, n_jobs)
        points = self.deducted(self.points(table, owner, n_options, n_jobs, encoded), reliability)
        effort = space.effort(regions, values)
        return Options(self.model, table, owner, points, effort, change_effort, space, reliability)

    def reliability_of(self, origins: ReadTable, owner: Indices, n_jobs: int | None) -> Array | None:  # noqa: ARG002
        """Return the reliability of the scores of each row's applicant, (M,); None where one number is for all."""
        return None

    def shrinkage(self, reliability: Array | None) -> Shrinkage | None:  # noqa: ARG002
        """What the ambiguity set is for applicants at a reliability (N,); None where it is the same for all."""
        return None

    def encoded(self, points: Array) -> Array:
        """Points of the ambiguity set without what is deducted from their scores, (M, D)."""
        return points

    def deducted(self, points: Array, reliability: Array | None) -> Array:  # noqa: ARG002 - for those that know it
        """Return points from whose scores is deducted what is not reliable of them, (M, D).

        Parameters
        ----------
        points : ndarray of shape (M, D)
        reliability : ndarray of shape (M,) or None
            Of the options of the applicant of each.
        """
        return points

    def explain(
        self,
        applicants: Applicants,  # noqa: ARG002 - for strategies that can say more
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
        raise InvalidInputError(f"an expected rate cannot be planned for with {type(self).__name__}; use LaterModels")

    @property
    def linearisation(self) -> Linearisation:
        """Linear model of the encoded row and moments of the parameters, where `additive`."""
        raise NotImplementedError

    def with_fields(self, changes: "Mapping[str, Mapping[str, Any]]") -> Self:
        """The same state for another schema: nothing that was learned depends on these fields of its columns.

        Parameters
        ----------
        changes : mapping of str to mapping
            From a column to some of the fields `immutable` (made true), `max_change` and `weight`.
        """
        schema = self.schema.replace(changes)
        columns = tuple(schema[feature.name] for feature in self.space.columns)
        return replace(self, space=replace(self.space, schema=schema, columns=columns), wished=True)

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

    def with_radius(self, radius: float, source: str) -> Self:  # noqa: ARG002 - for strategies that can be widened
        """The same state with another radius, and where it comes from, in words."""
        raise InvalidInputError(f"the radius of {type(self).__name__} cannot be changed; fit the planner again")

    def at_horizon(self, horizon: int) -> "Strategy":
        """The same state for promises that must survive so many retrainings; without a history all are alike."""
        if self.past is None:
            return self
        alone = self.with_radius(self.past.radius, self.past.radius_source)
        return alone.widened(self.past.drift.over(horizon), horizon)

    def expected_rates(
        self,
        options: Options,  # noqa: ARG002 - for strategies with held-out refits
        n_applicants: int,  # noqa: ARG002
        n_jobs: int | None,  # noqa: ARG002
        fidelity: Array | None = None,  # noqa: ARG002
    ) -> ExpectedRates | None:
        """Shares of refits that accept options and that the search did not go by; None where there are no such refits.

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

    def intervals(
        self,
        applicants: Applicants,  # noqa: ARG002 - for strategies that can say more
        options: Options,  # noqa: ARG002
        request: PlanRequest,  # noqa: ARG002
        run: "Execution",  # noqa: ARG002
    ) -> Intervals | None:
        """Intervals of the changed numbers within which the options keep their guarantees.

        Called for the options that are delivered: today's model accepts them, and they obey the schema.

        Parameters
        ----------
        applicants : Applicants
            N of them.
        options : Options
            M, whose owners are positions among the applicants.
        request : PlanRequest
        run : Execution

        Returns
        -------
        Intervals or None
            Of M options; None where nothing is known.
        """
        return None

    def cheapest_row(
        self,
        applicant: Applicants,  # noqa: ARG002 - for strategies that can prove something
        level: float,  # noqa: ARG002
        best: float,  # noqa: ARG002
        points: Array,  # noqa: ARG002
        seconds: float,  # noqa: ARG002
    ) -> "Bound":
        """Bound the cost of all rows of one applicant that are allowed, accepted today, and reach a level.

        Parameters
        ----------
        applicant : Applicants
            One.
        level : float
            What the row must reach; -1 for acceptance by today's model alone.
        best : float
            Cost of a row that is known; infinite without one.
        points : ndarray of shape (M, D)
            Rows that are known, as points of the ambiguity set.
        seconds : float
            Time limit.
        """
        raise InvalidInputError(
            f"no proof is known for this kind of model ({self.kind}): only for linear models and tree ensembles"
        )

    def nearest_rows(
        self,
        applicants: Applicants,
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
        """Return the distances that M rows were moved, (M,), in the encoded units of their points."""
        return np.asarray(np.linalg.norm(points[1] - points[0], axis=1))

    @abstractmethod
    def pack(self) -> "Archive":
        """Return the part of a saved planner that is specific to this strategy."""

    @classmethod
    @abstractmethod
    def unpack(cls, archive: "Archive", schema: FeatureSchema, model: Any) -> Self:
        """Read what `pack` returned; an OtherModelError for another model than its own, anything else for damage."""

    @property
    def fixed_set(self) -> AmbiguitySet | None:
        """The fixed set that it was fitted with; None where the set was learned."""
        return None

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
            tested=self.tested,
        )

    @property
    def tested(self) -> bool:
        """Whether the benchmark of `copa.plans.tested` covers this kind of model, data and constraints."""
        return False

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

    def shortages(self, reliability: Array) -> Texts:
        """Say why nothing can be guaranteed to applicants, whatever the level, (N,); "" where something can.

        Parameters
        ----------
        reliability : ndarray of shape (N,)
            Of scores within the limits of each; NaN where it is not known.
        """
        return np.full(len(reliability), self.shortage, dtype=object)

    @property
    def reference_rows(self) -> "pd.DataFrame | None":
        """Raw rows that the model can read and that distinguish it from another one; None where there are none."""
        return self.accepted_row

    @property
    def schema(self) -> FeatureSchema:
        """The schema, with the spreads that it was fitted with."""
        return self.space.schema


def out_of_reach(request: PlanRequest, highest: float) -> str:
    """Say that no option was found at the level asked for, and the highest level that was."""
    what = "an expected rate" if request.expected else "a guarantee"
    if highest <= 0.0:
        return (
            f"{what} of {request.guarantee:g} for {WHOM[request.guarantee_for]} is out of reach: there are rows that "
            "today's model accepts, but none with any guarantee was found"
        )
    return (
        f"accepted today, but {what} of {request.guarantee:g} for {WHOM[request.guarantee_for]} is out of reach: "
        f"the highest that was found for an option is {rounded_down(highest)}"
    )
