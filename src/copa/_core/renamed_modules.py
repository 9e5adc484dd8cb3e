"""Old names of modules, for one release: importing one warns and gives what the new module has."""

import sys
import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

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
        warnings.warn(
            f"{module.__name__} is now {new_name}; the old name goes with the next release",
            FutureWarning,
            stacklevel=2,
        )
        new = import_module(new_name)
        module.__doc__ = new.__doc__
        module.__dict__["__getattr__"] = partial(getattr, new)


def find_renamed_modules() -> None:
    """Make the old names of modules known to the import system, once."""
    if not any(isinstance(finder, RenamedModules) for finder in sys.meta_path):
        sys.meta_path.append(RenamedModules())
