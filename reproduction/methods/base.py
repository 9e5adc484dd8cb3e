"""What a method is asked, and what it answers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from reproduction.encoding import Array

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.case import Case


@dataclass(frozen=True, eq=False)
class Plans:
    """Plans of some applicants of a case.

    Attributes
    ----------
    who : (n,) positions of the applicants in the case
    points : (n, J, D) options
    seconds : (n,) time spent on each
    rows : DataFrame of n * J raw rows where the method makes real rows by itself, in the order of `points`; else None,
        and the nearest real rows are taken
    """

    who: npt.NDArray[np.intp]
    points: Array
    seconds: Array
    rows: "pd.DataFrame | None" = None


class Method(Protocol):
    """A way to build plans. A new one is a file with a class like this."""

    @property
    def name(self) -> str:
        """What the tables call it."""

    def plans(self, case: "Case") -> Plans:
        """Build plans for the case's applicants, or for those whom the method can serve.

        Raises
        ------
        DataError
            If something that the method needs is not installed; the message says what to install.
        """
