"""Fields of the named tuples that kernels take: contiguous arrays, with what Numba has to know of them.

Nothing here loads Numba.
"""

from typing import Annotated

import numpy as np
import numpy.typing as npt

Floats = Annotated[npt.NDArray[np.float64], float, 1]
Matrix = Annotated[npt.NDArray[np.float64], float, 2]
Cube = Annotated[npt.NDArray[np.float64], float, 3]
Ints = Annotated[npt.NDArray[np.int64], int, 1]
Flags = Annotated[npt.NDArray[np.bool_], bool, 2]
