"""Compiled kernels of the search; the entry points are `plans.find_plans` and `nearest.nearest_rows`."""

from pathlib import Path

from copa._core.compilation import drop_stale_machine_code

drop_stale_machine_code(Path(__file__).parent)
