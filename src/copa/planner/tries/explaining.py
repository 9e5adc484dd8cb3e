"""What is said where no row that was tried is good enough."""

from typing import Any

import numpy as np

from copa.arrays import Array
from copa.planner.delivery import Applicants
from copa.planner.request import Request
from copa.planning.menus import Menus


def explain_tries(
    fitted: Any,  # noqa: ARG001 - the engines of all models are asked alike
    applicants: Applicants,  # noqa: ARG001
    menus: Menus,
    levels: Array,
    request: Request,
) -> list[str]:
    """Say for each applicant what was not found: a search among rows is no proof that there is none."""
    highest = np.floor(menus.highest * 1000.0) / 1000.0
    return [
        "none of the allowed rows that were tried is accepted by the model; others were not tried"
        if level < 0.0
        else f"accepted today, but the surest allowed row that was found holds with {best:.3f}, and "
        f"{request.guarantee:g} for {request.guarantee_for} was asked for; retraining moves this model's answers too "
        "much here"
        for level, best in zip(levels, highest, strict=True)
    ]
