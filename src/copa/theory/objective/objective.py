"""The paper's objective of a plan: proximity, validity and diversity (paper, Section 4)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.arrays import (
    LARGEST,
    SMALLEST,
    Array,
    as_floats,
    as_symmetric,
    as_vector,
    require_size,
    semidefinite_root,
)
from copa._core.reading import read_number, read_word
from copa.exceptions import InvalidInputError

COSTS = ("l2", "l1")
HEAVIEST, LIGHTEST = 1e12, 1e-12  # weights beyond these differ by more than double precision holds


@dataclass(frozen=True, eq=False)
class Objective:
    """The paper's objective with its weights and its cost.

    Attributes
    ----------
    mean, cov : ndarray of shape (D,), (D, D)
        Moments of the parameters.
    validity_weight, diversity_weight : float
        The paper's lambda_1 and lambda_2.
    manhattan : bool
        Whether the cost is a sum of absolute changes, and not the length of the change.
    cost_weights : ndarray of shape (D,)
        What a unit of each coordinate costs.
    """

    mean: Array
    cov: Array
    validity_weight: float
    diversity_weight: float
    manhattan: bool
    cost_weights: Array

    @classmethod
    def read(
        cls, mean: Any, cov: Any, *, validity_weight: Any, diversity_weight: Any, cost: Any, cost_weights: Any
    ) -> "Objective":
        """Check what the caller gave."""
        vector = as_vector(mean, "mean").copy()  # the kernels take arrays that can be written to
        require_size(vector, "mean", SMALLEST)
        matrix = as_symmetric(cov, "cov", vector.size)
        require_size(matrix, "cov", largest=LARGEST**2)
        semidefinite_root(matrix, "cov")
        return cls(
            mean=vector,
            cov=matrix,
            validity_weight=read_number(validity_weight, "validity_weight"),
            diversity_weight=read_number(diversity_weight, "diversity_weight"),
            manhattan=read_word(cost, COSTS, "cost") == "l1",
            cost_weights=_read_cost_weights(cost_weights, vector.size).copy(),
        )

    @property
    def dimension(self) -> int:
        """Number of coordinates D, the intercept included."""
        return self.mean.size

    def of(self, plans: Array, origins: Array) -> Array:
        """Return the objective of plans (N, J, D) for applicants (N, D); a term of weight zero is not looked at."""
        values: Array = self._costs(plans - origins[:, None]).mean(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # scores without deviation, and plans with NaN
            if self.validity_weight > 0.0:
                variances = ((plans @ self.cov) * plans).sum(axis=2)
                ratios = (plans @ self.mean) / np.sqrt(np.maximum(variances, 0.0))
                values = values - self.validity_weight * ratios.min(axis=1)
            if self.diversity_weight > 0.0:
                similarities = 1.0 / (1.0 + self._costs(plans[:, :, None] - plans[:, None]))
                values = values - self.diversity_weight * np.linalg.det(similarities)
        return values

    def _costs(self, changes: Array) -> Array:
        """Costs of changes (..., D)."""
        weighted = np.abs(changes * self.cost_weights)
        costs: Array = weighted.sum(axis=-1) if self.manhattan else np.sqrt((weighted**2).sum(axis=-1))
        return costs


def plan_objective(
    points: Any,
    origins: Any,
    mean: Any,
    cov: Any,
    *,
    validity_weight: float,
    diversity_weight: float,
    cost: str = "l2",
    cost_weights: Any = None,
) -> Array | float:
    """The paper's objective: mean cost - validity_weight * validity - diversity_weight * diversity; less is better.

    The cost of an option is its distance from the applicant. The validity of a plan is the least of its options' mean
    scores over their standard deviations, min_j mu'x_j / |S^{1/2} x_j|. Its diversity is the determinant of
    K_ij = 1 / (1 + c(x_i, x_j)). Constraints are not looked at.

    Parameters
    ----------
    points : array_like of shape (J, D) or (N, J, D)
        One plan, or a batch; vectors include the intercept as coordinate 0, value 1.
    origins : array_like of shape (D,) or (N, D)
        The applicant of every plan, or one for each.
    mean : array_like of shape (D,)
    cov : array_like of shape (D, D)
        Mean and covariance of the model's parameters.
    validity_weight, diversity_weight : float
        The paper's lambda_1 and lambda_2, at least 0; a term of weight 0 counts nothing.
    cost : {"l2", "l1"}
        The weighted Euclidean distance |w (x - y)|, or the sum of w |x - y|.
    cost_weights : array_like of shape (D,), optional
        What a unit of each coordinate costs, positive; None is 1 for all.

    Returns
    -------
    float or ndarray of shape (N,)
        Minus infinity where no option's score deviates from a positive mean, and NaN where a plan or its applicant
        holds NaN.

    Examples
    --------
    >>> import copa
    >>> mean, cov = [-0.5, 1.0, 2.0], [[0.1, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.4]]
    >>> plan = [[1.0, 0.7, 0.1], [1.0, 0.1, 0.4]]
    >>> value = copa.plan_objective(plan, [1.0, 0.1, 0.1], mean, cov, validity_weight=0.5, diversity_weight=5.0)
    >>> print(f"{value:.4f}")
    -3.2039
    """
    objective = Objective.read(
        mean,
        cov,
        validity_weight=validity_weight,
        diversity_weight=diversity_weight,
        cost=cost,
        cost_weights=cost_weights,
    )
    dimension = objective.dimension
    plans = as_floats(points, "points")
    if plans.ndim not in (2, 3) or plans.shape[-1] != dimension or plans.shape[-2] == 0:
        raise InvalidInputError(
            f"points must have shape (J, {dimension}) or (N, J, {dimension}) to match mean, with J >= 1, "
            f"got {plans.shape}"
        )
    batch = plans if plans.ndim == 3 else plans[None]
    applicants = as_floats(origins, "origins")
    if applicants.shape not in ((dimension,), (len(batch), dimension)):
        raise InvalidInputError(
            f"origins must have shape ({dimension},), or ({len(batch)}, {dimension}) with one row per plan, "
            f"got {applicants.shape}"
        )
    values = objective.of(batch, np.broadcast_to(applicants, (len(batch), dimension)))
    return values if plans.ndim == 3 else float(values[0])


def _read_cost_weights(weights: Any, dimension: int) -> Array:
    """Read the weights; zero is not allowed, since a coordinate that costs nothing would be moved without end."""
    if weights is None:
        return np.ones(dimension)
    vector = as_vector(weights, "cost_weights", dimension)
    for i in np.flatnonzero(~((vector >= LIGHTEST) & (vector <= HEAVIEST))):
        raise InvalidInputError(
            f"cost_weights must lie between {LIGHTEST:g} and {HEAVIEST:g}, got {vector[i]:g} at coordinate {i}; "
            "a coordinate that must not change belongs into fixed"
        )
    return vector
