"""Compile the kernels when a wheel or an editable installation is built; where that fails, say so and go on."""

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "copa/_core/_library"
OLDEST_GLIBC = "manylinux_2_17"  # the library asks for no version of a symbol, so the oldest that pip knows by number


class KernelsBuildHook(BuildHookInterface):
    """Adds the library of kernels, made by `scripts/kernel_library` in a process of its own."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library: into the sources for an editable installation, else for the wheel only."""
        if os.environ.get("COPA_KERNELS") == "jit":
            self.app.display_warning("COPA_KERNELS=jit: built without compiled kernels; Numba compiles on first use")
            return
        if version == "editable":
            self._build(Path(self.root, "src", PLACE))
            return
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        if self._build(folder):
            build_data["force_include"].update({str(path): f"{PLACE}/{path.name}" for path in folder.iterdir()})
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag()}"

    def _build(self, folder: Path) -> bool:
        """Whether the library is in the folder now."""
        command = [sys.executable, str(Path(self.root, "scripts", "kernel_library")), "--into", str(folder)]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)  # noqa: S603 - our own script
        lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines() or ["no reason given"]
        if done.returncode == 0:
            self.app.display_info(lines[-1])
            return True
        self.app.display_warning(f"built without compiled kernels, so Numba compiles on first use: {lines[-1]}")
        return False


def platform_tag() -> str:
    """Where the wheel can be installed: any Linux of this architecture with the same C library."""
    system = OLDEST_GLIBC if platform.libc_ver()[0] == "glibc" else "linux"
    return f"{system}_{platform.machine().lower()}"
