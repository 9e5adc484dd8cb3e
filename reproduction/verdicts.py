"""What agrees with the printed numbers and what does not, decided by computation."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reproduction.published import MEASURES, TABLE_1

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 5e-4  # printed numbers have three digits
TIE = 1.0 - ROUNDING  # from here on a number prints as 1.000


@dataclass(frozen=True)
class Ordering:
    """Whether one method lies above another in one measure, as in the paper."""

    data: str
    measure: str
    higher: str
    lower: str
    values: tuple[float, float]

    @property
    def question(self) -> tuple[str, str, str, str]:
        """What is compared."""
        return self.data, self.measure, self.higher, self.lower

    @property
    def holds(self) -> bool:
        """Whether the first is larger, or both print as 1.000."""
        above, below = self.values
        return above > below or min(above, below) >= TIE


@dataclass(frozen=True)
class Agreement:
    """One cell of Table 1: printed, ours, and what brings ours nearest to the printed one.

    Attributes
    ----------
    variant : key of the experiment in which the cell comes nearest; empty where ours agrees, or no experiment is nearer
    variant_mean : the cell there
    """

    data: str
    method: str
    measure: str
    printed: float
    printed_sd: float
    mean: float
    sd: float
    variant: str = ""
    variant_mean: float = float("nan")

    @property
    def agrees(self) -> bool:
        """Whether the printed mean lies within two printed standard deviations of ours."""
        return within(self.mean, self.printed, self.printed_sd)

    @property
    def explained(self) -> bool:
        """Whether it does so in the experiment."""
        return bool(self.variant) and within(self.variant_mean, self.printed, self.printed_sd)


def within(mean: float, printed: float, printed_sd: float) -> bool:
    """Whether a mean lies within two printed standard deviations, up to the rounding of what is printed."""
    return abs(mean - printed) <= 2.0 * (printed_sd + ROUNDING) + ROUNDING


def orderings(summary: "pd.DataFrame") -> list[Ordering]:
    """Compare the methods as the paper does, on L* and empirical validity, as far as their rows are there."""
    found = []
    table = summary.set_index(["data", "method"])
    for data in dict.fromkeys(summary["data"]):
        names = list(table.loc[data].index)
        copa = [name for name in names if name.startswith("COPA")]
        pairs = [("MahalanobisCrr", "DiCE"), *((name, other) for name in copa for other in ("DiCE", "MahalanobisCrr"))]
        for higher, lower in pairs:
            if higher not in names or lower not in names:
                continue
            for measure in ("lower", "empirical"):
                values = (float(table.loc[(data, higher), measure]), float(table.loc[(data, lower), measure]))
                found.append(Ordering(data, measure, higher, lower, values))
    return found


def agreements(summary: "pd.DataFrame", causes: "pd.DataFrame | None" = None) -> list[Agreement]:
    """Compare every cell of Table 1 with the printed one, and look for the experiment that explains a difference."""
    found = []
    for row in summary.to_dict("records"):
        for measure in MEASURES:
            printed = TABLE_1[row["data"]].get(row["method"], {}).get(measure)
            if printed is None:
                continue
            cell = (row["data"], row["method"], measure, printed.mean, printed.sd, row[measure], row[f"{measure}_sd"])
            ours = Agreement(*cell)
            if not ours.agrees and causes is not None:
                ours = Agreement(*cell, *_nearest(causes, ours))
            found.append(ours)
    return found


def _nearest(causes: "pd.DataFrame", cell: Agreement) -> tuple[str, float]:
    """Key and value of the experiment whose cell is nearest to the printed one, if it is nearer than ours."""
    same = causes[(causes["data"] == cell.data) & (causes["method"] == cell.method)]
    if same.empty:
        return "", float("nan")
    best = (same[cell.measure] - cell.printed).abs().idxmin()
    value = float(same.loc[best, cell.measure])
    if abs(value - cell.printed) >= abs(cell.mean - cell.printed):
        return "", float("nan")
    return str(same.loc[best, "variant"]), value
