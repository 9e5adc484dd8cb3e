"""Inner functions of kernels do not count references to arrays, so they may neither make an array nor return one.

Breaking the rule raises nothing: memory is lost, or freed while it is in use. So the sources are read for it, strictly:
what is not known to be harmless is refused. And whole searches are run with Numba's own count of what was allocated.
"""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import copa

PACKAGE = Path(copa.__file__).parent
TESTS = Path(__file__).parents[2]
KINDS = ("inner", "leaf", "allocating", "entry_point")
BUILTINS = {"abs", "bool", "float", "int", "len", "max", "min", "range"}
VIEWS = {"reshape"}  # methods that Numba compiles to a view of the same memory
SCALARS = {"int", "float", "bool"}


def kind_of(function):
    """How a function is compiled, by its only decorator."""
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    if len(decorators) != 1:
        return None
    if decorators[0].startswith("entry_point("):
        return "entry_point"
    return {"njit(**inner)": "inner", "njit(**leaf)": "inner", "njit(**allocating)": "allocating"}.get(decorators[0])


def scalar_record(definition):
    """Whether a class is a named tuple of numbers only."""
    fields = [ast.unparse(line.annotation) for line in definition.body if isinstance(line, ast.AnnAssign)]
    return [ast.unparse(base) for base in definition.bases] == ["NamedTuple"] and set(fields) <= SCALARS


class Kernels:
    """All kernels of a package: functions by module and name, and what each module knows by which name."""

    def __init__(self, sources):
        self.functions, self.records, self.imported = {}, {}, {}
        for module, source in sources.items():
            for node in ast.parse(source).body:
                if isinstance(node, ast.FunctionDef):
                    self.functions[module, node.name] = node
                elif isinstance(node, ast.ClassDef):
                    self.records[module, node.name] = node
                elif isinstance(node, ast.ImportFrom):
                    for name in node.names:
                        self.imported[module, name.asname or name.name] = (node.module, name.name)

    @classmethod
    def of_package(cls):
        paths = [path for path in PACKAGE.rglob("*.py") if path.parent.name == "_kernels"]
        assert len(paths) > 20
        return cls(
            {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path.read_text() for path in paths}
        )

    def home(self, module, name):
        return self.imported.get((module, name), (module, name))

    def faults(self):
        """What breaks the rule, in words."""
        found = []
        for (module, name), function in self.functions.items():
            kind = kind_of(function)
            if kind == "inner":
                found += [f"{module}.{name}: {fault}" for fault in self._faults_in(module, function)]
            elif kind is None and any("njit" in ast.unparse(decorator) for decorator in function.decorator_list):
                found.append(f"{module}.{name} is compiled neither as {' nor as '.join(KINDS)}")
        return found

    def _faults_in(self, module, function):
        arrays = self._arrays(function)
        for node in (node for line in function.body for node in ast.walk(line)):
            parts, deed = self._handled(node)
            yield from (f"{deed} the array {ast.unparse(part)}" for part in parts if self._is_array(part, arrays))
            match node:
                case ast.Call() if not self._is_harmless(module, node.func):
                    yield f"calls {ast.unparse(node.func)}"
                case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
                    yield "multiplies matrices"
                case ast.ListComp() | ast.List() | ast.Set() | ast.Dict() | ast.GeneratorExp():
                    yield f"makes {ast.unparse(node)}"
                case ast.Assign() if self._is_slice(node.targets[0]) and not self._is_number(node.value):
                    yield f"assigns {ast.unparse(node.value)} to a part of an array"

    @staticmethod
    def _handled(node):
        """Expressions that must not be arrays, and what is done with them."""
        match node:
            case ast.Return(value=ast.Tuple(elts=parts)):
                return parts, "returns"
            case ast.Return(value=ast.expr() as part):
                return [part], "returns"
            case ast.BinOp(left=left, right=right) if not isinstance(node.op, ast.MatMult):
                return [left, right], "computes with"
        return [], ""

    def _is_array(self, part, arrays):
        return ast.unparse(part) in arrays or self._is_view(part)

    def _is_harmless(self, module, called):
        if isinstance(called, ast.Attribute):
            return ast.unparse(called.value) == "math" or called.attr in VIEWS
        if not isinstance(called, ast.Name):
            return False
        home = self.home(module, called.id)
        if home in self.functions:
            return kind_of(self.functions[home]) == "inner"
        return called.id in BUILTINS or (home in self.records and scalar_record(self.records[home]))

    @staticmethod
    def _is_slice(node):
        return isinstance(node, ast.Subscript) and any(isinstance(part, ast.Slice) for part in ast.walk(node.slice))

    @classmethod
    def _is_view(cls, node):
        is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS
        return cls._is_slice(node) or is_method

    @staticmethod
    def _is_number(node):
        return isinstance(node, ast.Constant) or ast.unparse(node).startswith("math.")

    @classmethod
    def _arrays(cls, function):
        """Names that are seen to be arrays: those with an index, a size or a shape, and views of others."""
        names = set()
        for node in ast.walk(function):
            indexed = isinstance(node, ast.Subscript) and not ast.unparse(node.value).endswith(".shape")
            sized = isinstance(node, ast.Attribute) and node.attr in {"size", "shape"}
            if indexed or sized:
                names.add(ast.unparse(node.value))
            if isinstance(node, ast.Assign) and cls._is_view(node.value):
                names.update(ast.unparse(target) for target in node.targets)
        return names


@pytest.fixture(scope="module")
def kernels():
    return Kernels.of_package()


def test_inner_functions_make_no_array_and_return_none(kernels):
    assert kernels.faults() == []


def test_every_kind_of_kernel_is_found(kernels):
    kinds = [kind_of(function) for function in kernels.functions.values()]
    assert kinds.count("inner") >= 80
    assert kinds.count("allocating") >= 10
    assert kinds.count("entry_point") >= 8


HEAD = """
import numpy as np
from numba import njit
@njit(**inner)
def half(vector):
    return 0.5 * vector[0]
@njit(**allocating)
def room(n):
    return np.empty(n)
class Pair(NamedTuple):
    a: float
    b: np.ndarray
@njit(**inner)
def broken(vector, matrix, n):
"""


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("return np.empty(n)[0]", "calls np.empty"),
        ("return matrix.copy()[0, 0]", "calls matrix.copy"),
        ("return vector.sum()", "calls vector.sum"),
        ("return room(n)[0]", "calls room"),
        ("return Pair(half(vector), vector)", "calls Pair"),
        ("return (matrix @ vector)[0]", "multiplies matrices"),
        ("return [half(vector)][0]", "makes [half(vector)]"),
        ("first = vector[0]\n    return vector", "returns the array vector"),
        ("return half(vector), vector[1:n]", "returns the array vector[1:n]"),
        ("flat = matrix.reshape(-1)\n    return flat", "returns the array flat"),
        ("vector[:] = matrix[0]", "assigns matrix[0] to a part of an array"),
        ("first = vector[0]\n    return half(2.0 * vector)", "computes with the array vector"),
        ("return half(matrix[0, 1:] + 1.0)", "computes with the array matrix[0, 1:]"),
    ],
)
def test_the_scan_sees_a_broken_rule(body, fault):
    assert Kernels({"m": f"{HEAD}    {body}\n"}).faults() == [f"m.broken: {fault}"]


def test_the_scan_accepts_what_is_harmless():
    loop = "for k in range(vector.size):\n        matrix[0, k] = 2.0 * vector[k]"
    body = f"{loop}\n    vector[:] = 0.0\n    return half(vector[1:])"
    assert Kernels({"m": f"{HEAD}    {body}\n"}).faults() == []


def test_a_function_compiled_in_another_way_is_reported():
    assert Kernels({"m": "@njit\ndef f(x):\n    return x\n"}).faults() == [
        "m.f is compiled neither as inner nor as leaf nor as allocating nor as entry_point"
    ]


# What the entry points that allocate do, on small problems; `counted` says how many allocations there were, and frees.
WORK = """
import json
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
import copa
from unit.test_same_bits import BALL, COV, J, MEAN, accepted_plans, declined

rng = np.random.default_rng(0)
table = pd.DataFrame(np.round(rng.normal(size=(120, 4)), 1), columns=["income", "savings", "debt", "years"])
labels = table["income"] + table["savings"] - table["debt"] + rng.normal(size=120) > 0.5
model = LogisticRegression().fit(table, labels)
features = [copa.Feature(name, "numeric", step=0.1) for name in table]
schema = copa.FeatureSchema(features, rules=["savings <= income + 3"])
later = copa.LaterModels(n_refits=20)
planner = copa.RecoursePlanner(model, schema, guarantee=0.7, n_options=3, later_models=later, random_state=0, n_jobs=1)
planner.fit(table, labels)
declined_rows = table[~model.predict(table)].head(8)

def work():
    copa.validity_bounds(accepted_plans(3), *BALL, n_jobs=1)
    copa.build_plans(declined(2), MEAN, COV, n_options=J, random_state=1, n_jobs=1)
    copa.mahalanobis_correction(accepted_plans(2), MEAN, COV, radius=0.02, budget=0.3)
    planner.plan(declined_rows)
"""
COUNT_IN_NUMBA = """
from numba.core.runtime import rtsys
counted = rtsys.get_allocation_stats
"""
REPORT = """
work()
counts = []
for _ in range(2):
    before = counted()
    work()
    counts.append([after - earlier for after, earlier in zip(counted(), before)])
print(json.dumps(counts))
"""


@pytest.mark.slow  # Numba compiles everything
def test_kernels_free_all_they_allocate_and_nothing_twice():
    environment = os.environ | {"NUMBA_NRT_STATS": "1", "PYTHONPATH": str(TESTS), "COPA_KERNELS": "jit"}
    command = [sys.executable, "-c", WORK + COUNT_IN_NUMBA + REPORT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own code
    assert done.returncode == 0, done.stderr
    for allocated, freed, records, records_freed in json.loads(done.stdout):
        assert allocated == freed > 0
        assert records == records_freed > 0
