"""Docstrings of the public surface: every parameter with its type, and an example that runs as it is written.

The public surface is what docs/api.md names; of a module it names, the functions and classes that it defines.
"""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

from cases import mostly_extended

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
NAMED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
UNDERLINE = re.compile(r"^-{3,}$")
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)$")

# The slot after a colon holds types, not prose. Shapes and literal values may hold commas: they are taken out first.
SHAPE = re.compile(r" of shape \([^)]*\)(?:(?:,| or|, or) \([^)]*\))*")
LITERAL = re.compile(r"\{[^}]*\}")
TYPE = (
    r"(?:array_like|bool|bytes|callable|date|dict|float|frozenset|int|iterable|iterator|list|mapping|ndarray|object"
    r"|sequence|set|str|tuple|type|[a-z]\w*(?:\.\w+)+|[A-Z]\w*)"
)
PART = re.compile(rf"(?:{TYPE}(?: (?:of|to|from|with|and) {TYPE}s?)*|optional|default .+|keyword-only)")


def resolve(name):
    """The object of a dotted name."""
    module, attributes = name, []
    while True:
        try:
            found = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, attribute = module.rpartition(".")
            attributes.insert(0, attribute)
    for attribute in attributes:
        found = getattr(found, attribute)
    return found


def public_names():
    """Names of the public functions and classes."""
    for name in NAMED.findall((ROOT / "docs" / "api.md").read_text(encoding="utf-8")):
        found = resolve(name)
        if not inspect.ismodule(found):
            yield name
            continue
        for member, value in vars(found).items():
            if not member.startswith("_") and getattr(value, "__module__", None) == name and callable(value):
                yield f"{name}.{member}"


PUBLIC = list(public_names())


def sections(text):
    """Lines of each section of a docstring, by its title."""
    lines, found, title = inspect.cleandoc(text).splitlines(), {}, ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if UNDERLINE.match(following):
            title = line
        elif not UNDERLINE.match(line):
            found.setdefault(title, []).append(line)
    return found


def documented_types(found):
    """What stands in the type slot of each documented parameter; fields of a class may be described as attributes."""
    types = {}
    for line in found.get("Attributes", []) + found.get("Parameters", []):
        if entry := ENTRY.match(line):
            names, slot = entry.groups()
            types |= dict.fromkeys(names.replace("*", "").split(", "), slot)
    return types


def is_type(slot):
    plain = LITERAL.sub("set", SHAPE.sub("", slot))
    return all(PART.fullmatch(part) for part in re.split(r", or | or |, ", plain))


def parameters_of(found):
    """Names of the parameters that a caller gives."""
    try:
        parameters = inspect.signature(found).parameters.values()
    except ValueError:  # built in: exceptions
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.kind not in variable and not p.name.startswith("_")]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_documented_with_its_type(name):
    found = resolve(name)
    types = documented_types(sections(found.__doc__))
    assert [p for p in parameters_of(found) if p not in types] == []
    assert {p: slot for p, slot in types.items() if not is_type(slot)} == {}


def run(examples):
    """Run a docstring's examples and return what went wrong."""
    messages = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=messages.append)
    return "".join(messages)


@pytest.mark.parametrize("name", mostly_extended(PUBLIC, [name for name in PUBLIC if "distributed" not in name]))
def test_an_example_stands_alone_and_prints_what_is_shown(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "\n".join(sections(resolve(name).__doc__).get("Examples", []))
    examples = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert examples.examples, "no Examples section"
    assert run(examples) == ""


def modules_with_examples():
    for path in sorted(SOURCE.rglob("*.py")):
        if "_kernels" not in path.parts and ">>> " in path.read_text(encoding="utf-8"):
            yield ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("module", list(modules_with_examples()))
def test_examples_of_what_is_not_public_run_in_their_module(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    public = {f"{found.__module__}.{found.__qualname__}" for found in map(resolve, PUBLIC)}
    for examples in doctest.DocTestFinder().find(importlib.import_module(module), module):
        assert examples.name in public or run(examples) == ""


@pytest.mark.parametrize(
    ("slot", "allowed"),
    [
        ("array_like of shape (J, D) or (N, J, D), optional", True),
        ('{"l2", "l1"}', True),
        ("int, Generator or RandomState, optional", True),
        ("list of str", True),
        ("pandas.DataFrame", True),
        ("(D,) mask or list of coordinates", False),
        ("threads for a batch, None for all cores", False),
        ("how many options may move", False),
        ("float >= 0", False),
    ],
)
def test_types_are_told_from_prose(slot, allowed):
    assert is_type(slot) == allowed
