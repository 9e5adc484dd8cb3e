"""Old names of modules, exports and properties, for one release; using one warns with the new name."""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NEW_NAMES = {
    "copa.adapters": "copa.external",
    "copa.metrics": "copa.analysis.metrics",
    "copa.models.feature_maps": "copa.models",
    "copa.moments": "copa.uncertainty",
}


class RenamedModules(MetaPathFinder, Loader):
    """Finds modules by their old names."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - of the protocol
        target: ModuleType | None = None,  # noqa: ARG002 - of the protocol
    ) -> ModuleSpec | None:
        """Find a module that has another name now."""
        return ModuleSpec(fullname, self) if fullname in NEW_NAMES else None

    def exec_module(self, module: ModuleType) -> None:
        """Give an old module the names of the new one."""
        new_name = NEW_NAMES[module.__name__]
        warn_renamed(module.__name__, new_name)
        new = import_module(new_name)
        module.__doc__ = new.__doc__
        module.__dict__["__getattr__"] = partial(getattr, new)


def find_renamed_modules() -> None:
    """Make the old names of modules known to the import system, once."""
    if not any(isinstance(finder, RenamedModules) for finder in sys.meta_path):
        sys.meta_path.append(RenamedModules())


def renamed_exports(module: str, new_names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a module some of whose names have changed, by old name.

    Parameters
    ----------
    module : str
        Its `__name__`.
    new_names : mapping of str to str
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - the module takes it as its own
        if name not in new_names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn_renamed(f"{module}.{name}", f"{module}.{new_names[name]}")
        return getattr(sys.modules[module], new_names[name])

    return __getattr__


def renamed_property(old: str, *new: str, joined: Callable[..., Any] | None = None) -> property:
    """Return a property with an old name that gives the value of the new one, or several `joined`."""

    def get(self: Any) -> Any:
        owner = type(self).__name__
        warn_renamed(f"{owner}.{old}", " and ".join(f"{owner}.{name}" for name in new))
        values = [getattr(self, name) for name in new]
        return values[0] if joined is None else joined(*values)

    return property(get, doc=f"Old name of {' and '.join(f'`{name}`' for name in new)}.")


def warn_renamed(old: str, new: str) -> None:
    """Warn, at the place that called the caller, that something has another name now."""
    message = f"{old} is now {new}; the old name goes with the next release"
    warnings.warn(message, FutureWarning, stacklevel=3)
