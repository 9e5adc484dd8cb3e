"""DiCE by its own package, dice-ml: gradient descent on a network with the deployed model's parameters.

A plan takes seconds to a minute, so each is kept in a folder and taken from there the next time. Settings are the
package's defaults, without its optional search for sparser rows, as in the paper.
"""

import io
import json
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from copa import DataError
from reproduction.data.encoding import Array
from reproduction.methods.authors_program import both_tables, displaced_weights
from reproduction.methods.base import Plans

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.data.case import Case
    from reproduction.data.shifted import Table

OUTCOME = "favourable"
Layers = Sequence[tuple[Array, Array]]  # weights (outputs, inputs) and intercepts (outputs,) of each layer


@dataclass(frozen=True)
class Dice:
    """DiCE on the deployed classifier.

    Parameters
    ----------
    cache : Path
        Folder of the plans that were built before.
    limit : int
        Most applicants to serve.
    tell : callable
        Called with a line of text after each new plan.
    kind : str
        Name of the deployed model in the cache.
    name : str
        What the tables call the method.
    displaced : bool
        Whether ranges and deviations are those of D1 and D2 together, and the deviations of numbers are in each other's
        places, as in the authors' published program.
    """

    cache: Path
    limit: int = 100
    tell: Callable[[str], None] = lambda _: None
    kind: str = "linear"
    name: str = "DiCE"
    displaced: bool = False

    def plans(self, case: "Case") -> Plans:
        """Build the plans of the first applicants, or read them from the cache."""
        layers = [linear_layer(case, self._table(case).features)]
        return self.plans_of_network(case, layers, self.kind, case.applicants)

    def plans_of_network(self, case: "Case", layers: Layers, kind: str, applicants: "pd.DataFrame") -> Plans:
        """The same for a network of layers with ReLU between them, and for any applicants of the case's data."""
        if self.limit < 1:
            raise DataError("DiCE was not asked for (a limit of 0 applicants)")
        require_dice()
        people = applicants.head(self.limit)
        settings = case.settings
        name = [case.data.protocol, case.data.name, kind, f"seed{settings.seed}", f"J{settings.n_options}"]
        folder = self.cache / "dice" / "-".join([*name, *immutables(case)])
        explain: Callable[[pd.DataFrame], pd.DataFrame] | None = None
        tables, seconds = [], []
        for i, label in enumerate(people.index):
            path = folder / f"{label}.json"
            found = read_plan(path, layers)
            if found is None:
                explain = explain or self._explainer(case, layers)
                started = process_time()
                options = explain(people.loc[[label]])
                found = options, process_time() - started
                write_plan(path, layers, *found)
                self.tell(f"DiCE, {case.data.title}: plan {i + 1} of {len(people)} took {found[1]:.0f} s")
            tables.append(found[0].astype(people.dtypes.to_dict()))
            seconds.append(found[1])
        points = np.array([case.encoding.encode(table) for table in tables])
        return Plans(np.arange(len(people)), points, np.array(seconds))

    def _table(self, case: "Case") -> "Table":
        """The rows that give DiCE ranges and deviations."""
        return both_tables(case.data) if self.displaced else case.data.present

    def _explainer(self, case: "Case", layers: Layers) -> "Callable[[pd.DataFrame], pd.DataFrame]":
        table = self._table(case)
        weights = displaced_weights(case, table.features) if self.displaced else None
        return explainer(case, layers, table, weights)


def require_dice() -> None:
    """Raise if dice-ml or torch is not installed."""
    missing = [name for name in ("dice_ml", "torch") if find_spec(name) is None]
    if missing:
        raise DataError(
            f"DiCE needs {' and '.join(missing)}, not installed here; pip install 'copa-recourse[baselines]' brings it"
        )


def linear_layer(case: "Case", features: "pd.DataFrame | None" = None) -> tuple[Array, Array]:
    """Return the deployed classifier over DiCE's own coordinates, in which the ranges of its data (D1) are 0 and 1."""
    encoding, theta = case.encoding, case.theta.copy()
    features = case.data.present.features if features is None else features
    rows = features[list(encoding.numbers)].to_numpy(dtype=np.float64)
    low, high = rows.min(axis=0), rows.max(axis=0)
    numbers = slice(1, 1 + len(encoding.numbers))
    slope = theta[numbers] / (encoding.high - encoding.low)
    theta[0] += slope @ (low - encoding.low)
    theta[numbers] = slope * (high - low)
    return theta[None, 1:], theta[:1]


def immutables(case: "Case") -> list[str]:
    """Names of the columns that may not change."""
    return [name for name in case.data.present.features if case.data.schema[name].immutable]


def explainer(
    case: "Case", layers: Layers, table: "Table", weights: dict[str, float] | None
) -> Callable[["pd.DataFrame"], "pd.DataFrame"]:
    """Return a function from one applicant to DiCE's options, in raw columns.

    Parameters
    ----------
    case : Case
    layers : sequence of (ndarray, ndarray)
        The deployed model.
    table : Table
        The rows that give DiCE ranges and deviations.
    weights : dict of str to float, optional
        What the changes of the numbers cost; by default DiCE's own, from the deviations.
    """
    import dice_ml

    features = table.features
    with _quiet():
        data = dice_ml.Data(
            dataframe=features.assign(**{OUTCOME: table.favourable.astype(int)}),
            continuous_features=list(case.encoding.numbers),
            outcome_name=OUTCOME,
        )
        model = dice_ml.Model(model=network(layers), backend="PYT", func="ohe-min-max")
        dice = dice_ml.Dice(data, model, method="gradient")
    fixed = immutables(case)
    vary: Any = [name for name in features if name not in fixed] if fixed else "all"

    def explain(applicant: "pd.DataFrame") -> "pd.DataFrame":
        with _quiet():
            result = dice.generate_counterfactuals(
                applicant,
                total_CFs=case.settings.n_options,
                desired_class=1,
                features_to_vary=vary,
                feature_weights="inverse_mad" if weights is None else weights,
                posthoc_sparsity_param=None,
            )
        options: pd.DataFrame = result.cf_examples_list[0].final_cfs_df[list(features)]
        return options

    return explain


def network(layers: Layers) -> Any:
    """Return a torch module with these parameters, ReLU between the layers and the logistic function at the end."""
    import torch

    torch.set_num_threads(1)
    parts: list[Any] = []
    for weights, intercepts in layers:
        linear = torch.nn.Linear(weights.shape[1], weights.shape[0])
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(weights))
            linear.bias.copy_(torch.tensor(intercepts))
        parts += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1], torch.nn.Sigmoid())


def read_plan(path: Path, layers: Layers) -> "tuple[pd.DataFrame, float] | None":
    """Return the options and the seconds of a stored plan; None if there is none for this very model."""
    import pandas as pd

    if not path.is_file():
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
    if not np.allclose(content["model"], _fingerprint(layers), rtol=1e-4, atol=1e-4):
        return None
    return pd.DataFrame(content["options"]), float(content["seconds"])


def write_plan(path: Path, layers: Layers, options: "pd.DataFrame", seconds: float) -> None:
    """Store a plan; two programs that write the same one do not disturb each other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {name: [getattr(v, "item", lambda v=v: v)() for v in options[name]] for name in options}
    content = {"model": _fingerprint(layers), "seconds": seconds, "options": columns}
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(content), encoding="utf-8")
    temporary.replace(path)


def _fingerprint(layers: Layers) -> list[float]:
    """A few numbers that differ between models."""
    sums = [[float(w.sum()), float((w * np.arange(w.size).reshape(w.shape)).sum()), float(b.sum())] for w, b in layers]
    return [number for layer in sums for number in layer]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep dice-ml's progress bars, log lines and other packages' warnings about it from the user's screen."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
