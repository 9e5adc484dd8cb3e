import pytest

import copa
from copa._core import compilation as side_by_side


@pytest.fixture(autouse=True)
def without_library(monkeypatch):
    monkeypatch.setattr(side_by_side, "find_library", lambda: (None, "not here"))


def test_modules_with_machine_code_are_known(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(side_by_side, "PACKAGE", tmp_path)
    cache = tmp_path / "theory" / "bounds" / "_kernels" / "__pycache__"
    cache.mkdir(parents=True)
    assert not side_by_side.is_compiled("copa.theory.bounds._kernels.lower:lower_bounds")
    (cache / "lower.lower_bounds-115.py311.nbi").touch()
    assert side_by_side.is_compiled("copa.theory.bounds._kernels.lower:lower_bounds")
    assert not side_by_side.is_compiled("copa.theory.bounds._kernels.low:lower_bounds")


def test_missing_modules_are_compiled_beside_the_work_and_waited_for(monkeypatch):
    started, ended = [], []

    class Process:
        def __init__(self, command, **_):
            started.append(command[-1])

        def wait(self):
            ended.append(self)

    monkeypatch.setattr(side_by_side.subprocess, "Popen", Process)
    monkeypatch.setattr(side_by_side, "is_compiled", lambda name: name.endswith("known"))
    monkeypatch.setattr(side_by_side.os, "cpu_count", lambda: 2)
    with side_by_side.compiled_meanwhile(["copa.a:f", "copa.a:known", "copa.b:f"]):
        assert [command.rpartition("; ")[2] for command in started] == [
            "load_kernels(['copa.a:f'])",
            "load_kernels(['copa.b:f'])",
        ]
        assert not ended
    assert len(ended) == 2
    started.clear()
    with side_by_side.compiled_meanwhile(["copa.a:f", "copa.a:known"]):
        pass
    assert not started


def test_nothing_is_compiled_where_there_is_a_library(monkeypatch):
    monkeypatch.setattr(side_by_side, "find_library", lambda: (object(), ""))
    monkeypatch.setattr(side_by_side, "is_compiled", lambda _: False)
    monkeypatch.setattr(side_by_side, "start_compiling", lambda name: pytest.fail(f"a process compiles {name}"))
    with side_by_side.compiled_meanwhile(["copa.a:f", "copa.b:f"]):
        pass


def test_all_kernels_that_python_calls_are_known():
    names = side_by_side.entry_points()
    assert len(names) == len(set(names)) >= 10
    assert "copa.theory.bounds._kernels.lower:lower_bounds" in names


def test_nothing_is_lost_where_no_process_can_be_started(monkeypatch):
    def refuse(*_, **__):
        raise OSError("no more processes")

    monkeypatch.setattr(side_by_side.subprocess, "Popen", refuse)
    monkeypatch.setattr(side_by_side, "is_compiled", lambda _: False)
    with side_by_side.compiled_meanwhile(["copa.a:f", "copa.b:f"]):
        assert copa.__version__
