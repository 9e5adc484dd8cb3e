"""The derivative of any fitted transformer: exact where we know its formula, by central differences otherwise."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, as_floats, require_finite
from copa._core.words import hint
from copa.exceptions import InvalidInputError
from copa.models.differences import as_table, columns_of, difference_tangents, numeric_columns

if TYPE_CHECKING:
    import pandas as pd

    from copa.models.transformer_rules import Rule


def jacobian_of(transformer: Any, rows: Any) -> Array:
    """Derivative of a fitted transformer's output with respect to its input, at each row.

    Exact for PolynomialFeatures, SplineTransformer, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PCA,
    TruncatedSVD, SimpleImputer, FunctionTransformer of NumPy's logarithms, exponentials and roots, `FeatureMap` with a
    Jacobian, and for Pipeline, FeatureUnion and ColumnTransformer made of them; zero for OneHotEncoder, OrdinalEncoder,
    TargetEncoder and KBinsDiscretizer, which act on categories.

    Any other transformer, subclasses of these included, is differentiated through its own `transform` by central
    differences: four values per column, steps h and 2h with h = 0.0007 max(1, |x|) in double precision, and shorter
    where a kink or the end of the domain is near. The relative error of a smooth function is then about 1e-9.

    Parameters
    ----------
    transformer : object
        Fitted scikit-learn transformer.
    rows : DataFrame, ndarray or scipy.sparse.spmatrix of shape (N, Q)
        As its `transform` takes them. Columns of texts or categories are held: their derivative is zero, unless they
        are passed on unchanged. So are missing values.

    Returns
    -------
    ndarray of shape (N, P, Q)

    Raises
    ------
    InvalidInputError
        Where there is no finite derivative: at jumps and kinks of an unknown transformer, or outside its domain.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.models import jacobian_of
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> rows = np.array([[2.0, 3.0]])
    >>> products = PolynomialFeatures(degree=2, include_bias=False).fit(rows)
    >>> products.transform(rows).tolist()
    [[2.0, 3.0, 4.0, 6.0, 9.0]]
    >>> jacobian_of(products, rows)[0].T.tolist()
    [[1.0, 0.0, 4.0, 3.0, 0.0], [0.0, 1.0, 0.0, 2.0, 6.0]]
    """
    table = as_table(rows)
    n_rows, n_inputs = table.shape
    return tangents_of(transformer, rows, np.tile(np.eye(n_inputs), (n_rows, 1, 1)))


def tangents_of(transformer: Any, rows: Any, tangents: Array) -> Array:
    """How a fitted transformer's output moves when its input moves in C directions.

    The product of the derivative with the directions, without forming the derivative: after many products of columns it
    would have thousands of columns by thousands of rows.

    Parameters
    ----------
    transformer : object
    rows : DataFrame, ndarray or scipy.sparse.spmatrix of shape (N, Q)
        Both as in `jacobian_of`.
    tangents : ndarray of shape (N, Q, C)
        Directions in which the input columns move.

    Returns
    -------
    ndarray of shape (N, P, C)
    """
    name = type(transformer).__name__
    if not hasattr(transformer, "transform"):
        raise InvalidInputError(f"a transformer has a transform method, {name} has none; give a fitted transformer")
    rule = _rule_of(transformer)
    try:
        if rule is None:
            moved = difference_tangents(transformer.transform, rows, tangents, name=name)
        else:
            moved = rule(transformer, rows, tangents)
    except InvalidInputError:
        raise
    except (ValueError, TypeError, AttributeError) as error:  # not fitted, other columns, missing values ...
        raise InvalidInputError(f"{name} could not be differentiated at these rows: {error}") from error
    moved = as_floats(moved, f"the derivative of {name}")
    require_finite(moved, f"the derivative of {name} (row, output column, input column)")
    return moved


def _rule_of(transformer: Any) -> "Rule | None":
    """Rule for the exact type of a transformer, None where there is none: a subclass may transform in another way."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion, Pipeline

    from copa.models.transformer_rules import rules

    composed = {Pipeline: pipeline_tangents, FeatureUnion: union_tangents, ColumnTransformer: columns_tangents}
    return composed.get(type(transformer)) or rules().get(type(transformer))


def chain_tangents(steps: Iterable[Any], rows: Any, tangents: Array) -> Array:
    """Tangents (N, P, C) of the last step's output."""
    previous = None
    for step in steps:
        if previous is not None:
            rows = previous.transform(rows)
        tangents = tangents_of(step, rows, tangents)
        previous = step
    return tangents


def pipeline_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """Pipeline: the chain rule over its steps."""
    steps = [step for _, step in transformer.steps if not _is_word(step, "passthrough")]
    return chain_tangents(steps, rows, tangents)


def union_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """FeatureUnion: the tangents of its parts, one below the other, each times its weight."""
    weights = transformer.transformer_weights or {}
    blocks = [np.zeros((len(tangents), 0, tangents.shape[2]))]
    for name, part in transformer.transformer_list:
        if not _is_word(part, "drop"):
            block = tangents if _is_word(part, "passthrough") else tangents_of(part, rows, tangents)
            blocks.append(weights.get(name, 1.0) * block)
    return np.concatenate(blocks, axis=1)


def _is_word(step: Any, word: str) -> bool:
    return step is None or (isinstance(step, str) and step == word)


Positions = npt.NDArray[np.intp]


def columns_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """Output tangents (N, P, C), block by block; columns that no inner transformer uses have no effect."""
    table = as_table(rows)
    weights = transformer.transformer_weights or {}
    blocks = [np.zeros((len(table), 0, tangents.shape[2]))]
    for name, inner, columns in transformer.transformers_:
        positions = _positions(transformer, columns, table)
        if positions.size == 0 or (isinstance(inner, str) and inner == "drop"):
            continue
        part, moves = columns_of(table, positions), tangents[:, positions]
        if np.isscalar(columns):
            block = _vector_tangents(inner, part, moves)
        else:
            block = moves if isinstance(inner, str) else tangents_of(inner, part, moves)
        blocks.append(weights.get(name, 1.0) * block)
    return np.concatenate(blocks, axis=1)


def _vector_tangents(inner: Any, part: Any, moves: Array) -> Array:
    """Tangents for a column named by itself, which is handed over as a vector."""
    return difference_tangents(
        lambda rows: inner.transform(columns_of(rows, 0)), part, moves, name=type(inner).__name__
    )


def _positions(transformer: Any, columns: Any, table: Any) -> Positions:
    """Where the columns of one inner transformer are in the table."""
    names = getattr(transformer, "feature_names_in_", None)
    fitted = _fitted_positions(columns, transformer.n_features_in_, names)
    if names is None or not hasattr(table, "columns"):
        return fitted
    # A DataFrame is read by name: the order may differ, and there may be more columns.
    there = {name: position for position, name in enumerate(table.columns)}
    missing = [name for name in names[fitted] if name not in there]
    if missing:
        raise InvalidInputError(f"the rows lack column {missing[0]!r}, which the ColumnTransformer was fitted to")
    return np.array([there[name] for name in names[fitted]], dtype=np.intp)


def _fitted_positions(columns: Any, n_columns: int, names: Any) -> Positions:
    """From names, positions, a mask or a slice of either to positions at fit."""
    everything = np.arange(n_columns)
    if isinstance(columns, slice):
        if not any(isinstance(end, str) for end in (columns.start, columns.stop)):
            return everything[columns]
        order = [str(name) for name in names]
        start = 0 if columns.start is None else order.index(columns.start)
        stop = n_columns if columns.stop is None else order.index(columns.stop) + 1  # names include the last one
        return everything[start : stop : columns.step]
    chosen = np.atleast_1d(np.asarray(columns if np.isscalar(columns) else list(columns)))
    if chosen.size == 0:
        return everything[:0]
    if chosen.dtype.kind in "biu":
        return np.asarray(everything[chosen], dtype=np.intp)
    order = [str(name) for name in names]
    return np.array([order.index(str(name)) for name in chosen], dtype=np.intp)


# Rows differentiated at a time: the factors of products of many columns take more room than the answer.
BLOCK = 256


def raw_jacobian(transformers: Sequence[Any], frame: "pd.DataFrame", columns: Sequence[str]) -> Array:
    """Derivative of the encoded vector with respect to raw numeric columns, the other columns held.

    Parameters
    ----------
    transformers : sequence
        Fitted transformers in their order: the steps of a pipeline before its classifier, `LinearModel.transformers`.
    frame : DataFrame
        N rows of the model's raw columns. Where the first transformer was fitted to a DataFrame, it may have more
        columns and in any order; else its columns are those of the array that it was fitted to.
    columns : sequence of str
        C names of columns that hold numbers.

    Returns
    -------
    ndarray of shape (N, D - 1, C)
        Entry (n, d, c): what one unit of column c, by its slope, adds to encoded column d of row n. The encoded columns
        are those of `LinearModel.encode`, without the leading 1.
    """
    if not hasattr(frame, "iloc") or frame.ndim != 2 or len(frame) == 0:
        raise InvalidInputError(f"raw_jacobian needs a DataFrame with at least one row, got {_shown(frame)}")
    names = getattr(transformers[0], "feature_names_in_", None) if transformers else None
    rows = frame if names is None else _in_order(frame, names)
    moves = np.eye(rows.shape[1])[:, _numeric_positions(rows, columns)]
    blocks = []
    for start in range(0, len(rows), BLOCK):
        block = rows.iloc[start : start + BLOCK]
        given = block if names is not None or not transformers else block.to_numpy()
        blocks.append(chain_tangents(transformers, given, np.broadcast_to(moves, (len(block), *moves.shape))))
    return np.concatenate(blocks)


def _in_order(frame: "pd.DataFrame", names: Any) -> "pd.DataFrame":
    """The columns that the first transformer was fitted to."""
    for name in names:
        if name not in frame.columns:
            known = [str(column) for column in frame.columns]
            raise InvalidInputError(f"the model needs column {name!r}, which the table lacks; {hint(name, known)}")
    return frame[list(names)]


def _numeric_positions(rows: "pd.DataFrame", columns: Sequence[str]) -> list[int]:
    """Positions of the named columns, all of them numbers."""
    if isinstance(columns, str):
        raise InvalidInputError(f"columns must be a list of names, got the text {columns!r}; write [{columns!r}]")
    known = [str(name) for name in rows.columns]
    numeric = set(numeric_columns(rows))
    positions = []
    for name in columns:
        if name not in known:
            raise InvalidInputError(f"the model has no column {name!r}; {hint(name, known)}")
        position = known.index(name)
        if position not in numeric:
            raise InvalidInputError(
                f"column {name!r} holds {rows.dtypes.iloc[position]} values; only columns of numbers have a "
                "derivative, leave it out of columns to hold it"
            )
        positions.append(position)
    return positions


def _shown(frame: Any) -> str:
    return f"{type(frame).__name__} of shape {getattr(frame, 'shape', '()')}"
