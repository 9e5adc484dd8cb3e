"""What a planner knows once it is fitted: the model in force, the ball of the next ones, and what may be changed."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.arrays import Array
from copa.bounds.ambiguity import AmbiguityBall
from copa.exceptions import InvalidInputError
from copa.models import Encoding, LinearModel
from copa.models.calibration import is_calibrated
from copa.moments import WeightMoments, resampling_radius, retrained_parameters
from copa.planning.actions import ActionSpace
from copa.schema import FeatureSchema

if TYPE_CHECKING:
    import pandas as pd

# Share of a typical score's size that today's model must accept with: more than rounding can take away.
SAFE_SHARE = 1e-6
LARGEST_SAMPLES = 50  # bootstrap samples for the radius; one for every REFITS_PER_SAMPLE of the planner's refits
REFITS_PER_SAMPLE = 20


@dataclass(frozen=True, eq=False)
class FittedPlanner:
    """Everything a plan is made from.

    Attributes
    ----------
    model : the model in force
    space : columns, moments and prices, as the search sees them
    ball : moments of the next models' parameters, turned towards the favourable label, and how far they may be off
    radius_source : in words, where the radius comes from
    floor : least score of today's model
    """

    model: LinearModel
    space: ActionSpace
    ball: AmbiguityBall
    radius_source: str
    floor: float

    @property
    def schema(self) -> FeatureSchema:
        """The schema, with the spreads that it was fitted with."""
        return self.space.schema


def fit_planner(  # noqa: PLR0913 - all but four by keyword
    model: LinearModel,
    schema: FeatureSchema,
    X: "pd.DataFrame",
    y: Any,
    *,
    moments: WeightMoments | None,
    radius: Any,
    drift: Any,
    power: int,
    n_models: int,
    random_state: Any,
    n_jobs: int | None,
) -> FittedPlanner:
    """Estimate the moments and the radius, and ask the pipeline what each column does."""
    rng = np.random.default_rng(random_state)
    encoded = model.encode(X)
    labels = None if y is None else _labels(model, y, len(X))
    estimator = _to_refit(model.classifier)
    raw = moments
    if raw is None:
        raw = WeightMoments.from_samples(
            retrained_parameters(
                estimator, encoded[:, 1:], _required(labels), n_models=n_models, random_state=rng, n_jobs=n_jobs
            )
        )
    shape = _shape(drift, radius, raw)
    if isinstance(radius, str):
        radius, source = _calibrated_radius(estimator, encoded, labels, raw, shape, n_models, rng, n_jobs)
    else:
        source = "given"
    ball = AmbiguityBall.read(model.oriented(raw.mean), raw.cov, radius, shape)
    space = ActionSpace.build(
        schema, Encoding.probe(model, schema, X), model, mean=ball.mean, cov=ball.cov, drift=ball.drift, power=power
    )
    floor = SAFE_SHARE * float(np.median(np.abs(encoded @ model.theta)))
    return FittedPlanner(model=model, space=space, ball=ball, radius_source=source, floor=floor)


def with_radius(fitted: FittedPlanner, radius: float) -> FittedPlanner:
    """The same planner under another radius."""
    ball = AmbiguityBall.read(fitted.ball.mean, fitted.ball.cov, radius, fitted.ball.drift)
    return replace(fitted, ball=ball, radius_source="given")


def _to_refit(classifier: Any) -> Any:
    """The estimator whose refits stand for the next models."""
    return classifier.estimator if is_calibrated(classifier) else classifier


def _labels(model: LinearModel, y: Any, n_rows: int) -> Any:
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise InvalidInputError(f"y must have one label per row of X, {n_rows}, got shape {labels.shape}")
    unknown = ~np.isin(labels, model.classifier.classes_)
    if unknown.any():
        row = int(np.argmax(unknown))
        shown = " and ".join(repr(label) for label in model.classifier.classes_.tolist())
        raise InvalidInputError(f"y must hold the model's labels, {shown}, got {labels[row]!r} in row {row}")
    return labels


def _required(labels: Any) -> Any:
    if labels is None:
        raise InvalidInputError("y is needed to retrain the model; or give the moments of its parameters (moments=...)")
    return labels


def _shape(drift: Any, radius: Any, moments: WeightMoments) -> Array | None:
    """The shape of the ball: the covariance of retraining, the identity, or what was given."""
    if isinstance(drift, str):
        return moments.cov if drift == "cov" or isinstance(radius, str) else None
    return None if drift is None else np.asarray(drift, dtype=np.float64)


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
