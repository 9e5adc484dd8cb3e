"""Ambiguity set of the next model's parameters: their spread from refits, and the reliability of today's."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.progress import counting, stage
from copa.data.schema import FeatureSchema
from copa.exceptions import InvalidInputError, RetrainingError
from copa.models import LinearModel
from copa.models.linear import base_classifier
from copa.models.refits import retrained_parameters
from copa.models.refits.rare_levels import spread_rare_levels
from copa.models.refits.refits import PROBING, Refits, can_batch, refit_parameters
from copa.models.refits.reliability import confidence_radius, reliability
from copa.planner.settings import FitSettings
from copa.planner.strategies.local_reliability import RADIUS
from copa.theory.sets import WeightMoments
from copa.theory.sets.ambiguity import COVARIANCE, AmbiguitySet
from copa.theory.sets.location_set import LocationSet

if TYPE_CHECKING:
    import pandas as pd

N_REFITS = 1000  # refits on halves where nothing is said and they are refitted together
N_SLOW_REFITS = 120  # and where they are refitted one by one
THIRDS, SLOW_THIRDS, FEWEST_THIRDS = 200, 80, 40
ENOUGH = 1.5  # directions shown by refits for each parameter, from which on their covariance is taken as it is
N_SPLITS = 32  # into halves that choose and judge
N_REFERENCES = 24  # declined rows of the training data that rows are chosen for

Chooser = Callable[[AmbiguitySet], Array]
"""From a set around the parameters of half of the rows to the points (M, D) that it would choose."""


@dataclass(frozen=True, eq=False)
class NextParameters:
    """Result of retraining: a set around the next parameters.

    Attributes
    ----------
    ambiguity : AmbiguitySet
        Around them; by the rule before the reliability is known.
    source : str
        Where its radius comes from, in words.
    refits : Refits
    """

    ambiguity: AmbiguitySet
    source: str
    refits: Refits


def learn_parameters(
    model: LinearModel, schema: FeatureSchema, encoded: Array, X: "pd.DataFrame", y: Any, settings: FitSettings
) -> NextParameters:
    """Refit the model, and put a set around its parameters: the fixed one, or else that of the rule.

    Parameters
    ----------
    model : LinearModel
    schema : FeatureSchema
        With the support of the training data.
    encoded : ndarray of shape (n, D)
        The training data as the classifier sees them.
    X : DataFrame
    y : array_like of shape (n,) or None
    settings : FitSettings
    """
    labels = None if y is None else model.read_labels(y, len(encoded))
    later, given = settings.later_models, settings.later_models.ambiguity
    if labels is None and (given is None or not given.has_moments):
        raise InvalidInputError(
            "y is needed to retrain the model; or give a fixed set that has moments, "
            "later_models=MomentBall(mean, cov, radius)"
        )
    if given is not None and given.has_moments and given.dimension != encoded.shape[1]:
        raise InvalidInputError(
            f"later_models: the moments must be of the model's {encoded.shape[1]} parameters (the intercept and one "
            f"for each encoded column), got {given.dimension}"
        )
    refits = _refits(model, encoded, X, labels, settings)
    if given is None:
        cov = spread_rare_levels(covariance(refits.halves), model, schema, X)
        radius = confidence_radius(later.confidence, 1.0)
        ambiguity: AmbiguitySet = LocationSet(
            model.theta, np.asarray(cov), radius, COVARIANCE, later.family, simultaneous=False
        )
        return NextParameters(ambiguity, "", refits)
    if not given.has_moments:
        moments = _retrained(model, encoded, labels, settings)
        given = replace(given, mean=model.oriented(moments.mean), cov=moments.cov)
    return NextParameters(given, "given", refits)


def covariance(halves: Array) -> Array:
    """Covariance of refits on complementary halves, (D, D), shrunk to its diagonal where they are few for D.

    The two halves of a split are off in opposite directions, so that K refits show K / 2 of them. Directions that none
    of them shows would look certain.
    """
    cov: Array = np.cov(halves, rowvar=False)
    enough = ENOUGH * len(cov)
    share = 0.5 * max(0.0, 1.0 - 0.5 * len(halves) / enough)
    return np.asarray((1.0 - share) * cov + share * np.diag(cov.diagonal()))


def _refits(model: LinearModel, encoded: Array, X: "pd.DataFrame", labels: Any, settings: FitSettings) -> Refits:
    """Refits on halves, for the rule, and on thirds."""
    nothing = np.zeros((0, model.theta.size))
    if labels is None:
        return Refits(nothing, nothing, exact=True, n_rows=len(X))
    n_refits, by_rule = settings.later_models.n_refits, settings.later_models.ambiguity is None
    n_halves = n_refits or 0
    n_thirds = max(FEWEST_THIRDS, n_halves // 5)
    if n_refits is None or n_thirds > SLOW_THIRDS:  # else as many whatever they cost
        with stage(PROBING):
            together = can_batch(model, X, encoded=encoded)
        most = THIRDS if together else SLOW_THIRDS
        n_thirds = most if n_refits is None else min(n_thirds, most)
        n_halves = n_halves or (N_REFITS if together else N_SLOW_REFITS)
    numbers = {
        "n_halves": max(2 * N_SPLITS, n_halves + n_halves % 2) if by_rule else 0,
        "n_thirds": n_thirds,
        "seed": settings.seed,
    }
    try:
        return refit_parameters(model, X, labels, **numbers, n_jobs=settings.n_jobs, encoded=encoded)
    except RetrainingError:
        if by_rule:
            raise
        return Refits(nothing, nothing, exact=True, n_rows=len(X))  # they would only have given expected rates


def _retrained(model: LinearModel, encoded: Array, labels: Any, settings: FitSettings) -> WeightMoments:
    """Moments of refits on halves of the encoded rows, as the paper has them."""
    affordable = N_REFITS if can_batch(model) else N_SLOW_REFITS  # the encoder stays as it is
    refits = retrained_parameters(
        base_classifier(model.classifier),
        encoded[:, 1:],
        labels,
        n_models=affordable if settings.later_models.n_refits is None else settings.later_models.n_refits,
        random_state=np.random.default_rng(settings.seed),
        n_jobs=settings.n_jobs,
    )
    return WeightMoments.from_samples(refits)


def estimate_reliability(choose: Chooser, ambiguity: AmbiguitySet, halves: Array) -> float:
    """Let halves of the data choose rows for declined applicants, and ask the other halves.

    Parameters
    ----------
    choose : callable
    ambiguity : AmbiguitySet
        The set of the rule, around today's parameters.
    halves : ndarray of shape (K, D)
        Refits; complementary ones stand next to each other.
    """
    ambiguity, doubled = replace(ambiguity, radius=RADIUS), 2.0 * ambiguity.cov
    chosen_by, asked = [], []
    for first in counting(range(0, 2 * N_SPLITS, 2), "judging how reliable today's model is", N_SPLITS, "splits"):
        half, other = halves[first], halves[first + 1]
        points = choose(replace(ambiguity, mean=half, cov=doubled, drift=doubled))
        chosen_by.append(points @ half)
        asked.append(points @ other)
    return reliability(np.concatenate(chosen_by), np.concatenate(asked))


def shrunk(ambiguity: AmbiguitySet, b: float, confidence: float) -> AmbiguitySet:
    """The set of the rule at a reliability: the mean shrinks to b of it, and what is unknown of it to its root."""
    return replace(ambiguity, mean=b * ambiguity.mean, radius=confidence_radius(confidence, b))


def expected_law(theta: Array, cov: Array, b: float) -> AmbiguitySet:
    """The law of a model on fresh data, averaged over data sets, for rows that were chosen at a reliability.

    It is normal, around b times today's parameters, and varies by 1 + b times their covariance.
    """
    return LocationSet(b * theta, (1.0 + b) * cov, 0.0, (1.0 + b) * cov, family="gaussian", simultaneous=False)


def confidence_words(confidence: float, b: float, refits: Refits) -> str:
    """Describe where the radius of the rule comes from."""
    near = "" if refits.exact else "; the encoder cannot be put into today's coordinates exactly, only nearly"
    kept = "; the bins are taken to stay as they are" if refits.keeps_bins else ""
    return (
        f"confidence {confidence:g} in today's {refits.n_rows} rows, at reliability {b:.2f} (from {N_SPLITS} splits "
        f"into halves; {len(refits.halves)} refits{near}{kept})"
    )
