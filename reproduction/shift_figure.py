"""Figures "shift": validity of three methods' plans while mean, covariance or both move (Section 5.1, Appendix B).

In the correlated variant the covariance is (1 + b) A. The matrix A of the paper is not positive semidefinite: one of
its eigenvalues is 1 - sqrt(2). We take its absolute value (the eigenvalues without their signs), which is what a
sampler by singular values, such as NumPy's, makes of it.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa import WeightMoments, gelbrich_distance
from reproduction.futures import FAMILIES, standard_samples, validity_under
from reproduction.methods.copa import Copa
from reproduction.methods.mahalanobis import Corrected
from reproduction.settings import SHIFT_WEIGHTS
from reproduction.synthetic import synthetic_case
from reproduction.table1 import short

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.case import Case
    from reproduction.encoding import Array
    from reproduction.methods.base import Method
    from reproduction.session import Session

PRINTED_A = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
LARGEST_MEAN, LARGEST_COV = 1.0, 3.0  # the paper's alpha and beta
N_STEPS = 11
KINDS = {"mean": (1.0, 0.0), "covariance": (0.0, 1.0), "both": (1.0, 1.0)}
THINNING = 10  # of the samples: here a share is averaged over a hundred plans


def run(session: "Session", *, correlated: bool = False) -> "pd.DataFrame":
    """Return validity by kind of shift, size and method, mean and deviation over the applicants; written as CSV."""
    import pandas as pd

    case = synthetic_case(session.settings)
    name = "fig-shift-correlated" if correlated else "fig-shift"
    dice = session.dice()
    methods: list[Method] = [dice, Corrected(dice), Copa(*SHIFT_WEIGHTS, ranges=False)]
    parts = []
    for method in session.each(methods, name):
        key = f"{name}-{short(method.name)}"
        found = session.cell(f"{method.name}, synthetic", key, _validities, case, method, correlated=correlated)
        if found is not None:
            parts.append(found)
    table = pd.concat(parts, ignore_index=True)
    session.store.table(name.replace("-", "_"), table)
    return table


def covariance(*, correlated: bool) -> "Array":
    """The covariance that is multiplied by 1 + beta: I, or A without the signs of its eigenvalues."""
    if not correlated:
        return np.eye(len(PRINTED_A))
    values, vectors = np.linalg.eigh(PRINTED_A)
    return np.asarray((vectors * np.abs(values)) @ vectors.T)


def _validities(case: "Case", method: "Method", *, correlated: bool) -> "pd.DataFrame":
    import pandas as pd

    plans = method.plans(case)
    rng = np.random.default_rng(case.settings.seed)
    n_samples = max(case.settings.n_samples // THINNING, 1000)
    samples = standard_samples(n_samples, case.theta.size, rng)[FAMILIES[0]]
    base = covariance(correlated=correlated)
    direction = np.zeros(case.theta.size)
    direction[1] = -1.0
    rows: list[dict[str, Any]] = []
    for kind, (moves, widens) in KINDS.items():
        for size in np.linspace(0.0, 1.0, N_STEPS):
            alpha, beta = moves * size * LARGEST_MEAN, widens * size * LARGEST_COV
            truth = WeightMoments(case.theta + alpha * direction, (1.0 + beta) * base)
            shares = np.array([validity_under(plan, truth, samples) for plan in plans.points])
            rows.append(
                {
                    "kind": kind,
                    "size": size,
                    "alpha": alpha,
                    "beta": beta,
                    "distance": gelbrich_distance(case.moments.mean, case.moments.cov, truth.mean, truth.cov),
                    "method": "COPA" if method.name.startswith("COPA") else method.name,
                    "validity": shares.mean(),
                    "validity_sd": shares.std(),
                    "applicants": len(shares),
                }
            )
    return pd.DataFrame(rows)
