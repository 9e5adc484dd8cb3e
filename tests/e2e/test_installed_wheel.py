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

ROOT = Path(__file__).parents[2]
CLEAN = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


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
def test_the_build_is_quick_and_the_wheel_names_the_pythons_that_it_is_for(wheel):
    path, seconds = wheel
    assert seconds < 90.0
    tag = "cp311-cp311" if sys.version_info[:2] == (3, 11) else "cp312-abi3"
    assert re.fullmatch(rf"copa_recourse-[\d.]+-{tag}-\w+\.whl", path.name)


@pytest.mark.slow
def test_the_wheel_has_the_kernels_and_neither_their_sources_nor_those_for_tests(wheel):
    with zipfile.ZipFile(wheel[0]) as packed:
        names = packed.namelist()
    assert [name for name in names if "kernels" in name and name.endswith((".so", ".pyd"))] != []
    assert not [name for name in names if name.endswith((".hpp", ".cpp")) or "_inner_kernels" in name]


@pytest.mark.slow
def test_the_first_calls_after_an_installation_do_not_wait(python):
    first, _ = done(python, "-c", CLOCK + BOUND, OPENBLAS_NUM_THREADS="1").split()
    assert float(first) <= 0.2
    assert float(done(python, "-c", CLOCK + PLAN, OPENBLAS_NUM_THREADS="1")) <= 8.0
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", run_of_dockerfile("copa --version", ROOT, python))


def test_the_container_serves_as_a_user_of_its_own():
    found = instructions()
    kinds = [kind for kind, _ in found]
    assert kinds.count("FROM") == 2
    assert kinds.index("USER") < kinds.index("ENTRYPOINT")
    assert dict(found)["USER"] not in {"root", "0"}
    assert "/healthz" in dict(found)["HEALTHCHECK"]
    command = json.loads(dict(found)["ENTRYPOINT"]) + json.loads(dict(found)["CMD"])
    assert command[:2] == ["copa", "serve"]
    assert "--token-file" in command
