"""What a planner knows of a black box once it is fitted."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk
from copa.exceptions import CopaError, InvalidInputError
from copa.models.black_box import BlackBox
from copa.schema import FeatureSchema
from copa.search.problem import ActionSpace, unit_of_effort
from copa.uncertainty.ambiguity import MomentBall
from copa.uncertainty.score_retraining import quiet, score_points, standard_ball

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class AskedPlanner:
    """What every plan for a model that is only asked is made from.

    Attributes
    ----------
    model : the model in force
    space : the columns that may change, in local coordinates (see `local_space`)
    ball : of standardised scores (see `standard_ball`)
    radius_source : in words, where the radius comes from
    seed : of the rows that are drawn
    """

    model: BlackBox
    space: ActionSpace
    ball: MomentBall
    radius_source: str
    seed: int

    @property
    def schema(self) -> FeatureSchema:
        """The schema, with the spreads that it was fitted with."""
        return self.space.schema

    def resized(self, n_options: int) -> Self:
        """The same for menus of another number of options."""
        if self.ball.dimension == n_options + 1:
            return self
        return replace(self, ball=standard_ball(n_options, self.ball.radius))

    def start(self, table: "pd.DataFrame") -> Array:
        """The applicants in local coordinates, (N, D)."""
        rows = np.zeros((len(table), self.space.mean.size))
        rows[:, 0] = 1.0
        return rows

    def answers(self, table: "pd.DataFrame") -> Array:
        """What the model says of rows, to see whether it can read them, (N, 1)."""
        return self.model.scores(table)[:, None]


@dataclass(frozen=True, eq=False, kw_only=True)
class BlackBoxPlanner(AskedPlanner):
    """A planner whose promises rest on refits; the radius of its ball counts standard deviations of retraining.

    Attributes
    ----------
    retrained : K fits of the same model to resampled data: the moments of the next models' scores come from them
    held_out : further fits, on which the options are tried and nothing is chosen by
    """

    retrained: tuple[BlackBox, ...]
    held_out: tuple[BlackBox, ...]

    @property
    def basis(self) -> str:
        """What the ball is about."""
        return "scores"

    def points(self, rows: "pd.DataFrame", owner: Indices, n_jobs: int | None = None) -> Array:
        """Rows as points of the ball, for the applicants whose options they are."""
        scores = ask_all(self.retrained, rows, n_jobs)
        return score_points(scores, owner, self.ball.dimension)


def local_space(schema: FeatureSchema, power: int) -> ActionSpace:
    """The changeable columns in coordinates around an applicant (see `Rows.coordinates`)."""
    changeable = [feature for feature in schema.features if not feature.immutable]
    lines = tuple(feature for feature in changeable if feature.is_numeric)
    choices = tuple(feature for feature in changeable if feature.is_categorical)
    scales = [1.0 / unit_of_effort(feature) for feature in lines]
    scales += [1.0 for feature in choices for _ in feature.values or ()]
    n_atoms = len(scales)
    directions = np.hstack([np.zeros((n_atoms, 1)), np.diag(np.array(scales, dtype=np.float64).reshape(n_atoms))])
    nothing = np.zeros((n_atoms + 1, n_atoms + 1))
    return ActionSpace(schema, lines, choices, directions, nothing[0], nothing, nothing, nothing[0], power)


def accepted_by(models: tuple[BlackBox, ...], rows: "pd.DataFrame", n_jobs: int | None) -> npt.NDArray[np.bool_]:
    """Whether each of several models accepts raw rows, (K, M)."""
    accepted = np.zeros((len(models), len(rows)), dtype=np.bool_)

    def work(some: slice) -> None:
        for k in range(*some.indices(len(models))):
            accepted[k] = models[k].accepts(rows)

    with quiet(), readable_rows():
        for_each_chunk(work, len(models), 1, n_jobs)
    return accepted


def ask_all(models: tuple[BlackBox, ...], rows: "pd.DataFrame", n_jobs: int | None) -> Array:
    """Scores of raw rows by several models, (K, M)."""
    scores = np.zeros((len(models), len(rows)))

    def work(some: slice) -> None:
        for k in range(*some.indices(len(models))):
            scores[k] = models[k].scores(rows)

    with quiet(), readable_rows():
        for_each_chunk(work, len(models), 1, n_jobs)
    return scores


@contextmanager
def readable_rows() -> Iterator[None]:
    """Say so where a model cannot read a row that the schema allows."""
    try:
        yield
    except CopaError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"the model cannot read a row that the schema allows ({type(error).__name__}: {error}); make the schema "
            "narrower (allowed values, ranges, rules), or the model more tolerant"
        ) from error
