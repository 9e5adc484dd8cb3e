"""One data set made ready: the deployed model, its refits before and after the shift, and the applicants."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa import WeightMoments, gelbrich_distance, retrained_parameters
from reproduction.data.encoding import Array, Encoding

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.data.shifted import ShiftedData
    from reproduction.settings import Settings

TRAINING_SHARE = 0.8  # of D1, for the deployed classifier
HALF = 0.5


@dataclass(frozen=True, eq=False)
class Case:
    """What every method is given.

    Attributes
    ----------
    data : ShiftedData
    encoding : Encoding
        Of its rows.
    theta : ndarray of shape (D,)
        Deployed classifier, trained on 80 % of D1.
    before, after : ndarray of shape (K, D)
        Refits on random halves of D1 and of D2.
    moments : WeightMoments
        Of the refits on D1.
    applicants : DataFrame of N rows
        Rows of D1 that the deployed classifier declines, in random order.
    settings : Settings
    """

    data: "ShiftedData"
    encoding: Encoding
    theta: Array
    before: Array
    after: Array
    moments: WeightMoments
    applicants: "pd.DataFrame"
    settings: "Settings"

    @cached_property
    def origins(self) -> Array:
        """Vectors of the applicants, (N, D)."""
        return self.encoding.encode(self.applicants)

    @cached_property
    def fixed(self) -> npt.NDArray[np.intp]:
        """Coordinates that may not change."""
        return self.encoding.fixed(self.data.schema)

    @cached_property
    def moments_after(self) -> WeightMoments:
        """Moments of the distribution that picks one of the refits on D2: the one that empirical validity is about."""
        mean = self.after.mean(axis=0)
        away = self.after - mean
        return WeightMoments(mean, away.T @ away / len(away))

    @cached_property
    def distance(self) -> float:
        """Gelbrich distance from the moments before the shift to those after it."""
        after = self.moments_after
        return gelbrich_distance(self.moments.mean, self.moments.cov, after.mean, after.cov)


def classifier(C: float = 1.0) -> Any:
    """Return the logistic regression of the experiments: scikit-learn's default penalty, run to convergence."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, tol=1e-8, max_iter=10_000)


def retrained(rows: Array, good: Any, settings: "Settings", seed: int) -> Array:
    """Return the parameters of refits on random halves with C = 1 whatever the number of rows, as in the paper."""
    share = round(HALF * len(rows)) / len(rows)  # by which `retrained_parameters` divides C to keep it per row
    return retrained_parameters(
        classifier(C=share), rows[:, 1:], good, n_models=settings.n_models, fraction=HALF, random_state=seed
    )


def prepare(data: "ShiftedData", settings: "Settings", encoding: Encoding | None = None) -> Case:
    """Train the models of a data set and choose its applicants; without an encoding, numbers are scaled to [0, 1]."""
    encoding = Encoding.of(data.present.features) if encoding is None else encoding
    rows = encoding.encode(data.present.features)
    good = data.present.favourable
    rng = np.random.default_rng(settings.seed)
    chosen = rng.permutation(len(rows))[: round(TRAINING_SHARE * len(rows))]
    deployed = classifier().fit(rows[chosen, 1:], good[chosen])
    theta = np.concatenate([deployed.intercept_, deployed.coef_[0]])
    before = retrained(rows, good, settings, settings.seed)
    shifted = encoding.encode(data.shifted.features)
    after = retrained(shifted, data.shifted.favourable, settings, settings.seed + 1)
    return Case(
        data,
        encoding,
        theta,
        before,
        after,
        WeightMoments.from_samples(before),
        choose_applicants(data, rows @ theta < 0.0, settings),
        settings,
    )


def choose_applicants(data: "ShiftedData", declined: npt.NDArray[np.bool_], settings: "Settings") -> "pd.DataFrame":
    """Return up to `n_applicants` declined rows of D1 in random order; fewer are the first of more."""
    order = np.random.default_rng(settings.seed + 2).permutation(len(declined))
    rows = order[declined[order]][: settings.n_applicants]
    return data.present.features.iloc[rows]
