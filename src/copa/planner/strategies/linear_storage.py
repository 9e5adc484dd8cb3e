"""What a planner for a linear model knows, in its file: the moments of the parameters, and what each column does."""

from pathlib import Path
from typing import Any

import numpy as np

from copa.exceptions import InvalidInputError
from copa.models import Encoding, LinearModel
from copa.planner.archive import Archive
from copa.planner.fitted import FittedPlanner
from copa.schema import FeatureSchema
from copa.search.problem import ActionSpace
from copa.uncertainty.ambiguity import MomentBall

VERSION = 1
PARTS = ("settings", "schema", "columns", "radius", "radius_source", "floor", "power", "lines", "choices")
ARRAYS = ("theta", "mean", "cov", "directions")
CHANGED = 1e-9  # relative difference from which on the parameters are those of another model


def pack(fitted: FittedPlanner) -> Archive:
    """What is written besides what all planners have."""
    content = {
        "floor": fitted.floor,
        "curved": fitted.curved,
        "lines": [feature.name for feature in fitted.space.lines],
        "choices": [feature.name for feature in fitted.space.choices],
    }
    arrays = {
        "theta": fitted.model.theta,
        "mean": fitted.ball.mean,
        "cov": fitted.ball.cov,
        "directions": fitted.space.directions,
    }
    if fitted.ball.drift is not None:
        arrays["drift"] = fitted.ball.drift
    return Archive(content, arrays)


def unpack(
    archive: Archive, schema: FeatureSchema, model: Any, path: str | Path
) -> tuple[FittedPlanner, dict[str, Any]]:
    """What the planner knows, and the settings that come with it; an error for another model than its own."""
    content, arrays, settings = archive.content, archive.arrays, archive.content["settings"]
    linear = LinearModel.read(
        model, content["columns"], threshold=settings["threshold"], favourable=settings["favourable"]
    )
    if linear.theta.shape != arrays["theta"].shape or not np.allclose(
        linear.theta, arrays["theta"], rtol=CHANGED, atol=CHANGED * np.abs(arrays["theta"]).max()
    ):
        raise InvalidInputError(
            f"the planner in {path} was fitted with another model: its parameters differ from those of the one given. "
            "Fit a new planner for this model"
        )
    ball = MomentBall.read(arrays["mean"], arrays["cov"], content["radius"], arrays.get("drift"))
    space = ActionSpace.build(
        schema,
        _encoding(schema, content, arrays["directions"]),
        linear,
        mean=ball.mean,
        cov=ball.cov,
        drift=ball.drift,
        power=int(content["power"]),
    )
    source, floor, curved = content["radius_source"], float(content["floor"]), bool(content.get("curved", False))
    return FittedPlanner(linear, space, ball, source, floor, curved), {"radius": ball.radius, "drift": ball.drift}


def _encoding(schema: FeatureSchema, content: dict[str, Any], directions: Any) -> Encoding:
    """The saved directions by column."""
    lines = {name: directions[k] for k, name in enumerate(content["lines"])}
    choices, start = {}, len(lines)
    for name in content["choices"]:
        end = start + len(schema[name].values or ())
        choices[name] = directions[start:end]
        start = end
    return Encoding(lines, choices)
