"""A planner in one file: settings and schema as JSON, numbers as arrays, refits and, on request, the model by skops.

The digests show that a file is as it was written; they are no signature. What keeps a forged file from doing harm is
that loading it makes objects of known types only, and runs nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa._core.formats import Archive, Format, made_with, require_known_entries
from copa.data.schema import FeatureSchema
from copa.data.schema.yaml_files import with_text_keys
from copa.data.tables.casting import KINDS, kinds_of, template_of
from copa.data.tables.packing import pack_frame, unpack_frame
from copa.exceptions import DataError
from copa.models.refits.history import Past
from copa.models.storage import ForeignTypeError, UntrustedTypesError, pack_model, unpack_estimator
from copa.models.stored_fits import MEMBERS as REFITS
from copa.planner.later_models import LaterModels, read_later_models
from copa.planner.search.plausibility import ARRAYS, Plausibility
from copa.planner.strategies import STORED, SURROGATES, read_surrogate, stored_strategy
from copa.planner.strategies.base import OtherModelError, Strategy
from copa.plans.cost import COSTS, read_cost
from copa.plans.request import PaperObjective
from copa.theory.sets.set_files import KINDS as SETS

if TYPE_CHECKING:
    import pandas as pd

NOT_SAVED = ("model", "schema")  # settings that have entries of their own
MODEL = "model.skops"
PLAUSIBILITY = "plausibility/"  # what the names of its arrays begin with
ACCEPTED_ROW, REFERENCES, PAST = "accepted_row", "references", "past"


def _require_known_kinds(content: dict[str, Any]) -> None:
    require_known_entries(content["kinds"].values(), KINDS, "kind of column", content)


FORMAT = Format(
    "copa-bundle",
    what="a bundle",
    content="planner.json",
    versions=(1,),
    arrays=r"theta|mean|cov|halves|directions|irregular|drift|thirds|scores"
    r"|(rows|plausibility|accepted_row|references|trees)/.+",
    members=rf"model\.skops|{REFITS}",
    check=_require_known_kinds,
)


class StoredPlanner(NamedTuple):
    """Content of a file.

    Attributes
    ----------
    planner : RecoursePlanner
        Fitted.
    facts : dict
        What is known of the fit, for people to read.
    made_with : dict
        Versions of the packages that wrote it, by name.
    """

    planner: Any
    facts: dict[str, Any]
    made_with: dict[str, Any]


def pack_planner(
    planner: Any,
    *,
    include_model: bool = False,
    template: "pd.DataFrame | None" = None,
    facts: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the bytes of a file; for a linear model the same planner gives the same bytes.

    Parameters
    ----------
    planner : RecoursePlanner
        Fitted.
    include_model : bool
    template : DataFrame, optional
        Columns that applicants must have; None for those of the training data.
    facts : Mapping, optional
        What is known of the fit, as JSON has it.

    Raises
    ------
    ForeignTypeError
        If there are parts of types that COPA makes from no file.
    """
    strategy = planner._fitted()  # noqa: SLF001 - its own file format
    ambiguity = strategy.ambiguity(1)
    _require_known(type(ambiguity), *SETS.values())
    _require_known(type(strategy.space.cost), *COSTS.values())
    _require_known(read_surrogate(planner.surrogate), *SURROGATES.values())
    _require_known(type(strategy), *STORED.values())
    part = strategy.pack()
    content = {
        "strategy": strategy.kind,
        "settings": pack_settings(planner),
        "schema": with_text_keys(strategy.schema.to_dict()),
        "columns": list(strategy.model.columns),
        "kinds": kinds_of(planner.template_ if template is None else template),
        "facts": dict(facts or {}),
        "radius": ambiguity.radius,
        "radius_source": strategy.radius_source,
        **part.content,
    }
    arrays, members = dict(part.arrays), dict(part.members)
    plausibility = strategy.space.plausibility if planner.plausibility > 0.0 else None
    if plausibility is not None:
        arrays |= {f"{PLAUSIBILITY}{name}": array for name, array in plausibility.pack().items()}
    if strategy.past is not None:
        content[PAST] = strategy.past.to_json()
    if strategy.accepted_row is not None:
        content[ACCEPTED_ROW] = pack_frame(strategy.accepted_row, ACCEPTED_ROW, arrays)
    references = getattr(strategy, REFERENCES, None)
    if references is not None:
        content[REFERENCES] = pack_frame(references, REFERENCES, arrays)
    if include_model:
        import sklearn

        members[MODEL] = pack_model(planner.model)
        content["made_with"] = made_with() | {"scikit-learn": sklearn.__version__}
    return FORMAT.pack(Archive(content, arrays, members))


def unpack_planner(planner_class: Any, raw: bytes, path: str | Path, model: Any = None) -> StoredPlanner:
    """Read the bytes of a file.

    Parameters
    ----------
    planner_class : type
    raw : bytes
    path : str or Path
        Where the bytes come from, for messages.
    model : object, optional
        The model that the planner was fitted with; None for that in the file.
    """
    archive = FORMAT.read(raw, path)
    given = model is not None
    with FORMAT.errors_named(path, but=(OtherModelError,) if given else ()):
        content = archive.content
        model = model if given else _stored_model(archive)
        settings = complete_settings(content, planner_class)
        schema = FeatureSchema.from_dict(content["schema"])
        try:
            strategy = stored_strategy(content).unpack(archive, schema, model)
        except OtherModelError as error:
            raise OtherModelError(
                f"the planner in {path} was fitted with another model: {error}. Fit a new planner for this model"
            ) from error
        plausibility = _stored_plausibility(schema, archive)
        if plausibility is None:  # then there is nothing to judge by
            settings["plausibility"] = 0.0
        past = Past.from_json(content[PAST]) if PAST in content else None
        settings["objective"] = None if settings["objective"] is None else PaperObjective(**settings["objective"])
        settings["later_models"] = _stored_later_models(settings["later_models"], strategy, past)
        planner = planner_class(model, schema=schema, **settings)
        typical = _stored_accepted_row(strategy.model.columns, archive)
        space = replace(strategy.space, plausibility=plausibility)
        planner.strategy_ = replace(strategy, space=space, accepted_row=typical, past=past, **_references(archive))
        planner.template_ = template_of(content["kinds"])
        return StoredPlanner(planner, content["facts"], content["made_with"])


def _stored_model(archive: Archive) -> Any:
    if MODEL not in archive.members:
        raise DataError(
            "it holds no model: give RecoursePlanner.load the model that the planner was fitted with, or save the "
            "planner with include_model=True"
        )
    try:
        return unpack_estimator(archive.members[MODEL], budget=archive.budget)
    except UntrustedTypesError as error:
        raise DataError(f"no version of COPA wrote its model: {error}") from error
    except DataError as error:
        raise DataError(f"its model cannot be loaded: {error}; make the bundle again with `copa fit`") from error


def _stored_later_models(content: Any, strategy: Strategy, past: Past | None) -> LaterModels:
    """Read what was assumed of later models; a history is not in the file, only what it showed: `fit` asks for it."""
    later = LaterModels.from_dict(content)
    later = later if strategy.fixed_set is None else replace(later, ambiguity=strategy.fixed_set)
    return later if past is None else replace(later, history=())


def _stored_accepted_row(columns: tuple[str, ...], archive: Archive) -> "pd.DataFrame | None":
    """A typical accepted row; None in files without it."""
    if ACCEPTED_ROW not in archive.content:
        return None
    row = unpack_frame(archive.content[ACCEPTED_ROW], ACCEPTED_ROW, archive.arrays)
    if row.shape != (1, len(columns)) or list(row.columns) != list(columns):
        raise ValueError("its typical accepted row does not have the columns of the model")
    return row


def _references(archive: Archive) -> dict[str, "pd.DataFrame"]:
    """The declined rows that a reliability was estimated for, as a field of the strategy; nothing in other files."""
    if REFERENCES not in archive.content:
        return {}
    rows = unpack_frame(archive.content[REFERENCES], REFERENCES, archive.arrays)
    if list(rows.columns) != list(archive.content["columns"]):
        raise ValueError("its reference rows do not have the columns of the model")
    return {REFERENCES: rows}


def _stored_plausibility(schema: FeatureSchema, archive: Archive) -> Plausibility | None:
    """The rows that others are compared with; None in files without them."""
    arrays = {name.removeprefix(PLAUSIBILITY): archive.arrays[name] for name in archive.arrays if PLAUSIBILITY in name}
    return Plausibility.unpack(schema, arrays) if set(ARRAYS) & set(arrays) else None


def pack_settings(planner: Any) -> dict[str, Any]:
    """Return the settings as JSON has them: a cost and a surrogate by their words."""
    given = planner.get_params(deep=False)
    given |= {"cost": read_cost(planner.cost).name, "surrogate": read_surrogate(planner.surrogate).kind}
    given["favourable"] = planner.strategy_.model.favourable  # also where the schema names it
    given["later_models"] = read_later_models(planner.later_models).to_dict()
    given["objective"] = None if planner.objective is None else vars(planner.objective)
    return {name: _plain(value) for name, value in given.items() if name not in NOT_SAVED}


def complete_settings(content: dict[str, Any], planner_class: Any) -> dict[str, Any]:
    """Return the settings of a file, with the default of each that is not in it; the content gets them too."""
    settings = content["settings"]
    if not isinstance(settings, dict):
        raise TypeError("its settings are none")
    unset = planner_class(model=None).get_params(deep=False)
    defaults = {name: value for name, value in unset.items() if name not in NOT_SAVED}
    require_known_entries(settings, defaults, "setting", content)
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
