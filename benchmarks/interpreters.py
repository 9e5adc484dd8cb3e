"""Running a few lines in a fresh interpreter: for what can be measured only once per process."""

import os
import subprocess
import sys

from benchmarks import ROOT


def fresh(code: str, **environment: str) -> list[float]:
    """Run code that prints numbers; return them."""
    done = subprocess.run(  # noqa: S603 - our own lines, our own interpreter
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]
