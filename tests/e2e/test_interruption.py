"""Ctrl-C in the middle of a long solve: the program ends within seconds, by KeyboardInterrupt."""

import os
import signal
import subprocess
import sys
import time

import pytest

WITHIN = 5.0  # seconds

# One call of a kernel that takes a minute or more, after a small one that loads the kernels.
BOUNDS = """
rng = np.random.default_rng(0)
def ask(n_plans, n_options):
    mean = rng.standard_normal(n_options)
    points = 0.2 * rng.standard_normal((n_plans, n_options, n_options)) + mean
    copa.validity_bounds(points, mean, 0.01 * np.eye(n_options), 0.05, n_jobs=1)
ask(1, 2)
print("ready", flush=True)
ask(150, 40)
"""
PLANS = """
rng = np.random.default_rng(0)
def ask(n_applicants, n_options, dimension):
    origins = rng.standard_normal((n_applicants, dimension))
    origins[:, 0] = 1.0
    mean = rng.standard_normal(dimension)
    copa.build_plans(origins, mean, 0.01 * np.eye(dimension), n_options=n_options, n_starts=200, max_iter=500, n_jobs=1)
ask(1, 2, 3)
print("ready", flush=True)
ask(16, 13, 30)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")
@pytest.mark.parametrize("code", [BOUNDS, PLANS], ids=["bounds", "plans"])
def test_ctrl_c_ends_a_long_solve(code):
    process = subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-c", f"import numpy as np, copa\n{code}\nprint('finished')"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)  # so that the kernel is at work
        pressed = time.perf_counter()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60.0)
    finally:
        process.kill()
    assert time.perf_counter() - pressed < WITHIN
    assert "KeyboardInterrupt" in err
    assert "finished" not in out
