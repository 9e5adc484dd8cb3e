"""How long the lower bound of a plan takes to prove, and the size beyond which it is refused, planned or audited.

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


def estimated_memory(n_options: int, dimension: int) -> float:
    """GB that the bounds of one plan take: two systems, and eight numbers for each entry of the options' blocks."""
    n = min(n_options, dimension) + 1
    return 8.0 * (2 * system_size(n_options, dimension) ** 2 + 8 * (n_options + 1) * n**2) / 1e9


def is_solvable(n_options: int, dimension: int) -> bool:
    """Whether the bounds of a plan of this size stay within the limits."""
    return estimated_seconds(n_options, dimension) <= LONGEST and estimated_memory(n_options, dimension) <= LARGEST


def largest_plan() -> int:
    """Most options that are bounded together whatever the dimension."""
    n_options = 1
    while is_solvable(n_options + 1, n_options + 1):
        n_options += 1
    return n_options


def require_solvable(n_options: int, dimension: int) -> None:
    """Raise if the bounds of a plan of this size would take longer than anyone waits, or more memory than there is."""
    if is_solvable(n_options, dimension):
        return
    raise InvalidInputError(
        f"{n_options} options in {dimension} dimensions are too many to be bounded together: "
        f"{_effort(n_options, dimension)} for each plan, and {LONGEST:.0f} seconds and {LARGEST:.0f} GB are allowed; "
        f"at most {largest_plan()} options are, in any dimension. Bound fewer options together, or each by itself: "
        "points[:, None] is a batch of plans of one option"
    )


def require_few_options(n_options: int) -> None:
    """Raise for more options of a plan to be built than can be bounded together, whatever the dimension."""
    if not is_solvable(n_options, n_options):
        raise InvalidInputError(
            f"n_options must be at most {largest_plan()}, got {n_options}: to prove a plan "
            f"{_effort(n_options, n_options)}; ask for fewer options"
        )


def _effort(n_options: int, dimension: int) -> str:
    seconds, memory = estimated_seconds(n_options, dimension), estimated_memory(n_options, dimension)
    return f"would take about {_duration(seconds)} and {memory:,.1f} GB"


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.0f} seconds"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.0f} minutes"
    return f"{seconds / 3600.0:,.0f} hours"
