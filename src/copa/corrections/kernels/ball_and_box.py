"""Points of a ball that lie in a box around its centre (compiled)."""

import math

from numba import njit

from copa.kernels.compiling import options


@njit(**options)
def farthest_on_ray(direction, low, high, budget, longest, out):
    """Write clip(t * direction, low, high) for the largest t up to `longest` at which its length is within the budget.

    With `longest` = 1 it is the projection of `direction` onto the intersection of ball and box, with infinity the
    point of the intersection where the product with `direction` is largest. The box holds the origin, so each entry
    grows with t until it meets its bound. t is found from below: entries whose bound it passes are fixed there, which
    leaves more of the budget to the others, at most once per entry.
    """
    n = direction.size
    t = 0.0
    for _ in range(n + 1):
        used, open_square = 0.0, 0.0
        for i in range(n):
            bound = high[i] if direction[i] > 0.0 else low[i]
            if t * abs(direction[i]) >= abs(bound):
                used += bound * bound
            else:
                open_square += direction[i] * direction[i]
        if open_square == 0.0:
            t = longest
            break
        wanted = math.sqrt(max(0.0, budget * budget - used) / open_square)
        if wanted >= longest:
            t = longest
            break
        if wanted <= t:
            break
        t = wanted
    for i in range(n):
        out[i] = 0.0
        if direction[i] != 0.0:
            out[i] = min(max(t * direction[i], low[i]), high[i])


SIGNATURE = "void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64, float64[:, ::1])"


@njit(SIGNATURE, **options)
def project_moves(moves, low, high, budget, projected):
    """Project every move (M, F) onto the ball of the budget and the box [low, high] (M, F) around no move at all."""
    for m in range(moves.shape[0]):
        farthest_on_ray(moves[m], low[m], high[m], budget, 1.0, projected[m])
