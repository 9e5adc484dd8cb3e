"""From a kernel's Python source to an object file for a processor level.

Numba makes LLVM code of an entry point and of all it calls, without wrappers for Python and without looking at the
processor that it runs on. That code is optimised and translated here, once per level, position-independent.
"""

import pickle
import re
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba import njit, types
from numba.core.codegen import AOTCPUCodegen
from numba.core.compiler import DEFAULT_FLAGS  # noqa: F401 - fails early with a Numba whose compiler is elsewhere

from copa._core._kernels import linking
from copa._core._kernels.compiling import EntryPoint, allocating

SHIM = Path(__file__).with_name("shim.ll")
PREFIX = "copa_"
LETTERS = {types.float64: "f", types.int64: "i", types.boolean: "b"}
SLOTS = {"f": "double", "i": "i64", "b": "i64"}
ITEM_SIZES = {"f": 8, "i": 8, "b": 1}


class CollectedLibrary(linking.EntryLibrary):
    """The LLVM code of an entry point and all it needs, not optimised for this processor and not loaded."""

    def finalize(self) -> None:
        """Link, and leave the code as it is."""
        self._raise_if_finalized()
        linking.link(self, linking.needed_by(self._linking_libraries))
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, _: str) -> int:
        """No function is loaded."""
        return 0


class CollectingCompiler(linking.EntryCompiler):
    """Numba's compiler up to LLVM code."""

    library_class = CollectedLibrary


def arguments_of(entry: EntryPoint) -> list[str]:
    """What an entry point takes, tuples spelt out: `f`, `i` or `b`, and for arrays the number of axes."""
    return [letters for argument in entry.types for letters in _letters(argument)]


def _letters(kind: Any) -> list[str]:
    if isinstance(kind, types.BaseTuple):
        return [letters for field in kind.types for letters in _letters(field)]
    if isinstance(kind, types.Array):
        if kind.layout != "C":
            raise TypeError(f"kernels take contiguous arrays, not {kind}")
        return [f"{LETTERS[kind.dtype]}{kind.ndim}"]
    return [LETTERS[kind]]


def collect(entry: EntryPoint) -> bytes:
    """LLVM bitcode of an entry point, with one function to be called from outside."""
    options = {**allocating, "pipeline_class": CollectingCompiler}
    compiled = njit(entry.signature, **options)(entry.py_func)
    (result,) = compiled.overloads.values()
    result.library._ensure_finalized()
    code = without_places(str(result.library._final_module))
    module = llvm.parse_assembly(code)
    name = result.fndesc.llvm_func_name
    module.link_in(llvm.parse_assembly(wrapper(entry, module.get_function(name))))
    wanted = PREFIX + entry.py_func.__name__
    for item in [*module.functions, *module.global_variables]:
        if not item.is_declaration and item.name != wanted:
            item.linkage = "internal"
    module.verify()
    return bytes(module.as_bitcode())


def without_places(code: str) -> str:
    """Keep of every exception that a kernel may raise its name: pickles hold names of files on this machine."""

    def named(found: re.Match[str]) -> str:
        data = re.sub(rb"\\([0-9A-F]{2})", lambda byte: bytes([int(byte[1], 16)]), found[2].encode("latin-1"))
        kind = pickle.loads(data)[0]  # noqa: S301 - what Numba wrote just now
        name = kind.__name__
        return f'{found[1]} [{len(name) + 1} x i8] c"{name}\\00"'

    pickled = r'(@\.const\.pickledata\.[0-9a-f]+ = internal constant) \[\d+ x i8\] c"([^"]*)"'
    code = re.sub(pickled, named, code)
    code = re.sub(r'(\.sha1 = internal constant \[20 x i8\]) c"[^"]*"', r"\1 zeroinitializer", code)
    return re.sub(r"(@\.const\.picklebuf\.[^\n]* \{ ptr @[^\s,]+, i32) \d+", r"\1 0", code)


def wrapper(entry: EntryPoint, function: Any) -> str:
    """LLVM code of the function that is called from outside: it takes the address of a table with all arguments.

    The table has eight bytes for each number and for each array its address and the length of its axes. What comes
    back is no address, or that of the name of an exception.
    """
    lines: list[str] = []
    passed = ["ptr %result", "ptr %error"]
    slot = 0

    def read(kind: str) -> str:
        nonlocal slot
        lines.append(f"  %place{slot} = getelementptr i64, ptr %table, i64 {slot}")
        lines.append(f"  %slot{slot} = load {kind}, ptr %place{slot}")
        slot += 1
        return f"%slot{slot - 1}"

    for position, letters in enumerate(arguments_of(entry)):
        kind, axes = letters[0], letters[1:]
        if not axes:
            value = read(SLOTS[kind])
            if kind == "b":
                lines.append(f"  %flag{position} = trunc i64 {value} to i8")
                value = f"%flag{position}"
            passed.append(f"{'i8' if kind == 'b' else SLOTS[kind]} {value}")
            continue
        data, shape = read("ptr"), [read("i64") for _ in range(int(axes))]
        strides, width = [], str(ITEM_SIZES[kind])
        for axis in reversed(range(int(axes))):
            strides.insert(0, width)
            lines.append(f"  %width{position}.{axis} = mul i64 {width}, {shape[axis]}")
            width = f"%width{position}.{axis}"
        lines.append(f"  %items{position} = udiv exact i64 {width}, {ITEM_SIZES[kind]}")
        passed += ["ptr null", "ptr null", f"i64 %items{position}", f"i64 {ITEM_SIZES[kind]}", f"ptr {data}"]
        passed += [f"i64 {number}" for number in [*shape, *strides]]
    expected = [str(argument.type) for argument in function.arguments]
    if [argument.split()[0] for argument in passed] != expected:
        raise TypeError(f"Numba passes the arguments of {entry.name} in another way: {expected}")
    return CALL.format(
        name=PREFIX + entry.py_func.__name__,
        function=function.name,
        types=", ".join(expected),
        passed=", ".join(passed),
        body="\n".join(lines),
    )


CALL = """
@unknown = internal constant [12 x i8] c"SystemError\\00"
declare i32 @"{function}"({types})
define ptr @{name}(ptr %table) {{
  %result = alloca ptr
  %error = alloca ptr
  store ptr null, ptr %result
  store ptr null, ptr %error
{body}
  %status = call i32 @"{function}"({passed})
  %raised = icmp sgt i32 %status, 0
  br i1 %raised, label %named, label %other
named:
  %record = load ptr, ptr %error
  %exception = load ptr, ptr %record
  ret ptr %exception
other:
  %fine = icmp eq i32 %status, 0
  %none = icmp eq i32 %status, -2
  %returned = or i1 %fine, %none
  %outcome = select i1 %returned, ptr null, ptr @unknown
  ret ptr %outcome
}}
"""


@cache
def codegen_of(level: str) -> AOTCPUCodegen:
    """What optimises and translates for a processor level."""
    return AOTCPUCodegen("copa", level)


def translate(bitcode: bytes, level: str) -> bytes:
    """Object file for a processor level."""
    codegen = codegen_of(level)
    library = codegen.create_library("kernel")
    library._final_module = llvm.parse_bitcode(bitcode)
    library._optimize_final_module()
    return bytes(codegen._tm.emit_object(library._final_module))


def shim(level: str) -> bytes:
    """Object file with what kernels ask of Numba's runtime."""
    codegen = codegen_of(level)
    module = llvm.parse_assembly(SHIM.read_text(encoding="utf-8"))
    module.triple, module.data_layout = llvm.get_process_triple(), codegen._data_layout
    module.verify()
    return translate(bytes(module.as_bitcode()), level)
