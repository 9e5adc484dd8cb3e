"""The settings of a planner in its file."""

from pathlib import Path
from typing import Any

import numpy as np

from copa.planner.files.archive import damaged

# Settings that are not written: the model is not ours to save, and the rest is in the fitted state.
NOT_SAVED = ("model", "schema", "moments", "radius", "drift")


def pack_settings(planner: Any) -> dict[str, Any]:
    """The settings, as JSON has them."""
    given = planner.get_params(deep=False).items()
    return {name: _plain(value) for name, value in given if name not in NOT_SAVED}


def require_settings(content: dict[str, Any], planner_class: Any, path: str | Path) -> dict[str, Any]:
    """The settings of a file, which must be those that planners have."""
    settings = content.get("settings")
    names = planner_class._get_param_names()  # noqa: SLF001 - scikit-learn's only way to ask a class
    known = {name for name in names if name not in NOT_SAVED}
    if not isinstance(settings, dict) or set(settings) != known:
        raise damaged(path, "its settings are not those of a planner; save it again")
    return settings


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
