import re

import pytest

from floors.lowest_versions import FILE, ROOT, constraints, declared, lowest, lowest_of_all

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FLOORS = lowest_of_all([line for lines in declared().values() for line in lines])


def test_the_constraints_file_is_in_step_with_pyproject():
    assert FILE.read_text(encoding="utf-8") == constraints(), "run `make constraints`"


def test_every_requirement_of_the_library_is_pinned_to_its_lowest_version():
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$", FILE.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(declared()) >= {"build", "runtime", "report", "cli"}
    assert pinned == FLOORS


def test_the_table_gives_each_lowest_version_and_its_reason():
    shown = re.findall(r"^\| ([\w-]+) \| (\d[\w.]*) \| \S.* \|$", PAGE, re.MULTILINE)
    assert dict(shown) == {name: version for name, version in FLOORS.items() if name != "torch"}  # torch: one version


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=1.26,<3", "numpy~=1.26"])
def test_a_requirement_without_one_lowest_version_is_refused(requirement):
    with pytest.raises(ValueError, match=r"one lowest version.*got 'numpy"):
        lowest(requirement)


def test_two_lowest_versions_of_one_package_are_refused():
    with pytest.raises(ValueError, match=r"typer is declared from 0\.16 on and from 0\.17 on"):
        lowest_of_all(["Typer>=0.16", "rich>=13", "typer>=0.17"])
