"""Benchmarks run seldom; that they still find what they measure is seen at once."""

import importlib
import pkgutil

import pytest

import benchmarks

MODULES = sorted(module.name for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks."))


@pytest.mark.extended  # some draw pictures with packages of their own
@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_a_benchmark_finds_what_it_imports(name):
    importlib.import_module(name)


def test_every_benchmark_is_looked_at():
    assert len(MODULES) > 25
