"""Black boxes whose guarantees rest on refits: what is the same, whichever way options are searched."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.formats import Archive
from copa._core.progress import stage
from copa._core.reading import is_number
from copa._core.words import rounded_down
from copa.exceptions import InvalidInputError
from copa.models.base import unfitted
from copa.models.black_box import BlackBox
from copa.models.refits.black_box_refits import require_clonable, retrain
from copa.models.refits.history import Drift
from copa.models.refits.penalty import keep_penalty_per_row
from copa.models.refits.pipeline_refits import lenient_encoders
from copa.models.refits.subsets import THIRD, draw_thirds_in_halves
from copa.planner.search.arguments import FoundPlans
from copa.planner.search.problem import ActionSpace
from copa.planner.settings import Execution, FitSettings
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.black_box import BlackBoxStrategy, fewest_values, require_readable
from copa.planner.strategies.options import Flags, Options
from copa.planner.strategies.refit_reliability import measure_reliability, n_sides
from copa.plans.records import ExpectedRates
from copa.plans.request import PlanRequest
from copa.plans.wording import WHOM
from copa.theory.sets.ambiguity import AmbiguitySet
from copa.theory.sets.location_set import LocationSet
from copa.theory.sets.refit_scores import RefitScores, sample_moments

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from copa.data.schema.columns import ReadTable

N_MODELS = 40  # refits that the search goes by where nothing is said
FEWEST = 2  # refits that the search goes by, and that certify, in any file
CERTIFYING = 1.5  # refits that certify, as a multiple of those
# How much surer than the level options must look to the search's refits, in standard deviations, so that most of them
# are certified by the others (benchmarks/black_boxes_fresh.py).
MARGIN = 0.5
ALIKE = 1.96  # standard deviations: 95 % of the moves between two fits to different rows


class KeptRefits(NamedTuple):
    """Refits as a strategy keeps them.

    The scores of raw rows are those of the refits that the search goes by, and of those held out, (K, M).
    """

    fields: dict[str, Any]
    score_searching: "Callable[[ReadTable], Array]"
    score_held_out: "Callable[[ReadTable], Array]"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Refitted(BlackBoxStrategy):
    """The base of strategies for black boxes whose guarantees rest on refits.

    The refits are fits to random thirds of the rows, in two groups: the search goes by one, and the other certifies
    what was found (`RefitScores`); nothing is searched by it, but where it certifies some options of a plan, the others
    are left out.

    Attributes
    ----------
    reliability : float
        Share of a chosen option's score that other rows keep.
    is_expected : bool
        Whether levels are expected rates: by a normal law with the moments of the refits' scores.
    """

    subject: ClassVar[str] = "scores"

    is_expected: bool = False

    @classmethod
    @abstractmethod
    def keep_refits(
        cls,
        model: BlackBox,
        searching: tuple[BlackBox, ...],
        held_out: tuple[BlackBox, ...],
        space: ActionSpace,
        X: "pd.DataFrame",
        n_jobs: int | None,
    ) -> KeptRefits:
        """Keep what is needed of the refits, which must be able to say something of all rows that are allowed."""

    @property
    @abstractmethod
    def n_held_out(self) -> int:
        """Number of refits that certify."""

    @abstractmethod
    def held_out_scores(self, rows: "pd.DataFrame | ReadTable", n_jobs: int | None) -> Array:
        """Scores of raw rows by the refits that certify, (K, M)."""

    @classmethod
    def learn(
        cls, model: BlackBox, space: ActionSpace, X: "pd.DataFrame", y: Any, settings: FitSettings
    ) -> dict[str, Any]:
        """Retrain the model."""
        if settings.later_models.ambiguity is not None:
            raise InvalidInputError(
                "a fixed set is for linear models and surrogates that assume a spread: the guarantees of a black box "
                "rest on its held-out refits. Leave it out of later_models, or use surrogate='lime'"
            )
        n_refits = settings.later_models.n_refits
        n_models = N_MODELS if n_refits is None else n_refits
        require_clonable(model)
        if y is None:
            raise InvalidInputError("y is needed to retrain the model: guarantees rest on how its answers vary")
        target = (model.read_labels(y, len(X)) == model.favourable).astype(np.float64)
        rng = np.random.default_rng(settings.seed)
        n_held_out = max(2, round(CERTIFYING * n_models))
        # A third of the rows may lack rare levels.
        changes = keep_penalty_per_row(model.estimator, THIRD) | lenient_encoders(unfitted(model.estimator))
        samples = draw_thirds_in_halves(target, (n_models, n_held_out), n_sides(n_models), rng)
        with stage("refitting the model", len(samples), "refits") as advance:
            seed, n_jobs = settings.seed + 1, settings.n_jobs
            poorest = [samples[fewest_values(space, X, samples)]]
            first = retrain(model, X, y, poorest, seed=seed, n_jobs=1, advance=lambda _: None, changes=changes)
            require_readable([model, *first], space, X)  # what all refits would be in vain for
            fits = retrain(model, X, y, samples, seed=seed, n_jobs=n_jobs, advance=advance, changes=changes)
        kept = cls.keep_refits(model, fits[:n_models], fits[n_models:], space, X, settings.n_jobs)
        with stage("judging how reliable today's model is"):
            scorers = (kept.score_searching, kept.score_held_out)
            share = measure_reliability(model, *scorers, n_models, space, X, seed=settings.seed)
        source = f"none; {_certified(n_held_out, share)}"
        return {"radius": 0.0, "radius_source": source, "reliability": share, **kept.fields}

    def ambiguity(self, n_options: int) -> AmbiguitySet:  # noqa: ARG002 - scores of refits are the same for all plans
        """The distributions of the scores that the next model gives options."""
        if self.is_expected:
            return LocationSet(*sample_moments(self.n_held_out), 0.0, family="gaussian", simultaneous=False)
        return self._certifying(self.radius)

    @cached_property
    def search_set(self) -> AmbiguitySet:
        """Set for the scores of the refits that the search goes by, with a margin."""
        return self.ambiguity(1) if self.is_expected else self._certifying(self.radius + MARGIN)

    def _certifying(self, radius: float) -> RefitScores:
        assert self.reliability is not None  # noqa: S101 - asked for by those who know
        return RefitScores.of(self.n_held_out, self.reliability, radius)

    @property
    def shortage(self) -> str:
        """Always "": the reliability limits what the held-out refits certify instead (`RefitScores.highest`)."""
        return ""

    def expecting(self) -> Self:
        """The same state with a normal law of the next score."""
        return replace(self, is_expected=True)

    def spreads(self, points: Array) -> Array:
        """Standard deviations of the refits' scores."""
        return np.asarray(points.std(axis=1, ddof=1))

    def widened(self, drift: Drift, horizon: int) -> Self:
        """The same state, whose scores may move by what past versions moved beyond what refits on thirds do.

        These vary around each other as two models on different rows do: 95 % of their moves are below 1.96 standard
        deviations. What past versions moved beyond is drift.
        """
        radius = float(np.sqrt(max(0.0, drift.radius(horizon) ** 2 - ALIKE**2)))
        decides = f"drift, {radius:.3g} standard deviations of retraining" if radius > 0.0 else "none"
        moved = f"past versions moved by up to {drift.largest_in_words(horizon)}"
        source = f"{decides}: where 95 % of refits stay within {ALIKE:g}, {moved}"
        assert self.reliability is not None  # noqa: S101 - `learn` has measured it
        return self.with_radius(radius, f"{source}; {_certified(self.n_held_out, self.reliability)}")

    def points(
        self,
        rows: "pd.DataFrame",
        owner: Indices,  # noqa: ARG002 - a row is the same point in every plan
        n_options: int,  # noqa: ARG002
        n_jobs: int | None = None,
        encoded: Array | None = None,  # noqa: ARG002 - a score is not enough
    ) -> Array:
        """Rows as points of the ambiguity set: the held-out refits' scores."""
        return np.ascontiguousarray(self.held_out_scores(rows, n_jobs).T)

    def certified(self, options: Options, request: PlanRequest) -> Flags:
        """Flag the options to deliver, (M,): of an applicant with certified options only these, else all.

        That an option is certified and refused has a probability of at most 1 - level, whatever becomes of others.
        """
        lower = self.ambiguity(1).option_guarantees(options.points)
        reached = lower >= request.guarantee
        if request.guarantee_for != "each":
            return np.ones(len(lower), dtype=np.bool_)
        some = np.bincount(options.owner[reached], minlength=options.owner.max(initial=-1) + 1) > 0
        return np.asarray(reached | ~some[options.owner])

    def expected_rates(
        self,
        options: Options,
        n_applicants: int,
        n_jobs: int | None,  # noqa: ARG002 - the points are their scores
        fidelity: Array | None = None,
    ) -> ExpectedRates:
        """Shares of the held-out refits that accept options."""
        accepted = options.points.T >= 0.0
        return ExpectedRates.of_answers(accepted, options.owner, n_applicants, fidelity)

    def explain(
        self, applicants: Applicants, plans: FoundPlans, levels: Array, request: PlanRequest, run: Execution
    ) -> list[str]:
        """Say for each applicant why there is no plan that reaches the level."""
        sentences = super().explain(applicants, plans, levels, request, run)
        if self.is_expected:
            return sentences
        ambiguity, n = self._certifying(self.radius), self.n_held_out
        if request.guarantee > n / (n + 1.0):
            why = f"{n} held-out refits support at most {rounded_down(n / (n + 1.0))}; raise n_refits"
        elif request.guarantee > ambiguity.highest:
            why = (
                f"too few data for this level: models on other rows keep only {self.reliability:.2f} of the scores of "
                f"chosen options, which supports at most {rounded_down(ambiguity.highest)}"
            )
        else:
            why = ""
        for i in np.flatnonzero(levels >= 0.0).tolist():
            if why:
                sentences[i] = f"accepted today, but a guarantee of {request.guarantee:g} is out of reach: {why}"
            elif plans.highest[i] >= request.guarantee:
                sentences[i] = (
                    f"accepted today, but the {n} held-out refits, which decide, do not certify a guarantee of "
                    f"{request.guarantee:g} for {WHOM[request.guarantee_for]}: these are the surest that were found"
                )
        return sentences

    @property
    def fixed_set(self) -> AmbiguitySet | None:
        """None: guarantees rest on the held-out refits."""
        return None


def read_counts(archive: Archive) -> tuple[int, int]:
    """Numbers of refits in a file: those that the search goes by, and those that certify."""
    n_searching, n_held_out = (int(number) for number in archive.content["refits"])
    if min(n_searching, n_held_out) < FEWEST:
        raise ValueError(f"{n_searching} and {n_held_out} refits are too few")
    return n_searching, n_held_out


def read_reliability(archive: Archive) -> float:
    """The reliability in a file."""
    share: Any = archive.content["reliability"]
    if not is_number(share) or not 0.0 < share <= 1.0:
        raise ValueError(f"its reliability is {share!r}")
    return float(share)


def _certified(n_held_out: int, reliability: float) -> str:
    """Say what the guarantees of a black box rest on."""
    return (
        f"certified by {n_held_out} refits on thirds of the rows that the search did not go by, "
        f"reliability {reliability:.2f}"
    )
