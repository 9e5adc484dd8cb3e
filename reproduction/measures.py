"""What is measured of every plan."""

from typing import TYPE_CHECKING

import numpy as np

from copa import validity_bounds
from copa.metrics import diversity, empirical_validity, proximity, validity_now

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.case import Case
    from reproduction.methods.base import Plans


def measure(case: "Case", plans: "Plans") -> "pd.DataFrame":
    """Measure plans as vectors, by the paper's definitions and a few of ours.

    Returns
    -------
    DataFrame, one row per applicant:
    proximity, diversity : paper, Section 4
    lower : L* at the paper's radius
    empirical : share of the refits on D2 that accept all options
    lower_at_distance : L* at the Gelbrich distance from the moments on D1 to those on D2
    current : whether the deployed model accepts all options
    real_categories : whether every option has real categories
    outside : whether an option leaves the ranges of the data
    distance : the Gelbrich distance, the same in all rows
    seconds : of one core
    """
    import pandas as pd

    points, mean, cov = plans.points, case.moments.mean, case.moments.cov
    return pd.DataFrame(
        {
            "applicant": case.applicants.index[plans.who],
            "proximity": proximity(points, case.origins[plans.who]),
            "diversity": diversity(points),
            "lower": validity_bounds(points, mean, cov, case.settings.radius).lower,
            "empirical": empirical_validity(points, case.after).all,
            "lower_at_distance": validity_bounds(points, mean, cov, case.distance).lower,
            "current": (validity_now(points, case.theta) == 1.0).astype(np.float64),
            "real_categories": case.encoding.real_categories(points).all(axis=1).astype(np.float64),
            "outside": (~case.encoding.inside(points)).any(axis=1).astype(np.float64),
            "distance": case.distance,
            "seconds": plans.seconds,
        }
    )
