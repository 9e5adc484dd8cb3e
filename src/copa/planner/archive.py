"""The file of a planner: its format, and the settings in it."""

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from copa._core.formats import Archive, Format, require_known_entries
from copa.exceptions import DataError

FORMAT = Format(
    "copa-planner",
    what="a saved planner",
    content="planner.json",
    versions=(1, 2),  # of files for linear models, which older copies of copa read as well, and of the others
    arrays=r"theta|mean|cov|directions|drift|scores|rows/.+",
    members=r"refits/[0-9]{4,6}\.(?:skops|npz)",
    digest=False,
)
damaged = FORMAT.damaged


def require_parts(archive: Archive, parts: tuple[str, ...], arrays: tuple[str, ...], path: str | Path) -> None:
    """Raise if a file lacks an entry of its JSON or an array."""
    missing = [name for name in parts if name not in archive.content]
    missing += [name for name in arrays if name not in archive.arrays]
    if missing:
        raise damaged(path, f"it lacks {', '.join(missing)}; save it again")


# Settings that are not written: the model is not ours to save, and the rest is in the fitted state.
NOT_SAVED = ("model", "schema", "moments", "radius", "drift", "ambiguity")


def pack_settings(planner: Any) -> dict[str, Any]:
    """The settings, as JSON has them."""
    given = planner.get_params(deep=False).items()
    return {name: _plain(value) for name, value in given if name not in NOT_SAVED}


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


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
