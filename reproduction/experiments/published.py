"""The paper's numbers as printed (Section 5, Appendices B and C), and which of ours agree with them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MEASURES = ("proximity", "diversity", "lower", "empirical")
LINEAR_ROWS = ("DiCE", "MahalanobisCrr", "COPA (0.2, 2)", "COPA (0.5, 5)", "COPA (1, 10)")
NONLINEAR_ROWS = ("DiCE", "MahalanobisCrr", "COPA (0.1, 1)", "COPA (0.1, 2)", "COPA (0.2, 2)")

ROUNDING = 5e-4  # printed numbers have three digits
TIE = 1.0 - ROUNDING  # from here on a number prints as 1.000


@dataclass(frozen=True)
class Printed:
    """A mean and its standard deviation as printed; no deviation where none is."""

    mean: float
    sd: float = 0.0


def _rows(names: tuple[str, ...], text: str) -> dict[str, dict[str, Printed]]:
    """Read lines of "mean sd mean sd ..." for the measures, then, if there is one, current validity without sd."""
    found = {}
    for name, line in zip(names, text.strip().splitlines(), strict=True):
        numbers = [float(word) for word in line.split()]
        cells = {m: Printed(numbers[2 * k], numbers[2 * k + 1]) for k, m in enumerate(MEASURES)}
        if len(numbers) > 2 * len(MEASURES):
            cells["current"] = Printed(numbers[-1])
        found[name] = cells
    return found


# Table 1, "Performance of competing algorithms on real world datasets": data set, method, measure.
TABLE_1 = {
    "german": _rows(
        LINEAR_ROWS,
        """
        0.986 0.324 0.072 0.050 0.649 0.073 0.996 0.008
        1.002 0.323 0.064 0.047 0.750 0.064 0.999 0.003
        0.916 0.178 0.017 0.058 0.944 0.168 0.997 0.018
        1.154 0.253 0.114 0.101 0.946 0.040 1.000 0.000
        1.351 0.166 0.225 0.045 0.911 0.022 1.000 0.000
        """,
    ),
    "sba": _rows(
        LINEAR_ROWS,
        """
        2.037 0.470 0.089 0.057 0.946 0.014 0.801 0.061
        2.014 0.473 0.085 0.055 0.966 0.007 0.945 0.062
        1.831 0.139 0.253 0.026 0.994 0.000 1.000 0.000
        1.966 0.112 0.363 0.012 0.995 0.000 1.000 0.000
        2.010 0.124 0.380 0.006 0.995 0.000 1.000 0.000
        """,
    ),
    "student": _rows(
        LINEAR_ROWS,
        """
        1.486 0.325 0.136 0.044 0.549 0.307 0.408 0.363
        1.497 0.325 0.126 0.044 0.864 0.117 0.757 0.284
        1.779 0.352 0.052 0.047 0.998 0.000 1.000 0.000
        1.882 0.353 0.089 0.032 0.998 0.000 1.000 0.000
        1.926 0.349 0.109 0.024 0.997 0.000 1.000 0.000
        """,
    ),
}

# Table 2, "Performance of competing algorithms on nonlinear classifiers" (Appendix C).
TABLE_2 = {
    "german": _rows(
        NONLINEAR_ROWS,
        """
        0.515 0.204 0.043 0.037 0.005 0.041 0.414 0.238 0.990
        0.595 0.210 0.035 0.035 0.021 0.058 0.409 0.313 0.670
        0.219 0.183 0.001 0.011 0.065 0.088 0.556 0.331 0.560
        0.432 0.403 0.100 0.116 0.049 0.093 0.301 0.341 0.270
        0.673 0.314 0.162 0.084 0.038 0.097 0.125 0.186 0.040
        """,
    ),
    "sba": _rows(
        NONLINEAR_ROWS,
        """
        1.573 0.451 0.107 0.071 0.637 0.350 0.852 0.270 1.000
        1.567 0.449 0.099 0.070 0.868 0.118 0.987 0.076 1.000
        1.388 0.540 0.002 0.008 0.981 0.014 1.000 0.000 1.000
        1.534 0.408 0.247 0.043 0.976 0.012 1.000 0.000 1.000
        1.447 0.340 0.118 0.072 0.990 0.004 1.000 0.000 1.000
        """,
    ),
    "student": _rows(
        NONLINEAR_ROWS,
        """
        1.576 0.349 0.175 0.070 0.022 0.046 0.328 0.303 1.000
        1.594 0.349 0.169 0.071 0.113 0.084 0.689 0.280 1.000
        1.342 0.367 0.000 0.000 0.011 0.007 0.384 0.310 0.710
        1.552 0.292 0.243 0.039 0.010 0.024 0.168 0.210 0.750
        1.637 0.284 0.287 0.017 0.164 0.066 0.679 0.274 1.000
        """,
    ),
}

# "Performance of the underlying classifiers" (Appendix B): data set, present or shifted, then accuracy and AUC of
# logistic regression and of the neural network.
CLASSIFIERS = {
    ("german", "present"): (Printed(0.71, 0.01), Printed(0.64, 0.02), Printed(0.68, 0.02), Printed(0.62, 0.02)),
    ("german", "shifted"): (Printed(0.71, 0.01), Printed(0.64, 0.02), Printed(0.68, 0.02), Printed(0.62, 0.02)),
    ("sba", "present"): (Printed(0.71, 0.02), Printed(0.86, 0.02), Printed(0.96, 0.02), Printed(0.99, 0.01)),
    ("sba", "shifted"): (Printed(0.87, 0.01), Printed(0.90, 0.02), Printed(0.97, 0.01), Printed(0.98, 0.01)),
    ("student", "present"): (Printed(0.83, 0.02), Printed(0.91, 0.02), Printed(0.88, 0.02), Printed(0.95, 0.01)),
    ("student", "shifted"): (Printed(0.87, 0.03), Printed(0.93, 0.03), Printed(0.90, 0.03), Printed(0.96, 0.01)),
}

# "Counterfactual examples on German dataset" (Appendix B): duration, credit amount, personal status, age of each
# instance; then L* and empirical validity of the three methods.
EXAMPLES = {
    (30.0, 4249.0, "A94", 28.0): {"DiCE": (0.00, 0.005), "MahalanobisCrr": (0.15, 0.802), "COPA": (0.11, 0.797)},
    (42.0, 7174.0, "A92", 30.0): {"DiCE": (0.38, 0.88), "MahalanobisCrr": (0.61, 0.968), "COPA": (0.88, 1.000)},
    (24.0, 4526.0, "A93", 74.0): {"DiCE": (0.00, 0.080), "MahalanobisCrr": (0.01, 0.614), "COPA": (0.59, 0.997)},
}


@dataclass(frozen=True)
class Ordering:
    """Whether one method is above another in one measure, as in the paper."""

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
    variant : str
        Key of the experiment in which the cell comes nearest; empty where ours agrees, or no experiment is nearer.
    variant_mean : float
        The cell there.
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
        """Whether the printed mean is within two printed standard deviations of ours."""
        return within(self.mean, self.printed, self.printed_sd)

    @property
    def explained(self) -> bool:
        """Whether it does so in the experiment."""
        return bool(self.variant) and within(self.variant_mean, self.printed, self.printed_sd)


def within(mean: float, printed: float, printed_sd: float) -> bool:
    """Whether a mean is within two printed standard deviations, up to the rounding of what is printed."""
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
