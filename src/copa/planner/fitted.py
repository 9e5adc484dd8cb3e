"""What a planner knows once it is fitted: the model in force, the ball of the next ones, and what may be changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices, as_symmetric
from copa.exceptions import InvalidInputError
from copa.models import Encoding, LinearModel
from copa.models.calibration import base_classifier
from copa.models.encoding import NotStraightError
from copa.planner.settings import FitSettings
from copa.schema import FeatureSchema
from copa.schema.fields import is_absent
from copa.search.problem import ActionSpace
from copa.uncertainty import WeightMoments, resampling_radius, retrained_parameters
from copa.uncertainty.ambiguity import MomentBall

if TYPE_CHECKING:
    import pandas as pd


N_MODELS = 1000  # refits for the moments where nothing is said
# Share of a typical score's size that today's model must accept with: more than rounding can take away.
SAFE_SHARE = 1e-6
LARGEST_SAMPLES = 50  # bootstrap samples for the radius; one for every REFITS_PER_SAMPLE of the planner's refits
REFITS_PER_SAMPLE = 20


class Model(Protocol):
    """The model in force, whatever it is."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Raw columns, in the model's order."""

    @property
    def favourable(self) -> Any:
        """The label a person wants."""

    @property
    def threshold(self) -> float | None:
        """Value from which on the model accepts; None where `predict` decides."""

    def accepts(self, frame: "pd.DataFrame", /) -> npt.NDArray[np.bool_]:
        """What the model itself says of raw rows, (N,)."""


class Fitted(Protocol):
    """What every fitted planner can say, whatever its model is."""

    @property
    def model(self) -> Model:
        """The model in force."""

    @property
    def space(self) -> ActionSpace:
        """The columns that may change."""

    @property
    def ball(self) -> MomentBall:
        """The distributions that the guarantees hold for."""

    @property
    def radius_source(self) -> str:
        """In words, where the radius comes from."""

    @property
    def schema(self) -> FeatureSchema:
        """The schema, with the spreads that it was fitted with."""

    @property
    def basis(self) -> str:
        """What the ball is about (see `PlanTerms`)."""

    def resized(self, n_options: int) -> "Fitted":
        """The same for menus of another number of options."""

    def start(self, table: "pd.DataFrame") -> Array:
        """Applicants as the search sees them, (N, D)."""

    def points(self, rows: "pd.DataFrame", owner: Indices, n_jobs: int | None = None) -> Array:
        """Rows as points of the ball, for the applicants whose options they are, (M, D)."""

    def answers(self, table: "pd.DataFrame") -> Array:
        """Numbers that the model makes of rows: where one is not finite, the row cannot be used, (N, k)."""


@dataclass(frozen=True, eq=False)
class FittedPlanner:
    """Everything a plan for a linear model is made from.

    Attributes
    ----------
    model : the model in force
    space : columns, moments and prices, as the search sees them
    ball : moments of the next models' parameters, turned towards the favourable label, and how far they may be off
    radius_source : in words, where the radius comes from
    floor : least score of today's model
    curved : whether the model is linear in features that are no sums of straight lines over the columns (products,
        splines): then the directions of `space` are empty, and are found anew at each row (`strategies.feature_map`)
    """

    model: LinearModel
    space: ActionSpace
    ball: MomentBall
    radius_source: str
    floor: float
    curved: bool = False

    @property
    def schema(self) -> FeatureSchema:
        """The schema, with the spreads that it was fitted with."""
        return self.space.schema

    @property
    def basis(self) -> str:
        """What the ball is about."""
        return "parameters"

    def resized(self, n_options: int) -> "FittedPlanner":  # noqa: ARG002 - the parameters are the same for all menus
        """The same for menus of another number of options."""
        return self

    def start(self, table: "pd.DataFrame") -> Array:
        """Applicants as the model sees them, (N, D)."""
        return self.model.encode(table)

    def points(self, rows: "pd.DataFrame", owner: Indices, n_jobs: int | None = None) -> Array:  # noqa: ARG002 - a row is the same for every owner
        """Rows as the model sees them, (M, D)."""
        return self.model.encode(rows)

    def answers(self, table: "pd.DataFrame") -> Array:
        """The encoded rows, (N, D)."""
        return self.model.encode(table)


def fit_planner(
    model: LinearModel, schema: FeatureSchema, X: "pd.DataFrame", y: Any, settings: FitSettings
) -> FittedPlanner:
    """Estimate the moments and the radius, and ask the pipeline what each column does."""
    rng = np.random.default_rng(settings.seed)
    n_models = N_MODELS if settings.n_models is None else settings.n_models
    encoded = model.encode(X)
    labels = None if y is None else model.read_labels(y, len(X))
    estimator = _to_refit(model.classifier)
    raw = settings.moments
    if raw is None:
        raw = WeightMoments.from_samples(
            retrained_parameters(
                estimator,
                encoded[:, 1:],
                _required(labels),
                n_models=n_models,
                random_state=rng,
                n_jobs=settings.n_jobs,
            )
        )
    elif raw.mean.size != encoded.shape[1]:
        raise InvalidInputError(
            f"moments must be of the model's {encoded.shape[1]} parameters (the intercept and one for each encoded "
            f"column), got {raw.mean.size}"
        )
    shape = _shape(settings.drift, settings.radius, raw)
    radius, source = settings.radius, "given"
    if isinstance(radius, str):
        radius, source = _calibrated_radius(estimator, encoded, labels, raw, shape, n_models, rng, settings.n_jobs)
    ball = MomentBall.read(model.oriented(raw.mean), raw.cov, radius, shape)
    curved = False
    try:
        encoding = Encoding.probe(model, schema, X)
    except NotStraightError:
        encoding, curved = Encoding.without_directions(model, schema, X), True
    space = ActionSpace.build(
        schema, encoding, model, mean=ball.mean, cov=ball.cov, drift=ball.drift, power=settings.power
    )
    floor = SAFE_SHARE * float(np.median(np.abs(encoded @ model.theta)))
    return FittedPlanner(model, space, ball, radius_source=source, floor=floor, curved=curved)


def _to_refit(classifier: Any) -> Any:
    """The estimator whose refits stand for the next models."""
    return base_classifier(classifier)


def _required(labels: Any) -> Any:
    if labels is None:
        raise InvalidInputError("y is needed to retrain the model; or give the moments of its parameters (moments=...)")
    return labels


def _shape(drift: Any, radius: Any, moments: WeightMoments) -> Array | None:
    """The shape of the ball: the covariance of retraining, the identity, or what was given."""
    if isinstance(drift, str):
        return moments.cov if drift == "cov" or isinstance(radius, str) else None
    return None if drift is None else as_symmetric(drift, "drift", moments.mean.size)


def _calibrated_radius(
    estimator: Any,
    encoded: Array,
    labels: Any,
    moments: WeightMoments,
    shape: Array | None,
    n_models: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> tuple[float, str]:
    """The radius from resampling, and its description."""
    n_samples = min(LARGEST_SAMPLES, max(10, n_models // REFITS_PER_SAMPLE))
    radius = resampling_radius(
        estimator,
        encoded[:, 1:],
        _required(labels),
        moments,
        drift=shape,
        n_samples=n_samples,
        n_models=REFITS_PER_SAMPLE,
        random_state=rng,
        n_jobs=n_jobs,
    )
    unit = "" if shape is None else " standard deviations of retraining"
    return radius, f"from {n_samples} bootstrap samples: {radius:.3g}{unit}"


def read_schema(given: Any, table: "pd.DataFrame", columns: tuple[str, ...]) -> FeatureSchema:
    """Return the schema with the spreads of the data; inferred from the model's columns where none is given."""
    if is_absent(given):
        schema = FeatureSchema.infer(table[list(columns)])
    elif isinstance(given, FeatureSchema):
        schema = given.with_spreads(table)
    else:
        read = FeatureSchema.from_dict if isinstance(given, Mapping) else FeatureSchema.load
        schema = read(given).with_spreads(table)
    complaints = [message for message in schema.check(table) if message]
    if len(complaints) > len(table) // 2:
        raise InvalidInputError(
            f"the schema does not fit the data: {len(complaints)} of {len(table)} rows break it. The first: "
            f"{complaints[0]}"
        )
    return schema
