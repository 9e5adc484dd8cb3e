"""The wheel with compiled kernels: built, installed into an empty environment, and used for the first time."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from benchmarks.start_up import BOUND, CLOCK, PLAN
from compiled_kernels import needs_library

ROOT = Path(__file__).parents[2]
CLEAN = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "COPA_KERNELS"}}


def done(*command, cwd="/", **environment):
    """Output of a command that must succeed."""
    result = subprocess.run(  # noqa: S603 - our own commands
        [str(word) for word in command],
        cwd=cwd,
        env=CLEAN | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def instructions():
    """Instructions of the Dockerfile with what follows them, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def run_of_dockerfile(words, wheels, python):
    """Do what a line of the Dockerfile does, with another folder for wheels, and an environment for the image."""
    (command,) = (rest for kind, rest in instructions() if kind == "RUN" and words in rest)
    path = f"{python.parent}:{CLEAN['PATH']}"
    return done("/bin/sh", "-c", command.replace("/wheels", str(wheels)), cwd=ROOT, PATH=path)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, and the seconds that it took to build."""
    folder = tmp_path_factory.mktemp("wheels")
    start = sum(os.times()[2:4])  # of the processor, in processes that have ended
    run_of_dockerfile("pip wheel", folder, Path(sys.executable))
    seconds = sum(os.times()[2:4]) - start
    (path,) = folder.glob("*.whl")
    return path, seconds


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """An empty environment with nothing but the wheel and what it needs, the service included."""
    folder, wheels = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("copied")
    shutil.copy(wheel[0], wheels)
    done(sys.executable, "-m", "venv", folder)
    run_of_dockerfile("pip install", wheels, folder / "bin" / "python")
    assert not wheels.exists()
    return folder / "bin" / "python"


@pytest.mark.slow
@needs_library
def test_the_build_is_quick_and_the_wheel_is_for_every_python(wheel):
    path, seconds = wheel
    assert seconds < 90.0
    assert re.fullmatch(r"copa_recourse-[\d.]+-py3-none-(manylinux_2_17|linux)_\w+\.whl", path.name)


@pytest.mark.slow
@needs_library
def test_two_builds_give_the_same_bytes(wheel, tmp_path):
    done(sys.executable, ROOT / "scripts" / "kernel_library", "--again", "--into", tmp_path)
    built = sorted(path.name for path in tmp_path.iterdir())
    assert len(built) >= 2
    with zipfile.ZipFile(wheel[0]) as packed:
        for name in built:
            assert packed.read(f"copa/_core/_library/{name}") == (tmp_path / name).read_bytes(), name


@pytest.mark.slow
@needs_library
def test_the_first_calls_after_an_installation_do_not_wait(python):
    first, _ = done(python, "-c", CLOCK + BOUND, OPENBLAS_NUM_THREADS="1").split()
    assert float(first) <= 1.0
    assert float(done(python, "-c", CLOCK + PLAN, OPENBLAS_NUM_THREADS="1")) <= 8.0
    assert "kernels: library for" in run_of_dockerfile("copa --version", ROOT, python)


@pytest.mark.slow
def test_without_the_library_the_first_plan_takes_half_of_what_it_did(python, tmp_path):
    seconds = done(python, "-c", CLOCK + PLAN, COPA_KERNELS="jit", NUMBA_CACHE_DIR=str(tmp_path))
    assert float(seconds) <= 36.0


@pytest.mark.slow
def test_without_a_linker_the_package_is_built_all_the_same(tmp_path):
    nothing = tmp_path / "empty"
    nothing.mkdir()
    command = f"{sys.executable} -m pip wheel -vv --no-deps --wheel-dir {tmp_path} {ROOT} 2>&1"
    output = done("/bin/sh", "-c", command, PATH=str(nothing))
    assert "built without compiled kernels" in output
    assert next(tmp_path.glob("*.whl")).name.endswith("-py3-none-any.whl")


def test_the_container_serves_as_a_user_of_its_own_with_the_library():
    found = instructions()
    kinds = [kind for kind, _ in found]
    assert kinds.count("FROM") == 2
    assert kinds.index("USER") < kinds.index("ENTRYPOINT")
    assert dict(found)["USER"] not in {"root", "0"}
    assert "COPA_KERNELS=library" in dict(found)["ENV"]
    assert "/healthz" in dict(found)["HEALTHCHECK"]
    command = json.loads(dict(found)["ENTRYPOINT"]) + json.loads(dict(found)["CMD"])
    assert command[:2] == ["copa", "serve"]
    assert "--token-file" in command
