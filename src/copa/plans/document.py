"""A batch as JSON, for other programs: plain names, full precision, null where there is nothing."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.plans.cells import as_json, cells_of
from copa.plans.changes import changed_cells
from copa.plans.tables import option_numbers
from copa.plans.wording import GUARANTEES_MEAN, assumption

if TYPE_CHECKING:
    import pandas as pd

    from copa.plans.batch import PlanBatch

FORMAT = "copa-plans"
VERSION = 1


def batch_document(batch: "PlanBatch") -> str:
    """Return the batch as JSON text, one line per applicant."""
    terms = batch.terms
    header = {
        "format": FORMAT,
        "version": VERSION,
        "asked": {
            "guarantee": terms.guarantee if terms.objective == "level" else None,
            "guarantee_for": terms.guarantee_for,
            "n_options": terms.n_options,
            "objective": terms.objective,
            "cost": terms.cost,
        },
        "assumptions": {
            "favourable": as_json(terms.favourable),
            "threshold": as_json(terms.threshold),
            "radius": batch.ball.radius,
            "radius_source": terms.radius_source,
            "drift": batch.ball.drift is not None,
            "guarantees_mean": GUARANTEES_MEAN,
            "in_words": assumption(batch.ball, terms),
        },
    }
    lines = ",\n".join(_dumped(entry) for entry in _applicants(batch))
    return f'{_dumped(header)[:-1]}, "applicants": [\n{lines}\n]}}\n'


def _dumped(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def _applicants(batch: "PlanBatch") -> list[dict[str, Any]]:
    factuals = _columns(batch.applicants)
    options = _options(batch, factuals)
    ends = np.cumsum(batch.counts)
    entries = []
    for i, label in enumerate(batch.applicants.index):
        own = options[ends[i] - batch.counts[i] : ends[i]]
        entries.append(
            {
                "applicant": as_json(label),
                "status": str(batch.status[i]),
                "message": batch.message[i],
                "factual": {name: cells[i] for name, cells in factuals.items()},
                "options": own,
                "all": float(batch.lower[i]) if own else None,
                "any": float(batch.any_lower[i]) if own else None,
                "upper": float(batch.upper[i]) if own else None,
                "highest_level": as_json(batch.highest_level[i]),
            }
        )
    return entries


def _options(batch: "PlanBatch", factuals: dict[str, list[Any]]) -> list[dict[str, Any]]:
    flags = changed_cells(batch.applicants.iloc[batch.owner], batch.options)
    changes: list[list[dict[str, Any]]] = [[] for _ in batch.owner]
    for k, name in enumerate(factuals):
        rows = np.flatnonzero(flags[:, k])
        for row, cell in zip(rows.tolist(), cells_of(batch.options.iloc[rows, k]), strict=True):
            before = factuals[name][batch.owner[row]]
            changes[row].append({"feature": name, "from": before, "to": as_json(cell)})
    efforts, weights = batch.effort.tolist(), batch.option_weights.tolist()
    numbers, guarantees = option_numbers(batch).tolist(), batch.option_lower.tolist()
    return [
        {
            "option": numbers[i],
            "changes": changes[i],
            "effort": as_json(efforts[i]),
            "guarantee": guarantees[i],
            "accepted": bool(batch.accepted[i]),
            "weight": as_json(weights[i]),
        }
        for i in range(len(batch.owner))
    ]


def _columns(table: "pd.DataFrame") -> dict[str, list[Any]]:
    """Columns of a table as lists of what JSON holds."""
    return {str(name): [as_json(cell) for cell in cells_of(table[name])] for name in table.columns}
