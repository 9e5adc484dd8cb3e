"""Where machine code is kept, and that kernels work where it cannot be."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from numba import njit

import copa
from compiled_kernels import needs_library
from copa._core import compilation as side_by_side
from copa._core import progress
from copa._core._kernels import compiling
from copa.exceptions import CompilationWarning

PACKAGE = Path(copa.__file__).parent

# What lies where only root may read is imported before: the interpreter itself may.
BECOME_NOBODY = """
import os, pwd
import numba, numpy, copa.theory.bounds
numba.njit(lambda rows: rows[0].sum())(numpy.ones((2, 2)))
nobody = pwd.getpwnam("nobody")
os.setgroups([])
os.setgid(nobody.pw_gid)
os.setuid(nobody.pw_uid)
"""
SMALL = """
from copa._core._kernels.compiling import options
from copa._core._kernels.projection import project_points
moves, bound = numpy.ones((1, 3)), numpy.full((1, 3), 3.0)
projected = numpy.empty((1, 3))
project_points(moves, moves[0], numpy.zeros(1), -bound, bound, projected)
print(options["cache"], projected.sum())
"""
BOUND = """
print(copa.validity_bounds([[1.0, 2.0]], [0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]]).status)
"""


def test_kernels_are_kept_where_the_tests_run():
    assert compiling.options["cache"] is True


def test_arithmetic_is_done_as_it_is_written():
    assert "fastmath" not in compiling.options


def test_without_a_place_for_machine_code_kernels_are_compiled_in_memory_with_one_warning(monkeypatch):
    monkeypatch.setattr(compiling, "can_keep_machine_code", lambda _: False)
    with pytest.warns(CompilationWarning, match="NUMBA_CACHE_DIR") as caught:
        assert compiling.kernel_options()["cache"] is False
    assert len(caught) == 1


def test_one_folder_without_a_place_is_enough(monkeypatch):
    monkeypatch.setattr(compiling, "can_keep_machine_code", lambda source: "bounds" not in source.parts)
    with pytest.warns(CompilationWarning):
        assert compiling.kernel_options()["cache"] is False


def test_no_processes_compile_what_cannot_be_kept(monkeypatch):
    monkeypatch.setitem(compiling.options, "cache", False)
    monkeypatch.setattr(side_by_side, "is_compiled", lambda _: False)
    monkeypatch.setattr(side_by_side, "find_library", lambda: (None, "not here"))
    monkeypatch.setattr(side_by_side, "start_compiling", lambda name: pytest.fail(f"a process compiles {name}"))
    with side_by_side.compiled_meanwhile(["copa.a:f", "copa.b:f"]):
        pass


@pytest.fixture
def stranger():
    """Run code as a user who may write nowhere, has no home, and reads a package that nobody may write to."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can run a program as somebody else")
    place = Path(tempfile.mkdtemp())  # not `tmp_path`, which lies in a folder that is closed to others
    shutil.copytree(PACKAGE, place / "copa", ignore=shutil.ignore_patterns("__pycache__"))
    for path in [place, *place.rglob("*")]:
        path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH | (0o111 if path.is_dir() else 0))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(code, kernels="jit"):
        command = [sys.executable, "-c", BECOME_NOBODY + code]
        own = environment | {"COPA_KERNELS": kernels}
        return subprocess.run(command, cwd="/", env=own, capture_output=True, text=True, check=False)  # noqa: S603 - our own code

    yield run
    shutil.rmtree(place)


def test_a_kernel_works_where_nothing_can_be_written(stranger):
    done = stranger(SMALL)
    assert done.stdout.split() == ["False", "3.0"], done.stderr
    assert done.stderr.count("CompilationWarning") == 1


@pytest.mark.slow
def test_a_bound_works_where_nothing_can_be_written(stranger):
    done = stranger(BOUND)
    assert done.stdout.split() == ["tight"], done.stderr
    assert done.stderr.count("CompilationWarning") == 1


@needs_library
def test_with_the_library_nothing_has_to_be_written(stranger):
    done = stranger(BOUND, kernels="library")
    assert done.stdout.split() == ["tight"], done.stderr
    assert not done.stderr


def test_those_who_wait_are_told_of_compiling_and_only_while_it_lasts(monkeypatch):
    display, begun = progress.Display("copa fit", None), []
    monkeypatch.setattr(display, "begin", lambda stage: (begun.append(stage.what), display.stages.append(stage)))
    token = progress._current.set(display)
    try:
        double = njit("int64(int64)")(lambda number: 2 * number)
        assert double(21) == 42
    finally:
        progress._current.reset(token)
    assert begun == ["compiling, once per installation, about half a minute"]
    assert display.stages == []
