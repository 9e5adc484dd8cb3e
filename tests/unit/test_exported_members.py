import importlib
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import copa

PACKAGES = ["copa", *sorted(m.name for m in pkgutil.walk_packages(copa.__path__, "copa.") if m.ispkg)]
EXPORTING = [name for name in PACKAGES if hasattr(importlib.import_module(name), "__all__")]


def public_names(module):
    """Public names that the package put there: what it defines or imports by name, and not every loaded submodule."""
    return {n for n, value in vars(module).items() if not n.startswith("_") and not isinstance(value, ModuleType)}


def test_the_root_and_the_packages_of_the_data_export():
    assert {"copa", "copa.theory.bounds", "copa.theory.sets"} <= set(EXPORTING)


@pytest.mark.parametrize("name", EXPORTING)
def test_all_names_exactly_what_is_exported(name):
    module = importlib.import_module(name)
    assert public_names(module) <= set(module.__all__)
    assert [n for n in module.__all__ if not hasattr(module, n)] == []


@pytest.mark.parametrize("name", EXPORTING)
def test_all_is_sorted_and_names_nothing_twice(name):
    exported = importlib.import_module(name).__all__
    assert exported == sorted(set(exported))


@pytest.mark.parametrize("name", EXPORTING)
def test_exported_objects_are_documented(name):
    module = importlib.import_module(name)
    assert [n for n in module.__all__ if not getattr(module, n).__doc__] == []


def test_the_root_exports_the_objects_of_its_bounds():
    both = set(copa.theory.bounds.__all__) & set(copa.__all__)
    assert {"validity_bounds", "bound_plans"} <= both
    assert all(getattr(copa, name) is getattr(copa.theory.bounds, name) for name in both)


def test_the_root_lists_what_it_exports_and_nothing_else():
    assert dir(copa) == copa.__all__
    assert {"RecoursePlanner", "LaterModels", "Ledger", "gate", "keep", "read_plans", "datasets"} <= set(dir(copa))


def loaded_after(code):
    """Top-level modules that a fresh interpreter has loaded after running the code."""
    script = f"{code}\nimport sys; print(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    return set(result.stdout.split())


# The planner is a scikit-learn estimator, and letters are written with one. `copa.RecoursePlanner` is imported when it
# is asked for.
LIGHT = [name for name in EXPORTING if not name.startswith(("copa.planner", "copa.report.letters"))]


@pytest.mark.parametrize("name", LIGHT)
def test_importing_loads_nothing_heavy(name):
    loaded = loaded_after(f"import {name}")
    assert "copa" in loaded
    assert loaded.isdisjoint({"scipy", "sklearn", "pandas", "joblib", "cvxpy", "matplotlib"})


def test_the_root_and_the_command_begin_without_numpy():
    assert "numpy" not in loaded_after("import copa, copa.cli, copa._core.progress")
    assert "numpy" in loaded_after("import copa; copa.WeightMoments")


def test_packages_are_there_without_importing_them_by_name():
    script = (
        "import copa; assert copa.exceptions.CopaError is copa.CopaError; copa.datasets.load_german; dir(copa).index"
    )
    assert "copa" in loaded_after(script)


def test_a_name_that_the_root_has_not_is_missing():
    with pytest.raises(AttributeError, match="no attribute 'plan'"):
        copa.plan  # noqa: B018 - asking for it is the test


def test_importing_the_planner_loads_scikit_learn():
    # The counterpart: the checks above can see what they are looking for.
    assert {"numpy", "sklearn"} <= loaded_after("import copa; copa.RecoursePlanner")
