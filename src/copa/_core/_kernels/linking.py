"""How an entry point and the functions it calls become one piece of machine code.

Numba optimises every compiled function together with all that it calls, and makes machine code of it, before it is
linked into its callers, where both are done again: a function six calls below an entry point is optimised and
translated seven times. Here functions below the entry points stay plain LLVM code until an entry point is finished.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class PartLibrary(JITCodeLibrary):
    """The code of a function that others link in; it is optimised and translated only if someone asks for its address.

    `_own` and `_whole` are None until someone asks for them.
    """

    _own: Any = None
    _whole: Any = None

    def finalize(self) -> None:
        """Take no more code, and leave it as it is."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def own_module(self) -> Any:
        """The function's own code without that of the functions it calls, fit to be linked many times."""
        self._ensure_finalized()
        if self._own is None:
            self._own = self._final_module.clone()
            for function in self._own.functions:
                if not function.is_declaration and function.linkage == llvm.Linkage.external:
                    function.linkage = "linkonce_odr"
        return self._own

    def _get_module_for_linking(self) -> Any:
        """All the code that is needed: for callers that are not compiled in this way."""
        if self._shared_module is None:
            self._shared_module = self.own_module().clone()
            for part in needed_by([self])[1:]:
                self._shared_module.link_in(module_of(part), preserve=True)
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> Any:
        """Address of a function of this library, 0 where it has none of that name."""
        self._ensure_finalized()
        if is_collecting(self._codegen):  # on the way to an entry point: nothing is called from Python
            return 0
        if all(function.name != name or function.is_declaration for function in self._final_module.functions):
            return 0
        if self._whole is None:
            self._whole = JITCodeLibrary(self._codegen, self.name)
            self._whole._final_module.link_in(self._final_module, preserve=True)
            link(self._whole, needed_by([self])[1:])
            self._whole.finalize()
        return self._whole.get_pointer_to_function(name)


class EntryLibrary(JITCodeLibrary):
    """The code of an entry point: that of all functions it needs is linked in, each once, and then translated."""

    def finalize(self) -> None:
        """Link, optimise and translate."""
        self._raise_if_finalized()
        link(self, needed_by(self._linking_libraries))
        super().finalize()


def needed_by(libraries: list[Any]) -> list[Any]:
    """All libraries that the given ones need, themselves included, each once."""
    found: dict[Any, None] = {}
    waiting = list(reversed(libraries))
    while waiting:
        library = waiting.pop()
        if library in found:
            continue
        found[library] = None
        if isinstance(library, PartLibrary):
            waiting.extend(reversed(library._linking_libraries))
    return list(found)


def module_of(library: Any) -> Any:
    """The LLVM code of a library that is linked into another."""
    return library.own_module() if isinstance(library, PartLibrary) else library._get_module_for_linking()


def link(library: Any, needed: list[Any]) -> None:
    """Link the code of the libraries needed into a library, each once."""
    for part in needed:
        if hasattr(library, "_reload_init"):  # from Numba 0.61 on
            library._reload_init.update(part._reload_init)
        library._final_module.link_in(module_of(part), preserve=True)
    library._linking_libraries = []


def is_collecting(codegen: Any) -> bool:
    """Whether what is compiled now is a part."""
    return codegen._library_class is PartLibrary


@contextmanager
def parts_below(codegen: Any) -> Iterator[None]:
    """Within the block, every function that is compiled is a part."""
    before, set_env = codegen._library_class, type(codegen).set_env

    def set_known_env(name: str, env: Any) -> None:
        """Parts have no address yet to which their environment could be written."""
        if codegen._engine.is_symbol_defined(name):
            set_env(codegen, name, env)

    codegen._library_class, codegen.set_env = PartLibrary, set_known_env
    try:
        yield
    finally:
        codegen._library_class = before
        del codegen.set_env


class EntryCompiler(Compiler):
    """Numba's compiler, for an entry point: all that is compiled on the way is a part."""

    library_class: type[JITCodeLibrary] = EntryLibrary

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        if library is None:
            library = self.library_class(targetctx.codegen(), "entry")
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *others)

    def _compile_core(self) -> Any:
        codegen = self.state.targetctx.codegen()
        if is_collecting(codegen):
            return super()._compile_core()
        with parts_below(codegen):
            return super()._compile_core()
