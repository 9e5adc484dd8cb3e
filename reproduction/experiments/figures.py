"""The paper's figures as tables of results.

"radius" (Section 5.1) sets the bounds at every radius against the validity under random futures. "shift" (Section 5.1,
Appendix B) is the validity of three methods' plans while mean, covariance or both move. "Mahalanobis" (Appendix B) is
the correction with more options and with a larger budget.

In the correlated variant of "shift" the covariance is (1 + b) A. The matrix A of the paper is not positive
semidefinite: one of its eigenvalues is 1 - sqrt(2). We take its absolute value (the eigenvalues without their signs),
which is what a sampler by singular values, such as NumPy's, makes of it.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from copa import WeightMoments, gelbrich_distance, validity_bounds
from reproduction.data.synthetic import FAMILIES, random_future, standard_samples, synthetic_case, validity_under
from reproduction.experiments.table1 import measure, short
from reproduction.methods.base import Plans
from reproduction.methods.copa import Copa, Corrected, correct
from reproduction.settings import SHIFT_WEIGHTS

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.data.case import Case
    from reproduction.data.encoding import Array
    from reproduction.methods.base import Method
    from reproduction.session import Session

# Figure "radius"
LARGEST_RADIUS = 1.0
N_RADII = 41
SLACK = 5.0  # standard errors of a share

# Figure "shift"
PRINTED_A = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
LARGEST_MEAN, LARGEST_COV = 1.0, 3.0  # the paper's alpha and beta
N_STEPS = 11
KINDS = {"mean": (1.0, 0.0), "covariance": (0.0, 1.0), "both": (1.0, 1.0)}
THINNING = 10  # of the samples: here a share is averaged over a hundred plans

# Figure "Mahalanobis"
MEASURES = ("lower", "diversity", "proximity")
BUDGETS = tuple(np.linspace(0.05, 0.35, 7).round(3).tolist())


def run_radius(session: "Session") -> dict[str, "pd.DataFrame"]:
    """Return the bounds by radius and the futures, per plan, for a mean inside and outside the cone; written as CSV."""
    import pandas as pd

    case = synthetic_case(session.settings)
    first = replace(case, applicants=case.applicants.head(1))
    methods: list[Method] = [session.dice(min(session.settings.n_dice, 1)), Copa(*SHIFT_WEIGHTS, ranges=False)]
    bounds, futures = [], []
    for method in methods:
        name = "COPA" if method.name.startswith("COPA") else method.name
        key = f"fig-radius-{short(name)}"
        plan = session.cell(f"{name}, synthetic", f"{key}-plan", _plan, first, method)
        if plan is None:
            continue
        points = plan.to_numpy()
        found = session.store.cell(f"{key}-bounds", partial(_bounds, case, points))
        bounds.append(found.assign(plan=name))
        found = session.store.cell(f"{key}-futures", partial(_futures, session, case, points))
        futures.append(found.assign(plan=name))
    tables = {"bounds": pd.concat(bounds, ignore_index=True), "futures": pd.concat(futures, ignore_index=True)}
    for name, table in tables.items():
        session.store.table(f"fig_radius_{name}", table)
    return tables


def count_outside(futures: "pd.DataFrame") -> int:
    """Count futures whose validity is outside the bounds at their own distance by more than sampling explains."""
    error = SLACK * np.sqrt(futures["validity"] * (1.0 - futures["validity"]) / futures["samples"])
    error = error + SLACK**2 / futures["samples"]  # a share of 0 or 1 has no standard error, but an error still
    low = futures["validity"] < futures["lower"] - error
    high = futures["validity"] > futures["upper"] + error
    return int((low | high).sum())


def _plan(case: "Case", method: "Method") -> "pd.DataFrame":
    """One plan, (J, D)."""
    import pandas as pd

    return pd.DataFrame(method.plans(case).points[0])


def _means(case: "Case") -> dict[str, "Array"]:
    return {"inside": case.theta, "outside": -case.theta}


def _bounds(case: "Case", points: "Array") -> "pd.DataFrame":
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for where, mean in _means(case).items():
        for radius in np.linspace(0.0, LARGEST_RADIUS, N_RADII):
            found = validity_bounds(points, mean, case.moments.cov, radius)
            rows.append({"mean": where, "radius": radius, "lower": found.lower, "upper": found.upper})
    return pd.DataFrame(rows)


def _futures(session: "Session", case: "Case", points: "Array") -> "pd.DataFrame":
    import pandas as pd

    settings = session.settings
    rng = np.random.default_rng(settings.seed)
    samples = standard_samples(settings.n_samples, case.theta.size, rng)
    rows: list[dict[str, Any]] = []
    for where, mean in _means(case).items():
        nominal = WeightMoments(mean, case.moments.cov)
        for _ in session.each(range(settings.n_futures), f"futures, mean {where}"):
            future = random_future(nominal, LARGEST_RADIUS, rng)
            found = validity_bounds(points, mean, nominal.cov, future.distance)
            rows.append(
                {
                    "mean": where,
                    "distance": future.distance,
                    "family": future.family,
                    "validity": validity_under(points, future.moments, samples[future.family]),
                    "lower": found.lower,
                    "upper": found.upper,
                    "samples": settings.n_samples,
                }
            )
    return pd.DataFrame(rows)


def run_shift(session: "Session", *, correlated: bool = False) -> "pd.DataFrame":
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


def run_mahalanobis(session: "Session") -> "pd.DataFrame":
    """Return L*, diversity and proximity by number of corrections and by budget, per data set; written as CSV."""
    import pandas as pd

    parts = []
    for case in session.cases():
        key = f"fig-mahalanobis-{case.data.protocol}-{case.data.name}"
        found = session.cell(f"Mahalanobis correction of DiCE, {case.data.title}", key, _sweeps, session, case)
        if found is not None:
            parts.append(found.assign(data=case.data.name))
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    session.store.table(f"fig_mahalanobis_{session.protocol}", table)
    return table


def _sweeps(session: "Session", case: "Case") -> "pd.DataFrame":
    import pandas as pd

    settings = case.settings
    given = session.dice().plans(case)
    sweeps = [("corrections", k, settings.budget) for k in range(settings.n_options + 1)]
    sweeps += [("budget", settings.n_corrections, budget) for budget in BUDGETS]
    rows: list[dict[str, Any]] = []
    for sweep, n_corrections, budget in sweeps:
        points = correct(case, given.points, n_corrections=n_corrections, budget=budget)
        table = measure(case, Plans(given.who, points, given.seconds))
        means = {name: table[name].mean() for name in MEASURES}
        spreads = {f"{name}_sd": table[name].std(ddof=0) for name in MEASURES}
        rows.append({"sweep": sweep, "n_corrections": n_corrections, "budget": budget, **means, **spreads})
    return pd.DataFrame(rows)
