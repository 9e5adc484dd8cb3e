"""Where results that take hours are kept between runs."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return the platform's folder for caches, with a folder of ours in it; nothing is created."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "copa"
