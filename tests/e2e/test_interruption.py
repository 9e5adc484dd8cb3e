"""Ctrl-C in the middle of a long solve: the program ends long before the solve would, by KeyboardInterrupt."""

import os
import signal
import subprocess
import sys
import time

import pytest

WITHIN = 30.0  # seconds; within two on an idle machine, and the solves below take minutes

# The child says "at work" once the solve has used a second of processor time, however long that takes.
# Where the tests themselves run in the background of a shell, children are born deaf to Ctrl-C: this one is not.
WATCHED = """
import signal, threading, time
import numpy as np, copa

signal.signal(signal.SIGINT, signal.default_int_handler)

def watch(begun):
    while time.process_time() < begun + 1.0:
        time.sleep(0.05)
    print("at work", flush=True)

def begin():
    threading.Thread(target=watch, args=[time.process_time()], daemon=True).start()

rng = np.random.default_rng(0)
"""
# One call of a kernel that takes minutes, after a small one that loads the kernels.
BOUNDS = """
def ask(n_plans, n_options):
    mean = rng.standard_normal(n_options)
    points = 0.2 * rng.standard_normal((n_plans, n_options, n_options)) + mean
    copa.validity_bounds(points, mean, 0.01 * np.eye(n_options), 0.05, n_jobs=1)
ask(1, 2)
begin()
ask(100, 60)
"""
PLANS = """
def ask(n_applicants, n_options, dimension):
    origins = rng.standard_normal((n_applicants, dimension))
    origins[:, 0] = 1.0
    mean = rng.standard_normal(dimension)
    copa.build_plans(origins, mean, 0.01 * np.eye(dimension), n_options=n_options, n_starts=200, max_iter=500, n_jobs=1)
ask(1, 2, 3)
begin()
ask(640, 13, 30)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")
@pytest.mark.parametrize("code", [BOUNDS, PLANS], ids=["bounds", "plans"])
def test_ctrl_c_ends_a_long_solve(code):
    process = subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-c", f"{WATCHED}\n{code}\nprint('finished')"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "at work\n"
        pressed = time.perf_counter()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=2.0 * WITHIN)
    finally:
        process.kill()
    assert time.perf_counter() - pressed < WITHIN
    assert "KeyboardInterrupt" in err
    assert "finished" not in out
