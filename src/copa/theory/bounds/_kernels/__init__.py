"""Compiled kernels of the bounds; the entry points are `lower.lower_bounds` and `mixture.surest_mixtures`."""

from pathlib import Path

from copa._core.compilation import drop_stale_machine_code

drop_stale_machine_code(Path(__file__).parent)
