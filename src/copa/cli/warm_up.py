"""`copa warm-up`: compile what Numba would compile on first use."""

from copa._core.progress import counting
from copa.cli.messages import show


def warm_up() -> None:
    """Compile the kernels now, where the package came without its library of them, and say where they come from."""
    from copa._core.compilation import entry_points
    from copa._core.kernels import kernel, kernels_in_use

    names = entry_points()
    for name in counting(names, "compiling kernels", len(names), "kernels"):
        kernel(name)
    show(kernels_in_use())
