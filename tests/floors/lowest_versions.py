"""The lowest versions that pyproject.toml declares, as a constraints file for pip.

`make constraints` writes it; `make test-lowest` installs it.
"""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
FILE = ROOT / "constraints-lowest.txt"
TOOLS = {"docs", "test", "test-all"}  # extras that the library never imports: tests run with the newest tools
HEADER = "# The lowest versions that pyproject.toml declares; written by `make constraints`.\n"


def declared() -> dict[str, list[str]]:
    """Requirements as they are declared, by where: `build`, `runtime`, and the extras but those that hold tools."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = content["project"]
    extras = {name: lines for name, lines in project["optional-dependencies"].items() if name not in TOOLS}
    found = {"build": content["build-system"]["requires"], "runtime": project["dependencies"], **extras}
    return {
        where: [line for line in lines if Requirement(line).name != project["name"]] for where, lines in found.items()
    }


def lowest(requirement: str) -> tuple[str, str]:
    """Name of a package and the lowest version that a requirement allows."""
    parsed = Requirement(requirement)
    floors = [clause.version for clause in parsed.specifier if clause.operator in {">=", "=="}]
    if len(floors) != 1 or len(parsed.specifier) != 1:
        raise ValueError(f"a requirement has one lowest version, as in 'numpy>=1.26'; got {requirement!r}")
    return canonicalize_name(parsed.name), floors[0]


def lowest_of_all(requirements: list[str]) -> dict[str, str]:
    """The lowest version of each package, which must be the same wherever the package is declared."""
    floors: dict[str, str] = {}
    for name, version in map(lowest, requirements):
        if floors.setdefault(name, version) != version:
            raise ValueError(f"{name} is declared from {floors[name]} on and from {version} on; choose one")
    return floors


def constraints() -> str:
    """The text of the constraints file."""
    floors = lowest_of_all([line for lines in declared().values() for line in lines])
    return HEADER + "".join(f"{name}=={version}\n" for name, version in sorted(floors.items()))


if __name__ == "__main__":
    FILE.write_text(constraints(), encoding="utf-8")
