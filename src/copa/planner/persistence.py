"""A planner on disk: settings and schema as JSON, numbers as arrays, refits as skops has them. Nothing is executed."""

from pathlib import Path
from typing import Any

from copa._core.archive import Budget
from copa._core.files import write_atomically
from copa._core.formats import Archive
from copa.exceptions import InvalidInputError
from copa.planner.archive import FORMAT, complete_settings, pack_settings, require_parts
from copa.planner.strategies.registry import stored_strategy
from copa.schema import FeatureSchema
from copa.schema.yaml_files import with_text_keys
from copa.search.cost import COSTS
from copa.uncertainty.ambiguity import MomentBall


def save_planner(planner: Any, path: str | Path) -> None:
    """Write a fitted planner to one file, all of it or nothing."""
    write_atomically(Path(path), pack_planner(planner))


def pack_planner(planner: Any) -> bytes:
    """Return the bytes of a saved planner; for a linear model the same planner gives the same bytes."""
    fitted = planner._fitted()  # noqa: SLF001 - its own file format
    part, ambiguity = fitted.pack(), fitted.ambiguity(1)
    content = {
        "version": fitted.file_version,
        "settings": pack_settings(planner),
        "schema": with_text_keys(fitted.schema.to_dict()),
        "columns": list(fitted.model.columns),
        "radius": ambiguity.radius,
        "radius_source": fitted.radius_source,
        "power": fitted.space.prices.power,
        **part.content,
    }
    known = (stored_strategy(content), MomentBall, *COSTS.values())
    for part_of_it in (fitted, ambiguity, fitted.space.cost):
        if type(part_of_it) not in known:
            name = type(part_of_it).__name__
            raise InvalidInputError(
                f"a planner with a class of your own, {name}, cannot be saved: copa could not load it"
            )
    return FORMAT.pack(Archive(content, part.arrays, part.members))


def load_planner(planner_class: Any, path: str | Path, model: Any) -> Any:
    """Read a planner for the model that it was fitted with."""
    with FORMAT.errors_named(path):
        raw = Path(path).read_bytes()
    return unpack_planner(planner_class, raw, model, path=path)


def unpack_planner(
    planner_class: Any, raw: bytes, model: Any, *, path: str | Path, budget: Budget | None = None
) -> Any:
    """Read the bytes of a planner.

    Parameters
    ----------
    path : where the bytes come from, for messages
    budget : that of the file which they are inside of
    """
    archive = FORMAT.read(raw, path, budget)
    settings = complete_settings(archive.content, planner_class, path)
    require_parts(archive, ("schema",), (), path)
    schema = FeatureSchema.from_dict(archive.content["schema"])
    fitted, given = stored_strategy(archive.content).unpack(archive, schema, model, path)
    planner = planner_class(model, schema=schema, **given, **settings)
    planner.fitted_ = fitted
    return planner


__all__ = ["load_planner", "pack_planner", "save_planner", "unpack_planner"]
