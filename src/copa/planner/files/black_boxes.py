"""What a planner for a black box knows, in its file: the refits, and rows by which the model is known again."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.exceptions import InvalidInputError
from copa.models.black_box import BlackBox
from copa.planner.black_boxes.lime import VARIANCE, LimePlanner
from copa.planner.black_boxes.promises import standard_ball
from copa.planner.black_boxes.state import BlackBoxPlanner, local_space
from copa.planner.files.archive import Archive, damaged
from copa.planner.files.refits import pack_refits, unpack_refits
from copa.plans.frames import pack_frame, unpack_frame
from copa.schema import FeatureSchema

if TYPE_CHECKING:
    import pandas as pd

VERSION = 2
PARTS = ("settings", "schema", "columns", "radius", "radius_source", "power", "seed", "sharpest", "refits", "rows")
ARRAYS = ("scores",)
CHANGED = 1e-5  # difference of a score from which on it is another model's: beyond what single precision loses


def pack(fitted: BlackBoxPlanner | LimePlanner) -> Archive:
    """What is written besides what all planners have."""
    arrays: dict[str, Any] = {}
    rows, arrays["scores"] = _known_rows(fitted.model)
    fits = None if isinstance(fitted, LimePlanner) else (fitted.retrained, fitted.held_out)
    content = {
        "seed": fitted.seed,
        "sharpest": fitted.model.sharpest,
        "refits": None if fits is None else [len(some) for some in fits],
        "rows": pack_frame(rows, "rows", arrays),
    }
    return Archive(content, arrays, {} if fits is None else pack_refits([*fits[0], *fits[1]], rows))


def _known_rows(model: BlackBox) -> tuple["pd.DataFrame", Any]:
    """Those of the model's typical rows that it can read, with its scores of them."""
    rows = model.typical
    if rows is None:
        raise InvalidInputError("this planner was fitted by an older copa; fit it again to save it")
    try:
        return rows, model.scores(rows)
    except Exception:  # noqa: BLE001 - a model raises what it likes; the rows are a mix, and need not make sense to it
        kept = [k for k in range(len(rows)) if _reads(model, rows.iloc[[k]])]
    return rows.iloc[kept].reset_index(drop=True), model.scores(rows.iloc[kept])


def _reads(model: BlackBox, row: "pd.DataFrame") -> bool:
    try:
        model.scores(row)
    except Exception:  # noqa: BLE001 - as above
        return False
    return True


def unpack(
    archive: Archive, schema: FeatureSchema, model: Any, path: str | Path
) -> tuple[BlackBoxPlanner | LimePlanner, dict[str, Any]]:
    """What the planner knows, and the settings that come with it; an error for another model than its own."""
    content, settings = archive.content, archive.content["settings"]
    common = _common(content, schema, path)
    box = BlackBox.read(model, content["columns"], threshold=settings["threshold"], favourable=settings["favourable"])
    box = replace(box, sharpest=float(content["sharpest"]))
    common["model"] = box = replace(box, typical=_require_same(box, archive, path))
    ball = common["ball"]
    if content["refits"] is None:
        return LimePlanner(**common), {"radius": ball.radius * float(np.sqrt(VARIANCE))}
    fits, n_retrained = unpack_refits(archive, box, path)
    planner = BlackBoxPlanner(**common, retrained=fits[:n_retrained], held_out=fits[n_retrained:])
    return planner, {"radius": ball.radius}


def _common(content: dict[str, Any], schema: FeatureSchema, path: str | Path) -> dict[str, Any]:
    """What all planners for a model that is only asked have, but the model; an error where a number is none."""
    try:
        power, seed, sharpest = int(content["power"]), int(content["seed"]), float(content["sharpest"])
        ball = standard_ball(int(content["settings"]["n_options"]), float(content["radius"]))
        good = power in (1, 2) and seed >= 0 and 0.0 < sharpest < 0.5
        good &= (content["refits"] is None) == (content["settings"]["surrogate"] == "lime")
        good &= isinstance(content["columns"], list)
        space = local_space(schema, power)
    except (TypeError, ValueError) as error:
        raise damaged(path, error) from error
    if not good:
        raise damaged(path, "its numbers are not those of a planner")
    return {"space": space, "ball": ball, "radius_source": str(content["radius_source"]), "seed": seed}


def _require_same(model: BlackBox, archive: Archive, path: str | Path) -> "pd.DataFrame":
    """The rows in the file, if the model says of them what it said when the planner was saved."""
    try:
        rows = unpack_frame(archive.content["rows"], "rows", archive.arrays)
    except Exception as error:  # the parts of a damaged table do not fit in many ways
        raise damaged(path, error) from error
    try:
        scores = model.scores(rows)
    except Exception as error:
        raise _other_model(path, f"it cannot read rows that the other one could ({error})") from error
    expected = archive.arrays["scores"]
    if scores.shape != expected.shape or not np.allclose(scores, expected, rtol=0.0, atol=CHANGED, equal_nan=True):
        raise _other_model(path, "its answers differ from those of the one given")
    return rows


def _other_model(path: str | Path, why: str) -> InvalidInputError:
    return InvalidInputError(
        f"the planner in {path} was fitted with another model: {why}. Fit a new planner for this model"
    )
