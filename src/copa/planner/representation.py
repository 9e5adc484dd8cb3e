"""Representations of a planner: one line, and a short table for a notebook."""

from typing import Any

from copa._core.html import facts_html
from copa._core.words import counted, shown
from copa.data.schema import FeatureSchema
from copa.plans.wording import WHOM

ASKED = ("guarantee", "guarantee_for", "n_options")  # shown in the line, whatever their values are


def planner_line(planner: Any) -> str:
    """Return the kind of the model, the request, and the kind of strategy fitted, in one line."""
    parts = [model_words(planner.model), *(f"{name}={shown(getattr(planner, name))}" for name in ASKED)]
    strategy = getattr(planner, "strategy_", None)
    parts.append("not fitted" if strategy is None else f"fitted: {strategy.kind}")
    return f"{type(planner).__name__}({', '.join(parts)})"


def planner_html(planner: Any) -> str:
    """Return a table of the model, the request, and the assumptions about the next models."""
    rows = [
        ("model", model_words(planner.model)),
        (
            "asked for",
            f"{shown(planner.guarantee)} for {WHOM.get(planner.guarantee_for, shown(planner.guarantee_for))}",
        ),
        ("options", f"up to {shown(planner.n_options)} per applicant"),
    ]
    strategy = getattr(planner, "strategy_", None)
    if strategy is None:
        return facts_html("RecoursePlanner, not fitted", [*rows, *_schema(planner.schema)])
    ambiguity = strategy.ambiguity(int(planner.n_options))
    rows += [
        ("favourable answer", shown(strategy.model.favourable)),
        *_schema(strategy.schema),
        ("next models", f"a distribution {ambiguity.in_words()}"),
        ("radius", strategy.radius_source),
    ]
    if strategy.n_rows is not None:
        rows.append(("training data", counted(strategy.n_rows, "row")))
    return facts_html(f"RecoursePlanner, fitted ({strategy.kind} model)", rows)


def model_words(model: Any) -> str:
    """Return the name of a model's class, and of its classifier."""
    steps = getattr(model, "steps", None)
    return type(model).__name__ if not steps else f"{type(model).__name__} with {type(steps[-1][1]).__name__}"


def _schema(schema: Any) -> list[tuple[str, str]]:
    if schema is None:
        return [("schema", "inferred when fitted")]
    told = repr(schema) if isinstance(schema, FeatureSchema) else f"from {shown(schema)}"
    return [("schema", told.removeprefix("FeatureSchema(").removesuffix(")"))]
