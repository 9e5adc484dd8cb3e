"""How long the lower bound of a plan takes to prove, and the size beyond which it is refused.

A plan of J options in D dimensions enters its bound through n = min(J, D) + 1 coordinates. Every iteration factorises a
Newton system of n (n + 1) / 2 + 1 unknowns, so time grows with the sixth power of n and memory with the fourth.
"""

from copa.exceptions import InvalidInputError

# Unknowns of the largest system that is solved: that of 79 options in as many dimensions. A solve stays below a minute,
# and a step of it, after which Ctrl-C is seen, takes about a second.
LARGEST_SYSTEM = 3_300
# Iterations of a hard plan, and operations per second of one core: measured times are about half of the estimate.
ITERATIONS = 20
SPEED = 8e9
KERNEL_SECONDS = 0.5  # estimated time from which kernels run beside the calling thread, so that Ctrl-C is seen


def system_size(n_options: int, dimension: int) -> int:
    """Unknowns of the Newton system of one plan."""
    n = min(n_options, dimension) + 1
    return n * (n + 1) // 2 + 1


def estimated_seconds(n_options: int, dimension: int) -> float:
    """Time that the bounds of one plan take at most, roughly, on one core."""
    n, size = min(n_options, dimension) + 1, system_size(n_options, dimension)
    # Factorising the system; forming it; products, inverses and steps of every block.
    operations = size**3 / 3.0 + 2.0 * size**2 * (n_options + 10) + 60.0 * (n_options + 1) * n**3
    return ITERATIONS * operations / SPEED


def largest_plan() -> int:
    """Most options that are bounded together where the dimension does not limit the system."""
    n_options = 1
    while system_size(n_options + 1, n_options + 1) <= LARGEST_SYSTEM:
        n_options += 1
    return n_options


def require_solvable(n_options: int, dimension: int) -> None:
    """Raise if the bounds of a plan of this size would take longer than anyone waits, or more memory than there is."""
    size = system_size(n_options, dimension)
    if size <= LARGEST_SYSTEM:
        return
    memory = 3 * 8 * size**2 / 1e9
    raise InvalidInputError(
        f"{n_options} options in {dimension} dimensions are too many to be bounded together: a Newton system of "
        f"{size:,} unknowns would take about {_duration(estimated_seconds(n_options, dimension))} and {memory:.1f} GB "
        f"for each plan; at most {largest_plan()} options (or {largest_plan()} dimensions) are allowed. Bound fewer "
        "options together, or each by itself: points[:, None] is a batch of plans of one option"
    )


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.0f} seconds"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.0f} minutes"
    return f"{seconds / 3600.0:,.0f} hours"
