"""Compiled kernels of the corrections; the entry points are `spectral.best_steps` and `active_set.best_boxed_steps`."""

from pathlib import Path

from copa._core.compilation import drop_stale_machine_code

drop_stale_machine_code(Path(__file__).parent)
