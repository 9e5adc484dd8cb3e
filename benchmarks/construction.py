"""Building plans by the paper's objective, against projected Adam in PyTorch.

The baseline is the paper's own method (Section 4): 1000 steps of Adam on the same objective with automatic
differentiation, a projection after each, one applicant at a time; it returns the best plan that it passes. Its learning
rate was chosen for each pair of weights, from 0.01, 0.02, 0.05 and 0.1, for the least mean objective. COPA runs with
default settings on one core, on all applicants in one call. A plan is no worse if its objective f exceeds the
baseline's by at most 1e-6 (1 + |f|). Without PyTorch only COPA's side is shown.
"""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from threadpoolctl import threadpool_limits

import copa
from benchmarks.reporting import Row
from benchmarks.timing import Timed, taking_turns

INSTALL = 'PyTorch is missing: pip install "torch==2.13.0"'
WEIGHTS = {(0.2, 2.0): 0.01, (0.5, 5.0): 0.02, (1.0, 10.0): 0.05}  # of validity and diversity: learning rate
N_OPTIONS, MARGIN, STEPS = 5, 0.1, 1000
COLUMNS = ["duration", "amount", "age", "installment_rate", "residence_since", "existing_credits", "dependents"]
CATEGORIES = ["checking_status", "savings", "telephone"]
ROUNDS = 2


@dataclass(frozen=True)
class Applicants:
    """Declined applicants (N, 16) and the moments of the model that declines them."""

    name: str
    origins: np.ndarray
    mean: np.ndarray
    cov: np.ndarray

    def first(self, n: int) -> "Applicants":
        """The same with n applicants, spread over all."""
        rows = np.linspace(0, len(self.origins) - 1, n).astype(int)
        return Applicants(self.name, self.origins[rows], self.mean, self.cov)


def run(*, quick: bool) -> list[Row]:
    rows, worse, compared = [], 0, 0
    with threadpool_limits(1):
        crowds = [german().first(2 if quick else 17), *(gaussian(seed, 1 if quick else 6) for seed in range(3))]
        copa.build_plans(crowds[0].origins[:1], crowds[0].mean, crowds[0].cov)  # loads the kernels
        for weights, rate in WEIGHTS.items():
            for crowd in (crowds[0], crowds[1:]):
                group = crowd if isinstance(crowd, list) else [crowd]
                row, lost, n = _measure(group, weights, rate)
                rows.append(row)
                worse, compared = worse + lost, compared + n
    if compared:
        rows.append(
            Row(
                name="objective no worse than Adam's",
                size=f"{compared} applicants, all of the above",
                seconds=sum(row.seconds for row in rows) / len(rows),
                measured=100.0 * (compared - worse) / compared,
                unit="% of applicants",
                at_least=99.0,
            )
        )
    return rows


def _measure(group: list[Applicants], weights: tuple[float, float], rate: float) -> tuple[Row, int, int]:
    """One row, how many plans are worse than the baseline's, and how many were compared."""
    n = sum(len(crowd.origins) for crowd in group)
    shared = {
        "name": "plans, default settings",
        "size": f"{group[0].name}, D = 16, J = 5, weights {weights}, {n} applicants",
    }
    calls = {"copa": (lambda: [build(crowd, weights) for crowd in group], 1)}
    if find_spec("torch"):
        calls["adam"] = (lambda: [_adam_all(crowd, weights, rate) for crowd in group], 1)
    measured: dict[str, Timed] = taking_turns(calls, ROUNDS)
    plans = measured["copa"].result
    shared["seconds"] = measured["copa"].seconds / n
    shared["status"] = f"{sum((p.status == 'ok').sum() for p in plans)} of {n} ok"
    if "adam" not in measured:
        return Row(**shared, accuracy=INSTALL), 0, 0
    ours = np.concatenate([p.objective for p in plans])
    theirs = np.concatenate(measured["adam"].result)
    lost = int((ours > theirs + 1e-6 * (1.0 + np.abs(theirs))).sum())
    return (
        Row(
            **shared,
            baseline="PyTorch, projected Adam",
            baseline_seconds=measured["adam"].seconds / n,
            at_least=300.0,
            accuracy=f"worse on {lost}, median gain {np.median(theirs - ours):.1g}",
        ),
        lost,
        n,
    )


def build(crowd: Applicants, weights: tuple[float, float]) -> copa.PlanArrays:
    return copa.build_plans(
        crowd.origins,
        crowd.mean,
        crowd.cov,
        n_options=N_OPTIONS,
        validity_weight=weights[0],
        diversity_weight=weights[1],
        margin=MARGIN,
        random_state=0,
        n_jobs=1,
    )


def _adam_all(crowd: Applicants, weights: tuple[float, float], rate: float) -> np.ndarray:
    """Objectives of the baseline's plans, one applicant after the other."""
    plans = np.array([adam_plan(x, crowd.mean, crowd.cov, weights, rate) for x in crowd.origins])
    return copa.plan_objective(
        plans, crowd.origins, crowd.mean, crowd.cov, validity_weight=weights[0], diversity_weight=weights[1]
    )


def adam_plan(
    origin: np.ndarray, mean: np.ndarray, cov: np.ndarray, weights: tuple[float, float], rate: float
) -> np.ndarray:
    """Best plan (J, D) that projected Adam passes."""
    import torch

    torch.set_num_threads(1)
    x0, mu, root = (torch.tensor(a) for a in (origin, mean, np.linalg.cholesky(cov)))
    free = mu.clone()
    free[0] = 0.0  # the intercept is no feature
    first, second = torch.triu_indices(N_OPTIONS, N_OPTIONS, 1)
    noise = 0.1 * torch.randn(N_OPTIONS, len(mu), dtype=mu.dtype, generator=torch.Generator().manual_seed(0))
    noise[:, 0] = 0.0
    X = _project(x0 + noise, mu, free).requires_grad_(True)
    optimizer = torch.optim.Adam([X], lr=rate)
    least, best = np.inf, X.detach().clone()
    for step in range(STEPS + 1):
        proximity = torch.linalg.norm(X - x0, dim=1).mean()
        validity = (X @ mu / torch.linalg.norm(X @ root, dim=1)).min()
        similar = 1.0 / (1.0 + torch.linalg.norm(X[first] - X[second], dim=1))
        K = torch.eye(N_OPTIONS, dtype=mu.dtype).index_put((first, second), similar).index_put((second, first), similar)
        loss = proximity - weights[0] * validity - weights[1] * torch.linalg.det(K)
        value = loss.item()
        if value < least:
            least, best = value, X.detach().clone()
        if step == STEPS:
            break
        optimizer.zero_grad()
        loss.backward()
        X.grad[:, 0] = 0.0
        optimizer.step()
        with torch.no_grad():
            X.copy_(_project(X, mu, free))
    return best.numpy()


def _project(X, mu, free):
    """Onto mu'x >= margin, moving the features only."""
    return X - (X @ mu - MARGIN).clamp(max=0.0)[:, None] * free / (free @ free)


@cache
def german() -> Applicants:
    """German credit, ten of its columns: one-hot, scaled to [0, 1], moments from refits on random halves."""
    data = copa.datasets.load_german()
    numbers = MinMaxScaler().fit_transform(data.features[COLUMNS])
    codes = OneHotEncoder(sparse_output=False, drop="first").fit_transform(data.features[CATEGORIES])
    X = np.hstack([numbers, codes])
    moments = copa.WeightMoments.from_retraining(
        LogisticRegression(), X, data.favourable.to_numpy(), n_models=1000, random_state=0
    )
    rows = np.hstack([np.ones((len(X), 1)), X])
    return Applicants("German credit", rows[rows @ moments.mean < 0.0], moments.mean, moments.cov)


def gaussian(seed: int, n: int) -> Applicants:
    """Normal features, a mean of length one, a Wishart covariance of varying size."""
    rng = np.random.default_rng([16, seed])
    mean = rng.standard_normal(16)
    mean /= np.linalg.norm(mean)
    factor = rng.standard_normal((16, 32))
    cov = 10.0 ** rng.uniform(-2.0, 0.0) * factor @ factor.T / 32.0
    rows = rng.standard_normal((100 * n, 16))
    rows[:, 0] = 1.0
    return Applicants("Gaussian", rows[rows @ mean < 0.0][:n], mean, cov)
