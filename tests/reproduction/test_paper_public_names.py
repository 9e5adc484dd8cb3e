import ast
from pathlib import Path

import pytest

import copa
from copa import datasets
from copa.analysis import metrics

PUBLIC = {
    "copa": set(copa.__all__),
    "copa.data.datasets": set(datasets.__all__),
    "copa.analysis.metrics": {
        name for name, value in vars(metrics).items() if getattr(value, "__module__", "") == "copa.analysis.metrics"
    },
}
FOLDER = Path(__file__).parents[2] / "reproduction"
MODULES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.py"))


def imported(source):
    """Pairs of module and name that a source takes from copa, wherever the import is."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.partition(".")[0] == "copa")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "copa":
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("module", MODULES)
def test_the_experiments_take_only_public_names_from_the_library(module):
    taken = set(imported((FOLDER / module).read_text(encoding="utf-8")))
    assert {(where, name) for where, name in taken if name not in PUBLIC.get(where, ())} == set()


def test_an_import_of_something_private_is_seen():
    taken = list(imported("import copa._core.threads\ndef f():\n    from copa.models import parameter_vector"))
    assert taken == [("copa._core.threads", ""), ("copa.models", "parameter_vector")]
