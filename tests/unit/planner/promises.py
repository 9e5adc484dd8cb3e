"""What is promised of every plan that the front door delivers, checked with nothing of its own arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

import copa
from copa.models.refits.reliability import LEAST_RELIABILITY
from copa.theory.sets import LocationSet, MomentBall
from copa.theory.sets.ambiguity import AmbiguitySet

# A bound computed twice, in a batch and alone, differs by rounding only.
ROUNDING = 1e-9
MOST_ALIKE = 2  # options of a plan that may change the same columns
LEAST_DIFFERENCE = 0.1  # of two options in some column, in spreads


@dataclass(frozen=True)
class Judge:
    """What a delivered row is judged by: the pipeline as the user has it, the schema, and the moments of the test.

    `mean`, `cov`, `radius`, `drift` are turned towards the favourable label by the test itself. They are those of the
    paper's ball, with a family; with a `reliability` they are those of the rule, for one score at a time.
    """

    pipeline: Any
    schema: copa.FeatureSchema
    accepts: Callable[[pd.DataFrame], Any]
    mean: Any
    cov: Any
    radius: float
    drift: Any = None
    family: str = "any"
    reliability: float | None = None

    @classmethod
    def of(cls, planner: copa.RecoursePlanner, favourable: Any = True) -> "Judge":
        """Judge by `predict` and by the moments that the planner estimated."""
        moments = planner.moments_
        return cls(
            planner.model,
            planner.schema_,
            lambda rows: planner.model.predict(rows) == favourable,
            moments.mean,
            moments.cov,
            planner.radius_,
            planner.drift_,
            planner.strategy_.parameters.family,
            planner.strategy_.reliability,
        )

    def encode(self, rows: pd.DataFrame) -> Any:
        """Rows as the classifier sees them, the intercept's 1 first."""
        encoded = self.pipeline[:-1].transform(rows)
        dense = encoded.toarray() if hasattr(encoded, "toarray") else np.asarray(encoded, dtype=float)
        return np.column_stack([np.ones(len(rows)), dense])

    def bounds(self, rows: pd.DataFrame) -> copa.ValidityBounds:
        """Bounds of the rows as one plan."""
        return copa.validity_bounds(self.encode(rows), ambiguity=self.ambiguity)

    @cached_property
    def ambiguity(self) -> AmbiguitySet:
        """The distributions that guarantees hold for."""
        if self.reliability is None:
            return MomentBall(self.mean, self.cov, self.radius, self.drift, self.family)
        mean = self.reliability * np.asarray(self.mean)
        return LocationSet(mean, self.cov, self.radius, self.drift, self.family, simultaneous=False)

    def ambiguity_for(self, plan: copa.Plan) -> AmbiguitySet:
        """The distributions that the guarantees of a plan hold for: those at the reliability of its applicant."""
        if self.reliability is None or np.isnan(plan.reliability):
            return self.ambiguity
        quantile = NormalDist().inv_cdf(0.5 + 0.5 * plan.basis.confidence)
        drift_decides = self.radius > quantile * np.sqrt(self.reliability) + ROUNDING
        radius = self.radius if drift_decides else quantile * np.sqrt(plan.reliability)
        mean = plan.reliability * np.asarray(self.mean)
        return LocationSet(mean, self.cov, radius, self.drift, self.family, simultaneous=False)


def broken_promises(judge: Judge, applicants: pd.DataFrame, batch: copa.PlanBatch) -> list[str]:
    """Say which promises a batch breaks; an empty list where it keeps all of them."""
    found = []
    pd.testing.assert_frame_equal(batch.applicants, applicants, check_exact=True)
    if not batch.options.dtypes.equals(applicants.dtypes):
        found.append(f"types {batch.options.dtypes.to_dict()} of options, {applicants.dtypes.to_dict()} of applicants")
    said = Said.of(judge, applicants, batch)
    for i, plan in enumerate(batch):
        own, rows = applicants.iloc[[i]], np.flatnonzero(batch.owner == i)
        pd.testing.assert_frame_equal(plan.factual, own, check_exact=True)
        alike = plan.options.reset_index(drop=True).equals(batch.options.iloc[rows].reset_index(drop=True))
        found += [] if alike else [f"applicant {i}: other options in the plan than in the batch"]
        found += [f"applicant {i}: {fault}" for fault in _plan_faults(judge, own, plan, said.take(rows))]
    return found


@dataclass(frozen=True)
class Said:
    """What the pipeline and the schema say of options, asked about all of a batch at once."""

    points: Any
    accepted: Any
    violations: list[list[str]]

    @classmethod
    def of(cls, judge: Judge, applicants: pd.DataFrame, batch: copa.PlanBatch) -> "Said":
        rows = batch.options
        if len(rows) == 0:
            return cls(np.zeros((0, len(judge.mean))), np.zeros(0, dtype=bool), [])
        violations = judge.schema.violations(applicants.iloc[batch.owner], rows)
        return cls(judge.encode(rows), np.asarray(judge.accepts(rows), dtype=bool), violations)

    def take(self, rows: Any) -> "Said":
        """What they say of some of the options."""
        return Said(self.points[rows], self.accepted[rows], [self.violations[k] for k in rows])


def _plan_faults(judge: Judge, own: pd.DataFrame, plan: copa.Plan, said: Said) -> list[str]:
    if plan.status not in ("ok", "fragile"):
        return [] if plan.n_options == 0 else [f"{plan.status} with {plan.n_options} options"]
    if plan.n_options == 0:
        return [f"{plan.status} without options"] if plan.status == "ok" or plan.highest_level > 0.0 else []
    nothing = plan.request.level is not None and not (plan.option_lower > 0.0).all()
    found = ["an option without any guarantee"] if nothing else []
    found += [f"breaks the schema: {faults}" for faults in said.violations if faults]
    found += _cell_faults(judge, own, plan.options)
    if plan.options.duplicated().any():
        found.append("the same option twice")
    if not said.accepted.all():
        found.append("an option that today's model refuses")
    if plan.request.objective == "level":
        found += _choice_faults(plan)
    if (plan.plausibility < plan.request.plausibility).any():
        found.append(f"plausibilities {plan.plausibility}, {plan.request.plausibility} is asked for")
    return found + _bound_faults(judge, plan, said.points)


def _choice_faults(plan: copa.Plan) -> list[str]:
    """Options that do not differ in what a person does, and a wrong word on what breaks first."""
    found = []
    changed = [frozenset(change.column for change in plan.changes(j)) for j in range(1, plan.n_options + 1)]
    if max(map(changed.count, changed)) > MOST_ALIKE:
        found.append(f"the same columns are changed more than twice: {changed}")
    for j, k in combinations(range(plan.n_options), 2):
        columns = changed[j] | changed[k]
        one, other = plan.options.iloc[j], plan.options.iloc[k]
        if all(_is_alike(plan.basis.schema[name], one[name], other[name]) for name in columns):
            found.append(f"options {j + 1} and {k + 1} are alike: {one.to_dict()}, {other.to_dict()}")
    first = plan.breaks_first
    if first is not None and not plan.option_lower[first - 1] < plan.option_lower.max():
        found.append(f"option {first} breaks first, and has the highest guarantee")
    return found


def _is_alike(feature: copa.Feature, one: Any, other: Any) -> bool:
    """Whether two values of a column differ by no more than a tenth of its spread."""
    if feature.is_numeric:
        return abs(one - other) < LEAST_DIFFERENCE * feature.spread
    if feature.kind != "ordinal":
        return bool(one == other)
    ranks = feature.index.position(one), feature.index.position(other)
    return abs(ranks[0] - ranks[1]) < LEAST_DIFFERENCE * feature.spread


def _cell_faults(judge: Judge, own: pd.DataFrame, options: pd.DataFrame) -> list[str]:
    """Cells that should be the applicant's to the last bit, and are not."""
    found = []
    for name in own.columns:
        before = _bits(own[name])[0]
        may_change = name in judge.schema and not judge.schema[name].immutable
        for new, bits in zip(options[name], _bits(options[name]), strict=True):
            same_value = pd.isna(new) or new == own[name].iloc[0]
            if bits != before and (same_value or not may_change):
                found.append(f"{name}: {new!r} where the applicant has {own[name].iloc[0]!r}")
    return found


def _bits(column: pd.Series) -> list[Any]:
    """Entries as what distinguishes them to the last bit: negative zeros, kinds of missing, types of objects."""
    return [(type(entry), np.float64(entry).tobytes() if isinstance(entry, float) else entry) for entry in column]


def _bound_faults(judge: Judge, plan: copa.Plan, points: Any) -> list[str]:
    found = []
    again = copa.validity_bounds(points, ambiguity=judge.ambiguity_for(plan))
    if not np.allclose(plan.points[:, : points.shape[1]], points, rtol=ROUNDING, atol=ROUNDING):
        found.append("bounds about other points than the rows delivered")
    for name, said, value in (
        ("each", plan.option_lower, again.option_lower),
        ("all", plan.lower, again.lower),
        ("any", plan.any_lower, again.any_lower),
    ):
        if not np.allclose(said, value, rtol=0.0, atol=ROUNDING):
            found.append(f"{name}: {said}, computed again {value}")
    proven = plan.certificate.verify()
    if proven.lower < plan.lower - ROUNDING or proven.any_lower < plan.any_lower - ROUNDING:
        found.append(f"the certificate proves {proven}, promised are {plan.lower} and {plan.any_lower}")
    asked = plan.request.guarantee
    reached = {"each": again.option_lower.min(), "all": again.lower, "any": again.any_lower}[plan.request.guarantee_for]
    if plan.status == "ok" and reached < asked - ROUNDING:
        found.append(f"ok at {reached}, asked for {asked}")
    if plan.status == "fragile" and reached >= asked + ROUNDING and not plan.reliability < LEAST_RELIABILITY:
        found.append(f"fragile, but {reached} is not below {asked}")
    if plan.status == "ok" and plan.request.guarantee_for == "all" and proven.lower < asked - ROUNDING:
        found.append(f"ok for all at {asked}, proven {proven.lower}")
    return found


def finite_cantelli(scores: Any, reliability: float) -> Any:
    """The bound for n exchangeable scores (n, M), written out once more: what may refuse, of n + 1."""
    n = len(scores)
    k2 = np.maximum(reliability * scores.mean(axis=0) / np.maximum(scores.std(axis=0, ddof=1), 1e-12), 0.0) ** 2
    refuse = np.floor((n + 1) * (n**2 - 1 + n * k2) / (n**2 - 1 + n * (n + 1) * k2))
    return np.minimum(1.0 - refuse / (n + 1), reliability)
