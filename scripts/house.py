"""`make house`: how large the package is and how it hangs together. A mirror to look into, not a gate.

Run as `python scripts/house.py`; `--crossed` also plans a small file with a report and counts the modules and functions
that this passes through, `--list` names the modules with exactly one importer, the options of each
command and the longest modules.
"""

import argparse
import ast
import io
import re
import sys
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = "copa"
IN_PACKAGE = re.compile(rf"/{PACKAGE}/.*\.py$")  # and no template
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Module:
    """One source file.

    Attributes
    ----------
    name : str
    tree : ast.Module
    n_code : int
        Lines of code proper: no docstrings, comments, blank lines or imports.
    """

    name: str
    tree: ast.Module
    n_code: int


def read_modules() -> dict[str, Module]:
    """Read every module of the package, by its dotted name."""
    modules = {}
    for path in sorted((SOURCE / PACKAGE).rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        modules[name] = Module(name, tree, len(_token_lines(text) - set(_uncounted_lines(tree))))
    return modules


def _token_lines(text: str) -> set[int]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {line for t in tokens if t.type not in LAYOUT for line in range(t.start[0], t.end[0] + 1)}


def _uncounted_lines(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of docstrings and imports."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) or _is_type_checking(node):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
        elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imports_of(module: Module, modules: dict[str, Module]) -> set[str]:
    """Return the modules of the package that a module imports, wherever in it and be it only for its types."""
    found = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {
                deeper if (deeper := f"{node.module}.{alias.name}") in modules else node.module for alias in node.names
            }
    return (found & modules.keys()) - {module.name}


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other in a circle (Tarjan's strong components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                groups.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return groups


def crossed() -> tuple[int, int]:
    """Plan a small file with a report, and count the modules and functions of the package that are entered."""
    from copa import datasets
    from copa.cli.app import run

    entered: set[tuple[str, str]] = set()

    def note(frame: object, event: str, _: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and IN_PACKAGE.search(code.co_filename) and code.co_name != "<module>":
            entered.add((code.co_filename, code.co_qualname))

    with tempfile.TemporaryDirectory() as folder:
        data, base = datasets.load_german(), Path(folder)
        table = data.features.assign(outcome=data.favourable)
        table.to_csv(base / "train.csv", index=False)
        data.features.head(40).to_csv(base / "applicants.csv", index=False)
        data.schema.save(base / "schema.yaml")
        fit = ["fit", str(base / "train.csv"), "--target", "outcome", "--schema", str(base / "schema.yaml")]
        run([*fit, "-o", str(base / "loans.bundle")])
        command = ["plan", str(base / "loans.bundle"), str(base / "applicants.csv"), "-o", str(base / "plans.csv")]
        run(command)  # compiles
        sys.setprofile(note)
        try:
            run([*command[:-1], str(base / "again.csv"), "-o", str(base / "report.html")])
        finally:
            sys.setprofile(None)
    return len({file for file, _ in entered}), len(entered)


def command_parameters() -> dict[str, list[str]]:
    """Return the options and arguments that are declared for each command and group of `copa`."""
    import typer

    from copa.cli.app import app

    found: dict[str, list[str]] = {}

    def visit(command: Any, name: str) -> None:
        found[name] = [param.opts[0] for param in command.params]
        for word, inner in getattr(command, "commands", {}).items():
            visit(inner, f"{name} {word}")

    visit(typer.main.get_command(app), "copa")
    return found


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crossed", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    modules = read_modules()
    importers: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        for name in imports_of(module, modules):
            importers[name].add(module.name)
    lonely = sorted(name for name in modules if len(importers[name]) == 1)
    circles = cycles({name: imports_of(module, modules) for name, module in modules.items()})
    print(f"modules                     {len(modules):6}")
    print(f"lines of code proper        {sum(m.n_code for m in modules.values()):6}")
    print(f"modules with one importer   {len(lonely):6}")
    print(f"import cycles               {len(circles):6}")
    for circle in circles:
        print("   ", ", ".join(circle))
    parameters = command_parameters()
    print(f"options and arguments       {sum(map(len, parameters.values())):6}")
    if arguments.list:
        print("one importer:", *(f"\n    {name}  <- {next(iter(importers[name]))}" for name in lonely))
        longest = sorted(modules.values(), key=lambda m: -m.n_code)[:15]
        print("options and arguments:", *(f"\n    {len(own):5}  {name}" for name, own in parameters.items()))
        print("longest:", *(f"\n    {m.n_code:5}  {m.name}" for m in longest))
    if arguments.crossed:
        n_modules, n_functions = crossed()
        print(f"crossed by `copa plan` with a report: {n_modules} modules, {n_functions} functions")


if __name__ == "__main__":
    main()
