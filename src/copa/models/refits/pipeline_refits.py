"""A pipeline cloned and fitted again, encoder included, on one subset of the rows after another.

A refit has an encoder of its own; its parameters are expressed in the coordinates of today's.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin

from copa._core.arrays import Array, as_floats
from copa._core.progress import stage
from copa._core.threads import one_thread_no_warnings
from copa.exceptions import InvalidInputError, RetrainingError
from copa.models.base import unfitted
from copa.models.bins import holds_edges, inner_transformers
from copa.models.linear import LinearModel, base_classifier, parameter_vector
from copa.models.refits.penalty import keep_penalty_per_row
from copa.models.refits.subsets import Indices, Subsets

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.pipeline import Pipeline

Places = npt.NDArray[np.intp]

ALIKE = 1e-9  # of one, what a correlation may lack where two columns are the same up to scale and shift
REPRODUCED = 1e-8  # of the largest entry, what may remain between an encoding and its reproduction
COLLINEAR = 1e-10  # of the largest, singular values that are zero
CONSTANT = 1e-13  # of the largest entry, spread of a column that is constant up to rounding


@dataclass(frozen=True, eq=False)
class Matches:
    """Columns of another encoder as columns of today's: entry = offset + slope * today's entry.

    Attributes
    ----------
    place : ndarray of shape (Q,)
        Today's column; -1 for a constant, -2 for a column that is not that of one column of today's.
    slope, offset : ndarray of shape (Q,)
    """

    place: Places
    slope: Array
    offset: Array

    @property
    def complete(self) -> bool:
        """Return whether all columns are constants or columns of today's, each at most once."""
        used = self.place[self.place >= 0]
        return bool((self.place > -2).all()) and np.unique(used).size == used.size


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Today's encoding of the training rows, in which the parameters of refits are expressed.

    Attributes
    ----------
    encoded : ndarray of shape (n, D)
        With a leading 1.
    """

    encoded: Array

    @cached_property
    def _inverse(self) -> tuple[Array, int]:
        """Pseudo-inverse (D, n), and the rank; a one-hot block beside the intercept has one column too many."""
        length = np.linalg.norm(self.encoded, axis=0)
        length[length == 0.0] = 1.0
        left, sizes, right = np.linalg.svd(self.encoded / length, full_matrices=False)
        kept = sizes > COLLINEAR * sizes[0]
        inverse: Array = (right[kept].T / sizes[kept]) @ left[:, kept].T / length[:, None]
        return inverse, int(kept.sum())

    @cached_property
    def _standard(self) -> tuple[Array, Array, Array]:
        return _standardised(self.encoded[:, 1:])

    def project(self, columns: Array) -> Array:
        """Return the parameters (D, A) whose scores of the rows are nearest to columns (n, A)."""
        return self._inverse[0] @ columns

    def match(self, encoding: Array) -> Matches:
        """Find each column of another encoding (n, Q) of the same rows among today's.

        Two columns are alike where they are perfectly correlated. Of several, such as the two levels of a yes-or-no
        column, one with a positive slope is taken, and one that is not taken yet.
        """
        today, mean, spread = self._standard
        other, other_mean, other_spread = _standardised(encoding)
        correlation = today.T @ other  # (p, Q)
        alike = 1.0 - np.abs(correlation) < ALIKE
        place = np.where(other_spread > 0.0, -2, -1).astype(np.intp)
        free = np.ones(mean.size, dtype=bool)
        for q in np.flatnonzero(alike.any(axis=0)):
            same = np.flatnonzero(alike[:, q])
            place[q] = same[np.argmax(2 * (correlation[same, q] > 0.0) + free[same])]
            free[place[q]] = False
        matched = np.flatnonzero(place >= 0)
        slope, offset = np.zeros(place.size), np.where(place == -1, other_mean, 0.0)
        today_of = place[matched]
        slope[matched] = np.sign(correlation[today_of, matched]) * other_spread[matched] / spread[today_of]
        offset[matched] = other_mean[matched] - slope[matched] * mean[today_of]
        affine = offset[matched] + slope[matched] * self.encoded[:, 1 + today_of]
        remains = np.abs(affine - encoding[:, matched]).max(axis=0)
        place[matched[remains > REPRODUCED * np.abs(encoding[:, matched]).max(axis=0)]] = -2
        return Matches(place, slope, offset)

    def express(self, encoding: Array, theta: Array) -> tuple[Array, bool]:
        """Express the parameters of a refit in today's coordinates.

        Parameters
        ----------
        encoding : ndarray of shape (n, Q)
            The same rows as the refit's own encoder has them.
        theta : ndarray of shape (Q + 1,)
            Intercept and coefficients of the refit.

        Returns
        -------
        ndarray of shape (D,)
            Parameters with the same scores for all rows that are a combination of today's columns; where the encoders
            are no affine maps of each other, those with the nearest scores (least squares over the rows).
        bool
            Whether the scores are the same.
        """
        matches = self.match(encoding)
        weights = theta[1:]
        expressed = np.zeros(self.encoded.shape[1])
        known = matches.place >= -1
        expressed[0] = theta[0] + weights[known] @ matches.offset[known]
        matched = matches.place >= 0
        np.add.at(expressed, 1 + matches.place[matched], weights[matched] * matches.slope[matched])
        if known.all():
            return expressed, True
        scores = encoding[:, ~known] @ weights[~known]
        inverse, rank = self._inverse
        rest = inverse @ scores
        remains = np.abs(self.encoded @ rest - scores).max()
        # As many parameters as rows reproduce any scores, which says nothing of other rows.
        return expressed + rest, bool(rank < len(scores) and remains <= REPRODUCED * np.abs(scores).max())


def _standardised(columns: Array) -> tuple[Array, Array, Array]:
    """Columns with mean 0 and length 1 (those that are constant are 0), their means, and their lengths before."""
    mean = columns.mean(axis=0)
    centred = columns - mean
    largest = np.abs(columns).max(axis=0, initial=0.0)
    length = np.sqrt(np.einsum("np,np->p", centred, centred))
    length[length <= CONSTANT * np.sqrt(len(columns)) * largest] = 0.0
    return centred / np.where(length > 0.0, length, np.inf), mean, length


def as_dense(rows: Any) -> Array:
    """Encoded rows as an array, whatever a transformer returned."""
    return as_floats(rows.toarray() if hasattr(rows, "toarray") else rows, "the encoded rows")


Chunk = list[tuple[Indices, dict[str, Any]]]  # rows and settings of each refit
Refitted = list[tuple[Array, bool]]  # parameters of each, and whether they are exactly those

AT_ONCE = 8  # refits that a process is sent at a time
WORTH_PROCESSES = 2.0  # seconds of refits here before others are started, which takes about as long


class KeptBins(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted transformer whose `fit` does nothing: one that holds edges of bins.

    The bins of a scorecard are a decision, which people know and plans name ("at least 6 months"): a refit that moved
    them would be about another scorecard. What is said of the next model says that they were kept.

    Parameters
    ----------
    transformer : object
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def __sklearn_clone__(self) -> "KeptBins":
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> "KeptBins":  # noqa: ARG002 - it is fitted already
        """Do nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """Transform rows as the fitted transformer does."""
        return self.transformer.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of its columns."""
        return self.transformer.get_feature_names_out(input_features)


@dataclass(frozen=True, eq=False)
class PipelineRefits:
    """Input of the refits of a pipeline: the pipeline, not fitted, its training rows, and today's encoding of them.

    Attributes
    ----------
    pipeline : Pipeline
        Transformers and the linear classifier; that under a calibration, where there is one.
    table : DataFrame or ndarray
        Raw rows, as the pipeline takes them.
    labels : ndarray of shape (n,) or None
    coordinates : Coordinates
    keeps_bins : bool
        Whether transformers are among them that are not fitted again, because they hold bins.
    """

    pipeline: "Pipeline"
    table: Any
    labels: Any
    coordinates: Coordinates
    keeps_bins: bool = False

    @classmethod
    def read(cls, model: LinearModel, X: "pd.DataFrame", labels: Any, encoded: Array | None = None) -> "PipelineRefits":
        """Take the pipeline of a model, and encode its training rows where that is not done already."""
        from sklearn.base import is_classifier
        from sklearn.pipeline import Pipeline

        classifier = base_classifier(model.classifier)
        if not (hasattr(classifier, "get_params") and is_classifier(classifier)):
            name = type(classifier).__name__
            raise InvalidInputError(f"the model cannot be cloned and retrained: {name} is no scikit-learn classifier")
        steps = [*model.transformers, classifier]
        pipeline = Pipeline([(f"step{k}", unfitted(step)) for k, step in enumerate(steps)])
        pipeline.set_params(**lenient_encoders(pipeline))
        bins = _kept_bins(model.transformers)
        pipeline.set_params(**bins)
        table = model.as_input(X)
        today = Coordinates(model.encode(X) if encoded is None else encoded)
        return cls(pipeline, table, labels, today, bool(bins))

    def subset(self, rows: Indices) -> tuple[Any, Any]:
        """Some rows of the table, and their labels."""
        table = self.table.iloc[rows] if hasattr(self.table, "iloc") else self.table[rows]
        return table, None if self.labels is None else self.labels[rows]

    def refit(self, rows: Indices, settings: dict[str, Any]) -> tuple[Array, bool]:
        """Parameters of a refit in today's coordinates (D,), and whether they are exactly those."""
        from sklearn.base import clone

        pipeline = clone(self.pipeline).set_params(**settings)
        table, labels = self.subset(rows)
        try:
            pipeline.fit(table, labels)
        except Exception as error:
            raise self._not_fitted(rows, error) from error
        theta = parameter_vector(pipeline.steps[-1][1])
        if len(pipeline.steps) == 1:
            return theta, True
        try:
            return self.coordinates.express(as_dense(pipeline[:-1].transform(self.table)), theta)
        except ValueError:  # rows of which an encoder has not seen the value
            part = Coordinates(self.coordinates.encoded[rows])
            return part.express(as_dense(pipeline[:-1].transform(table)), theta)

    def _not_fitted(self, rows: Indices, error: Exception) -> RetrainingError:
        return RetrainingError(
            f"{type(self.pipeline.steps[-1][1]).__name__} and its encoder cannot be fitted again to {len(rows)} of the "
            f"rows ({type(error).__name__}: {error}); make the pipeline robust to rare categories, or give more rows"
        )

    def fit_each(
        self,
        subsets: Subsets,
        some: Indices,
        *,
        seed: int,
        n_jobs: int | None,
    ) -> tuple[Array, bool]:
        """Refit on some of the subsets, one by one.

        Parameters
        ----------
        subsets : Subsets
        some : ndarray of shape (K,)
            Which of them.
        seed : int
            For estimators whose own `random_state` is None.
        n_jobs : int, optional
            Processes; None starts as many as there are cores if a few seconds are not enough.

        Returns
        -------
        ndarray of shape (K, D)
            Parameters in today's coordinates.
        bool
            Whether all are exactly those of the refits.
        """
        seeds = np.random.default_rng(seed).spawn(3)[2].integers(2**31, size=len(subsets))
        seeded = [key for key, value in self.pipeline.get_params().items() if _is_random(key) and value is None]

        kept = cache(lambda n_rows: keep_penalty_per_row(self.pipeline, n_rows / subsets.n_rows))

        def chunks() -> Iterator[Chunk]:
            # Subsets and seeds are fixed here: the order of the workers cannot matter.
            for first in range(0, some.size, AT_ONCE):
                chunk = []
                for k in some[first : first + AT_ONCE]:
                    rows = subsets.rows(k)
                    settings = kept(rows.size) | dict.fromkeys(seeded, int(seeds[k]))
                    chunk.append((rows, settings))
                yield chunk

        fitted: Refitted = []
        if some.size > 0:
            with stage("refitting the model", some.size, "refits") as advance:
                for refits in _refit_chunks(self, chunks(), n_jobs):
                    fitted += refits
                    advance(len(refits))
        thetas = np.array([theta for theta, _ in fitted]).reshape(some.size, self.coordinates.encoded.shape[1])
        return thetas, all(exact for _, exact in fitted)


def _refit_chunks(refits: PipelineRefits, chunks: Iterator[Chunk], n_jobs: int | None) -> Iterator[Refitted]:
    """Parameters of refits, in order; in this process as long as starting others would take longer.

    How many there are is the choice of whoever names a number.
    """
    from joblib import Parallel, delayed

    end = time.monotonic() + WORTH_PROCESSES
    for chunk in chunks:
        yield _refit_chunk(refits, chunk)
        if n_jobs != 1 and (n_jobs is not None or time.monotonic() > end):
            break
    else:
        return
    tasks = (delayed(_refit_chunk)(refits, chunk) for chunk in chunks)
    yield from Parallel(n_jobs=-1 if n_jobs is None else n_jobs, return_as="generator")(tasks)


def _refit_chunk(refits: PipelineRefits, chunk: Chunk) -> Refitted:
    with one_thread_no_warnings():
        return [refits.refit(*item) for item in chunk]


def _is_random(key: str) -> bool:
    return key == "random_state" or key.endswith("__random_state")


def lenient_encoders(pipeline: Any) -> dict[str, str]:
    """Settings with which one-hot encoders do not refuse the levels that their rows lacked; they are fitted the same.

    Such a level counts as infrequent where the encoder has a column for those, and has no column else.
    """
    from sklearn.preprocessing import OneHotEncoder

    parts = pipeline.get_params()
    return {
        f"{key}__handle_unknown": "infrequent_if_exist"
        for key, part in parts.items()
        if isinstance(part, OneHotEncoder) and part.handle_unknown == "error"
    }


def _kept_bins(transformers: Sequence[Any]) -> dict[str, KeptBins]:
    """Settings of a pipeline with steps "step0", "step1", ... that keep the bins of these fitted transformers."""
    parts = (part for k, step in enumerate(transformers) for part in _with_edges(step, f"step{k}"))
    return {path: KeptBins(part) for path, part in parts}


def _with_edges(transformer: Any, path: str) -> Iterator[tuple[str, Any]]:
    if holds_edges(transformer):
        yield path, transformer
        return
    for name, part in inner_transformers(transformer):
        yield from _with_edges(part, f"{path}__{name}")
