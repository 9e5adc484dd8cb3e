import copa
from copa._core import compilation as side_by_side


def test_modules_with_machine_code_are_known(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(side_by_side, "PACKAGE", tmp_path)
    cache = tmp_path / "bounds" / "_kernels" / "__pycache__"
    cache.mkdir(parents=True)
    assert not side_by_side.is_compiled("copa.bounds._kernels.lower")
    (cache / "lower.lower_bounds-115.py311.nbi").touch()
    assert side_by_side.is_compiled("copa.bounds._kernels.lower")
    assert not side_by_side.is_compiled("copa.bounds._kernels.low")


def test_missing_modules_are_compiled_beside_the_work_and_waited_for(monkeypatch):
    started, ended = [], []

    class Process:
        def __init__(self, command, **_):
            started.append(command[-1])

        def wait(self):
            ended.append(self)

    monkeypatch.setattr(side_by_side.subprocess, "Popen", Process)
    monkeypatch.setattr(side_by_side, "is_compiled", lambda module: module.endswith("known"))
    monkeypatch.setattr(side_by_side.os, "cpu_count", lambda: 2)
    with side_by_side.compiled_meanwhile(["copa.a", "copa.known", "copa.b"]):
        assert started == ["import copa.a", "import copa.b"]
        assert not ended
    assert len(ended) == 2
    started.clear()
    with side_by_side.compiled_meanwhile(["copa.a", "copa.known"]):
        pass
    assert not started


def test_nothing_is_lost_where_no_process_can_be_started(monkeypatch):
    def refuse(*_, **__):
        raise OSError("no more processes")

    monkeypatch.setattr(side_by_side.subprocess, "Popen", refuse)
    monkeypatch.setattr(side_by_side, "is_compiled", lambda _: False)
    with side_by_side.compiled_meanwhile(["copa.a", "copa.b"]):
        assert copa.__version__
