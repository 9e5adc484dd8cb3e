"""What each raw column does to the encoded vector, found by probing the fitted pipeline itself.

Nothing is assumed about the transformers: each column is varied by itself and the pipeline's own `transform` says what
becomes of it. One-hot (with or without `drop`), ordinal codes, scaling, pass-through, bins, imputation of other columns
and linear mixtures such as PCA all come out as they are; what is not a sum over columns is noticed and refused.

A number that enters in a straight line does so between its limits. What a special code or a missing value does is
looked at by itself: an imputer may put anything there, and an indicator may say so.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array
from copa._core.representation import short_repr
from copa.exceptions import InvalidInputError
from copa.models.bins import Bins, find_bins
from copa.models.linear import LinearModel
from copa.models.probes import CrookedError, NotLinearError, Probe, probes_of

if TYPE_CHECKING:
    import pandas as pd

    from copa.data.schema import Feature, FeatureSchema

__all__ = ["Encoding", "NotLinearError", "n_irregular", "n_levels"]


def n_irregular(feature: "Feature") -> int:
    """How many entries of a column are no values and may be left: its special codes, and missing if that may change."""
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
        found = _bins([probe for probe, _ in crooked])
        for probe, reason in crooked:
            name = probe.feature.name
            if name not in found:
                raise reason
            categorical[name] = probe.codes(probe.vary(probe.spelled_numbers(found[name].inside)))
        edges = {name: bins.edges for name, bins in found.items()}
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
