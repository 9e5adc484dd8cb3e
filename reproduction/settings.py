"""How large the experiments are: as in the paper, or small enough for a first look."""

from collections.abc import Sequence
from dataclasses import dataclass

from copa import InvalidInputError

COPA_WEIGHTS = ((0.2, 2.0), (0.5, 5.0), (1.0, 10.0))  # of validity and diversity, Table 1
NONLINEAR_WEIGHTS = ((0.1, 1.0), (0.1, 2.0), (0.2, 2.0))  # Table 2
SHIFT_WEIGHTS = (2.0, 200.0)  # Figure "shift"


@dataclass(frozen=True)
class Settings:
    """Numbers of the paper's Section 5 and Appendices B and C.

    Attributes
    ----------
    n_applicants : int
        Plans per data set; fewer where fewer are declined.
    n_models : int
        Refits on halves of D1 for the moments, and as many on halves of D2 for the empirical validity.
    n_options, n_corrections : int
        The paper's J and K.
    budget, radius, margin : float
        The paper's Delta, rho and epsilon.
    n_futures, n_samples : int
        Random futures of the figures, and models drawn from each.
    n_splits : int
        Random splits of the table of classifiers.
    n_dice, n_dice_network : int
        Applicants that DiCE serves per data set, with the linear classifier and with the network of Table 2; its plans
        take up to a minute each.
    n_benchmark : int
        Applicants of the comparison beyond the paper.
    n_networks : int
        Neural networks trained on halves of D2, Table 2.
    seed : int
        Of everything random.
    """

    n_applicants: int = 100
    n_models: int = 1000
    n_options: int = 5
    n_corrections: int = 3
    budget: float = 0.1
    radius: float = 0.01
    margin: float = 0.1
    n_futures: int = 1000
    n_samples: int = 1_000_000
    n_splits: int = 20
    n_dice: int = 100
    n_dice_network: int = 5
    n_benchmark: int = 50
    n_networks: int = 100
    seed: int = 0

    @classmethod
    def quick(cls) -> "Settings":
        """Settings that take minutes in all."""
        return cls(
            n_applicants=10,
            n_models=100,
            n_futures=100,
            n_samples=20_000,
            n_splits=5,
            n_dice=3,
            n_dice_network=1,
            n_benchmark=6,
            n_networks=5,
        )


def require_known(what: str, value: str, known: Sequence[str]) -> None:
    """Raise if a value is not one of those that are allowed, naming them."""
    if value not in known:
        raise InvalidInputError(f"{what} must be one of {', '.join(map(repr, known))}, got {value!r}")
