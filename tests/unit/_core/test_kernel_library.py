"""The library of compiled kernels: when it is used, which level, how it is called, and that Numba gives the same."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compiled_kernels import needs_library
from copa._core import kernel_library, kernels, processor
from copa._core.kernel_library import FOLDER, MANIFEST, KernelLibrary, UnfitLibraryError, bound, digest, kernel_sources
from copa.exceptions import InvalidInputError

TESTS = Path(__file__).parents[2]
ROOMS_WITH_KERNELS = {source.partition("/_kernels")[0] for source in kernel_sources()} - {"_core"}
PROJECT_POINTS = "copa._core._kernels.projection:project_points"
V2_FLAGS = "fpu cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"
V3_FLAGS = f"{V2_FLAGS} abm avx avx2 bmi1 bmi2 f16c fma movbe xsave"


def test_the_library_is_built_without_packages_that_the_build_has_not():
    """A build has Numba and NumPy; without the library every first call would wait for Numba."""
    code = """
import sys, runpy
sys.modules.update(dict.fromkeys(["joblib", "threadpoolctl", "sklearn", "scipy", "pandas", "yaml", "narwhals"]))
sys.path.insert(0, "scripts/kernel_library")
runpy.run_path("scripts/kernel_library/__main__.py")["skip_package_code"]()
from copa._core.compilation import entry_points
rooms = {name.partition("._kernels")[0] for name in entry_points()} - {"copa._core"}
print([room for room in rooms if hasattr(sys.modules[room], "__file__")], len(rooms))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=TESTS.parent, check=True, capture_output=True, text=True)  # noqa: S603 - our own code
    assert done.stdout.split("]") == ["[", f" {len(ROOMS_WITH_KERNELS)}\n"]


@pytest.fixture
def fresh():
    """The choice of kernels is made anew, and forgotten afterwards."""
    kernels.find_library.cache_clear()
    kernels.kernel.cache_clear()
    yield
    kernels.find_library.cache_clear()
    kernels.kernel.cache_clear()


@pytest.fixture
def copied(tmp_path):
    """A package with sources of kernels and a library beside it."""
    package = tmp_path / "copa"
    for source in kernel_sources():
        place = package / source
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(kernel_library.PACKAGE / source, place)
    shutil.copytree(FOLDER, tmp_path / "library")
    return tmp_path / "library", package


def change(folder, **entries):
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(manifest | entries))


@pytest.fixture
def x86(monkeypatch, tmp_path):
    """A processor with the features given, on Linux."""

    def with_flags(flags):
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nvendor_id\t: Some\nflags\t\t: {flags}\nbugs\t\t: avx2\n")
        monkeypatch.setattr(processor, "CPU_INFO", tmp_path / "cpuinfo")
        processor.supported_levels.cache_clear()
        return processor.supported_levels()

    monkeypatch.setattr(processor, "machine", lambda: "linux-x86_64")
    yield with_flags
    processor.supported_levels.cache_clear()


@pytest.mark.parametrize(
    ("flags", "levels"),
    [
        (V3_FLAGS, ("x86-64-v3", "x86-64-v2")),
        (V3_FLAGS.replace("fma ", ""), ("x86-64-v2",)),
        (V2_FLAGS, ("x86-64-v2",)),
        (V2_FLAGS.replace("ssse3", ""), ()),
        ("fpu", ()),
    ],
)
def test_a_processor_has_the_levels_whose_features_it_has_all(x86, flags, levels):
    assert x86(flags) == levels


def test_without_a_description_of_the_processor_no_level_is_taken(x86, monkeypatch, tmp_path):
    x86(V3_FLAGS)
    monkeypatch.setattr(processor, "CPU_INFO", tmp_path / "missing")
    processor.supported_levels.cache_clear()
    assert processor.supported_levels() == ()


def test_other_architectures_have_one_level_or_none():
    assert processor.levels_of("linux-aarch64") == ("baseline",)
    assert processor.levels_of("win32-amd64") == ()


@needs_library
@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v2"])
def test_the_best_level_of_both_is_loaded(monkeypatch, level):
    supported = processor.supported_levels()
    if level not in supported:
        pytest.skip(f"this processor has not {level}")
    monkeypatch.setattr(kernel_library, "supported_levels", lambda: supported[supported.index(level) :])
    assert KernelLibrary().level == level
    assert KernelLibrary().path.name == f"{level}.so"


@needs_library
def test_a_changed_source_makes_the_library_stale(copied):
    library, package = copied
    assert KernelLibrary(library, package).level
    source = package / "theory" / "bounds" / "_kernels" / "lower.py"
    source.write_text(source.read_text().replace("64 * 2.2e-16", "32 * 2.2e-16"))
    with pytest.raises(UnfitLibraryError, match="other sources"):
        KernelLibrary(library, package)


@needs_library
def test_a_missing_source_makes_the_library_stale(copied):
    library, package = copied
    (package / "planner" / "search" / "_kernels" / "cost.py").unlink()
    with pytest.raises(UnfitLibraryError, match="other sources"):
        KernelLibrary(library, package)


def test_the_digest_tells_where_one_source_ends(tmp_path):
    (tmp_path / "a").write_text("xy")
    (tmp_path / "b").write_text("z")
    before = digest(["a", "b"], tmp_path)
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").write_text("yz")
    assert digest(["a", "b"], tmp_path) != before


@needs_library
def test_a_library_for_another_machine_is_not_loaded(copied):
    library, package = copied
    change(library, machine="linux-riscv64")
    with pytest.raises(UnfitLibraryError, match="is for linux-riscv64, and this is"):
        KernelLibrary(library, package)


@needs_library
def test_a_library_for_other_levels_is_not_loaded(copied):
    library, package = copied
    change(library, levels={"x86-64-v9": "x86-64-v9.so"})
    with pytest.raises(UnfitLibraryError, match="for x86-64-v9, which this processor has not"):
        KernelLibrary(library, package)


@needs_library
@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "without a library"), ("{", "could not be read"), ("[]", "does not describe"), ("{}", "does not describe")],
)
def test_without_a_sound_manifest_no_library_is_loaded(copied, content, message):
    library, package = copied
    (library / MANIFEST).unlink()
    if content is not None:
        (library / MANIFEST).write_text(content)
    with pytest.raises(UnfitLibraryError, match=message):
        KernelLibrary(library, package)


@needs_library
def test_a_file_that_is_no_library_or_lacks_a_kernel_is_refused(copied):
    library, package = copied
    manifest = json.loads((library / MANIFEST).read_text())
    change(library, kernels={"copa.a:b": {"symbol": "copa_nothing", "arguments": []}})
    with pytest.raises(UnfitLibraryError, match="copa_nothing"):
        KernelLibrary(library, package)
    change(library, **manifest)
    (library / "broken.so").write_bytes(b"not a library")
    change(library, levels=dict.fromkeys(manifest["levels"], "broken.so"))
    with pytest.raises(UnfitLibraryError, match="could not be loaded"):
        KernelLibrary(library, package)


@pytest.mark.usefixtures("fresh")
def test_the_switch_chooses_numba(monkeypatch):
    monkeypatch.setenv("COPA_KERNELS", "jit")
    library, reason = kernels.find_library()
    assert library is None
    assert "COPA_KERNELS=jit" in reason
    assert "compiled by Numba on first use" in kernels.kernels_in_use()
    assert kernels.kernel(PROJECT_POINTS).py_func.__name__ == "project_points"


@pytest.mark.usefixtures("fresh")
def test_the_switch_can_demand_the_library(monkeypatch):
    monkeypatch.setenv("COPA_KERNELS", "library")
    monkeypatch.setattr(kernel_library.KernelLibrary, "__init__", refuse)
    with pytest.raises(InvalidInputError, match="COPA_KERNELS=library, but it is stale"):
        kernels.kernel(PROJECT_POINTS)
    monkeypatch.setenv("COPA_KERNELS", "auto")
    assert kernels.find_library() == (None, "it is stale")


def refuse(*_):
    raise UnfitLibraryError("it is stale")


@pytest.mark.usefixtures("fresh")
def test_another_word_in_the_switch_is_refused(monkeypatch):
    monkeypatch.setenv("COPA_KERNELS", "fast")
    with pytest.raises(InvalidInputError, match="one of auto, library, jit; got 'fast'"):
        kernels.find_library()


def test_numbers_and_arrays_are_passed_in_one_table():
    passed = []
    call = bound(passed.append, "k", ["f", "i", "b", "f2", "b1"])
    rows, flags = np.zeros((2, 3)), np.zeros(4, dtype=bool)
    call(0.5, np.int64(7), (True, rows), flags)
    expected = [rows.ctypes.data, 2, 3, flags.ctypes.data, 4]
    assert np.frombuffer(passed[0][:8])[0] == 0.5
    assert list(np.frombuffer(passed[0][8:], dtype=np.int64)) == [7, 1, *expected]


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((2, 3), dtype=np.float32),
        np.zeros((2, 3, 1)),
        np.zeros((3, 2)).T,
        np.zeros((2, 6))[:, ::2],
        np.frombuffer(bytes(48)).reshape(2, 3),
    ],
    ids=["type", "axes", "order", "stride", "read-only"],
)
def test_arrays_that_the_machine_code_would_misread_are_refused(wrong):
    with pytest.raises(TypeError, match="contiguous array of float64 with 2 axes"):
        bound(lambda _: pytest.fail("called"), "k", ["f2"])(wrong)


def test_too_few_or_too_many_arguments_are_refused():
    for given in [(), (1.0, 2.0)]:
        with pytest.raises(ValueError, match="argument"):
            bound(lambda _: pytest.fail("called"), "k", ["f"])(*given)


def test_the_name_of_an_exception_is_raised():
    with pytest.raises(MemoryError, match="in the compiled kernel k"):
        bound(lambda _: b"MemoryError", "k", [])()


# The moments are those of the other process; what is written out are the bits of plans, bounds and corrections.
SAME = """
import copa, hashlib, numpy as np
from unit.test_same_bits import BALL, COV, J, MEAN, accepted_plans, declined
total = hashlib.sha256()
for n_options in (1, 3, 7):
    points = 0.3 * np.random.default_rng(n_options).standard_normal((4, n_options, MEAN.size)) + MEAN
    bounds = copa.validity_bounds(points, *BALL, n_jobs=1)
    total.update(bounds.lower.tobytes() + bounds.upper.tobytes() + bounds.any_lower.tobytes())
plans = copa.build_plans(declined(3), MEAN, COV, n_options=J, random_state=1, n_jobs=1)
total.update(plans.points.tobytes())
total.update(copa.mahalanobis_correction(accepted_plans(3), MEAN, COV, radius=0.02, budget=0.3).tobytes())
"""
PLANNER = """
import pandas as pd
from sklearn.linear_model import LogisticRegression
rng = np.random.default_rng(0)
table = pd.DataFrame(np.round(rng.normal(size=(120, 4)), 1), columns=["income", "savings", "debt", "years"])
labels = table["income"] + table["savings"] - table["debt"] + rng.normal(size=120) > 0.5
model = LogisticRegression().fit(table, labels)
later = copa.LaterModels(n_refits=20)
planner = copa.RecoursePlanner(model, guarantee=0.7, n_options=3, later_models=later, random_state=0, n_jobs=1)
planner.fit(table, labels)
plans = planner.plan(table[~model.predict(table)].head(6))
total.update(plans.to_frame().to_csv(float_format="%r").encode())
"""
REPORT = """
import sys
print(total.hexdigest(), "numba" in sys.modules)
"""


def outcome(code, **environment):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])} | environment
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own code
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow  # Numba compiles everything
@needs_library
def test_library_and_numba_give_the_same_bits_and_only_one_of_them_loads_numba():
    code = SAME + PLANNER + REPORT
    library, without = outcome(code, COPA_KERNELS="library")
    compiled, with_numba = outcome(code, COPA_KERNELS="jit")
    assert library == compiled
    assert (without, with_numba) == ("False", "True")


@needs_library
def test_all_levels_give_the_same_bits():
    limited = "import copa._core.kernel_library as k; k.supported_levels = lambda: ('x86-64-v2',)\n"
    if "x86-64-v3" not in processor.supported_levels():
        pytest.skip("this processor has one level")
    assert outcome(limited + SAME + REPORT) == outcome(SAME + REPORT)


TOO_LITTLE = """
import resource
import numpy as np
from copa._core.kernels import kernel
lower_bounds = kernel("copa.theory.bounds._kernels.lower:lower_bounds")
one, n = np.ones((1, 1)), 200  # coordinates: the Newton system has 20,101 unknowns, and needs 3 GB
matrices = np.zeros((1, n, n))
directions, blocks = np.zeros((1, 1, n)), np.zeros((1, 1, n, n))
proof = (directions, one.copy(), matrices, np.zeros(1), blocks, one.copy(), np.zeros(1), np.zeros(1))
arguments = (np.ones((1, 1, n)), one, one, 1e-9, np.zeros(1, np.int64), *proof)
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 50_000_000, -1))
try:
    lower_bounds(*arguments)
except MemoryError as error:
    print("MemoryError", "lower_bounds" in str(error))
"""


@needs_library
def test_memory_that_cannot_be_had_is_an_error_of_pythons_own():
    assert outcome(TOO_LITTLE, COPA_KERNELS="library") == ["MemoryError", "True"]


@needs_library
def test_the_library_asks_for_nothing_but_old_functions_of_the_c_library():
    """Without a version of a symbol, any release of the C library will do; and there is nothing of Python in it."""
    content = next(FOLDER.glob("*.so")).read_bytes()
    assert b"GLIBC" not in content
    assert b"Py" not in content.partition(b"malloc")[0][-2000:]
    assert str(Path.home()).encode() not in content
    assert b"site-packages" not in content


@needs_library
def test_checking_the_library_takes_little_time():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    for _ in range(10):
        digest(json.loads((FOLDER / MANIFEST).read_text())["sources"])
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_utime - before) / 10 < 0.02
