"""What each raw column does to the encoded vector, found by probing the fitted pipeline itself.

Nothing is assumed about the transformers: each column is varied by itself and the pipeline's own `transform` says what
becomes of it. One-hot (with or without `drop`), ordinal codes, scaling, pass-through, bins, imputation of other columns
and linear mixtures such as PCA all come out as they are; what is not a sum over columns is noticed and refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.deprecation import renamed_property
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.models.derivatives import raw_jacobian
from copa.models.linear import LinearModel
from copa.models.spelling import spell_levels, spell_numbers

if TYPE_CHECKING:
    import pandas as pd

    from copa.schema import Feature, FeatureSchema

BASES = 3  # rows at which each column is varied: their answers must agree
SLACK = 1e-8  # relative to the largest encoded entry


class NotLinearError(InvalidInputError):
    """The encoded vector is not linear in the columns that may change."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """The encoded vector as a sum over raw columns.

    Attributes
    ----------
    numeric : mapping of str to ndarray of shape (D,)
        From a numeric or integer column to its direction: the change of the encoded vector per raw unit.
    categorical : mapping of str to ndarray of shape (V, D)
        From an ordinal, categorical or binary column to codes of its values: differences of them are the change of the
        encoded vector.
    """

    numeric: Mapping[str, Array]
    categorical: Mapping[str, Array]

    lines = renamed_property("lines", "numeric")
    choices = renamed_property("choices", "categorical")

    @classmethod
    def probe(cls, model: LinearModel, schema: "FeatureSchema", table: "pd.DataFrame") -> "Encoding":
        """Probe the pipeline with every column of the schema that the model uses.

        A column that cannot be probed is left out if it is immutable, and is an error otherwise.
        """
        numeric: dict[str, Array] = {}
        categorical: dict[str, Array] = {}
        for probe in _probes(model, schema, table):
            try:
                if probe.feature.is_numeric:
                    numeric[probe.feature.name] = probe.direction()
                else:
                    categorical[probe.feature.name] = probe.codes()
            except InvalidInputError:
                if not probe.feature.immutable:
                    raise
        return cls(numeric, categorical)

    @classmethod
    def without_directions(cls, model: LinearModel, schema: "FeatureSchema", table: "pd.DataFrame") -> "Encoding":
        """The columns that may change, for a model in which what they do depends on where one stands.

        A numeric column along which the encoded vector jumps (bins) has no slope to follow, and is refused.
        """
        probes = [probe for probe in _probes(model, schema, table) if not probe.feature.immutable]
        for probe in sorted(probes, key=lambda probe: probe.feature.is_categorical):
            if probe.feature.is_numeric:
                probe.require_slope()
            else:
                probe.vary(probe.spelled_values())  # which raises where the model cannot read one
        nothing = np.zeros(model.theta.size)
        features = [probe.feature for probe in probes]
        return cls(
            {f.name: nothing for f in features if f.is_numeric},
            {f.name: np.zeros((len(f.values or ()), nothing.size)) for f in features if f.is_categorical},
        )


def _probes(model: LinearModel, schema: "FeatureSchema", table: "pd.DataFrame") -> "list[_Probe]":
    """One probe for each column that the model uses, at a few rows without gaps in what may change."""
    free = [feature.name for feature in schema.features if not feature.immutable]
    good = table[table[free].notna().all(axis=1)] if free else table
    if len(good) == 0:
        raise InvalidInputError(f"every row lacks a value in one of the columns that may change: {', '.join(free)}")
    bases = good.iloc[np.unique(np.linspace(0, len(good) - 1, BASES).astype(int))]
    used = [feature for feature in schema.features if feature.name in model.columns]
    return [_Probe(model, bases, feature, table[feature.name]) for feature in used]


@dataclass(frozen=True, eq=False)
class _Probe:
    """One raw column, varied by itself at a few rows.

    Attributes
    ----------
    model : LinearModel
    bases : DataFrame
        The rows, spread over the table.
    feature : Feature
    column : Series
        Of the table.
    """

    model: LinearModel
    bases: "pd.DataFrame"
    feature: "Feature"
    column: "pd.Series[Any]"

    def vary(self, entries: "pd.Series[Any]") -> Array:
        """Encoded rows (B, V, D): every base with every entry of the column."""
        from pandas import concat

        blocks = []
        for b in range(len(self.bases)):
            block = self.bases.iloc[[b] * len(entries)].reset_index(drop=True)
            block[self.feature.name] = entries.to_numpy() if entries.dtype == object else entries
            blocks.append(block)
        encoded = _read(self.model.encode, concat(blocks, ignore_index=True), self.feature.name)
        return encoded.reshape(len(self.bases), len(entries), -1)

    def direction(self) -> Array:
        """The change of the encoded vector per raw unit of a numeric column."""
        numbers = self.test_numbers()
        # Single precision looks crooked.
        like = self.column.astype(np.float64) if self.column.dtype.kind == "f" else self.column
        rows = self.vary(spell_numbers(self.feature, numbers, like))
        slopes = (rows[:, -1] - rows[:, 0]) / (numbers[-1] - numbers[0])
        linear = rows[:, :1] + (numbers - numbers[0])[:, None] * slopes[:, None]
        size = max(1.0, float(np.abs(rows).max()))
        if np.abs(rows - linear).max() > SLACK * size:
            raise NotLinearError(
                f"column {self.feature.name!r} enters the model in a way that is not a straight line (bins, a spline, "
                "a logarithm ...). Make it immutable, or list its possible values as an ordinal in the schema"
            )
        self._require_one_answer(slopes * (numbers[-1] - numbers[0]), size)
        return np.asarray(slopes[0])

    def codes(self) -> Array:
        """Encoded vectors of a categorical column's values, up to a vector that all of them share."""
        rows = self.vary(self.spelled_values())
        codes = rows - rows[:, :1]
        self._require_one_answer(codes, max(1.0, float(np.abs(rows).max())))
        return np.asarray(codes[0])

    def require_slope(self) -> None:
        """Raise if the encoded vector changes along a numeric column, but only in jumps."""
        rows = self.vary(spell_numbers(self.feature, self.test_numbers(), self.column))
        if np.ptp(rows, axis=1).max() <= SLACK * max(1.0, float(np.abs(rows).max())):
            return
        try:
            slopes = raw_jacobian(self.model.transformers, self.bases[list(self.model.columns)], [self.feature.name])
        except InvalidInputError:  # a slope that is not finite is one
            return
        if not slopes.any():
            raise InvalidInputError(
                f"column {self.feature.name!r} enters the model in steps (bins), without a slope to follow. Make it "
                "immutable, or list its possible values as an ordinal in the schema"
            )

    def test_numbers(self) -> Array:
        """Four different values of a numeric column within its range: the ends, and two between them."""
        seen = self.column.dropna().astype(float)
        low = float(seen.min()) if self.feature.lower is None else self.feature.lower
        high = float(seen.max()) if self.feature.upper is None else self.feature.upper
        if not high > low:
            high = low + (self.feature.step or 1.0)
        numbers = low + (high - low) * np.array([0.0, 0.37, 0.71, 1.0])
        return np.unique(np.round(numbers)) if self.feature.kind == "integer" else numbers

    def spelled_values(self) -> "pd.Series[Any]":
        """All values of a categorical column, as the column spells them."""
        n_values = len(self.feature.values or ())
        present = self.column.dropna() if self.column.notna().any() else self.column
        return spell_levels(self.feature, np.arange(n_values), present.iloc[[0] * n_values])

    def _require_one_answer(self, answers: Array, size: float) -> None:
        """Raise if what the column does depends on the other columns."""
        if np.abs(answers - answers[:1]).max() > SLACK * size:
            raise NotLinearError(
                f"column {self.feature.name!r} acts on the encoded row together with other columns (products, a "
                "normaliser ...): the model is not linear in it. Make it immutable in the schema, or take the "
                "interaction out of the pipeline"
            )


def _read(read: Callable[["pd.DataFrame"], Array], rows: "pd.DataFrame", name: str) -> Array:
    """What a model makes of rows in which one column is varied; an error that names the value it cannot read."""
    try:
        return read(rows)
    except (ValueError, TypeError) as error:
        refused, reason = None, error
        for k in range(len(rows)):
            try:
                read(rows.iloc[[k]])
            except (ValueError, TypeError) as alone:
                refused, reason = rows[name].iloc[k], alone
                break
        which = "some of the values" if refused is None else f"the value {shown(refused)}"
        raise InvalidInputError(
            f"column {name!r}: the pipeline refuses {which} that the schema allows ({reason}); take it out of the "
            "schema, or make the pipeline more tolerant (handle_unknown='ignore')"
        ) from error
