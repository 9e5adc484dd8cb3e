"""From rows to the paper's vectors and back: numbers scaled to [0, 1], categories one-hot, the intercept first."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

    from copa import Feature, FeatureSchema

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Encoding:
    """Where each column is in a vector of D coordinates.

    Attributes
    ----------
    numbers : tuple of str
        Numeric columns; coordinates 1 to len(numbers).
    low, high : ndarray of shape (len(numbers),)
        Their ranges in the data, which become 0 and 1.
    choices : tuple of (str, tuple of str)
        Categorical columns and their levels; one coordinate per level, in this order.
    """

    numbers: tuple[str, ...]
    low: Array
    high: Array
    choices: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def of(cls, features: "pd.DataFrame") -> "Encoding":
        """Read ranges and levels from a table whose numeric columns come before its categorical ones."""
        numbers = tuple(features.select_dtypes("number").columns)
        values = features[list(numbers)].to_numpy(dtype=np.float64)
        rest = [name for name in features if name not in numbers]
        choices = tuple((name, tuple(sorted(features[name].unique()))) for name in rest)
        return cls(numbers, values.min(axis=0), values.max(axis=0), choices)

    @cached_property
    def blocks(self) -> dict[str, npt.NDArray[np.intp]]:
        """Coordinates of each column."""
        blocks = {name: np.array([1 + i]) for i, name in enumerate(self.numbers)}
        first = 1 + len(self.numbers)
        for name, values in self.choices:
            blocks[name] = np.arange(first, first + len(values))
            first += len(values)
        return blocks

    @property
    def dimension(self) -> int:
        """Number of coordinates D."""
        return 1 + len(self.numbers) + sum(len(values) for _, values in self.choices)

    def encode(self, features: "pd.DataFrame") -> Array:
        """Vectors (n, D) of rows; a value that was not in the data is all zeros."""
        numbers = (features[list(self.numbers)].to_numpy(dtype=np.float64) - self.low) / (self.high - self.low)
        codes = [
            (features[name].astype(str).to_numpy()[:, None] == np.array(values)).astype(np.float64)
            for name, values in self.choices
        ]
        return np.hstack([np.ones((len(features), 1)), numbers, *codes])

    def fixed(self, schema: "FeatureSchema") -> npt.NDArray[np.intp]:
        """Coordinates of what may not change."""
        names = [name for name in self.blocks if schema[name].immutable]
        return np.concatenate([np.zeros(0, dtype=np.intp), *(self.blocks[name] for name in names)])

    def decode(self, points: Array, schema: "FeatureSchema", own: "pd.DataFrame") -> "pd.DataFrame":
        """Return the real rows nearest to vectors.

        Numbers go to the nearest value of their column, categorical columns to the level with the largest coordinate.

        Parameters
        ----------
        points : ndarray of shape (n, D)
        schema : FeatureSchema
        own : DataFrame of n rows
            The applicant of each vector; a number that changes by less than half a step does not change.
        """
        import pandas as pd

        columns: dict[str, Any] = {}
        for i, (name, raw) in enumerate(zip(self.numbers, self.raw_numbers(points).T, strict=True)):
            was = own[name].to_numpy(dtype=np.float64)
            columns[name] = _nearest(raw, was, schema[name], (self.low[i], self.high[i]))
        for name, values in self.choices:
            columns[name] = np.array(values)[points[:, self.blocks[name]].argmax(axis=1)]
        return pd.DataFrame(columns, index=own.index)[list(own)].astype(own.dtypes.to_dict())

    def raw_numbers(self, points: Array) -> Array:
        """Numbers in their own units, (..., len(numbers)), as the vectors have them and without rounding."""
        return np.asarray(self.low + points[..., 1 : 1 + len(self.numbers)] * (self.high - self.low))

    def real_categories(self, points: Array) -> npt.NDArray[np.bool_]:
        """Whether each vector (..., D) has one 1 and otherwise 0 in every categorical column."""
        real = np.ones(points.shape[:-1], dtype=bool)
        for name, _ in self.choices:
            block = points[..., self.blocks[name]]
            real &= (np.isclose(block, 0.0) | np.isclose(block, 1.0)).all(axis=-1) & np.isclose(block.sum(axis=-1), 1.0)
        return real

    def inside(self, points: Array) -> npt.NDArray[np.bool_]:
        """Whether each vector (..., D) lies within the ranges of the data."""
        coordinates = points[..., 1:]
        return np.asarray(((coordinates >= -1e-9) & (coordinates <= 1.0 + 1e-9)).all(axis=-1))


def _nearest(raw: Array, was: Array, feature: "Feature", data_range: tuple[float, float]) -> Array:
    """Nearest values (n,) that a column can hold; `was` are the applicants' own."""
    if not feature.is_numeric:
        values = np.array([float(value) for value in feature.values or ()])
        return np.asarray(values[np.abs(raw[:, None] - values).argmin(axis=1)])
    step = feature.step or 0.0
    rounded = np.round(raw / step) * step if step > 0.0 else raw
    low = data_range[0] if feature.lower is None else feature.lower
    high = data_range[1] if feature.upper is None else feature.upper
    stays = np.abs(raw - was) < max(0.5 * step, 1e-9 * (high - low))
    return np.where(stays, was, np.clip(rounded, low, high))
