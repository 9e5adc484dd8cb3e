"""Encoders of which it is known what they learn, and so what they make of a column when fitted to other rows.

Fitted to a part of the rows, a scaler divides each column by another number, and an imputer fills in another one; a
one-hot encoder does what it did. With these a refit of a pipeline is a fit of its classifier to today's encoded rows,
under other penalties: nothing has to be encoded again. Other transformers are not known here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa._core.arrays import Array, Flags, Indices
from copa.models.bins import holds_edges
from copa.models.encoder_parts import names_of
from copa.models.linear import LinearModel
from copa.models.refits.subsets import Subsets

if TYPE_CHECKING:
    import pandas as pd

VANISHING = 1e-12  # of the entries: a scale that transformers may take for zero
FILLS: dict[str, Callable[[Array], float]] = {
    "mean": lambda entries: float(entries.mean()),
    "median": lambda entries: float(np.median(entries)),
}


@dataclass(frozen=True, eq=False)
class Line:
    """A column on its way through the transformers.

    Attributes
    ----------
    raw : Series or None
        Entries as the table holds them; None behind a one-hot or ordinal encoder.
    missing : ndarray of shape (n,) or None
        Entries that an imputer fills in with a statistic of its rows.
    fill : str
        Which: a name in `FILLS`.
    scale : callable or None
        From entries of the encoded column to what a scaler divides it by; None where none does.
    if_zero : float
        What the column is divided by where that is zero.
    """

    raw: "pd.Series[Any] | None"
    missing: Flags | None = None
    fill: str = ""
    scale: Callable[[Array], float] | None = None
    if_zero: float = 0.0


class Scalings(NamedTuple):
    """Today's encoded columns, as encoders fitted to K subsets scale and shift them.

    Attributes
    ----------
    known : ndarray of shape (k,)
        Subsets of which it is known.
    divisors : ndarray of shape (k, p)
        What they divide the columns by; 0 for a column that is constant in the subset.
    shifts : ndarray of shape (k, A)
        How far from today's the number is that they fill in, for each column with filled entries.
    """

    known: Indices
    divisors: Array
    shifts: Array


@dataclass(frozen=True, eq=False)
class DeclaredEncoder:
    """An encoder made of known transformers.

    Attributes
    ----------
    encoded : ndarray of shape (n, p)
        Today's encoded columns.
    lines : list of Line
        One for each of them.
    needed : list of ndarray of shape (n,)
        Numbers of values, all of which must be in a subset: without one of them an encoder has other columns.
    modes : list of ndarray of shape (n,)
        Numbers of values, -1 where missing, of which the most frequent one must be today's: it is filled in.
    """

    encoded: Array
    lines: list[Line] = field(default_factory=list)
    needed: list[Indices] = field(default_factory=list)
    modes: list[Indices] = field(default_factory=list)

    @classmethod
    def read(cls, model: LinearModel, X: "pd.DataFrame", encoded: Array) -> "DeclaredEncoder | None":
        """Read the transformers of a model; None where one of them is not known here.

        Parameters
        ----------
        model : LinearModel
        X : DataFrame
            Its training rows.
        encoded : ndarray of shape (n, D)
            The same rows as `model.encode` has them.
        """
        encoder = cls(encoded[:, 1:])
        lines: list[Line] | None = [Line(X[name]) for name in model.columns]
        for step in model.transformers:
            lines = None if lines is None else encoder._through(step, lines)
        if lines is None or len(lines) != encoder.encoded.shape[1]:
            return None
        return replace(encoder, lines=lines)

    @property
    def filled(self) -> list[int]:
        """Encoded columns with entries that an imputer fills in."""
        return [j for j, line in enumerate(self.lines) if line.missing is not None]

    @property
    def indicators(self) -> Array:
        """Of each such column, 1.0 where the entry is filled in, (n, A)."""
        missing = [self.lines[j].missing for j in self.filled]
        return np.array(missing, dtype=np.float64).reshape(-1, len(self.encoded)).T

    def scalings(self, subsets: Subsets) -> Scalings:
        """Say what encoders fitted to subsets of the rows make of the columns."""
        parts = [(k, *scaling) for k in range(len(subsets)) if (scaling := self._scaling(subsets.rows(k))) is not None]
        known = np.array([k for k, _, _ in parts], dtype=np.int64)
        divisors = np.array([divisor for _, divisor, _ in parts]).reshape(len(parts), len(self.lines))
        shifts = np.array([shift for _, _, shift in parts]).reshape(len(parts), len(self.filled))
        return Scalings(known, divisors, shifts)

    def _keeps_columns(self, rows: Indices) -> bool:
        """Return whether encoders of categories, fitted to some rows, have today's columns."""
        if any(np.unique(codes[rows]).size <= codes.max() for codes in self.needed):
            return False
        return all(_mode(codes[rows]) == _mode(codes) for codes in self.modes)

    def _scaling(self, rows: Indices) -> tuple[Array, Array] | None:
        """Divisors (p,) and shifts (A,) of an encoder fitted to some rows; None where they are not known."""
        if not self._keeps_columns(rows):
            return None
        inside = self.encoded[rows]
        shifts = []
        for j in self.filled:
            line, absent = self.lines[j], self.lines[j].missing
            if absent is None:
                continue
            there = inside[~absent[rows], j]
            if there.size == 0:
                return None
            shifts.append(FILLS[line.fill](there) - self.encoded[int(absent.argmax()), j])
            inside[absent[rows], j] += shifts[-1]
        low, high = inside.min(axis=0), inside.max(axis=0)
        divisors = (high > low).astype(np.float64)
        for j, line in enumerate(self.lines):
            if line.scale is not None and divisors[j]:
                divisors[j] = line.scale(inside[:, j])
                if divisors[j] == 0.0 and line.if_zero:
                    divisors[j] = line.if_zero
                elif not divisors[j] > VANISHING * max(-low[j], high[j]):
                    return None
        return divisors, np.array(shifts)

    def _through(self, step: Any, lines: list[Line]) -> list[Line] | None:  # noqa: PLR0911 - a line for each kind
        """Columns behind a fitted transformer; None where it is not known here."""
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import (
            Binarizer,
            FunctionTransformer,
            Normalizer,
            OneHotEncoder,
            OrdinalEncoder,
            PolynomialFeatures,
        )

        kind = type(step)
        if step is None or step == "passthrough" or (kind is FunctionTransformer and step.func is None):
            return lines
        if holds_edges(step) or kind in (Binarizer, FunctionTransformer, Normalizer, PolynomialFeatures):
            return _fixed(step, lines)
        if kind is ColumnTransformer:
            return self._side_by_side(step, lines)
        if kind is Pipeline:
            inner_lines: list[Line] | None = lines
            for _, inner in step.steps:
                inner_lines = None if inner_lines is None else self._through(inner, inner_lines)
            return inner_lines
        if kind is SimpleImputer:
            return self._imputed(step, lines)
        if kind in (OneHotEncoder, OrdinalEncoder):
            return self._categories(step, lines, one_hot=kind is OneHotEncoder)
        scales = _scales_of(step)
        if scales is None or any(line.scale is not None for line in lines):
            return None
        return [
            replace(line, scale=scale, if_zero=if_zero) for line, (scale, if_zero) in zip(lines, scales, strict=True)
        ]

    def _side_by_side(self, step: Any, lines: list[Line]) -> list[Line] | None:
        """Columns behind a ColumnTransformer, of the raw columns."""
        if step.transformer_weights or any(line.raw is None for line in lines):
            return None
        places = {str(line.raw.name): k for k, line in enumerate(lines) if line.raw is not None}
        result: list[Line] = []
        for _, inner, columns in step.transformers_:
            if isinstance(inner, str) and inner == "drop":
                continue
            chosen = names_of(columns, tuple(places))
            if chosen == ():
                continue  # never fitted
            part = None if chosen is None else self._through(inner, [lines[places[name]] for name in chosen])
            if part is None:
                return None
            result += part
        return result

    def _imputed(self, step: Any, lines: list[Line]) -> list[Line] | None:
        """Columns behind a SimpleImputer."""
        import pandas as pd

        if step.add_indicator or not pd.isna(step.missing_values) or pd.isna(step.statistics_).any():
            return None
        result = []
        for line, value in zip(lines, step.statistics_, strict=True):
            if line.raw is None or line.scale is not None:
                return None
            missing = line.raw.isna().to_numpy(dtype=bool)
            if not missing.any():
                result.append(line)
                continue
            full = line.raw.astype(object).where(~missing, value)
            if step.strategy == "most_frequent":
                codes = _codes(line.raw)
                if codes is None or full.iloc[int((codes == _mode(codes)).argmax())] != value:
                    return None
                self.modes.append(codes)
                result.append(replace(line, raw=full))
            elif step.strategy in FILLS:
                result.append(replace(line, raw=full, missing=missing, fill=step.strategy))
            elif step.strategy == "constant":
                result.append(replace(line, raw=full))
            else:
                return None
        return result

    def _categories(self, step: Any, lines: list[Line], *, one_hot: bool) -> list[Line] | None:
        """Columns behind an encoder of categories."""
        grouped = getattr(step, "min_frequency", None), getattr(step, "max_categories", None)
        if grouped != (None, None) or any(line.scale is not None or line.missing is not None for line in lines):
            return None
        learned = isinstance(step.categories, str)
        for line in lines:
            if learned and (not one_hot or step.drop is not None):
                codes = None if line.raw is None else _codes(line.raw, missing=True)
                if codes is None:
                    return None
                self.needed.append(codes)
        n_columns = len(step.get_feature_names_out()) if one_hot else len(lines)
        return [Line(None)] * n_columns


def _fixed(step: Any, lines: list[Line]) -> list[Line] | None:
    """Columns behind a transformer that learns nothing, or that is not fitted again because it holds bins."""
    import pandas as pd

    if any(line.raw is None or line.missing is not None or line.scale is not None for line in lines):
        return None
    row: Any = pd.concat([line.raw.iloc[:1] for line in lines if line.raw is not None], axis=1)
    try:
        width = step.transform(row if hasattr(step, "feature_names_in_") else row.to_numpy()).shape[1]
    except (AttributeError, IndexError, TypeError, ValueError):  # a vector, or other columns
        return None
    return [Line(None)] * width


def _mode(codes: Indices) -> int:
    """Return the most frequent number, the first of several, -1 where there is none."""
    counts = np.bincount(1 + codes, minlength=2)[1:]
    return int(counts.argmax()) if counts.max() else -1


def _codes(column: "pd.Series[Any]", *, missing: bool = False) -> Indices | None:
    """Numbers of a column's values in their order, -1 (or a number of its own) where one is missing."""
    import pandas as pd

    try:
        return np.asarray(pd.factorize(column, sort=True, use_na_sentinel=not missing)[0], dtype=np.int64)
    except TypeError:  # values without an order
        return None


def _scales_of(step: Any) -> list[tuple[Callable[[Array], float] | None, float]] | None:
    """Functions by which a scaler that is fitted again divides each encoded column, and what stands for 0."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    kind, n_columns = type(step), getattr(step, "n_features_in_", 0)
    if kind is StandardScaler:
        return [(np.std if step.with_std else None, 0.0)] * n_columns
    if kind is MinMaxScaler and not step.clip:
        width = step.feature_range[1] - step.feature_range[0]
        return [(lambda entries: float(np.ptp(entries) / width), 0.0)] * n_columns
    if kind is MaxAbsScaler and not getattr(step, "clip", False):
        return [(lambda entries: float(np.abs(entries).max()), 0.0)] * n_columns
    if kind is RobustScaler and not step.unit_variance:
        if not step.with_scaling:
            return [(None, 0.0)] * n_columns

        def between(entries: Array) -> float:
            return float(np.subtract(*np.percentile(entries, step.quantile_range[::-1])))

        return [(between, 1.0 / scale) for scale in step.scale_.tolist()]
    return None
