"""An applicant who is nobody: a row to begin with, declined today and with something to be done about it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.data.schema import Feature, FeatureSchema
from copa.data.tables.cells import as_json, cells_of, snap
from copa.data.tables.frames import with_columns
from copa.models.refits.versions import scores_of

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.bundle import Bundle

FARTHEST = 2.0  # spreads by which a number of the example is off


def example_row(bundle: "Bundle") -> dict[str, Any]:
    """A row of the bundle's columns, as JSON has it, that today's model declines and that has a plan.

    It is what is typical of those whom the model accepts, with one column after another made worse until it is
    declined: by as much as there is still a plan for, or else by as little as possible.

    Parameters
    ----------
    bundle : Bundle

    Returns
    -------
    dict of str to object
    """
    model, schema = bundle.fitted.model, bundle.fitted.schema
    row = _first_row(bundle)
    changeable = [feature for feature in schema.features if not feature.immutable]
    while changeable and bool(model.accepts(row)[0]):
        tried, columns = _worse_rows(row, changeable)
        if not len(tried):
            break
        order = np.argsort(scores_of(model, tried), kind="stable")
        declined = order[~model.accepts(tried.iloc[order])]
        for k in declined[[0, -1]].tolist() if len(declined) else ():
            row = tried.iloc[[k]].reset_index(drop=True)
            if bundle.planner.plan(row).status[0] == "ok":
                break
        else:
            row = row if len(declined) else tried.iloc[[int(order[0])]].reset_index(drop=True)
        changeable = [feature for feature in changeable if feature.name != columns[int(order[0])]]
    return {str(name): as_json(cells_of(row[name])[0]) for name in row}


def _worse_rows(row: "pd.DataFrame", features: list[Feature]) -> tuple["pd.DataFrame", list[str]]:
    """The row with another value in one column, for each column and value; and the columns."""
    import pandas as pd

    rows, columns = [], []
    for feature in features:
        for value in _values(feature, cells_of(row[feature.name])[0]):
            try:
                changed = with_columns(row.astype({feature.name: object}), {feature.name: [value]}).astype(row.dtypes)
            except (TypeError, ValueError):
                continue  # a value that the column's own type does not hold
            rows.append(changed)
            columns.append(feature.name)
    return (pd.concat(rows, ignore_index=True) if rows else row.iloc[:0]), columns


def _values(feature: Feature, own: Any) -> Iterator[Any]:
    """Other values of a column: all levels with support, or the number some spreads away."""
    if feature.is_categorical:
        yield from (value for value in feature.values or () if value != own and value not in feature.withheld)
        return
    if not isinstance(own, (int, float)) or feature.spread is None or feature.is_special(own):
        return
    for far in (-FARTHEST * feature.spread, FARTHEST * feature.spread):
        low = -np.inf if feature.lower is None else feature.lower
        high = np.inf if feature.upper is None else feature.upper
        number = float(np.clip(own + far, low, high))
        number = number if feature.step is None else float(snap(number, feature.step))
        yield int(number) if number.is_integer() and isinstance(own, int) else number


def _first_row(bundle: "Bundle") -> "pd.DataFrame":
    """What is typical of accepted rows, in the columns of the bundle; where that is not known, any values."""
    import pandas as pd

    schema, typical = bundle.fitted.schema, bundle.fitted.accepted_row
    cells: dict[str, Any] = {}
    for name in bundle.template.columns:
        if typical is not None and name in typical:
            cells[name] = typical[name].to_numpy()
        else:
            cells[name] = [_any_value(schema, name, bundle)]
    row = pd.DataFrame(cells)
    return row.astype({name: bundle.template[name].dtype for name in row if _fits(row[name], bundle.template[name])})


def _fits(own: "pd.Series[Any]", template: "pd.Series[Any]") -> bool:
    return own.dtype != template.dtype and not (template.dtype.kind in "iu" and own.isna().any())


def _any_value(schema: FeatureSchema, name: str, bundle: "Bundle") -> Any:
    known = bundle.fitted.space.typical
    if name in known:
        return known[name]
    feature = schema[name] if name in schema else None  # noqa: SIM401 - a schema has no get
    if feature is None:
        return np.nan if bundle.template[name].dtype.kind in "iuf" else ""
    if feature.is_categorical:
        return (feature.values or ("",))[0]
    ends = [end for end in (feature.lower, feature.upper) if end is not None]
    return float(np.mean(ends)) if ends else 0.0
