"""A planner on disk: settings and schema as JSON, numbers as arrays, refits as skops has them. Nothing is executed."""

from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.archive import Budget
from copa._core.files import write_atomically
from copa._core.formats import Archive, require_known_entries
from copa.data.schema import FeatureSchema
from copa.data.schema.yaml_files import with_text_keys
from copa.data.tables.packing import pack_frame, unpack_frame
from copa.exceptions import DataError, InvalidInputError
from copa.models.refits.history import Past
from copa.planner.later_models import LaterModels, read_later_models
from copa.planner.search.plausibility import ARRAYS, Plausibility
from copa.planner.strategies import STORED, SURROGATES, read_surrogate, stored_strategy
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.storage import FORMAT, damaged, require_parts
from copa.plans.cost import COSTS, read_cost
from copa.plans.request import PaperObjective
from copa.theory.sets.set_files import KINDS

if TYPE_CHECKING:
    import pandas as pd

# Settings that are not written: the model is not ours to save, and the rest is in the fitted state.
NOT_SAVED = ("model", "schema")

PLAUSIBILITY = "plausibility/"  # what the names of its arrays begin with
ACCEPTED_ROW, PAST = "accepted_row", "past"


class ForeignTypeError(InvalidInputError):
    """A planner or its model has parts of types that COPA makes from no file."""


def save_planner(planner: Any, path: str | Path) -> None:
    """Write a fitted planner to one file, all of it or nothing."""
    write_atomically(Path(path), pack_planner(planner))


def pack_planner(planner: Any) -> bytes:
    """Return the bytes of a saved planner; for a linear model the same planner gives the same bytes."""
    fitted = planner._fitted()  # noqa: SLF001 - its own file format
    ambiguity = fitted.ambiguity(1)
    _require_known(type(ambiguity), *KINDS.values())
    _require_known(type(fitted.space.cost), *COSTS.values())
    _require_known(read_surrogate(planner.surrogate), *SURROGATES.values())
    part = fitted.pack()
    content = {
        "strategy": fitted.kind,
        "settings": pack_settings(planner),
        "schema": with_text_keys(fitted.schema.to_dict()),
        "columns": list(fitted.model.columns),
        "radius": ambiguity.radius,
        "radius_source": fitted.radius_source,
        "power": fitted.space.prices.power,
        **part.content,
    }
    _require_known(type(fitted), *STORED.values())
    known = fitted.space.plausibility if planner.plausibility > 0.0 else None
    arrays = dict(part.arrays)
    arrays |= {} if known is None else {f"{PLAUSIBILITY}{name}": array for name, array in known.pack().items()}
    if fitted.past is not None:
        content[PAST] = fitted.past.to_json()
    if fitted.accepted_row is not None:
        content[ACCEPTED_ROW] = pack_frame(fitted.accepted_row, ACCEPTED_ROW, arrays)
    return FORMAT.pack(Archive(content, arrays, part.members))


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
    planner_class : type
    raw : bytes
    model : object
        The model that the planner was fitted with.
    path : str or Path
        Where the bytes come from, for messages.
    budget : Budget, optional
        That of the file which they are inside of.
    """
    archive = FORMAT.read(raw, path, budget)
    settings = complete_settings(archive.content, planner_class, path)
    require_parts(archive, ("schema",), (), path)
    schema = FeatureSchema.from_dict(archive.content["schema"])
    fitted = stored_strategy(archive.content).unpack(archive, schema, model, path)
    settings["favourable"] = _plain(fitted.model.favourable)  # older files left it to the order of the labels
    known = _unpack_plausibility(schema, archive, path)
    if known is None:  # then there is nothing to judge by
        settings["plausibility"] = 0.0
    past = _unpack_past(archive, path)
    settings["objective"] = _unpack_objective(settings["objective"], path)
    settings["later_models"] = _unpack_later_models(settings["later_models"], fitted, past, path)
    planner = planner_class(model, schema=schema, **settings)
    typical = _unpack_accepted_row(fitted.model.columns, archive, path)
    space = replace(fitted.space, plausibility=known)
    planner.strategy_ = replace(fitted, space=space, accepted_row=typical, past=past)
    return planner


def _unpack_past(archive: Archive, path: str | Path) -> Past | None:
    """What a history has shown; None in files of planners without one, and of earlier versions."""
    if PAST not in archive.content:
        return None
    try:
        return Past.from_json(archive.content[PAST])
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError, InvalidInputError) as error:
        raise damaged(path, error) from error


def _unpack_later_models(content: Any, fitted: Strategy, past: Past | None, path: str | Path) -> LaterModels:
    """What was assumed of later models; of a history only what it showed is in the file, so `fit` asks for it again."""
    try:
        later = LaterModels.from_dict(content)
        later = later if fitted.fixed_set is None else replace(later, ambiguity=fitted.fixed_set)
        return later if past is None else replace(later, history=())
    except (AttributeError, KeyError, TypeError, ValueError, InvalidInputError) as error:
        raise damaged(path, error) from error


def _unpack_objective(content: Any, path: str | Path) -> PaperObjective | None:
    try:
        return None if content is None else PaperObjective(**content)
    except (TypeError, InvalidInputError) as error:
        raise damaged(path, error) from error


def _unpack_accepted_row(columns: tuple[str, ...], archive: Archive, path: str | Path) -> "pd.DataFrame | None":
    """What is typical of accepted training rows; None in files without it."""
    if ACCEPTED_ROW not in archive.content:
        return None
    try:
        row = unpack_frame(archive.content[ACCEPTED_ROW], ACCEPTED_ROW, archive.arrays)
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise damaged(path, error) from error
    if row.shape != (1, len(columns)) or list(row.columns) != list(columns):
        raise damaged(path, "its row that is typical of those accepted does not have the columns of the model")
    return row


def _unpack_plausibility(schema: FeatureSchema, archive: Archive, path: str | Path) -> Plausibility | None:
    """The rows that others are compared with; None in files without them."""
    arrays = {name.removeprefix(PLAUSIBILITY): array for name, array in archive.arrays.items()}
    found = {name: arrays[name] for name in ARRAYS if f"{PLAUSIBILITY}{name}" in archive.arrays}
    if not found:
        return None
    try:
        return Plausibility.unpack(schema, found)
    except (DataError, KeyError) as error:
        raise damaged(path, error) from error


def pack_settings(planner: Any) -> dict[str, Any]:
    """The settings, as JSON has them: a cost and a surrogate by their words."""
    given = planner.get_params(deep=False)
    given |= {"cost": read_cost(planner.cost).name, "surrogate": read_surrogate(planner.surrogate).kind}
    given["favourable"] = planner.strategy_.model.favourable  # also where the schema names it
    given["later_models"] = read_later_models(planner.later_models).to_dict()
    given["objective"] = None if planner.objective is None else vars(planner.objective)
    return {name: _plain(value) for name, value in given.items() if name not in NOT_SAVED}


def complete_settings(content: dict[str, Any], planner_class: Any, path: str | Path) -> dict[str, Any]:
    """The settings of a file, with the default of each that there was not yet when it was written.

    They also take the place of those in the content.
    """
    settings = content.get("settings")
    if not isinstance(settings, dict):
        raise damaged(path, "it lacks settings; save it again")
    parameters = signature(planner_class.__init__).parameters
    names = planner_class._get_param_names()  # noqa: SLF001 - scikit-learn's only way to ask a class
    defaults = {name: parameters[name].default for name in names if name not in NOT_SAVED}
    try:
        require_known_entries(settings, defaults, "setting", content)
    except DataError as error:
        raise DataError(f"the planner {path} cannot be read: {error}") from error
    content["settings"] = defaults | settings
    return dict(content["settings"])


def _require_known(used: type, *known: type) -> None:
    """Raise for a class of the caller's own."""
    if used not in known:
        raise ForeignTypeError(
            f"a planner with a class of your own, {used.__name__}, cannot be saved: copa could not load it"
        )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
