"""Models that are linear in their encoded columns: what is known of the next parameters, and how it is stored."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from copa._core.arrays import Array, Indices, as_symmetric
from copa._core.formats import Archive
from copa.exceptions import InvalidInputError
from copa.models import Encoding, LinearModel
from copa.models.linear import base_classifier
from copa.planner.settings import FitSettings
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.storage import require_parts
from copa.schema import FeatureSchema
from copa.search.cost import Cost, read_cost
from copa.search.problem import ActionSpace
from copa.uncertainty import WeightMoments, resampling_radius, retrained_parameters
from copa.uncertainty.ambiguity import AmbiguitySet, MomentBall

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

# Share of a typical score's size that today's model must accept with: more than rounding can take away.
SAFE_SHARE = 1e-6
N_MODELS = 1000  # refits for the moments where nothing is said
LARGEST_SAMPLES = 50  # bootstrap samples for the radius; one for every REFITS_PER_SAMPLE of the planner's refits
REFITS_PER_SAMPLE = 20
PARTS = ("settings", "schema", "columns", "radius", "radius_source", "floor", "power", "lines", "choices")
ARRAYS = ("theta", "mean", "cov", "directions")
CHANGED = 1e-9  # relative difference from which on the parameters are those of another model


@dataclass(frozen=True, eq=False, kw_only=True)
class Parametric(Strategy):
    """The state of a model that is linear in its encoded columns: an ambiguity set of its next parameters.

    Attributes
    ----------
    model : LinearModel
    parameters : AmbiguitySet
        The distributions of the next parameters, turned towards the favourable label.
    floor : float
        Least score with which today's model must accept.
    """

    subject: ClassVar[str] = "parameters"
    file_version: ClassVar[int] = 1

    model: LinearModel
    parameters: AmbiguitySet
    floor: float

    @classmethod
    def fit(
        cls, model: LinearModel, schema: FeatureSchema, X: "pd.DataFrame", y: Any, settings: FitSettings
    ) -> "Parametric":
        """Probe what each column does, and estimate the moments of the next parameters and the radius."""
        encoded = model.encode(X)
        encoding = cls.probe(model, schema, X)
        parameters, source = _fit_parameters(model, encoded, y, settings)
        return cls(
            model=model,
            space=_space(schema, encoding, model, parameters, settings.cost),
            parameters=parameters,
            radius_source=source,
            floor=SAFE_SHARE * float(np.median(np.abs(encoded @ model.theta))),
        )

    @classmethod
    @abstractmethod
    def probe(cls, model: LinearModel, schema: FeatureSchema, X: "pd.DataFrame") -> Encoding:
        """What each column of the training data does to the encoded row; `NotLinearError` where that is not so."""

    def ambiguity(self, n_options: int) -> AmbiguitySet:  # noqa: ARG002 - the parameters are the same for all plans
        """The distributions of the next parameters."""
        return self.parameters

    def encode(self, table: "pd.DataFrame") -> Array:
        """Rows as the classifier sees them, (N, D)."""
        return self.model.encode(table)

    def start(self, table: "pd.DataFrame", encoded: Array | None = None) -> Array:
        """The encoded rows, (N, D)."""
        return self.model.encode(table) if encoded is None else encoded

    def points(
        self,
        rows: "pd.DataFrame",
        owner: Indices,  # noqa: ARG002 - a row is the same point in every plan
        n_options: int,  # noqa: ARG002
        n_jobs: int | None = None,  # noqa: ARG002
        encoded: Array | None = None,
    ) -> Array:
        """Rows as the classifier sees them, (M, D)."""
        return self.model.encode(rows) if encoded is None else encoded

    def pack(self) -> Archive:
        """What a saved planner holds of it, besides what all planners have."""
        content = {
            "floor": self.floor,
            "curved": not self.additive,
            "lines": [feature.name for feature in self.space.numeric],
            "choices": [feature.name for _, feature in self.space.categorical],
        }
        arrays = {
            "theta": self.model.theta,
            "mean": self.parameters.mean,
            "cov": self.parameters.cov,
            "directions": self.space.directions,
        }
        if self.parameters.drift is not None:
            arrays["drift"] = self.parameters.drift
        return Archive(content, arrays)

    @classmethod
    def unpack(
        cls, archive: Archive, schema: FeatureSchema, model: Any, path: "str | Path"
    ) -> tuple[Self, dict[str, Any]]:
        """Read what `pack` returned; an error for another model than its own."""
        require_parts(archive, PARTS, ARRAYS, path)
        content, arrays, settings = archive.content, archive.arrays, archive.content["settings"]
        linear = LinearModel.read(
            model, content["columns"], threshold=settings["threshold"], favourable=settings["favourable"]
        )
        if linear.theta.shape != arrays["theta"].shape or not np.allclose(
            linear.theta, arrays["theta"], rtol=CHANGED, atol=CHANGED * np.abs(arrays["theta"]).max()
        ):
            raise InvalidInputError(
                f"the planner in {path} was fitted with another model: its parameters differ from those of the one "
                "given. Fit a new planner for this model"
            )
        ball = MomentBall.read(arrays["mean"], arrays["cov"], content["radius"], arrays.get("drift"))
        encoding = _stored_encoding(schema, content, arrays["directions"])
        strategy = cls(
            model=linear,
            space=_space(schema, encoding, linear, ball, read_cost(f"l{content['power']}")),
            parameters=ball,
            radius_source=content["radius_source"],
            floor=float(content["floor"]),
        )
        return strategy, {"radius": ball.radius, "drift": ball.drift}


def _space(
    schema: FeatureSchema, encoding: Encoding, model: LinearModel, ball: AmbiguitySet, cost: Cost
) -> ActionSpace:
    return ActionSpace.build(schema, encoding, model, mean=ball.mean, cov=ball.cov, drift=ball.drift, cost=cost)


def _stored_encoding(schema: FeatureSchema, content: dict[str, Any], directions: Any) -> Encoding:
    """The saved directions by column."""
    numeric = {name: directions[k] for k, name in enumerate(content["lines"])}
    categorical, start = {}, len(numeric)
    for name in content["choices"]:
        end = start + len(schema[name].values or ())
        categorical[name] = directions[start:end]
        start = end
    return Encoding(numeric, categorical)


def _fit_parameters(model: LinearModel, encoded: Array, y: Any, settings: FitSettings) -> tuple[AmbiguitySet, str]:
    """Estimate the distributions of the next parameters, and say where their radius comes from.

    Parameters
    ----------
    model : LinearModel
    encoded : ndarray of shape (n, D)
        The training data as the classifier sees them.
    y : array-like of shape (n,) or None
    settings : FitSettings
    """
    rng = np.random.default_rng(settings.seed)
    n_models = N_MODELS if settings.n_models is None else settings.n_models
    labels = None if y is None else model.read_labels(y, len(encoded))
    estimator = base_classifier(model.classifier)
    moments = settings.moments
    if moments is None:
        refits = retrained_parameters(
            estimator,
            encoded[:, 1:],
            _required(labels),
            n_models=n_models,
            random_state=rng,
            n_jobs=settings.n_jobs,
        )
        moments = WeightMoments.from_samples(refits)
    elif moments.mean.size != encoded.shape[1]:
        raise InvalidInputError(
            f"moments must be of the model's {encoded.shape[1]} parameters (the intercept and one for each encoded "
            f"column), got {moments.mean.size}"
        )
    drift = _drift(settings.drift, settings.radius, moments)
    radius, source = settings.radius, "given"
    if isinstance(radius, str):
        n_samples = min(LARGEST_SAMPLES, max(10, n_models // REFITS_PER_SAMPLE))
        radius = resampling_radius(
            estimator,
            encoded[:, 1:],
            _required(labels),
            moments,
            drift=drift,
            n_samples=n_samples,
            n_models=REFITS_PER_SAMPLE,
            random_state=rng,
            n_jobs=settings.n_jobs,
        )
        unit = "" if drift is None else " standard deviations of retraining"
        source = f"from {n_samples} bootstrap samples: {radius:.3g}{unit}"
    return settings.ambiguity.read(model.oriented(moments.mean), moments.cov, radius, drift), source


def _required(labels: Any) -> Any:
    if labels is None:
        raise InvalidInputError("y is needed to retrain the model; or give the moments of its parameters (moments=...)")
    return labels


def _drift(drift: Any, radius: Any, moments: WeightMoments) -> Array | None:
    """The shape of the ambiguity set: the covariance of retraining, the identity, or what was given."""
    if isinstance(drift, str):
        return moments.cov if drift == "cov" or isinstance(radius, str) else None
    return None if drift is None else as_symmetric(drift, "drift", moments.mean.size)
