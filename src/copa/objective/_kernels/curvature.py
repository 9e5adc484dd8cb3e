"""Second derivatives of the objective's parts (compiled). Matrices are filled in their lower triangles."""

from numba import njit

from copa._core._kernels.compiling import inner


@njit(**inner)
def pair_of(i, j):
    """Place of a pair of options in the lists of pairs, and the sign of option i in their difference."""
    if i > j:
        return i * (i - 1) // 2 + j, 1.0
    return j * (j - 1) // 2 + i, -1.0


@njit(**inner)
def bend(unit, manhattan, rounding, k):
    """Second derivative of a rounded Manhattan norm in coordinate k, from its first."""
    return max(1.0 - unit[k] * unit[k], 0.0) ** 1.5 / rounding if manhattan else 0.0


@njit(**inner)
def add_proximity(problem, rounding, parts, matrix):
    """Add the curvature of the mean cost."""
    n_options, n = parts.away.shape
    for j in range(n_options):
        away = parts.away[j]
        scale = 0.0 if problem.manhattan else 1.0 / (n_options * parts.lengths[j])
        for k in range(n):
            row = matrix[j * n + k]
            for i in range(k + 1):
                row[j * n + i] -= scale * away[k] * away[i]
            row[j * n + k] += scale + bend(away, problem.manhattan, rounding, k) / n_options


@njit(**inner)
def add_ratios(problem, parts, multipliers, slacks, matrix):
    """Add the curvature of -sum_j multiplier_j (ratio_j - t) and of the barrier that keeps its slacks positive.

    The last row belongs to t.
    """
    n_options, n = parts.rise.shape
    last = n_options * n
    for j in range(n_options):
        rise, image = parts.rise[j], parts.image[j]
        inverse = 1.0 / parts.deviation[j]
        scale = multipliers[j] * inverse * inverse
        ratio = parts.ratio[j]
        stiffness = multipliers[j] / slacks[j]
        for k in range(n):
            row = matrix[j * n + k]
            along_gain = scale * inverse * image[k]
            along_image = scale * inverse * (problem.gain[k] - 3.0 * ratio * inverse * image[k])
            along_rise = stiffness * rise[k]
            for i in range(k + 1):
                row[j * n + i] += (
                    along_gain * problem.gain[i]
                    + along_image * image[i]
                    + scale * ratio * problem.curvature[k, i]
                    + along_rise * rise[i]
                )
            matrix[last, j * n + k] -= along_rise
        matrix[last, last] += stiffness


@njit(**inner)
def pair_curvature(problem, determinant, parts, pairs):
    """Second derivatives of the determinant in the distances, with the part of their own curvature along them."""
    n_options = parts.similarity.shape[0]
    inverse, similarity = parts.inverse, parts.similarity
    p = 0
    for i in range(n_options):
        for j in range(i):
            steep = similarity[i, j] ** 2
            q = 0
            for a in range(n_options):
                for b in range(a):
                    mixed = 2.0 * inverse[i, j] * inverse[a, b] - inverse[i, a] * inverse[j, b]
                    mixed -= inverse[i, b] * inverse[j, a]
                    pairs[p, q] = 2.0 * determinant * mixed * steep * similarity[a, b] ** 2
                    q += 1
            pairs[p, p] -= 2.0 * parts.slope[p] * similarity[i, j]
            if not problem.manhattan:
                pairs[p, p] -= parts.slope[p] / parts.gaps[p]
            p += 1


@njit(**inner)
def add_diversity(problem, determinant, rounding, parts, pairs, along, matrix):
    """Add the curvature of -weight * determinant; `pairs` (P, P) and `along` (P, n) are scratch."""
    n_options = parts.similarity.shape[0]
    n_pairs, n = parts.apart.shape
    pair_curvature(problem, determinant, parts, pairs)
    weight = problem.diversity_weight
    for a in range(n_options):
        for q in range(n_pairs):
            for k in range(n):
                along[q, k] = 0.0
            for other in range(n_options):
                if other != a:
                    p, sign = pair_of(a, other)
                    scale = -weight * sign * pairs[p, q]
                    for k in range(n):
                        along[q, k] += scale * parts.apart[p, k]
        for b in range(a + 1):
            for other in range(n_options):
                if other != b:
                    q, sign = pair_of(b, other)
                    for k in range(n):
                        row = matrix[a * n + k]
                        scale = sign * along[q, k]
                        for i in range(n if b < a else k + 1):
                            row[b * n + i] += scale * parts.apart[q, i]
    for i in range(n_options):
        for j in range(i):
            p, _ = pair_of(i, j)
            for k in range(n):
                own = bend(parts.apart[p], True, rounding, k) if problem.manhattan else 1.0 / parts.gaps[p]
                own *= -weight * parts.slope[p]
                matrix[i * n + k, i * n + k] += own
                matrix[j * n + k, j * n + k] += own
                matrix[i * n + k, j * n + k] -= own
