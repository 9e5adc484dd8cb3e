"""Models that are linear in their encoded columns: the set of their next parameters, and how it is stored."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.formats import Archive
from copa._core.progress import stage
from copa._core.reading import is_number, is_whole
from copa.data.schema import FeatureSchema
from copa.exceptions import InvalidInputError
from copa.models import Encoding, LinearModel
from copa.models.encoding import n_irregular, n_levels
from copa.models.linear import base_classifier
from copa.models.refits.history import Drift
from copa.models.refits.rare_levels import without_unknown_levels
from copa.planner.search.problem import ActionSpace, Linearisation
from copa.planner.search.ranges import medians, read_medians
from copa.planner.search.run import Shrinkage
from copa.planner.settings import FitSettings
from copa.planner.strategies.applicants import Applicants, declined_rows
from copa.planner.strategies.base import OtherModelError, Strategy
from copa.planner.strategies.local_reliability import pairs_of_splits
from copa.planner.strategies.next_parameters import (
    N_REFERENCES,
    Chooser,
    confidence_words,
    estimate_reliability,
    expected_law,
    learn_parameters,
    shrunk,
)
from copa.planner.strategies.options import Options
from copa.plans.cost import read_cost
from copa.plans.records import ExpectedRates
from copa.theory.sets import WeightMoments
from copa.theory.sets.ambiguity import AmbiguitySet
from copa.theory.sets.set_files import describe_set, unpack_set

if TYPE_CHECKING:
    import pandas as pd

# Share of a typical score's size that today's model must accept with: more than rounding can take away.
SAFE_SHARE = 1e-6
CHANGED = 1e-9  # relative difference from which on the parameters are those of another model


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Parametric(Strategy):
    """The state of a model that is linear in its encoded columns: an ambiguity set of its next parameters.

    Attributes
    ----------
    model : LinearModel
    parameters : AmbiguitySet
        The distributions of the next parameters, turned towards the favourable label.
    floor : float
        Least score with which today's model must accept.
    thirds : ndarray of shape (T, D)
        Parameters of refits on thirds of the rows, which the options are tried on and the search does not go by.
    halves : ndarray of shape (K, D)
        Those of refits on halves, complementary ones next to each other, by which it is judged how reliable scores are
        within the limits of one applicant.
    references : DataFrame, optional
        The declined training rows nearest to acceptance, for whom it is judged what wishes leave.
    within_wishes : float
        The reliability on average over the references within the wishes of one person; 1 without wishes.
    expects : bool
        Whether `parameters` is the law that is expected of the next model.
    directions, irregular : ndarray of shape (A, D), mapping of str to ndarray
        What changes add to the encoded vector, see `Linearisation`.
    """

    subject: ClassVar[str] = "parameters"

    model: LinearModel
    parameters: AmbiguitySet
    floor: float
    thirds: Array
    directions: Array
    halves: Array = field(default_factory=lambda: np.zeros((0, 0)))
    irregular: Mapping[str, Array] = field(default_factory=dict)
    references: "pd.DataFrame | None" = None
    within_wishes: float = 1.0
    expects: bool = False

    @classmethod
    def fit(
        cls, model: LinearModel, schema: FeatureSchema, X: "pd.DataFrame", y: Any, settings: FitSettings
    ) -> "Parametric":
        """Probe what each column does, and learn what is known of the next parameters."""
        later = settings.later_models
        if later.ambiguity is None:
            schema = without_unknown_levels(schema, base_classifier(model.classifier))
        with stage("encoding the training rows"):
            encoded = model.encode(X)
            encoding = cls.probe(model, schema, X)
        learned = learn_parameters(model, schema, encoded, X, y, settings)
        space = ActionSpace.build(schema, encoding, settings.cost, medians(schema, X))
        strategy = cls(
            model=model,
            space=space,
            directions=_stacked(encoding, space, model.theta.size),
            irregular=encoding.irregular,
            parameters=learned.ambiguity,
            radius_source=learned.source,
            floor=SAFE_SHARE * float(np.median(np.abs(encoded @ model.theta))),
            thirds=learned.refits.thirds,
            halves=pairs_of_splits(learned.refits.halves) if later.ambiguity is None else learned.refits.halves[:0],
            n_rows=len(X),
        )
        if later.ambiguity is not None:
            return strategy
        references = X.iloc[declined_rows(schema, model, X, N_REFERENCES)].reset_index(drop=True)
        b = 0.0  # where nobody is declined, nothing is known of what a choice is worth
        if len(references):
            chooser = strategy.chooser(strategy.read_applicants(references))
            b = estimate_reliability(chooser, learned.ambiguity, learned.refits.halves)
        strategy = strategy.with_set(shrunk(learned.ambiguity, b, later.confidence))
        source = confidence_words(later.confidence, b, learned.refits)
        declined = declined_rows(schema, model, X, len(X))
        nearest = declined[np.argsort(-(encoded[declined] @ model.theta), kind="stable")[:N_REFERENCES]]
        own = X.iloc[nearest][list(model.columns)].reset_index(drop=True)
        return replace(strategy, reliability=b, confidence=later.confidence, radius_source=source, references=own)

    def shrinkage(self, reliability: Array | None) -> Shrinkage | None:
        """What counts of the nominal mean at the reliability of each applicant (N,), and the radius in its place.

        The mean in `parameters` is shrunk to the reliability b of all directions. At b_i it counts by b_i / b, and is
        unknown by the root of b_i; the moves of past versions stay as they are. Under the law that is expected the
        spread is that of b_i, which is put down to the mean, as only their ratio matters.
        """
        b, radius = self.reliability, self.parameters.radius
        if reliability is None or not b:
            return None
        shares = reliability / b
        if self.expects:
            return Shrinkage(shares * np.sqrt((1.0 + b) / (1.0 + reliability)), np.full(len(shares), radius))
        if self.confidence is None or (self.past is not None and radius > self.past.radius):
            return Shrinkage(shares, np.full(len(shares), radius))
        return Shrinkage(shares, radius * np.sqrt(shares))

    def encoded(self, points: Array) -> Array:
        """Points of the ambiguity set as the classifier sees them, (M, D), without what is deducted."""
        return points[:, : self.model.theta.size]

    def padded(self, encoded: Array) -> Array:
        """Encoded rows as points of the ambiguity set, with nothing deducted."""
        return encoded if self.reliability is None else np.hstack([encoded, np.zeros((len(encoded), 1))])

    def deducted(self, points: Array, reliability: Array | None) -> Array:
        """Return points whose last coordinate is deducted from the score: what the set allows too much at b_i."""
        shrinkage = self.shrinkage(reliability)
        if shrinkage is None:
            return points
        encoded = self.encoded(points)[:, None]  # one product per row: the same to the last bit in any batch
        means, root = (encoded @ self.parameters.mean)[:, 0], self.parameters.drift_root
        lengths = np.linalg.norm((encoded if root is None else encoded @ root)[:, 0], axis=1)
        excess = (1.0 - shrinkage.shares) * means - (self.parameters.radius - shrinkage.radii) * lengths
        return np.hstack([self.encoded(points), np.maximum(excess, 0.0)[:, None]])

    def with_set(self, ambiguity: AmbiguitySet) -> Self:
        """The same state with another ambiguity set."""
        return replace(self, parameters=ambiguity)

    @cached_property
    def linearisation(self) -> Linearisation:
        """Linear model of the encoded row and moments of the parameters."""
        return Linearisation.of(self.space, self.directions, self.parameters, self.model.theta, self.irregular)

    def with_radius(self, radius: float, source: str) -> Self:
        """The same state with another radius."""
        return replace(self.with_set(replace(self.parameters, radius=radius)), radius_source=source)

    def moments(self, n_options: int) -> WeightMoments:  # noqa: ARG002 - the parameters are the same for all plans
        """Mean and covariance before the mean shrank to its reliable part."""
        mean, b = self.parameters.mean, self.reliability
        if b is not None:
            mean = mean / b if b > 0.0 else self.model.theta
        return WeightMoments(mean, self.parameters.cov, oriented=True)

    def spreads(self, points: Array) -> Array:
        """Square roots of x' cov x."""
        return np.asarray(np.linalg.norm(self.encoded(points) @ self.parameters.cov_root, axis=1))

    def widened(self, drift: Drift, horizon: int) -> Self:
        """The same state, whose means may move as far as those of past versions, if that is further."""
        moved, radius = drift.radius(horizon), self.parameters.radius
        decides = f"drift, {moved:.3g}" if moved > radius else f"confidence, {radius:.3g}"
        source = (
            f"{decides} standard deviations of retraining: by {self.radius_source} it is {radius:.3g}, "
            f"and past versions moved by up to {drift.largest_in_words(horizon)}"
        )
        return self.with_radius(max(moved, radius), source)

    def expecting(self) -> Self:
        """The same state with the normal law of a model on fresh data: around what is reliable of today's scores."""
        b = 1.0 if self.reliability is None else self.reliability
        return replace(self.with_set(expected_law(self.model.theta, self.parameters.cov, b)), expects=True)

    def expected_rates(
        self,
        options: Options,
        n_applicants: int,
        n_jobs: int | None,  # noqa: ARG002 - one product
        fidelity: Array | None = None,
    ) -> ExpectedRates | None:
        """Shares of the refits on thirds that accept options, whose scores count as far as they are reliable.

        These refits vary around today's score m as a model on fresh data does, with a variance of 2 s^2. Of a row that
        was chosen by its score, b m is to be expected with a variance of (1 + b) s^2 (docs/theory.md).
        """
        if len(self.thirds) == 0:
            return None
        rows = self.encoded(options.points)[:, None]  # one product per row
        scores, today = (rows @ self.thirds.T)[:, 0], rows @ self.model.theta
        b = 1.0 if self.reliability is None else np.full((len(rows), 1), self.reliability)
        b = b if options.reliability is None else options.reliability[:, None]
        accepted = (b * today + np.sqrt(0.5 * (1.0 + b)) * (scores - today)).T >= 0.0
        return ExpectedRates.of_answers(accepted, options.owner, n_applicants, fidelity)

    @abstractmethod
    def chooser(self, applicants: Applicants) -> Chooser:
        """Return a function that chooses rows by other parameters than today's, to measure how reliable a choice is."""

    @property
    def n_columns(self) -> int:
        """Encoded columns."""
        return self.model.theta.size - 1

    @classmethod
    @abstractmethod
    def probe(cls, model: LinearModel, schema: FeatureSchema, X: "pd.DataFrame") -> Encoding:
        """Probe the effect of each column on the encoded row; `NotLinearError` where it is not additive."""

    def ambiguity(self, n_options: int) -> AmbiguitySet:  # noqa: ARG002 - the parameters are the same for all plans
        """The distributions of the next parameters; with a last one, -1, for what is deducted from scores."""
        return self._set_of_points

    @cached_property
    def _set_of_points(self) -> AmbiguitySet:
        ambiguity = self.parameters
        if self.reliability is None:
            return ambiguity
        cov = np.pad(ambiguity.cov, (0, 1))
        drift = None if ambiguity.drift is None else np.pad(ambiguity.drift, (0, 1))
        return replace(ambiguity, mean=np.append(ambiguity.mean, -1.0), cov=cov, drift=drift)

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
        """Rows as the classifier sees them, with nothing deducted, (M, D) or (M, D + 1)."""
        return self.padded(self.model.encode(rows) if encoded is None else encoded)

    def pack(self) -> Archive:
        """Return the part of a saved planner that is specific to this strategy."""
        content = {
            "floor": self.floor,
            "curved": not self.additive,
            "set": describe_set(self.parameters),
            "confidence": self.confidence,
            "reliability": self.reliability,
            "n_rows": self.n_rows,
            "lines": [feature.name for feature in self.space.numeric],
            "choices": [feature.name for _, feature in self.space.level_columns],
            "edges": {name: edges.tolist() for name, edges in self.space.edges.items()},
            "typical": dict(self.space.typical),
        }
        arrays = {
            "theta": self.model.theta,
            "mean": self.parameters.mean,
            "cov": self.parameters.cov,
            "directions": self.directions,
        }
        kept = [self.irregular[f.name] for f in self.space.numeric if f.name in self.irregular]
        if any(len(part) for part in kept):
            arrays["irregular"] = np.concatenate(kept)
        if self.parameters.drift is not None:
            arrays["drift"] = self.parameters.drift
        for name in ("thirds", "halves"):
            if len(getattr(self, name)):
                arrays[name] = getattr(self, name)
        return Archive(content, arrays)

    @classmethod
    def unpack(cls, archive: Archive, schema: FeatureSchema, model: Any) -> Self:
        """Read what `pack` returned; an OtherModelError for another model than its own."""
        content, arrays, settings = archive.content, archive.arrays, archive.content["settings"]
        try:
            linear = LinearModel.read(
                model, content["columns"], threshold=settings["threshold"], favourable=settings["favourable"]
            )
        except InvalidInputError as error:
            raise OtherModelError(str(error)) from error
        if linear.theta.shape != arrays["theta"].shape or not np.allclose(
            linear.theta, arrays["theta"], rtol=CHANGED, atol=CHANGED * np.abs(arrays["theta"]).max()
        ):
            raise OtherModelError("its parameters differ from those of the one given")
        ambiguity = unpack_set(content["set"], dict(arrays) | {"radius": content["radius"]})
        encoding, typical = _stored_encoding(schema, archive)
        thirds, halves = (arrays.get(name, np.zeros((0, linear.theta.size))) for name in ("thirds", "halves"))
        if any(refits.ndim != 2 or refits.shape[1] != linear.theta.size for refits in (thirds, halves)):
            raise ValueError("its refits on thirds or halves have other parameters than the model")
        if len(halves) % 2 or (len(halves) == 0) != (content["reliability"] is None):
            raise ValueError("its refits on halves are not pairs, or are missing")
        space = ActionSpace.build(schema, encoding, read_cost(settings["cost"]), typical)
        return cls(
            model=linear,
            space=space,
            directions=_stacked(encoding, space, linear.theta.size),
            irregular=encoding.irregular,
            parameters=ambiguity,
            radius_source=content["radius_source"],
            floor=float(content["floor"]),
            thirds=thirds,
            halves=halves,
            **_read_evidence(content),
        )

    @property
    def fixed_set(self) -> AmbiguitySet | None:
        """The set, where its radius does not follow from a confidence."""
        return self.parameters if self.reliability is None else None


def _read_evidence(content: dict[str, Any]) -> dict[str, Any]:
    """Confidence, reliability and number of rows of a file; an error where one is no such number."""
    evidence = {name: content[name] for name in ("confidence", "reliability", "n_rows")}
    for name, value in evidence.items():
        whole = name == "n_rows"
        good = value is None or ((is_whole(value) if whole else is_number(value)) and value >= 0)
        if not good or (not whole and value is not None and value > 1.0):
            raise ValueError(f"its {name} is {value!r}")
    if evidence["reliability"] is None and evidence["confidence"] is not None:
        raise ValueError("it has a confidence and no reliability")
    return evidence


def _stacked(encoding: Encoding, space: ActionSpace, dimension: int) -> Array:
    """The directions of the columns of a space, one under another, (A, D)."""
    directions = {**encoding.numeric, **encoding.categorical}
    blocks = [np.atleast_2d(directions[feature.name]) for feature in space.columns]
    return np.concatenate(blocks) if blocks else np.zeros((0, dimension))


def _stored_encoding(schema: FeatureSchema, archive: Archive) -> tuple[Encoding, dict[str, float]]:
    """The saved directions by column, and the medians of regular values."""
    content, directions = archive.content, archive.arrays["directions"]
    edges = {str(name): np.array(cuts, dtype=np.float64) for name, cuts in content["edges"].items()}
    numeric = {name: directions[k] for k, name in enumerate(content["lines"])}
    categorical, start = {}, len(numeric)
    for name in content["choices"]:
        end = start + n_levels(schema[name], edges.get(name))
        categorical[name] = directions[start:end]
        start = end
    irregular, first = {}, 0
    if "irregular" in archive.arrays:
        for name in numeric:
            end = first + n_irregular(schema[name])
            irregular[name] = archive.arrays["irregular"][first:end]
            first = end
    if directions.shape != (start, archive.arrays["theta"].size):
        raise ValueError("its directions are not one for each number and level of its columns")
    return Encoding(numeric, categorical, edges, irregular), read_medians(content)
