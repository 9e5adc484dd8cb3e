"""Break the code in one line at a time and see that the tests notice: `make mutants`.

`mutants.toml` lists the mutations. Each is applied to a copy of the sources, never to the working tree, and the tests
it names must fail. Where the mutation is in a kernel, the kernels of the copy are compiled anew.

    python tests/run_mutants.py             # all
    python tests/run_mutants.py corrections # those whose file or reason contains the word
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from kernels.build import build_kernels, copy_sources

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "src"
LIST = TESTS / "mutants.toml"

N_PROCESSES = 2
TIME_LIMIT = 900.0  # seconds for the tests of one mutant, compilation included; a mutant may loop for ever
# Exit codes of pytest: anything but these says that the tests did not run, which proves nothing.
PASSED, FAILED = 0, 1


@dataclass(frozen=True)
class Mutant:
    """One line of the sources written differently.

    Attributes
    ----------
    file : path below src/copa
    find : text that occurs exactly once in the file
    replace : what stands there instead
    tests : files or test ids below tests/, at least one of which must fail
    why : what the line is there for
    """

    file: str
    find: str
    replace: str
    tests: tuple[str, ...]
    why: str

    @property
    def name(self) -> str:
        """The file and the reason, on one line."""
        return f"{self.file}: {self.why}"

    def mutated(self, sources: Path) -> str:
        """Text of the mutated file; a ValueError where the mutation does not apply."""
        text = (sources / "copa" / self.file).read_text(encoding="utf-8")
        if (count := text.count(self.find)) != 1:
            raise ValueError(f"{self.file}: {self.find!r} must occur exactly once, occurs {count} times")
        return text.replace(self.find, self.replace)


def read_mutants(path: Path = LIST) -> list[Mutant]:
    """Read the list of mutations."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


def run_tests(sources: Path, tests: list[str], log: Path, time_limit: float | None = None) -> int:
    """Run tests against a copy of the sources; return pytest's exit code, that of a failure if the time is up."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    settings = {
        "PYTHONPATH": str(sources),
        "OPENBLAS_NUM_THREADS": "1",
    }
    with log.open("w", encoding="utf-8") as output:
        try:
            finished = subprocess.run(  # noqa: S603 - our own interpreter, on our own tests
                [*command, *tests],
                cwd=TESTS,
                env={**os.environ, **settings},
                stdout=output,
                stderr=output,
                timeout=time_limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return FAILED
    return finished.returncode


def judge(mutant: Mutant, folder: Path, base: Path) -> str:
    """Apply a mutant to a copy of the sources and say what became of it: killed, SURVIVED or NOT RUN."""
    folder.mkdir()
    copy = folder / "src"
    shutil.copytree(base, copy)
    (copy / "copa" / mutant.file).write_text(mutant.mutated(copy), encoding="utf-8")
    if mutant.file.endswith((".hpp", ".cpp")):
        build_kernels(copy, folder)
    log = folder / "log"
    code = run_tests(copy, list(mutant.tests), log, TIME_LIMIT)
    shutil.rmtree(copy)
    if code not in (PASSED, FAILED):
        sys.stdout.write(log.read_text(encoding="utf-8"))
    return {PASSED: "SURVIVED", FAILED: "killed"}.get(code, "NOT RUN")


def main(words: list[str]) -> int:
    """Judge the mutants that contain any of the words, or all; return 0 if every one of them was killed."""
    mutants = [m for m in read_mutants() if not words or any(word in m.name for word in words)]
    if not mutants:  # pytest without a test to run would run them all
        sys.stdout.write(f"no mutant's file or reason contains {' or '.join(words)}\n")
        return 1
    for mutant in mutants:
        mutant.mutated(SOURCES)
    with TemporaryDirectory(prefix="copa-mutants-") as name:
        place = Path(name)
        base = copy_sources(place / "src", SOURCES)
        # Without a mutation the tests must pass.
        if run_tests(base, sorted({test for m in mutants for test in m.tests}), place / "log") != PASSED:
            sys.stdout.write((place / "log").read_text(encoding="utf-8"))
            return 1

        def work(numbered: tuple[int, Mutant]) -> str:
            number, mutant = numbered
            begun = perf_counter()
            verdict = judge(mutant, place / str(number), base)
            sys.stdout.write(f"{verdict:8} {perf_counter() - begun:4.0f} s  {mutant.name}\n")
            sys.stdout.flush()
            return verdict

        with ThreadPoolExecutor(N_PROCESSES) as pool:
            verdicts = Counter(pool.map(work, enumerate(mutants)))
    sys.stdout.write(", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) + "\n")
    return 0 if set(verdicts) == {"killed"} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
