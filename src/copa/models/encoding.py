"""Effect of each raw column on the encoded vector, found by probing the fitted pipeline itself.

Nothing is assumed about the transformers: each column is varied by itself and the pipeline's own `transform` says what
becomes of it. One-hot (with or without `drop`), ordinal codes, scaling, pass-through, bins, imputation of other columns
and linear mixtures such as PCA all come out as they are; what is not a sum over columns is noticed and refused.

A number that enters in a straight line does so between its limits. What a special code or a missing value does is
looked at by itself: an imputer may put anything there, and an indicator may say so.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.representation import short_repr
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.models.bins import Bins, find_bins
from copa.models.linear import LinearModel
from copa.models.spelling import spell_levels, spell_numbers

if TYPE_CHECKING:
    import pandas as pd

    from copa.data.schema import Feature, FeatureSchema

BASES = 3  # rows at which each column is varied: their answers must agree
SLACK = 1e-8  # relative to the largest encoded entry
BETWEEN = np.sqrt([0.011, 0.037, 0.13, 0.29, 0.53, 0.83])  # shares of a range where hardly any bin begins
NEARBY = 1e-4  # of a range: two numbers so close to each other are in one bin
TESTED = 13  # training values at which a straight line is tested, beside the ends of the range and two between


class NotLinearError(InvalidInputError):
    """The encoded vector is not linear in the columns that may change."""


class CrookedError(NotLinearError):
    """The encoded vector is not a straight line along a numeric column."""


def probes_of(model: LinearModel, schema: "FeatureSchema", table: "pd.DataFrame") -> "list[Probe]":
    """One probe for each column that the model uses, at a few rows with as few gaps as possible in what may change."""
    free = [feature.name for feature in schema.features if not feature.immutable]
    for name in free:
        if table[name].isna().all():
            raise InvalidInputError(f"column {name!r} lacks a value in every row: make it immutable, or leave it out")
    gaps = table[free].isna().sum(axis=1).to_numpy() if free else np.zeros(len(table))
    good = table[gaps == gaps.min()]
    bases = good.iloc[np.unique(np.linspace(0, len(good) - 1, BASES).astype(int))]
    used = [feature for feature in schema.features if feature.name in model.columns]
    probes = [Probe(model, bases, feature, table[feature.name]) for feature in used]
    answers = encode_together(probes)
    return [replace(probe, answer=answers.get(probe.feature.name)) for probe in probes]


def encode_together(probes: "Sequence[Probe]") -> dict[str, Array]:
    """Encoded rows (B, V, D) with the regular entries of each column, in one call for all columns.

    A pipeline takes about as long for a few rows as for a thousand. Columns whose entries change the types of the table
    are encoded apart from the others; those that cannot be read are left out, and each says why when it is asked.
    """
    from pandas import concat

    alike: dict[Any, list[tuple[Probe, pd.DataFrame]]] = {}
    for probe in probes:
        with suppress(ValueError, TypeError):
            rows = probe.varied(probe.regular_entries())
            alike.setdefault(tuple(rows.dtypes), []).append((probe, rows))
    answers: dict[str, Array] = {}
    for members in alike.values():
        with suppress(ValueError, TypeError):
            encoded = probes[0].model.encode(concat([rows for _, rows in members], ignore_index=True))
            ends = np.cumsum([len(rows) for _, rows in members])
            parts = zip(members, np.split(encoded, ends[:-1]), strict=True)
            answers |= {probe.feature.name: probe.by_base(part) for (probe, _), part in parts}
    return answers


@dataclass(frozen=True, eq=False)
class Probe:
    """One raw column, varied by itself at a few rows.

    Attributes
    ----------
    model : LinearModel
    bases : DataFrame
        The rows, spread over the table.
    feature : Feature
    column : Series
        Of the table.
    answer : ndarray of shape (B, V, D), optional
        Encoded rows with the regular entries, where they are known already.
    """

    model: LinearModel
    bases: "pd.DataFrame"
    feature: "Feature"
    column: "pd.Series[Any]"
    answer: Array | None = None

    def vary(self, entries: "pd.Series[Any]") -> Array:
        """Encoded rows (B, V, D): every base with every entry of the column."""
        return self.by_base(_read(self.model.encode, self.varied(entries), self.feature.name))

    def varied(self, entries: "pd.Series[Any]") -> "pd.DataFrame":
        """Raw rows: the first base with every entry of the column, then the second one, and so on."""
        n = len(entries)
        rows = self.bases.iloc[np.repeat(np.arange(len(self.bases)), n)].reset_index(drop=True)
        every = entries.iloc[np.tile(np.arange(n), len(self.bases))].reset_index(drop=True)
        rows[self.feature.name] = every.to_numpy() if entries.dtype == object else every
        return rows

    def regular_entries(self) -> "pd.Series[Any]":
        """All values of a categorical column, some numbers of a numeric one."""
        return self.spelled_values() if self.feature.is_categorical else self.spelled_numbers(self.test_numbers())

    def regular_rows(self) -> Array:
        """Encoded rows (B, V, D) with the regular entries; an error that names the one that cannot be read."""
        return self.vary(self.regular_entries()) if self.answer is None else self.answer

    def by_base(self, encoded: Array) -> Array:
        """Encoded rows (B, V, D) of those that `varied` returns."""
        return encoded.reshape(len(self.bases), len(encoded) // len(self.bases), -1)

    def direction(self) -> tuple[Array, Array]:
        """Return the effect of a numeric column, of its regular values and of its irregular entries.

        Returns
        -------
        ndarray of shape (D,)
            The change of the encoded vector per raw unit.
        ndarray of shape (K, D)
            Its change from each irregular entry to a value of zero.
        """
        numbers, rows = self.test_numbers(), self.regular_rows()
        slopes = (rows[:, -1] - rows[:, 0]) / (numbers[-1] - numbers[0])
        linear = rows[:, :1] + (numbers - numbers[0])[:, None] * slopes[:, None]
        size = max(1.0, float(np.abs(rows).max()))
        if np.abs(rows - linear).max() > SLACK * size:
            raise CrookedError(
                f"column {self.feature.name!r} enters the model in a way that is not a straight line (a spline, a "
                "logarithm ...). Make it immutable, or list its possible values as an ordinal in the schema"
            )
        self._require_one_answer(slopes * (numbers[-1] - numbers[0]), size)
        changes = rows[:, :1] - numbers[0] * slopes[:, None] - self.irregular_rows()
        self._require_one_answer(changes, size)
        return np.asarray(slopes[0]), np.asarray(changes[0])

    def codes(self, regular: Array) -> Array:
        """Encoded vectors of a column's values and of its irregular entries, up to a vector that all of them share.

        Parameters
        ----------
        regular : ndarray of shape (B, V, D)
            Encoded rows with the values.
        """
        rows = np.concatenate([regular, self.irregular_rows()], axis=1)
        codes = rows - rows[:, :1]
        self._require_one_answer(codes, max(1.0, float(np.abs(rows).max())))
        return np.asarray(codes[0])

    def irregular_rows(self) -> Array:
        """Encoded rows (B, K, D) with each special code, then with a missing value, where these may be left."""
        nothing = np.zeros((len(self.bases), 0, self.model.theta.size))
        if self.feature.immutable:
            return nothing
        parts = [nothing]
        if self.feature.special:
            parts.append(self.vary(self.spelled_numbers(np.array(self.feature.special))))
        if self.feature.missing == "may_change":
            missing = self._missing_rows()
            if missing is None or not np.isfinite(missing).all():
                raise InvalidInputError(
                    f"column {self.feature.name!r}: the pipeline cannot read a missing value, which the schema lets "
                    "change. Impute it in the pipeline (SimpleImputer), or leave `missing: stay`"
                )
            parts.append(missing)
        return np.concatenate(parts, axis=1)

    def _missing_rows(self) -> Array | None:
        entry = self.column[self.column.isna()].iloc[:1]
        if len(entry) == 0:
            entry = self.column.iloc[:1].mask(np.ones(1, dtype=np.bool_))
        try:
            return self.vary(entry.reset_index(drop=True))
        except (ValueError, TypeError):
            return None

    def has_slope(self) -> bool:
        """Return whether the encoded vector does not change along a numeric column in jumps alone."""
        rows = self.regular_rows()
        size = max(1.0, float(np.abs(rows).max()))
        if np.ptp(rows, axis=1).max() <= SLACK * size:
            return True
        numbers = self.test_numbers()
        low, width = float(numbers[0]), float(numbers[-1] - numbers[0])
        places = low + width * BETWEEN
        entries = np.concatenate([places, places + NEARBY * width])
        first, second = np.split(self.vary(self.spelled_numbers(entries)), 2, axis=1)
        return bool(np.abs(second - first).max() > SLACK * NEARBY * size)

    def regular_numbers(self) -> Array:
        """The column's numbers that are amounts, and the ends of its range."""
        seen = self.column.dropna().astype(float).to_numpy()
        seen = seen[~np.isin(seen, self.feature.special)]
        ends = [end for end in (self.feature.lower, self.feature.upper) if end is not None]
        numbers: Array = np.concatenate([seen, ends])
        return numbers if len(numbers) else np.zeros(1)

    def test_numbers(self) -> Array:
        """Different values of a numeric column within its range: the ends, two between them, and training values."""
        seen = np.sort(self.regular_numbers())
        low = seen[0] if self.feature.lower is None else self.feature.lower
        high = seen[-1] if self.feature.upper is None else self.feature.upper
        if not high > low:
            high = low + (self.feature.step or 1.0)
        some = seen[np.linspace(0, len(seen) - 1, TESTED).astype(int)]
        some = some[(some > low) & (some < high)]
        numbers = np.concatenate([low + (high - low) * np.array([0.0, 0.37, 0.71, 1.0]), some])
        return np.unique(np.round(numbers) if self.feature.kind == "integer" else numbers)

    def spelled_numbers(self, numbers: Array) -> "pd.Series[Any]":
        """Numbers as the column spells them, but in double precision: single precision looks crooked."""
        like = self.column.astype(np.float64) if self.column.dtype.kind == "f" else self.column
        return spell_numbers(self.feature, numbers, like)

    def spelled_values(self) -> "pd.Series[Any]":
        """All values of a categorical column, as the column spells them."""
        n_values = len(self.feature.values or ())
        present = self.column.dropna() if self.column.notna().any() else self.column
        return spell_levels(self.feature, np.arange(n_values), present.iloc[[0] * n_values])

    def _require_one_answer(self, answers: Array, size: float) -> None:
        """Raise if what the column does depends on the other columns."""
        if answers.size and np.abs(answers - answers[:1]).max() > SLACK * size:
            raise NotLinearError(
                f"column {self.feature.name!r} acts on the encoded row together with other columns (products, a "
                "normaliser ...): the model is not linear in it. Make it immutable in the schema, or take the "
                "interaction out of the pipeline"
            )


def _read(read: Callable[["pd.DataFrame"], Array], rows: "pd.DataFrame", name: str) -> Array:
    """Read rows in which one column is varied; an error names the value it cannot read."""
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


def n_irregular(feature: "Feature") -> int:
    """Count the entries of a column that are no values and may be left: special codes, and missing if it may change."""
    return 0 if feature.immutable else len(feature.special) + (feature.missing == "may_change")


def n_levels(feature: "Feature", edges: Array | None = None) -> int:
    """Number of levels of a column that is no straight line: its values, or bins, and its irregular entries."""
    return (len(feature.values or ()) if edges is None else len(edges) + 1) + n_irregular(feature)


@dataclass(frozen=True, eq=False)
class Encoding:
    """The encoded vector as a sum over raw columns.

    Attributes
    ----------
    numeric : mapping of str to ndarray of shape (D,)
        From a numeric or integer column to its direction: the change of the encoded vector per raw unit.
    categorical : mapping of str to ndarray of shape (V, D)
        From an ordinal, categorical or binary column to codes of its values, and from a column of numbers to codes of
        its bins: differences of them are the change of the encoded vector. Codes of irregular entries come last: of
        each special code, and of a missing value where that may change.
    edges : mapping of str to ndarray of shape (B - 1,)
        From a binned column of numbers to the first value of each bin but the lowest.
    irregular : mapping of str to ndarray of shape (K, D)
        From a numeric column to the change of the encoded vector from an irregular entry to a value of zero.
    """

    __repr__ = short_repr

    numeric: Mapping[str, Array]
    categorical: Mapping[str, Array]
    edges: Mapping[str, Array] = field(default_factory=dict)
    irregular: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def probe(cls, model: LinearModel, schema: "FeatureSchema", table: "pd.DataFrame") -> "Encoding":
        """Probe the pipeline with every column of the schema that the model uses.

        A column that cannot be probed is left out if it is immutable, and is an error otherwise.
        """
        numeric: dict[str, Array] = {}
        categorical: dict[str, Array] = {}
        irregular: dict[str, Array] = {}
        crooked: list[tuple[Probe, CrookedError]] = []
        for probe in probes_of(model, schema, table):
            name = probe.feature.name
            try:
                if probe.feature.is_categorical:
                    categorical[name] = probe.codes(probe.regular_rows())
                else:
                    numeric[name], irregular[name] = probe.direction()
            except CrookedError as error:
                crooked.append((probe, error))
            except InvalidInputError:
                if not probe.feature.immutable:
                    raise
        crooked = [(probe, error) for probe, error in crooked if not probe.feature.immutable]
        bins_of = _bins([probe for probe, _ in crooked])
        for probe, reason in crooked:
            name = probe.feature.name
            if name not in bins_of:
                raise reason
            categorical[name] = probe.codes(probe.vary(probe.spelled_numbers(bins_of[name].inside)))
        edges = {name: bins.edges for name, bins in bins_of.items()}
        _warn_of_rules(schema, edges)
        return cls(numeric, categorical, edges, irregular)

    @classmethod
    def without_directions(cls, model: LinearModel, schema: "FeatureSchema", table: "pd.DataFrame") -> "Encoding":
        """The columns that may change, for a model in which what they do depends on where one stands.

        A numeric column along which the encoded vector jumps is one of bins; one that has neither a slope nor bins is
        refused.
        """
        probes = [probe for probe in probes_of(model, schema, table) if not probe.feature.immutable]
        steep = [probe for probe in probes if probe.feature.is_numeric and not probe.has_slope()]
        edges = {name: bins.edges for name, bins in _bins(steep).items()}
        for probe in steep:
            if probe.feature.name not in edges:
                raise InvalidInputError(
                    f"column {probe.feature.name!r} enters the model in steps, without a slope to follow, and no bins "
                    "were found. Make it immutable, or list its possible values as an ordinal in the schema"
                )
        _warn_of_rules(schema, edges)
        for probe in probes:
            if probe.feature.is_categorical:
                probe.regular_rows()  # which raises where the model cannot read one
        nothing = np.zeros(model.theta.size)
        features = [probe.feature for probe in probes]
        lines = [feature for feature in features if feature.is_numeric and feature.name not in edges]
        others = [feature for feature in features if feature not in lines]
        return cls(
            {f.name: nothing for f in lines},
            {f.name: np.zeros((n_levels(f, edges.get(f.name)), nothing.size)) for f in others},
            edges,
        )


def _bins(probes: Sequence[Probe]) -> dict[str, Bins]:
    """The bins of columns of one model."""
    if not probes:
        return {}
    first = probes[0]
    columns = [(probe.feature.name, probe.regular_numbers()) for probe in probes]
    return find_bins(first.model.encode, first.bases, columns, first.model.transformers)


def _warn_of_rules(schema: "FeatureSchema", edges: Mapping[str, Array]) -> None:
    """Warn that a binned column in a rule stays as it is: the search knows its bin, and the rule needs its number."""
    for rule in schema.rules:
        for name in rule.coefficients:
            if name in edges:
                warnings.warn(
                    f"column {name!r} enters the model in bins, and the rule {rule.text!r} needs its number: it stays "
                    "as it is. To let it change, list its possible values as an ordinal in the schema, or take it out "
                    "of the rule",
                    stacklevel=2,
                )
