"""What this machine is, for choosing machine code: system, architecture and level of the processor."""

import platform
import sys
from functools import cache
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
BASELINE = "baseline"  # what every processor of an architecture has

# Levels of x86-64 as its ABI defines them, the highest first, with the names of their features in /proc/cpuinfo.
V2 = frozenset({"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"})
V3 = V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
X86_LEVELS = {"x86-64-v3": V3, "x86-64-v2": V2}  # a library for v4 was not faster


def machine() -> str:
    """System and architecture, as in `linux-x86_64`."""
    return f"{sys.platform}-{platform.machine().lower()}"


def levels_of(architecture: str) -> tuple[str, ...]:
    """Levels that machine code is made for on an architecture, the highest first; empty where none is."""
    return {"linux-x86_64": tuple(X86_LEVELS), "linux-aarch64": (BASELINE,)}.get(architecture, ())


@cache
def supported_levels() -> tuple[str, ...]:
    """Those of them that this processor has, the highest first."""
    here = machine()
    if here != "linux-x86_64":
        return levels_of(here)
    features = _features()
    return tuple(level for level, needed in X86_LEVELS.items() if needed <= features)


def _features() -> frozenset[str]:
    """What Linux says of the first processor; nothing where it cannot be read."""
    try:
        with CPU_INFO.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("flags"):
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()
