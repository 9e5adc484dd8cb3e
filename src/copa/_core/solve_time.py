"""Time that the lower bound of a plan takes to prove, and the size beyond which a plan is refused.

A plan of J options in D dimensions enters its bound through n = min(J, D) + 1 coordinates. Every iteration factorises a
Newton system of n (n + 1) / 2 + 1 unknowns, so time grows with the sixth power of n and memory with the fourth; and it
works on J matrices of order n, so both grow with J where D does not.
"""

from copa.exceptions import InvalidInputError

# What one plan may take: 79 options in as many dimensions do not take longer. A step of their solve, after which Ctrl-C
# is seen, takes about a second.
LONGEST = 40.0  # estimated seconds
LARGEST = 1.0  # GB
# Iterations of a hard plan, and operations per second of one core: measured times are about half of the estimate.
ITERATIONS = 20
SPEED = 8e9
KERNEL_SECONDS = 0.5  # estimated time from which kernels run beside the calling thread, so that Ctrl-C is seen
MOST_OPTIONS = 79  # that are bounded together within these limits, whatever the dimension


def estimated_seconds(n_options: int, dimension: int) -> float:
    """Time that the bounds of one plan take at most, roughly, on one core."""
    n = min(n_options, dimension) + 1
    size = _system_size(n)
    # Factorising the system; forming it; products, inverses and steps of every block.
    operations = size**3 / 3.0 + 2.0 * size**2 * (n_options + 10) + 60.0 * (n_options + 1) * n**3
    return ITERATIONS * operations / SPEED


def estimated_memory(n_options: int, dimension: int) -> float:
    """GB that the bounds of one plan take: two systems, and eight numbers for each entry of the options' blocks."""
    n = min(n_options, dimension) + 1
    return 8.0 * (2 * _system_size(n) ** 2 + 8 * (n_options + 1) * n**2) / 1e9


def _system_size(n: int) -> int:
    """Unknowns of the Newton system of a plan of n coordinates."""
    return n * (n + 1) // 2 + 1


def require_solvable(n_options: int, dimension: int) -> None:
    """Raise if the bounds of a plan of this size would take longer than anyone waits, or more memory than there is."""
    seconds, memory = estimated_seconds(n_options, dimension), estimated_memory(n_options, dimension)
    if seconds <= LONGEST and memory <= LARGEST:
        return
    raise InvalidInputError(
        f"{n_options} options in {dimension} dimensions are too many to be bounded together: "
        f"{_effort(seconds, memory)} for each plan, and {LONGEST:.0f} seconds and {LARGEST:.0f} GB are allowed; "
        f"at most {MOST_OPTIONS} options are, in any dimension. Bound fewer options together, or each by itself: "
        "points[:, None] is a batch of plans of one option"
    )


def require_few_options(n_options: int) -> None:
    """Raise for more options of a plan to be built than can be bounded together, whatever the dimension."""
    if n_options > MOST_OPTIONS:
        effort = _effort(estimated_seconds(n_options, n_options), estimated_memory(n_options, n_options))
        raise InvalidInputError(
            f"n_options must be at most {MOST_OPTIONS}, got {n_options}: to prove a plan {effort}; ask for fewer "
            "options"
        )


def _effort(seconds: float, memory: float) -> str:
    time = f"{seconds:.0f} seconds" if seconds < 120.0 else f"{seconds / 60.0:.0f} minutes"
    return f"would take about {time if seconds < 7200.0 else f'{seconds / 3600.0:,.0f} hours'} and {memory:,.1f} GB"
