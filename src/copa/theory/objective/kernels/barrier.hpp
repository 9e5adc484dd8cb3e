// The barrier problem of the interior-point descent: its function and its Newton system.
//
// With a level t below every option's ratio, the minimum over the options becomes J constraints:
//
//     min  mean cost - l1 t - l2 det K   s.t.  ratio_j >= t,  m'z_j >= needed,  lower <= z_j <= upper.
//
// The barrier problem adds -barrier * log(slack) for each of them. Slacks are always computed from (z, t). Matrices are
// filled in their lower triangles.
#pragma once

#include "theory/objective/kernels/objective.hpp"

namespace copa::objective {

// Constraints of an option, in a row of C = 2 + 2 n: its level, its score, then the lower and upper bound of each move.
inline constexpr Index LEVEL = 0, SCORE = 1, BOX = 2;
inline constexpr int LEVEL_TRIALS = 50;
inline constexpr double FIRST_SHIFT = 1e-6, SHIFT_GROWTH = 3.0;
inline constexpr int MAX_SHIFTS = 30;

// The level t that minimises -weight t - barrier sum_j log(ratio_j - t).
inline double best_level(Floats ratio, double weight, double barrier) {
    const double least = *std::min_element(ratio.begin(), ratio.end());
    double low = least - static_cast<double>(ratio.size) * barrier / weight, high = least - barrier / weight;
    for (int trial = 0; trial < LEVEL_TRIALS; ++trial) {
        const double level = 0.5 * (low + high);
        double total = 0.0;
        for (double value : ratio) total += barrier / (value - level);
        (total < weight ? low : high) = level;
    }
    return 0.5 * (low + high);
}

// Place of a pair of options in the lists of pairs, and the sign of option i in their difference.
struct Pair {
    Index place;
    double sign;
};
inline Pair pair_of(Index i, Index j) {
    return i > j ? Pair{i * (i - 1) / 2 + j, 1.0} : Pair{j * (j - 1) / 2 + i, -1.0};
}

// Second derivative of a rounded Manhattan norm in coordinate k, from its first.
inline double bend(Floats unit, bool manhattan, double rounding, Index k) {
    return manhattan ? std::pow(std::max(1.0 - unit[k] * unit[k], 0.0), 1.5) / rounding : 0.0;
}

// Add the curvature of the mean cost.
inline void add_proximity(const Problem& problem, double rounding, const Parts& parts, Floats2 matrix) {
    const double n_options = static_cast<double>(parts.n_options);
    for (Index j = 0; j < parts.n_options; ++j) {
        const Floats away = parts.away[j];
        const double scale = problem.manhattan ? 0.0 : 1.0 / (n_options * parts.lengths[j]);
        for (Index k = 0; k < parts.n; ++k) {
            const Floats row = matrix[j * parts.n + k].from(j * parts.n);
            for (Index i = 0; i <= k; ++i) row[i] -= scale * away[k] * away[i];
            row[k] += scale + bend(away, problem.manhattan, rounding, k) / n_options;
        }
    }
}

// Add the curvature of -sum_j multiplier_j (ratio_j - t) and of the barrier that keeps its slacks positive.
//
// The last row belongs to t.
inline void add_ratios(const Problem& problem, const Parts& parts, Floats2 multipliers, Floats2 slacks, Floats2 matrix) {
    const Index n = parts.n, last = parts.n_options * n;
    for (Index j = 0; j < parts.n_options; ++j) {
        const Floats rise = parts.rise[j], image = parts.image[j];
        const double inverse = 1.0 / parts.deviation[j], scale = multipliers(j, LEVEL) * inverse * inverse;
        const double ratio = parts.ratio[j], stiffness = multipliers(j, LEVEL) / slacks(j, LEVEL);
        for (Index k = 0; k < n; ++k) {
            const Floats row = matrix[j * n + k].from(j * n);
            const double along_gain = scale * inverse * image[k];
            const double along_image = scale * inverse * (problem.gain[k] - 3.0 * ratio * inverse * image[k]);
            const double along_rise = stiffness * rise[k];
            for (Index i = 0; i <= k; ++i) {
                row[i] += along_gain * problem.gain[i] + along_image * image[i] + scale * ratio * problem.curvature(k, i) +
                          along_rise * rise[i];
            }
            matrix(last, j * n + k) -= along_rise;
        }
        matrix(last, last) += stiffness;
    }
}

// Second derivatives of the determinant in the distances, with the part of their own curvature along them.
inline void pair_curvature(const Problem& problem, double determinant, const Parts& parts, Floats2 pairs) {
    const Floats2 inverse = parts.inverse, similarity = parts.similarity;
    Index p = 0;
    for (Index i = 0; i < parts.n_options; ++i) {
        for (Index j = 0; j < i; ++j, ++p) {
            const double steep = square_of(similarity(i, j));
            Index q = 0;
            for (Index a = 0; a < parts.n_options; ++a) {
                for (Index b = 0; b < a; ++b, ++q) {
                    double mixed = 2.0 * inverse(i, j) * inverse(a, b) - inverse(i, a) * inverse(j, b);
                    mixed -= inverse(i, b) * inverse(j, a);
                    pairs(p, q) = 2.0 * determinant * mixed * steep * square_of(similarity(a, b));
                }
            }
            pairs(p, p) -= 2.0 * parts.slope[p] * similarity(i, j);
            if (!problem.manhattan) pairs(p, p) -= parts.slope[p] / parts.gaps[p];
        }
    }
}

// Add the curvature of -weight * determinant; `pairs` (P, P) and `along` (P, n) are scratch.
inline void add_diversity(const Problem& problem, double determinant, double rounding, const Parts& parts, Floats2 pairs,
                          Floats2 along, Floats2 matrix) {
    const Index n_options = parts.n_options, n = parts.n;
    pair_curvature(problem, determinant, parts, pairs);
    const double weight = problem.diversity_weight;
    for (Index a = 0; a < n_options; ++a) {
        for (Index q = 0; q < parts.n_pairs; ++q) {
            const Floats line = along[q];
            line.fill(0.0);
            for (Index other = 0; other < n_options; ++other) {
                if (other == a) continue;
                const Pair pair = pair_of(a, other);
                const double scale = -weight * pair.sign * pairs(pair.place, q);
                const Floats apart = parts.apart[pair.place];
                for (Index k = 0; k < n; ++k) line[k] += scale * apart[k];
            }
        }
        for (Index b = 0; b <= a; ++b) {
            for (Index other = 0; other < n_options; ++other) {
                if (other == b) continue;
                const Pair pair = pair_of(b, other);
                const Floats apart = parts.apart[pair.place];
                for (Index k = 0; k < n; ++k) {
                    const Floats row = matrix[a * n + k].from(b * n);
                    const double scale = pair.sign * along(pair.place, k);
                    const Index end = b < a ? n : k + 1;
                    for (Index i = 0; i < end; ++i) row[i] += scale * apart[i];
                }
            }
        }
    }
    for (Index i = 0; i < n_options; ++i) {
        for (Index j = 0; j < i; ++j) {
            const Index p = pair_of(i, j).place;
            for (Index k = 0; k < n; ++k) {
                double own = problem.manhattan ? bend(parts.apart[p], true, rounding, k) : 1.0 / parts.gaps[p];
                own *= -weight * parts.slope[p];
                matrix(i * n + k, i * n + k) += own;
                matrix(j * n + k, j * n + k) += own;
                matrix(i * n + k, j * n + k) -= own;
            }
        }
    }
}

// The barrier function's value, and the determinant of the similarities.
struct BarrierValue {
    double total, determinant;
};

// The arrays of one solve; N = J n + 1 unknowns, the moves and the level.
struct Interior {
    Interior(Index n_options, Index n) : n_options(n_options), n(n) {}

    // Slacks of the scores and the box; return the sum of their logarithms, minus infinity if one is not positive.
    double find_slacks(const Problem& problem, Floats2 at) {
        double total = 0.0;
        for (Index j = 0; j < n_options; ++j) {
            double score = -problem.needed;
            for (Index k = 0; k < n; ++k) {
                score += problem.gain[k] * at(j, k);
                if (held(j, k)) continue;
                for (Index side = 0; side < 2; ++side) {
                    const double room = side == 0 ? at(j, k) - problem.lower[k] : problem.upper[k] - at(j, k);
                    slack(j, BOX + 2 * k + side) = room;
                    if (!(room > 0.0)) return -INFINITE;
                    if (room < INFINITE) total += std::log(room);
                }
            }
            slack(j, SCORE) = score;
            if (!(score > 0.0)) return -INFINITE;
            total += std::log(score);
        }
        return total;
    }

    // Objective plus barrier at a plan and its best level, infinite outside.
    //
    // Slacks and parts are left behind. The level follows the plan: were it to take the Newton step's own, the curvature
    // of the ratios would allow only steps of the root of the barrier's length.
    BarrierValue barrier_function(const Problem& problem, Floats2 at, double barrier, double rounding, const Parts& parts) {
        double logarithms = find_slacks(problem, at);
        if (logarithms == -INFINITE) return {INFINITE, 0.0};
        double level = 0.0;
        if (problem.validity_weight > 0.0) {
            ratios(problem, at, parts);
            level = best_level(parts.ratio, problem.validity_weight, barrier);
            for (Index j = 0; j < n_options; ++j) {
                slack(j, LEVEL) = parts.ratio[j] - level;
                logarithms += std::log(slack(j, LEVEL));
            }
        }
        const double value = proximity(problem, at, rounding, parts) - problem.validity_weight * level;
        const double determinant = diversity(problem, at, rounding, parts);
        return {value - problem.diversity_weight * determinant - barrier * logarithms, determinant};
    }

    // The Newton matrix of the barrier problem, multipliers eliminated, and minus the barrier function's gradient.
    void set_system(const Problem& problem, double determinant, double barrier, double rounding, const Parts& parts) {
        const Index last = n_options * n;
        for (Index i = 0; i <= last; ++i) matrix[i].part(0, i + 1).fill(0.0);
        add_proximity(problem, rounding, parts, matrix);
        if (problem.validity_weight > 0.0) {
            add_ratios(problem, parts, multiplier, slack, matrix);
        } else {
            matrix(last, last) = 1.0;
        }
        if (problem.diversity_weight > 0.0) add_diversity(problem, determinant, rounding, parts, pairs, along, matrix);
        for (Index j = 0; j < n_options; ++j) {
            for (Index k = 0; k < n; ++k) gradient(j, k) = parts.away(j, k) / static_cast<double>(n_options);
        }
        add_diversity_gradient(problem, parts, gradient);
        descent[last] = problem.validity_weight;
        for (Index j = 0; j < n_options; ++j) {
            const Floats room = slack[j], price = multiplier[j];
            const double stiff = price[SCORE] / room[SCORE];
            const double rise_push = barrier / room[LEVEL], score_push = barrier / room[SCORE];
            descent[last] -= rise_push;
            for (Index k = 0; k < n; ++k) {
                const Floats row = matrix[j * n + k].from(j * n);
                for (Index i = 0; i <= k; ++i) row[i] += stiff * problem.gain[k] * problem.gain[i];
                double push = rise_push * parts.rise(j, k) + score_push * problem.gain[k] - gradient(j, k);
                if (!held(j, k)) {
                    const Index low = BOX + 2 * k;
                    push += barrier / room[low] - barrier / room[low + 1];
                    for (Index i = low; i < low + 2; ++i) row[k] += price[i] / room[i];
                }
                descent[j * n + k] = push;
            }
        }
        for (Index j = 0; j < n_options; ++j) {
            for (Index k = 0; k < n; ++k) {
                if (held(j, k)) hold(j * n + k);
            }
        }
    }

    // Keep one unknown where it is.
    void hold(Index place) {
        matrix[place].part(0, place).fill(0.0);
        for (Index i = place + 1; i < matrix.rows; ++i) matrix(i, place) = 0.0;
        matrix(place, place) = 1.0;
        descent[place] = 0.0;
    }

    // Newton step; return the shift that made the matrix positive definite (the next trial's start), or -1.
    double solve_system(double shift) {
        double tried = 0.0;
        for (int shifts = 0; shifts < MAX_SHIFTS; ++shifts) {
            for (Index i = 0; i < step.size; ++i) {
                copy(matrix[i].part(0, i), shifted[i]);
                shifted(i, i) = matrix(i, i) + tried;
            }
            if (cholesky(shifted, factor)) {
                copy(descent, step);
                solve_cholesky(factor, step);
                return tried;
            }
            tried = tried == 0.0 ? std::max(FIRST_SHIFT, shift / SHIFT_GROWTH) : tried * SHIFT_GROWTH;
        }
        return -1.0;
    }

    // The multipliers' part of the Newton step; and what it expects of the ratios.
    void set_changes(const Problem& problem, double barrier, const Parts& parts) {
        const double last = step[n_options * n];
        for (Index j = 0; j < n_options; ++j) {
            const Floats room = slack[j], price = multiplier[j], growth = change[j];
            double along_rise = -last, along_gain = 0.0;
            for (Index k = 0; k < n; ++k) {
                const double move = step[j * n + k];
                along_rise += parts.rise(j, k) * move;
                rise(j, k) = parts.rise(j, k);
                along_gain += problem.gain[k] * move;
                growth[BOX + 2 * k] = move;  // how fast the slacks grow, at first
                growth[BOX + 2 * k + 1] = -move;
            }
            growth[LEVEL] = along_rise;
            growth[SCORE] = along_gain;
            for (Index i = 0; i < growth.size; ++i) growth[i] = (barrier - price[i] * growth[i]) / room[i] - price[i];
            ratio[j] = parts.ratio[j];
            ratio_step[j] = along_rise + last;
            stiffness[j] = price[LEVEL] / room[LEVEL];
        }
    }

    Arena arena;
    const Index n_options, n, size = n_options * n + 1, n_pairs = n_options * (n_options - 1) / 2;
    const Floats2 plan = arena.matrix(n_options, n);                  // the iterate
    const Matrix<bool> held = arena.matrix_of<bool>(n_options, n);    // coordinates that stay where they are
    const Floats2 trial = arena.matrix(n_options, n);
    const Floats2 gradient = arena.matrix(n_options, n);              // of the objective without its validity term
    const Floats2 slack = arena.matrix(n_options, 2 + 2 * n);         // infinite where there is no constraint
    const Floats2 multiplier = arena.matrix(n_options, 2 + 2 * n);
    const Floats2 change = arena.matrix(n_options, 2 + 2 * n);        // of the multiplier
    const Floats2 matrix = arena.matrix(size, size), shifted = arena.matrix(size, size), factor = arena.matrix(size, size);
    const Floats descent = arena.vector(size);                        // minus the gradient of the barrier function
    const Floats step = arena.vector(size);
    const Floats correction = arena.vector(size);                     // second-order part of the step
    const Floats ratio = arena.vector(n_options);                     // at the iterate, like the three below
    const Floats ratio_step = arena.vector(n_options);                // first-order change of the ratio
    const Floats2 rise = arena.matrix(n_options, n);
    const Floats stiffness = arena.vector(n_options);                 // multiplier over slack
    const Floats2 pairs = arena.matrix(n_pairs, n_pairs), along = arena.matrix(n_pairs, n);
};

}  // namespace copa::objective
