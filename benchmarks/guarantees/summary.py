"""What training sets delivered and later models kept of it: shares by training set, and means over training sets."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from copa.models.refits.reliability import LEAST_RELIABILITY, confidence_radius
from copa.theory.sets.families import FAMILIES

MOST = 0.95  # share of its options that a good training set keeps
FEWEST = 10  # options from which on a training set can be the worst
LEVELS, CONFIDENCES, SIZES = (0.8, 0.9, 0.95), (0.9, 0.95, 0.99), (300, 1000, 3000)

Row = dict[str, Any]
Enough = Callable[[Row], bool]
"""Whether a training set has data enough for the planner to deliver anything."""


@dataclass(frozen=True)
class Pair:
    """What one training set delivered at one level and confidence.

    Attributes
    ----------
    row : dict
        The training set.
    level, confidence : float
    served : int
        Applicants with an "ok" plan.
    options, kept : int
        Delivered, and accepted by at least the level's share of the judges.
    effort : float
        Relative to plans that are not robust, for the same applicants.
    """

    row: Row
    level: float
    confidence: float | None
    served: int
    options: int
    kept: int
    effort: float

    @property
    def share(self) -> float:
        """Of the options, kept."""
        return self.kept / self.options

    @property
    def fragile(self) -> float:
        """Share of the applicants without an "ok" plan."""
        return 1.0 - self.served / self.row["applicants"]


def enough(row: Row) -> bool:
    """The planner's own rule."""
    return bool(row["reliability"] >= LEAST_RELIABILITY)


def whatever(row: Row) -> bool:  # noqa: ARG001 - for rules that deliver however few the data are
    """No condition."""
    return True


def pairs(rows: Iterable[Row], rule: str = "default", delivers: Enough = enough) -> list[Pair]:
    """Every level and confidence of every training set with enough data, whether it delivered or not."""
    found = []
    for row in rows:
        for made in row["outcomes"] if delivers(row) else ():
            if made["rule"] == rule:
                accepted, (effort, base) = np.array(made["accepted"]), made["effort"]
                kept = int((accepted >= made["level"] * row["judges"] - 1e-9).sum())
                ratio = effort / base if base else np.nan
                found.append(Pair(row, made["level"], made["confidence"], made["served"], len(accepted), kept, ratio))
    return found


def at(found: Iterable[Pair], *, level: float | None = None, confidence: float | None = None) -> list[Pair]:
    """Those at a level and a confidence that delivered something."""
    some = [p for p in found if p.options and (level is None or p.level == level)]
    return [p for p in some if confidence is None or p.confidence == confidence]


def mean_kept(found: list[Pair]) -> float:
    """Mean over training sets of the share of options kept."""
    return float(np.mean([p.share for p in found])) if found else np.nan


def good_sets(found: list[Pair]) -> float:
    """Share of the training sets that kept enough of their options."""
    return float(np.mean([p.share >= MOST for p in found])) if found else np.nan


def worst(found: list[Pair]) -> float:
    """Lowest share kept by a training set with some options."""
    return min((p.share for p in found if p.options >= FEWEST), default=np.nan)


def median_effort(found: list[Pair]) -> float:
    """Median over training sets of the effort beside plans that are not robust."""
    ratios = [p.effort for p in found if np.isfinite(p.effort)]
    return float(np.median(ratios)) if ratios else np.nan


def kept_in_theory(found: list[Pair]) -> float:
    """The mean share kept if scores were normal, and the true one of an option b of today's with an error of sqrt(b).

    An option that just has its level p at confidence c is then kept with probability
    Phi(r_c + (kappa_p - z_p) / sqrt(b)), r_c the radius at b = 1 and kappa_p of the family "unimodal".
    """
    normal, kappa = NormalDist(), FAMILIES["unimodal"].ratio
    spare = [
        confidence_radius(p.confidence, 1.0)
        + (kappa(p.level) - normal.inv_cdf(p.level)) / np.sqrt(p.row["reliability"])
        for p in found
    ]
    return float(np.mean([normal.cdf(k) for k in spare])) if spare else np.nan


def lowest_population(found: list[Pair]) -> tuple[float, str]:
    """The lowest mean over a population's training sets, and its name."""
    names = sorted({p.row["population"] for p in found})
    return min(
        ((mean_kept([p for p in found if p.row["population"] == name]), name) for name in names), default=(np.nan, "")
    )


def rules(rows: list[Row]) -> list[dict[str, Any]]:
    """The table that ships, one entry for each confidence, pooled over levels."""
    table, found = [], pairs(rows)
    for confidence in CONFIDENCES:
        some = at(found, confidence=confidence)
        sets = {(p.row["population"], p.row["n"], p.row["seed"]) for p in some}
        table.append(
            {
                "confidence": confidence,
                "n_samples": len(sets),
                "n_populations": len({name for name, _, _ in sets}),
                "kept": round(mean_kept(some), 4),
                "samples_below": round(1.0 - good_sets(some), 4),
                "worst": round(worst(some), 4),
            }
        )
    return table
