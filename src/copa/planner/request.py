"""What is asked of the search, for all applicants alike."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from copa._core.arrays import Array

GuaranteeFor = Literal["each", "all", "any"]


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked of the search, for all applicants alike."""

    guarantee: float
    guarantee_for: GuaranteeFor
    n_options: int
    diversity_weight: float
    multipliers: Array
    n_jobs: int | None
    deadline: float
    progress: Callable[[int], None] | None = None
    validity_weight: float = 0.5  # this and the rest for the paper's objective
    margin: float = 0.1
    seed: int = 0
