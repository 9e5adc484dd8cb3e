"""Copies of the sources with kernels of their own: mutated, checked or measured ones, for tests in other processes.

    python tests/kernels/build.py sanitize   # address and undefined-behaviour sanitizers, checked indices
    python tests/kernels/build.py coverage   # lines of the kernels that the tests reach, by gcov

Both build the kernels anew and run the tests that call them directly or hand them random problems.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
FUZZ = (
    "unit/_core/test_kernels.py",
    "unit/_core/test_small_matrices.py",
    "unit/_core/test_projection.py",
    "unit/theory/bounds",
    "unit/theory/objective",
    "unit/models/trees/test_scoring.py",
    "unit/planner/search",
    "property/test_bounds.py",
    "property/test_irregular_tables.py",
    "oracle/test_menus_against_exhaustive_search.py",
    "oracle/test_tree_proofs.py",
    "oracle/test_trees_against_enumeration.py",
)
SANITIZED = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
MEASURED = "-O0 --coverage"
# An editable installation finds `copa` before PYTHONPATH is looked at.
FINDERS_OFF = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Editable" not in type(finder).__name__
                    and "ScikitBuild" not in type(finder).__name__]
"""


def copy_sources(folder: Path, sources: Path = ROOT / "src") -> Path:
    """Copy the package into a folder that, as PYTHONPATH, stands before any installation; return that folder."""
    shutil.copytree(sources, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "sitecustomize.py").write_text(FINDERS_OFF, encoding="utf-8")
    for name in ("_kernels", "_inner_kernels"):
        for path in installed_modules(name):
            shutil.copy2(path, folder / "copa")
    return folder


def installed_modules(name: str) -> list[Path]:
    """Files of a compiled module of the installation that these tests run with."""
    from importlib.util import find_spec

    spec = find_spec(f"copa.{name}")
    return [Path(spec.origin)] if spec is not None and spec.origin else []


def build_kernels(copy: Path, place: Path, *options: str) -> None:
    """Compile the kernels of a copy of the sources, in `place`, and put them into the copy.

    Parameters
    ----------
    copy : Path
        From `copy_sources`.
    place : Path
        Folder for CMake; one that has been used before is faster.
    *options : str
        Of CMake, such as `-DCOPA_CHECKED=ON`.
    """
    import nanobind

    project = place / "project"
    if project.exists():
        shutil.rmtree(project)
    (project / "tests").mkdir(parents=True)
    shutil.copy2(ROOT / "CMakeLists.txt", project)
    shutil.copytree(ROOT / "tests" / "kernels", project / "tests" / "kernels")
    shutil.copytree(copy / "copa", project / "src" / "copa")
    configure = [
        "cmake",
        "-S",
        str(project),
        "-B",
        str(place / "build"),
        "-DCOPA_TESTS=ON",
        "-DCMAKE_BUILD_TYPE=Release",
    ]
    configure += [f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind.cmake_dir()}", *options]
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])  # CMake of the environment comes first
    for command in (configure, ["cmake", "--build", str(place / "build"), "--parallel", "2"]):
        done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False)  # noqa: S603 - CMake
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    for module in (place / "build").glob("_*kernels.*"):
        if module.suffix in {".so", ".pyd"}:
            shutil.copy2(module, copy / "copa")


def run_tests(copy: Path, **environment: str) -> int:
    """Run the tests of the kernels against a copy; return pytest's exit code."""
    return subprocess.run(  # noqa: S603 - our own tests
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *FUZZ],
        cwd=ROOT / "tests",
        env=os.environ | {"PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"} | environment,
        check=False,
    ).returncode


def sanitize(place: Path) -> int:
    """Run the tests with sanitizers and checked indices."""
    copy = copy_sources(place / "src")
    build_kernels(copy, place, "-DCOPA_CHECKED=ON", "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_FLAGS={SANITIZED}")
    runtimes = [
        subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603, S607 - the compiler
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    # Python itself and NumPy do not give back all they take.
    return run_tests(copy, LD_PRELOAD=" ".join(runtimes), ASAN_OPTIONS="detect_leaks=0")


def coverage(place: Path) -> int:
    """Run the tests and say which share of the kernels' lines they reach."""
    copy = copy_sources(place / "src")
    build_kernels(copy, place, "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_FLAGS={MEASURED}")
    code = run_tests(copy)
    units = [str(path) for path in (place / "build").rglob("*.gcda") if "bindings" in path.name or "inner" in path.name]
    report = subprocess.run(  # noqa: S603 - gcov
        ["gcov", "-r", "-s", str(place / "project"), *units],  # noqa: S607
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = False
    for line in report.stdout.splitlines():
        wanted = "kernels/" in line if line.startswith("File") else wanted
        if wanted and line:
            sys.stdout.write(line + ("  " if line.startswith("File") else "\n"))
    return code


if __name__ == "__main__":
    with TemporaryDirectory(prefix="copa-kernels-") as name:
        sys.exit({"sanitize": sanitize, "coverage": coverage}[sys.argv[1]](Path(name)))
