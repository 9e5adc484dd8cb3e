"""What a change costs, as the compiled search takes it: a cost of one's own returns it, and so it is below both."""

from typing import NamedTuple

from copa._core._kernels.fields import Floats, Matrix


class Prices(NamedTuple):
    """What a change costs: (sum over columns of price ** power) ** (1 / power), plus a penalty per column changed."""

    per_unit: Floats  # (L,) of a raw unit of a numeric column
    gaps: Matrix  # (A, A) between two levels of a column, to the `power`
    penalties: Floats  # (F,) of changing a column at all
    power: int  # 1: prices add up; 2: their squares do
