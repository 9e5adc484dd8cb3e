"""Why our numbers of Table 1 differ from the printed ones: the table again, with one thing changed, or several.

What is changed is how the authors' published program does it, where the paper does not say or says otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from copa import WeightMoments
from copa.analysis.metrics import proximity
from reproduction.data.case import TRAINING_SHARE, choose_applicants
from reproduction.experiments.table1 import measure, short, summary
from reproduction.methods.authors_program import (
    ASKED_STEPS,
    DEPLOYED_STEPS,
    REFIT_STEPS,
    both_ranges,
    displaced,
    program_applicants,
    program_classifier,
    train_stopped,
)
from reproduction.methods.copa import Copa, Corrected, StoppedCopa
from reproduction.settings import COPA_WEIGHTS

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.data.case import Case
    from reproduction.data.encoding import Array
    from reproduction.data.shifted import Table
    from reproduction.methods.base import Method
    from reproduction.session import Session

INFLATION, RIDGE = 1.5, 0.01
N_DEPLOYED = 5  # applicants that DiCE serves with another deployed classifier
OWN_SEED = "own_seed"


@dataclass(frozen=True)
class Variant:
    """One change.

    Attributes
    ----------
    key, text : str
        For files, and for people.
    change : callable
        From our case to the one with other moments and refits.
    descent : {"minimiser", "stopped", "same start", "no ranges"}
        How COPA's plans are found.
    mixed : bool
        Whether proximity compares numbers in two different orders.
    deployed : str
        Name of another deployed classifier in DiCE's cache, empty for ours; OWN_SEED has DiCE's own weights too.
    """

    key: str
    text: str
    change: Callable[["Case"], "Case"] = lambda case: case
    descent: str = "minimiser"
    mixed: bool = False
    deployed: str = ""


def inflated(case: "Case", ridge: float = 0.0) -> "Case":
    """The covariance of the moments times 1.5, plus a multiple of the identity."""
    mean, cov = case.moments.mean, case.moments.cov
    return replace(case, moments=WeightMoments(mean, INFLATION * cov + ridge * np.eye(mean.size)))


@lru_cache(maxsize=1)  # several variants of one data set take the same refits
def stopped_refits(case: "Case", steps: int = REFIT_STEPS) -> "Case":
    """Refits that end after some steps from random weights, before and after the shift."""
    rng = np.random.default_rng(case.settings.seed)

    def refit(table: "Table") -> "Array":
        return train_stopped(
            case.encoding.encode(table.features),
            table.favourable.astype(np.float64),
            n_models=case.settings.n_models,
            fraction=0.5,
            steps=steps,
            rng=rng,
        )

    before, after = refit(case.data.present), refit(case.data.shifted)
    return replace(case, before=before, after=after, moments=WeightMoments.from_samples(before))


def stopped_program(case: "Case") -> "Case":
    """Stopped refits with their covariance times 1.5."""
    return inflated(stopped_refits(case))


def stopped_classifier(case: "Case") -> "Case":
    """The same, and a deployed classifier that is trained in the same way for 2000 steps, with its own applicants."""
    rows = case.encoding.encode(case.data.present.features)
    theta = train_stopped(
        rows,
        case.data.present.favourable.astype(np.float64),
        n_models=1,
        fraction=TRAINING_SHARE,
        steps=DEPLOYED_STEPS,
        rng=np.random.default_rng(case.settings.seed),
    )[0]
    applicants = choose_applicants(case.data, rows @ theta < 0.0, case.settings)
    return replace(stopped_program(case), theta=theta, applicants=applicants)


def own_seed(case: "Case", steps: int = REFIT_STEPS) -> "Case":
    """The ranges of D1 and D2, the deployed classifier and applicants of the program's own seed, and stopped refits."""
    scaled = replace(case, encoding=both_ranges(case.data))
    theta, _ = program_classifier(scaled)
    applicants = program_applicants(scaled, theta)
    return replace(inflated(stopped_refits(scaled, steps)), theta=theta, applicants=applicants)


VARIANTS = (
    Variant("inflated", "covariance times 1.5", inflated),
    Variant("ridge", "covariance times 1.5 plus 0.01 I", lambda case: inflated(case, RIDGE)),
    Variant("refits", "refits stopped at 200 steps from random weights", stopped_refits),
    Variant("descent", "descent stopped after three idle steps", descent="stopped"),
    Variant(
        "program",
        "stopped refits, covariance times 1.5, stopped descent",
        stopped_program,
        "stopped",
    ),
    Variant(
        "program_ridge",
        "stopped refits, covariance times 1.5 plus 0.01 I, stopped descent",
        lambda case: inflated(stopped_refits(case), RIDGE),
        "stopped",
    ),
    Variant(
        "columns",
        "stopped refits, covariance times 1.5, stopped descent, proximity across two orders of the columns",
        stopped_program,
        "stopped",
        mixed=True,
    ),
    Variant(
        "deployed",
        "stopped refits, covariance times 1.5, stopped descent, deployed classifier trained for 2000 steps",
        stopped_classifier,
        "stopped",
        deployed="stopped",
    ),
    Variant(
        "own_seed",
        "the authors' program with its own seed",
        own_seed,
        "same start",
        mixed=True,
        deployed=OWN_SEED,
    ),
    Variant(
        "own_seed_1500",
        "the authors' program with its own seed and refits of 1500 steps, as many as it asks for",
        lambda case: own_seed(case, ASKED_STEPS),
        "same start",
        mixed=True,
        deployed=OWN_SEED,
    ),
    Variant("ranges", "COPA without the ranges of the data", descent="no ranges"),
)


def run(session: "Session") -> "pd.DataFrame":
    """Return the summary of every variant, one row per variant, data set and method; also written as CSV."""
    import pandas as pd

    parts = []
    for case in session.cases("paper"):
        for variant in session.each(VARIANTS, f"causes, {case.data.title}"):
            changed = cache(partial(variant.change, case))
            for method in methods(session, variant):
                key = f"causes-{variant.key}-{case.data.name}-{short(method.name)}"
                what = f"{method.name}, {case.data.title}"
                found = session.cell(what, key, _measured, changed, method, variant)
                if found is not None and not found.empty:
                    parts.append(found.assign(variant=variant.key, data=case.data.name, method=method.name))
    whole = pd.concat(parts, ignore_index=True)
    run_keys = set(whole["variant"])
    table = pd.concat(
        [
            summary(whole[whole["variant"] == variant.key].drop(columns="variant")).assign(variant=variant.key)
            for variant in VARIANTS
            if variant.key in run_keys
        ],
        ignore_index=True,
    )
    session.store.table("causes", table)
    return table


def methods(session: "Session", variant: Variant) -> list["Method"]:
    """Return the rows of Table 1 as the variant builds them."""
    dice = session.dice()
    if variant.deployed == OWN_SEED:
        dice = replace(dice, kind=OWN_SEED, displaced=True)
    elif variant.deployed:  # whose plans are others: a few must do
        dice = replace(dice, kind=variant.deployed, limit=min(dice.limit, N_DEPLOYED))
    if variant.descent in {"stopped", "same start"}:
        same = variant.descent == "same start"
        copa: list[Method] = [StoppedCopa(*weights, same_start=same) for weights in COPA_WEIGHTS]
    else:
        copa = [Copa(*weights, ranges=variant.descent == "minimiser") for weights in COPA_WEIGHTS]
    return [dice, Corrected(dice), *copa]


def _measured(changed: Callable[[], "Case"], method: "Method", variant: Variant) -> "pd.DataFrame":
    import pandas as pd

    case = changed()
    if case.applicants.empty:  # another deployed classifier may decline nobody
        return pd.DataFrame({"applicant": []})
    plans = method.plans(case)
    table = measure(case, plans)
    if variant.mixed:
        table["proximity"] = proximity(plans.points, displaced(case, case.origins[plans.who]))
    return table
