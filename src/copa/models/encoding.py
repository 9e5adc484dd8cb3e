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
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.models.derivatives import raw_jacobian
from copa.models.linear import LinearModel
from copa.models.spelling import spell_choices, spell_numbers

if TYPE_CHECKING:
    import pandas as pd

    from copa.schema import Feature, FeatureSchema

BASES = 3  # rows at which each column is varied: their answers must agree
SLACK = 1e-8  # relative to the largest encoded entry


class NotStraightError(InvalidInputError):
    """The encoded vector is not linear in the columns that may change."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """The encoded vector as a sum over raw columns.

    Attributes
    ----------
    lines : mapping of str to ndarray of shape (D,)
        From a numeric or integer column to its direction: the change of the encoded vector per raw unit.
    choices : mapping of str to ndarray of shape (V, D)
        From an ordinal, categorical or binary column to codes of its values: differences of them are the change of the
        encoded vector.
    """

    lines: Mapping[str, Array]
    choices: Mapping[str, Array]

    @classmethod
    def probe(cls, model: LinearModel, schema: "FeatureSchema", table: "pd.DataFrame") -> "Encoding":
        """Probe the pipeline with every column of the schema that the model uses.

        A column that cannot be probed is left out if it is immutable, and is an error otherwise.
        """
        bases = _bases(schema, table)
        lines: dict[str, Array] = {}
        choices: dict[str, Array] = {}
        for feature in schema.features:
            if feature.name not in model.columns:
                continue
            try:
                if feature.is_numeric:
                    lines[feature.name] = _direction(model, feature, bases, table[feature.name])
                else:
                    choices[feature.name] = _codes(model, feature, bases, table[feature.name])
            except InvalidInputError:
                if not feature.immutable:
                    raise
        return cls(lines, choices)

    @classmethod
    def without_directions(cls, model: LinearModel, schema: "FeatureSchema", table: "pd.DataFrame") -> "Encoding":
        """The columns that may change, for a model in which what they do depends on where one stands.

        A numeric column along which the encoded vector jumps (bins) has no slope to follow, and is refused.
        """
        bases = _bases(schema, table)
        changeable = [f for f in schema.features if f.name in model.columns and not f.immutable]
        lines = [feature for feature in changeable if feature.is_numeric]
        for feature in lines:
            _require_slope(model, feature, bases, table[feature.name])
        for feature in changeable:
            if feature.is_categorical:
                _vary(model, bases, feature.name, _spelled_values(feature, table[feature.name]))
        nothing = np.zeros(model.theta.size)
        return cls(
            {feature.name: nothing for feature in lines},
            {f.name: np.zeros((len(f.values or ()), nothing.size)) for f in changeable if f.is_categorical},
        )


def _require_slope(model: LinearModel, feature: "Feature", bases: "pd.DataFrame", column: "pd.Series[Any]") -> None:
    """Raise if the encoded vector changes along a numeric column, but only in jumps."""
    rows = _vary(model, bases, feature.name, spell_numbers(feature, _test_numbers(feature, column), column))
    if np.ptp(rows, axis=1).max() <= SLACK * max(1.0, float(np.abs(rows).max())):
        return
    try:
        slopes = raw_jacobian(model.transformers, bases[list(model.columns)], [feature.name])
    except InvalidInputError:  # a slope that is not finite is one
        return
    if not slopes.any():
        raise InvalidInputError(
            f"column {feature.name!r} enters the model in steps (bins), without a slope to follow. Make it immutable, "
            "or list its possible values as an ordinal in the schema"
        )


def _bases(schema: "FeatureSchema", table: "pd.DataFrame") -> "pd.DataFrame":
    """A few rows without missing values in the columns that may change, spread over the table."""
    free = [feature.name for feature in schema.features if not feature.immutable]
    good = table[table[free].notna().all(axis=1)] if free else table
    if len(good) == 0:
        raise InvalidInputError(f"every row lacks a value in one of the columns that may change: {', '.join(free)}")
    return good.iloc[np.unique(np.linspace(0, len(good) - 1, BASES).astype(int))]


def _vary(model: LinearModel, bases: "pd.DataFrame", name: str, entries: "pd.Series[Any]") -> Array:
    """Encoded rows (B, V, D): every base with every entry of one column."""
    from pandas import concat

    blocks = []
    for b in range(len(bases)):
        block = bases.iloc[[b] * len(entries)].reset_index(drop=True)
        block[name] = entries.to_numpy() if entries.dtype == object else entries
        blocks.append(block)
    encoded = _read(model.encode, concat(blocks, ignore_index=True), name)
    return encoded.reshape(len(bases), len(entries), -1)


def _direction(model: LinearModel, feature: "Feature", bases: "pd.DataFrame", column: "pd.Series[Any]") -> Array:
    """The change of the encoded vector per raw unit of a numeric column."""
    numbers = _test_numbers(feature, column)
    like = column.astype(np.float64) if column.dtype.kind == "f" else column  # single precision looks crooked
    entries = spell_numbers(feature, numbers, like)
    rows = _vary(model, bases, feature.name, entries)
    slopes = (rows[:, -1] - rows[:, 0]) / (numbers[-1] - numbers[0])
    straight = rows[:, :1] + (numbers - numbers[0])[:, None] * slopes[:, None]
    size = max(1.0, float(np.abs(rows).max()))
    if np.abs(rows - straight).max() > SLACK * size:
        raise NotStraightError(
            f"column {feature.name!r} enters the model in a way that is not a straight line (bins, a spline, a "
            "logarithm ...). Make it immutable, or list its possible values as an ordinal in the schema"
        )
    _require_one_answer(feature.name, slopes * (numbers[-1] - numbers[0]), size)
    return np.asarray(slopes[0])


def _test_numbers(feature: "Feature", column: "pd.Series[Any]") -> Array:
    """Four different values of a numeric column within its range: the ends, and two between them."""
    seen = column.dropna().astype(float)
    low = float(seen.min()) if feature.lower is None else feature.lower
    high = float(seen.max()) if feature.upper is None else feature.upper
    if not high > low:
        high = low + (feature.step or 1.0)
    numbers = low + (high - low) * np.array([0.0, 0.37, 0.71, 1.0])
    return np.unique(np.round(numbers)) if feature.kind == "integer" else numbers


def _codes(model: LinearModel, feature: "Feature", bases: "pd.DataFrame", column: "pd.Series[Any]") -> Array:
    """Encoded vectors of a categorical column's values, up to a vector that all of them share."""
    rows = _vary(model, bases, feature.name, _spelled_values(feature, column))
    codes = rows - rows[:, :1]
    _require_one_answer(feature.name, codes, max(1.0, float(np.abs(rows).max())))
    return np.asarray(codes[0])


def _spelled_values(feature: "Feature", column: "pd.Series[Any]") -> "pd.Series[Any]":
    """All values of a categorical column, as the column spells them."""
    n_values = len(feature.values or ())
    present = column.dropna() if column.notna().any() else column
    return spell_choices(feature, np.arange(n_values), present.iloc[[0] * n_values])


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


def _require_one_answer(name: str, answers: Array, size: float) -> None:
    """Raise if what a column does depends on the other columns."""
    if np.abs(answers - answers[:1]).max() > SLACK * size:
        raise NotStraightError(
            f"column {name!r} acts on the encoded row together with other columns (products, a normaliser ...): the "
            "model is not linear in it. Make it immutable in the schema, or take the interaction out of the pipeline"
        )
