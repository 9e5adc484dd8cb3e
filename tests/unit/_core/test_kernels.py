"""The compiled module: its stub, what it takes, and its sources."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from copa import _kernels
from copa.planner.search.arguments import Choice
from copa.plans.cost import Prices

ROOT = Path(__file__).parents[3]
SOURCES = [path for pattern in ("*.hpp", "*.cpp") for path in (ROOT / "src").rglob(pattern)]


def test_the_stub_says_what_the_module_takes(tmp_path):
    written = tmp_path / "_kernels.pyi"
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "copa._kernels", "-o", written], check=True)  # noqa: S603 - nanobind's own
    assert written.read_text() == (ROOT / "src" / "copa" / "_kernels.pyi").read_text()


def arguments():
    """Arguments of a call that works."""
    return [np.zeros((1, 2)), np.ones(2), np.zeros(1), -np.ones((1, 2)), np.ones((1, 2)), np.empty((1, 2))]


def test_arrays_of_another_type_shape_or_layout_are_refused():
    _kernels.project_points(*arguments())
    for wrong in (np.zeros((1, 2), dtype=np.float32), np.zeros(2), np.zeros((2, 4))[:, ::2], [[0.0, 0.0]]):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _kernels.project_points(wrong, *arguments()[1:])


def test_what_is_only_read_may_be_read_only_and_what_is_written_may_not():
    read_only = arguments()
    for array in read_only[:-1]:
        array.flags.writeable = False
    _kernels.project_points(*read_only)
    read_only[-1].flags.writeable = False
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.project_points(*read_only)


def test_an_array_of_a_named_tuple_that_does_not_fit_is_named():
    prices = Prices(np.ones(1), np.zeros((1, 1)), np.zeros(1), 1)
    numbers, written = [np.zeros(1)] * 4, [np.zeros(1, dtype=np.int64) for _ in range(2)]
    choice = Choice(*numbers, np.ones((2, 1)), 1.0, np.zeros(1), *written)
    _kernels.select_options(prices, choice)
    for wrong in (np.ones((2, 1), dtype=np.float32), np.ones(2), np.ones((4, 1))[::2], None):
        with pytest.raises(TypeError, match="rows: not a contiguous array of the right type"):
            _kernels.select_options(prices, choice._replace(rows=wrong))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_sources_leave_arithmetic_as_it_is_written(path):
    """No leave to reorder sums or to fuse products, in a pragma or an attribute; no BLAS, no chance, no clock."""
    found = re.findall(r"fast-math|fma\(|#pragma (?!once)|optimize\(|cblas|rand\(|clock\(", path.read_text())
    assert not found
