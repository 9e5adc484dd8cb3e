"""Compiled kernels of the planning."""

from pathlib import Path

from copa._core.compilation import drop_stale_machine_code

drop_stale_machine_code(Path(__file__).parent)
