"""A planner on disk: settings and schema as JSON, moments as arrays. Loading never executes anything."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from copa.bounds.ambiguity import AmbiguityBall
from copa.exceptions import DataError, InvalidInputError
from copa.models import Encoding, LinearModel
from copa.planner.fitted import FittedPlanner
from copa.planning.actions import ActionSpace
from copa.plans.files import write_atomically
from copa.schema import FeatureSchema
from copa.schema.files import with_text_keys
from copa.schema.names import shown

FORMAT, VERSION = "copa-planner", 1
# Settings that are not written: the model is not ours to save, and the rest is in the fitted state.
NOT_SAVED = ("model", "schema", "moments", "radius", "drift")
PARTS = ("settings", "schema", "columns", "radius", "radius_source", "floor", "power", "lines", "choices")
ARRAYS = ("theta", "mean", "cov", "directions")
CHANGED = 1e-9  # relative difference from which on the parameters are those of another model


def save_planner(planner: Any, path: str | Path) -> None:
    """Write a fitted planner to one file, all of it or nothing."""
    write_atomically(Path(path), pack_planner(planner))


def pack_planner(planner: Any) -> bytes:
    """Return the bytes of a saved planner; the same planner gives the same bytes."""
    fitted = planner._fitted()  # noqa: SLF001 - its own file format
    if not isinstance(fitted, FittedPlanner):
        raise InvalidInputError(
            f"a planner for {type(fitted.model.estimator).__name__} cannot be saved: what it knows are the model's "
            "refits, and files of COPA hold no code. Fit it again where it is needed, or save the plans"
        )
    settings = {name: _plain(value) for name, value in planner.get_params(deep=False).items() if name not in NOT_SAVED}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "settings": settings,
        "schema": with_text_keys(fitted.schema.to_dict()),
        "columns": list(fitted.model.columns),
        "radius": fitted.ball.radius,
        "radius_source": fitted.radius_source,
        "floor": fitted.floor,
        "power": fitted.space.power,
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
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # numpy's stub takes the arrays for its flag
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in (("planner.json", json.dumps(content, indent=1).encode()), ("arrays.npz", buffer.getvalue())):
            # A date of its own for every file would make the bytes differ.
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return whole.getvalue()


def load_planner(planner_class: Any, path: str | Path, model: Any) -> Any:
    """Read a planner for the model that it was fitted with."""
    content, arrays = _read(Path(path))
    _require_parts(content, arrays, planner_class, path)
    schema = FeatureSchema.from_dict(content["schema"])
    settings = content["settings"]
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
    ball = AmbiguityBall.read(arrays["mean"], arrays["cov"], content["radius"], arrays.get("drift"))
    space = ActionSpace.build(
        schema,
        _encoding(schema, content, arrays["directions"]),
        linear,
        mean=ball.mean,
        cov=ball.cov,
        drift=ball.drift,
        power=int(content["power"]),
    )
    planner = planner_class(model, schema=schema, radius=ball.radius, drift=ball.drift, **settings)
    source, floor, curved = content["radius_source"], float(content["floor"]), bool(content.get("curved", False))
    planner.fitted_ = FittedPlanner(linear, space, ball, source, floor, curved)
    return planner


def _encoding(schema: FeatureSchema, content: dict[str, Any], directions: Any) -> Encoding:
    """The saved directions by column."""
    lines = {name: directions[k] for k, name in enumerate(content["lines"])}
    choices, start = {}, len(lines)
    for name in content["choices"]:
        end = start + len(schema[name].values or ())
        choices[name] = directions[start:end]
        start = end
    return Encoding(lines, choices)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            content = json.loads(archive.read("planner.json"))
            with np.load(io.BytesIO(archive.read("arrays.npz")), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
    except MemoryError:
        raise
    except OSError as error:
        raise DataError(f"the planner {path} cannot be read: {error.strerror or error}") from error
    except Exception as error:  # a damaged file can go wrong anywhere, and means the same wherever it does
        raise DataError(f"{path} is not a saved planner, or is damaged: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path} is not a saved planner")
    if content.get("version") != VERSION:
        raise DataError(
            f"{path} is of version {shown(content.get('version'))}, this copa reads version {VERSION}: "
            "update copa-recourse"
        )
    return content, arrays


def _require_parts(content: dict[str, Any], arrays: dict[str, Any], planner_class: Any, path: str | Path) -> None:
    """Raise if something is missing from a file, or there are settings that no planner has."""
    missing = [name for name in PARTS if name not in content] + [name for name in ARRAYS if name not in arrays]
    settings = content.get("settings")
    names = planner_class._get_param_names()  # noqa: SLF001 - scikit-learn's only way to ask a class
    known = {name for name in names if name not in NOT_SAVED}
    if missing or not isinstance(settings, dict) or set(settings) != known:
        what = f"it lacks {', '.join(missing)}" if missing else "its settings are not those of a planner"
        raise DataError(f"{path} is not a saved planner, or is damaged: {what}; save it again")


def _plain(value: Any) -> Any:
    """A setting as JSON has it."""
    return value.item() if isinstance(value, np.generic) else value
