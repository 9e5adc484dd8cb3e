"""Forged skops files: each is refused in one line, or answers as any model does; none ends the process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from copa.exceptions import InvalidInputError
from copa.models.storage import pack_model, unpack_model
from copa.models.trusted_types import CHECKS, LOADERS, READ_BY_NUMPY
from forged_models import fitted, models

SCRIPT = Path(__file__).parents[2] / "forged_models.py"
FUZZED = [name for name in models() if name != "many_trees"]
HARDENED = {"MALLOC_PERTURB_": "165", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # what is freed is filled


def outcomes(names, n_files):
    """What came of the files, each tried in a process of its own: a crash must not end the tests."""
    arguments = [sys.executable, str(SCRIPT), names, str(n_files)]
    ended = subprocess.run(  # noqa: S603 - our own script
        arguments, env=os.environ | HARDENED, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_forgeries_that_ended_the_process_are_refused_in_one_line():
    told = outcomes("reproduced", 0)
    assert {"estimators_ reshaped", "_n_support that still sums up", "a group far away"} < {
        outcome["forgery"] for outcome in told
    }
    assert [outcome for outcome in told if not outcome["outcome"].startswith("refused: ")] == []
    assert all("\n" not in outcome["outcome"] for outcome in told)


def require_harmless(told):
    untouched = [outcome["outcome"] for outcome in told if outcome["forgery"] == "none"]
    assert set(untouched) <= {"answered: ", "answered: AttributeError"}  # a method that the model does not have
    assert [outcome for outcome in told if outcome["outcome"].startswith("died")] == []
    kinds = {outcome["outcome"].split(":")[0] for outcome in told if outcome["forgery"] != "none"}
    assert kinds == {"refused", "answered"}


@pytest.mark.extended
def test_changed_files_are_refused_or_answer():
    require_harmless(outcomes(" ".join(FUZZED), 12))


@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZED)
def test_many_changed_files_are_refused_or_answer(name):
    require_harmless(outcomes(name, 1500))


def test_each_type_that_is_loaded_is_in_one_table():
    assert not set(READ_BY_NUMPY) & set(CHECKS)
    assert all(name.split(".")[0] in ("sklearn", "numpy", "_loss") for name in LOADERS)


def test_a_type_without_a_check_is_refused_by_its_name_and_with_what_to_do():
    model = KNeighborsClassifier(algorithm="brute").fit(np.eye(6), [0, 1] * 3)
    with pytest.raises(InvalidInputError, match=r"KNeighborsClassifier'.*RecoursePlanner"):
        pack_model(model)
    import skops.io

    with pytest.raises(InvalidInputError, match=r"KNeighborsClassifier'.*RecoursePlanner"):
        unpack_model(skops.io.dumps(model), "m.skops")


def test_a_source_of_random_numbers_comes_back_as_it_was():
    raw = pack_model(fitted("forest"))
    assert pack_model(unpack_model(raw, "m")) == raw
