"""Trees that were read, compared with the probabilities of their own models, at rows that make every difference show.

Rows of the table, and such rows with numbers at the trees' own thresholds and at the doubles next to them, with every
value of the other columns, with missing cells and with values that were never seen. Not every model can read the last
two: an error is its own affair then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.threads import one_thread_no_warnings
from copa.data.schema.columns import ReadTable
from copa.models.black_box import BlackBox
from copa.models.trees.arrays import LEAF

if TYPE_CHECKING:
    import pandas as pd

TreeEnsembles = Any  # of `ensembles`, which imports this module

OF_FIRST, OF_OTHERS = 400, 24  # rows at which the first model is compared, and some of the others
N_OTHERS = 12  # which are of its kind, fitted with its settings, and read the same way
SEED = 29
UNSEEN = "a value that was never seen"


def disagreement(
    ensembles: TreeEnsembles, models: Sequence[BlackBox], X: "pd.DataFrame", roundings: Sequence[float]
) -> str:
    """Say where a model has other probabilities than its trees; "" where none has.

    Parameters
    ----------
    ensembles : TreeEnsembles
    models : sequence of BlackBox
    X : DataFrame
        Rows that the models can read.
    roundings : sequence of float
        By how much the probabilities of each may differ.
    """
    if len(X) == 0:
        return "there are no rows to compare it with its trees"
    rng, table = np.random.default_rng(SEED), ReadTable(X)
    others = np.unique(np.linspace(1, len(models) - 1, N_OTHERS).astype(int)).tolist() if len(models) > 1 else []
    shared = table.frame
    with one_thread_no_warnings():
        for k in [0, *others]:
            read, model = ensembles.take(np.array([k])), models[k]
            tables = [shared] if k else list(_rows(read, model, table, OF_FIRST, rng))
            for number, rows in enumerate(tables):
                theirs = _probabilities(model, rows)
                if theirs is None and number == 0:
                    return "it cannot read rows like those of its own table"
                if theirs is None:
                    continue
                apart = np.abs(chances(read, rows, model.position) - theirs)
                if not (apart <= roundings[k]).all():
                    which = "a refit's" if k else "its"
                    return f"{which} trees, as they were read, have other probabilities: by {np.nanmax(apart):.2g}"
            if k == 0:
                shared = tables[0].head(OF_OTHERS)
    return ""


def chances(read: TreeEnsembles, rows: "pd.DataFrame", position: int) -> Array:
    """The label's probability by the trees of one model, (N,), neither clipped nor beyond a threshold."""
    from scipy.special import expit

    links = read.links
    one = np.ones(1)
    plain = links._replace(is_probability=one < 0.0, sign=one, limit=one * np.inf, threshold=0.0 * one, tie=0.0 * one)
    sums = replace(read, links=plain).scores(read.codes(rows), n_jobs=1)[0]
    if not links.is_probability[0]:
        second = expit(sums)
        sums = second if position == 1 else 1.0 - second
    return np.asarray(sums)


def _probabilities(model: BlackBox, rows: "pd.DataFrame") -> Array | None:
    """What the model itself says; None where it cannot read a row."""
    model.calls.count(len(rows))
    try:
        both = np.asarray(model.estimator.predict_proba(model.as_input(rows)), dtype=np.float64)
    except Exception:  # noqa: BLE001 - models raise what they like
        return None
    return np.asarray(both[:, model.position])


def _rows(read: TreeEnsembles, model: BlackBox, table: ReadTable, n_rows: int, rng: Any) -> "Iterator[pd.DataFrame]":
    """Rows of the table, half of their cells at thresholds; such rows with missing cells; and with unseen values."""
    places = rng.integers(len(table), size=n_rows)
    drawn = table.frame[list(model.columns)].iloc[places].reset_index(drop=True)
    tested = np.unique(read.arrays.column[read.arrays.kind != LEAF]).tolist()
    at_cuts = drawn.assign(**{read.columns[k]: _placed(read, k, table, drawn, rng) for k in tested})
    yield at_cuts
    numbers = [read.columns[k] for k in tested if read.cuts[k] is not None]
    values = [read.columns[k] for k in tested if read.cuts[k] is None]
    if numbers:
        yield at_cuts.assign(**{name: _thinned(at_cuts[name], rng) for name in numbers})
    if values:
        yield at_cuts.assign(**{name: _with_unseen(at_cuts[name], rng) for name in values})


def _own_cuts(read: TreeEnsembles, place: int) -> Array:
    """Thresholds of one model in a column."""
    cuts = read.cuts[place]
    if cuts is None:
        return np.zeros(0)
    arrays = read.arrays
    own = cuts[np.unique(arrays.cut[(arrays.kind != LEAF) & (arrays.column == place)])]
    return np.asarray(own[np.isfinite(own)])


def _placed(read: TreeEnsembles, place: int, table: ReadTable, drawn: "pd.DataFrame", rng: Any) -> Any:
    """Half of a column at thresholds and next to them, or at any of its values; the other half as drawn."""
    name, keep = read.columns[place], rng.random(len(drawn)) < 0.5
    if read.cuts[place] is None:
        distinct = np.unique(table[name].entries[0], return_index=True)[1]
        others = table[name].series.iloc[rng.choice(distinct, len(drawn))].reset_index(drop=True)
        return drawn[name].where(keep, others)
    cuts = _own_cuts(read, place)
    numbers = ReadTable(drawn)[name].numbers
    if not len(cuts):
        return numbers
    chosen = rng.choice(cuts, len(drawn))
    beside = np.stack([np.nextafter(chosen, -np.inf), chosen, np.nextafter(chosen, np.inf)])
    return np.where(keep, numbers, beside[rng.integers(3, size=len(drawn)), np.arange(len(drawn))])


def _thinned(column: "pd.Series[Any]", rng: Any) -> Any:
    return np.where(rng.random(len(column)) < 0.3, np.nan, column)


def _with_unseen(column: "pd.Series[Any]", rng: Any) -> Any:
    """A column with some values that no model has seen; numbers of which none is near."""
    from pandas.api.types import is_numeric_dtype

    unseen = rng.random(len(column)) < 0.3
    if is_numeric_dtype(column.dtype):
        return column.where(~unseen, column.max() + 17)
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.where(~unseen)
    return column.where(~unseen, UNSEEN)
