"""The list of mutations that `make mutants` runs stays in step with the sources."""

import ast

import pytest

from run_mutants import SOURCES, TESTS, read_mutants

MUTANTS = read_mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutation_applies_once_and_is_still_python(mutant):
    text = mutant.mutated(SOURCES)
    assert mutant.find != mutant.replace
    meaning = (lambda text: ast.dump(ast.parse(text))) if mutant.file.endswith(".py") else str  # or a script of a page
    assert meaning(text) != meaning((SOURCES / "copa" / mutant.file).read_text("utf-8"))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_tests_that_must_fail_exist(mutant):
    for test in mutant.tests:
        file, _, function = test.partition("::")
        assert f"def {function.partition('[')[0]}" in (TESTS / file).read_text("utf-8")


def test_no_mutation_is_listed_twice():
    assert len({(mutant.file, mutant.find, mutant.replace) for mutant in MUTANTS}) == len(MUTANTS)


def test_a_mutation_that_does_not_apply_is_an_error(tmp_path):
    file = tmp_path / "copa" / MUTANTS[0].file
    file.parent.mkdir(parents=True)
    file.write_text(2 * MUTANTS[0].find, "utf-8")
    with pytest.raises(ValueError, match="must occur exactly once, occurs 2 times"):
        MUTANTS[0].mutated(tmp_path)
