"""Tree ensembles over the raw columns of a table, as one record of arrays: coded rows are scored by one kernel."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk
from copa._kernels import lay_out_trees, score_trees
from copa.data.schema.columns import ReadTable
from copa.data.tables.packing import pack_entry, unpack_entry
from copa.exceptions import DataError
from copa.models.black_box import BlackBox
from copa.models.trees.arrays import (
    Int32s,
    Links,
    SmallTrees,
    TreeArrays,
    WordArrays,
    as_words,
    take_ensembles,
)
from copa.models.trees.assembly import Coding, assemble, coding_of, links_of
from copa.models.trees.conformance import disagreement
from copa.models.trees.folding import fold
from copa.models.trees.nodes import NotTreesError
from copa.models.trees.soundness import require_sound_trees

if TYPE_CHECKING:
    import pandas as pd

PATHS = 4_000_000  # from root to leaf, that one call of the kernel follows: some hundredths of a second
FEWEST_ROWS = 64  # of a call, where there are more


@dataclass(frozen=True, eq=False)
class TreeEnsembles:
    """K tree ensembles over C raw columns.

    Attributes
    ----------
    columns : tuple of str
        Raw columns that the trees test.
    cuts : tuple of ndarray or None
        Thresholds of each column of numbers, ascending: the code of a number is how many of them are below it.
    values : tuple of Mapping or None
        Code of each value of a column of values.
    arrays : TreeArrays
    links : Links
    """

    columns: tuple[str, ...]
    cuts: tuple[Array | None, ...]
    values: tuple[Mapping[Hashable, int] | None, ...]
    arrays: TreeArrays
    links: Links

    def __len__(self) -> int:
        return len(self.links.base)

    @classmethod
    def read(cls, models: Sequence[BlackBox], X: "pd.DataFrame") -> "TreeEnsembles":
        """Read fitted models, and compare what is read with their own probabilities.

        Parameters
        ----------
        models : sequence of BlackBox
            With the same raw columns; the first of them is compared at more rows than the others.
        X : DataFrame
            Rows that they can read.

        Raises
        ------
        NotTreesError
            If one of them is no tree ensemble, cannot be read exactly, or has other probabilities.
        """
        names = tuple(dict.fromkeys(name for model in models for name in model.columns))
        folded = [fold(model, X) for model in models]
        if any(model.columns != names for model in models):
            raise NotTreesError("the models have different columns")
        coding = coding_of(folded, names)
        links = links_of(models, folded)
        ensembles = cls(*coding, assemble(folded, names, coding), links)
        roundings = [one.ensemble.rounding for one in folded]
        reason = disagreement(ensembles, models, X, roundings)
        if reason:
            raise NotTreesError(reason)
        return ensembles

    def codes(self, table: "ReadTable | pd.DataFrame") -> Int32s:
        """Code the rows of a table, (N, C)."""
        read = ReadTable.of(table)
        codes = np.zeros((len(read), len(self.columns)), dtype=np.int32)
        for column, name in enumerate(self.columns):
            if self.cuts[column] is not None:
                codes[:, column] = self.codes_of_numbers(column, read[name].numbers)
            else:
                positions, distinct = read[name].entries
                of_distinct = self.codes_of_values(column, distinct)
                missing = int(self.arrays.n_codes[column]) - 1
                codes[:, column] = np.append(of_distinct, np.int32(missing))[positions]  # -1 where missing
        return codes

    def codes_of_numbers(self, column: int, numbers: Array) -> Int32s:
        """Codes of numbers of a column, (M,); NaN is missing."""
        cuts = self.cuts[column]
        if cuts is None:
            raise TypeError(f"column {self.columns[column]!r} is one of values")
        numbers = np.asarray(numbers, dtype=np.float64)
        return np.where(np.isnan(numbers), len(cuts) + 1, np.searchsorted(cuts, numbers)).astype(np.int32)

    def codes_of_values(self, column: int, values: Sequence[Hashable]) -> Int32s:
        """Codes of values of a column, (M,); those that no tree knows and missing ones have codes of their own."""
        known = self.values[column]
        if known is None:
            raise TypeError(f"column {self.columns[column]!r} is one of numbers")
        return np.array([_code(known, value) for value in values], dtype=np.int32)

    def scores(self, codes: Int32s, n_jobs: int | None = None) -> Array:
        """Scores of coded rows, (K, N): those of `BlackBox.scores`."""
        if codes.shape[1:] != self.arrays.n_codes.shape:
            raise ValueError(f"rows of {len(self.columns)} codes are expected, got an array of shape {codes.shape}")
        if ((codes < 0) | (codes >= self.arrays.n_codes)).any():
            raise ValueError("a row has a code that its column has not")
        codes, scores = np.ascontiguousarray(codes, dtype=np.int32), np.zeros((len(self), len(codes)))
        (words, small), n_trees = self._laid_out, max(len(self.arrays.roots) - 1, 1)

        def work(rows: slice) -> None:
            score_trees(words, small, self.links, codes, rows.start, rows.stop, scores)

        for_each_chunk(work, len(codes), max(PATHS // n_trees, FEWEST_ROWS), n_jobs)
        return scores

    @cached_property
    def _laid_out(self) -> tuple[WordArrays, SmallTrees]:
        """The trees as they are scored."""
        words, small = as_words(self.arrays), SmallTrees.room(len(self.arrays.roots) - 1, len(self.arrays.kind))
        lay_out_trees(words, small)
        return words, small

    def take(self, ensembles: "Indices | slice") -> "TreeEnsembles":
        """Return some of the ensembles, over the same columns."""
        chosen = np.arange(len(self))[ensembles]
        some: dict[str, Any] = {name: np.ascontiguousarray(one[chosen]) for name, one in self.links._asdict().items()}
        links = Links(**some)
        return replace(self, arrays=take_ensembles(self.arrays, chosen), links=links)

    def pack(self, what: str, arrays: dict[str, Any]) -> dict[str, Any]:
        """Put the arrays into a dict, under names that begin with the one given; return the rest as JSON holds it."""
        fields = {**self.arrays._asdict(), **self.links._asdict()}
        arrays |= {f"{what}/{name}": array for name, array in fields.items()}
        arrays |= {f"{what}/cuts/{k}": cuts for k, cuts in enumerate(self.cuts) if cuts is not None}
        values = [None if one is None else [pack_entry(value, "a category") for value in one] for one in self.values]
        return {"columns": list(self.columns), "values": values}

    @classmethod
    def unpack(cls, content: Mapping[str, Any], what: str, arrays: Mapping[str, Any]) -> "TreeEnsembles":
        """Read what `pack` returned; a DataError where it is no sound record of trees."""
        try:
            return _unpacked(cls, content, what, arrays)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            why = f"they lack {error}" if isinstance(error, KeyError) else str(error)
            raise DataError(f"its trees are damaged: {why}") from error


def _code(known: Mapping[Hashable, int], value: Hashable) -> int:
    import pandas as pd

    if isinstance(value, Hashable):
        code = known.get(value)
        if code is not None:
            return code
    return len(known) + bool(value is None or value is pd.NA or value is pd.NaT or value != value)  # noqa: PLR0124 - NaN


def _unpacked(
    cls: type[TreeEnsembles], content: Mapping[str, Any], what: str, arrays: Mapping[str, Any]
) -> TreeEnsembles:
    def read(record: Any, like: Mapping[str, Any]) -> Any:
        return record(*(_plain(arrays[f"{what}/{name}"], like[name], name) for name in record._fields))

    trees, links = read(TreeArrays, TREE_TYPES), read(Links, LINK_TYPES)
    cuts: list[Array | None] = []
    values: list[dict[Hashable, int] | None] = []
    for k, listed in enumerate(content["values"]):
        own = None if listed is None else {unpack_entry(value): code for code, value in enumerate(listed)}
        cut = None if own is not None else _plain(arrays[f"{what}/cuts/{k}"], np.float64, "cuts")
        if own is not None and len(own) < len(listed):
            raise ValueError("a category is there twice")
        if cut is not None and not (np.diff(cut) > 0.0).all():
            raise ValueError("the cuts of a column do not ascend")
        cuts.append(cut)
        values.append(own)
    columns = tuple(content["columns"])
    coding = Coding(columns, tuple(cuts), tuple(values))
    whole = all(isinstance(name, str) for name in columns) and len(columns) == len(values)
    if not whole or not np.array_equal(coding.n_codes(), trees.n_codes):
        raise ValueError("its columns have other numbers of codes than their trees")
    if any(len(one) != len(trees.ensembles) - 1 for one in links) or not _are_links(links):
        raise ValueError("what makes scores of its sums is incomplete")
    require_sound_trees(trees)
    return cls(*coding, trees, links)


TREE_TYPES: dict[str, Any] = dict.fromkeys(("ensembles", "roots", "n_codes"), np.int64)
TREE_TYPES |= dict.fromkeys(("column", "cut", "left", "right"), np.int32)
TREE_TYPES |= {"kind": np.uint8, "value": np.float64, "sets": np.uint64}
LINK_TYPES: dict[str, Any] = dict.fromkeys(Links._fields, np.float64) | dict.fromkeys(
    ("is_single", "is_probability"), np.bool_
)


def _plain(array: npt.NDArray[Any], dtype: Any, name: str) -> npt.NDArray[Any]:
    if array.dtype != dtype or array.ndim != 1:
        raise ValueError(f"{name} must be a list of {np.dtype(dtype)}, got {array.dtype} of shape {array.shape}")
    return np.ascontiguousarray(array)


def _are_links(links: Links) -> bool:
    numbers = [one for name, one in links._asdict().items() if not name.startswith("is_")]
    return all(np.isfinite(one).all() for one in numbers) and bool((links.divisor > 0.0).all())
