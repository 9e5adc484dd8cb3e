"""What a planner for a black box knows, in its file: the refits, and rows by which the model is known again."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import listed
from copa.exceptions import DataError, InvalidInputError
from copa.models.black_box import BlackBox
from copa.models.similar_fits import NotAlikeError, Pattern
from copa.models.storage import UntrustedTypesError, pack_estimator, storable, unpack_estimator, untrusted_types
from copa.planner.archive import Archive, damaged
from copa.planner.strategies.black_box_state import BlackBoxPlanner, local_space
from copa.planner.strategies.lime import VARIANCE, LimePlanner
from copa.schema import FeatureSchema
from copa.tables.packing import pack_frame, unpack_frame
from copa.uncertainty.score_retraining import standard_ball

if TYPE_CHECKING:
    import pandas as pd


WHOLE, DIFFERENCES = "skops", "npz"
FEWEST = 2  # refits that a planner has for the moments, and held out


def pack_refits(fits: Sequence[BlackBox], rows: "pd.DataFrame") -> dict[str, bytes]:
    """Members of the file, by name.

    Parameters
    ----------
    fits : at least one
    rows : on which a refit that was taken apart must say what it said before
    """
    first = pack_estimator(fits[0].estimator)
    pattern = Pattern(_loaded_again(first))
    members = {_member(0, WHOLE): first}
    for k, fit in enumerate(fits[1:], start=1):
        raw = _differences(pattern, fit, rows)
        members |= {_member(k, WHOLE): pack_estimator(fit.estimator)} if raw is None else {_member(k, DIFFERENCES): raw}
    return members


def _member(k: int, kind: str) -> str:
    return f"refits/{k:04d}.{kind}"


def _loaded_again(raw: bytes) -> Any:
    """What skops makes of its own file: it keeps the names of functions, and not all of them can be found again."""
    try:
        return unpack_estimator(raw, untrusted_types(raw))
    except DataError as error:
        raise InvalidInputError(
            f"the model's refits cannot be loaded again by skops: {error}. Give the functions in the model a module "
            "and a name of their own"
        ) from error


def _differences(pattern: Pattern, fit: BlackBox, rows: "pd.DataFrame") -> bytes | None:
    """What the refit has that the pattern has not; None where that does not say all of it."""
    try:
        raw = pattern.pack(storable(fit.estimator))
    except NotAlikeError:
        return None
    again = fit.replaced(pattern.unpack(raw))
    return raw if np.array_equal(again.scores(rows), fit.scores(rows), equal_nan=True) else None


def unpack_refits(archive: Archive, model: BlackBox, path: str | Path) -> tuple[tuple[BlackBox, ...], int]:
    """The refits, of no other types than the model in force, whose types its owner trusts; and how many were retrained.

    The others are those held out.
    """
    trusted = untrusted_types(pack_estimator(model.estimator))
    try:
        n_retrained, n_held_out = (int(number) for number in archive.content["refits"])
        pattern = Pattern(unpack_estimator(archive.members[_member(0, WHOLE)], trusted, archive.budget))
        fits = [pattern.estimator, *(_refit(archive, k, pattern, trusted) for k in range(1, n_retrained + n_held_out))]
    except UntrustedTypesError as error:
        raise DataError(
            f"the refits in {path} hold parts that neither scikit-learn nor the model given has: {listed(error.types)}"
        ) from error
    except DataError as error:
        raise damaged(path, f"a refit: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, f"it lacks refits ({error}); save it again") from error
    if min(n_retrained, n_held_out) < FEWEST:
        raise damaged(path, f"{n_retrained} and {n_held_out} refits are too few")
    return tuple(model.replaced(fit) for fit in fits), n_retrained


def _refit(archive: Archive, k: int, pattern: Pattern, trusted: list[str]) -> Any:
    if _member(k, DIFFERENCES) in archive.members:
        return pattern.unpack(archive.members[_member(k, DIFFERENCES)], archive.budget)
    return unpack_estimator(archive.members[_member(k, WHOLE)], trusted, archive.budget)


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
