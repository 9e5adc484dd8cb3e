"""How fast COPA is, against the baselines that the tests trust. `python -m benchmarks` runs everything."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

# The baselines are the tests' oracles, read as `from oracle.paper_programs import ...` here and there.
sys.path.insert(0, str(ROOT / "tests"))
