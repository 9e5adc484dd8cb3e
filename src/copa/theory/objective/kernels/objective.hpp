// The objective of a plan and its derivatives.
//
// The search works with moves z_j = W (x_j - x_0) in the n coordinates that may change, W the cost weights. There every
// cost is plain, c(x_i, x_j) = |z_i - z_j| in the Euclidean or the Manhattan norm, and an option's score has mean
// m'z + m_0 and variance z'A z + 2 b'z + c_0. Norms have kinks, which `rounding` turns into small bends.
#pragma once

#include <limits>

#include "_core/kernels/small_matrices.hpp"

namespace copa::objective {

inline constexpr double INFINITE = std::numeric_limits<double>::infinity();
inline constexpr double LEAST_PIVOT = 1e-15;     // of the similarity matrix: two options that coincide leave none
inline constexpr double LEAST_VARIANCE = 1e-14;  // relative to the applicant's own: a singular covariance may leave none

// The problems of N applicants, see arguments.py.
struct Problems {
    Floats2 curvature;
    Floats gain;
    Floats2 scores, tilts;
    Floats3 bounds;
    double validity_weight, diversity_weight;
    bool manhattan;
};

// What one applicant may do, and what the plan is judged by.
struct Problem {
    Floats2 curvature;    // (n, n) A, of the scores' variance
    Floats gain;          // (n,) m, how the mean score rises
    Floats tilt;          // (n,) b
    double score;         // m_0, mean score of the applicant as is
    double variance;      // c_0
    double needed;        // least m'z
    Floats lower, upper;  // (n,) box for every move
    double validity_weight, diversity_weight;
    bool manhattan;
};
inline Problem problem_of(const Problems& problems, Index p) {
    const Floats scores = problems.scores[p];
    const Floats2 bounds = problems.bounds[p];
    return {problems.curvature, problems.gain, problems.tilts[p], scores[0], scores[1], scores[2], bounds[0], bounds[1],
            problems.validity_weight, problems.diversity_weight, problems.manhattan};
}

inline double square_of(double value) { return value * value; }

// The pieces of the objective at a plan of J options in n coordinates, and their derivatives; P = J (J - 1) / 2 pairs,
// listed by rows.
struct Parts {
    Parts(Index n_options, Index n) : n_options(n_options), n(n) {}

    Arena arena;
    const Index n_options, n, n_pairs = n_options * (n_options - 1) / 2;
    const Floats2 away = arena.matrix(n_options, n);   // gradients of the costs
    const Floats lengths = arena.vector(n_options);    // roots that the costs are made of
    const Floats2 image = arena.matrix(n_options, n);  // A z_j + b
    const Floats deviation = arena.vector(n_options);  // standard deviations of the scores
    const Floats ratio = arena.vector(n_options);      // mean score over deviation
    const Floats2 rise = arena.matrix(n_options, n);   // gradients of the ratios
    const Floats2 apart = arena.matrix(n_pairs, n);    // gradients of the distances between options
    const Floats gaps = arena.vector(n_pairs);         // roots that these distances are made of
    const Floats2 similarity = arena.matrix(n_options, n_options);  // K
    const Floats2 factor = arena.matrix(n_options, n_options);      // its Cholesky factor
    const Floats2 inverse = arena.matrix(n_options, n_options);     // its inverse
    const Floats slope = arena.vector(n_pairs);    // how the determinant changes with each distance
    const Floats share = arena.vector(n_options);  // of the validity term that each option answers for
};

// A norm and the root in it.
struct Norm {
    double value, root;
};

// Norm of `vector` with its kinks rounded; its gradient replaces what `gradient` held.
//
// Euclidean: sqrt(|v|^2 + r^2) - r. Manhattan: the same for every coordinate, summed; the root is not used then.
inline Norm rounded_norm(Floats vector, bool manhattan, double rounding, Floats gradient) {
    double square = rounding * rounding;
    if (manhattan) {
        double total = 0.0;
        for (Index k = 0; k < vector.size; ++k) {
            const double root = std::sqrt(vector[k] * vector[k] + square);
            total += root - rounding;
            gradient[k] = root > 0.0 ? vector[k] / root : 0.0;
        }
        return {total, total};
    }
    for (double entry : vector) square += entry * entry;
    const double root = std::sqrt(square), scale = root > 0.0 ? 1.0 / root : 0.0;
    for (Index k = 0; k < vector.size; ++k) gradient[k] = vector[k] * scale;
    return {root - rounding, root};
}

// Mean cost of the options; gradients into `parts`.
inline double proximity(const Problem& problem, Floats2 moves, double rounding, const Parts& parts) {
    double total = 0.0;
    for (Index j = 0; j < parts.n_options; ++j) {
        const Norm cost = rounded_norm(moves[j], problem.manhattan, rounding, parts.away[j]);
        parts.lengths[j] = cost.root;
        total += cost.value;
    }
    return total / static_cast<double>(parts.n_options);
}

// Mean score over its standard deviation of every option, into `parts`; return the least.
inline double ratios(const Problem& problem, Floats2 moves, const Parts& parts) {
    double least = INFINITE;
    for (Index j = 0; j < parts.n_options; ++j) {
        const Floats move = moves[j], image = parts.image[j], rise = parts.rise[j];
        double mean = problem.score, variance = problem.variance;
        copy(problem.tilt, image);
        for (Index i = 0; i < parts.n; ++i) {
            const Floats row = problem.curvature[i];
            const double share = move[i];
            for (Index k = 0; k < parts.n; ++k) image[k] += row[k] * share;
        }
        for (Index k = 0; k < parts.n; ++k) {
            variance += (image[k] + problem.tilt[k]) * move[k];
            mean += problem.gain[k] * move[k];
        }
        variance = std::max(variance, LEAST_VARIANCE * problem.variance);
        const double scale = 1.0 / std::sqrt(variance), ratio = mean * scale;
        for (Index k = 0; k < parts.n; ++k) rise[k] = (problem.gain[k] - ratio * scale * image[k]) * scale;
        parts.deviation[j] = variance * scale;
        parts.ratio[j] = ratio;
        least = std::min(least, ratio);
    }
    return least;
}

// Determinant of the similarities K_ij = 1 / (1 + distance); its slope in every distance into `parts`.
//
// One where it has no weight.
inline double diversity(const Problem& problem, Floats2 moves, double rounding, const Parts& parts) {
    if (problem.diversity_weight == 0.0) return 1.0;
    const Floats2 similarity = parts.similarity, factor = parts.factor, inverse = parts.inverse;
    Index pair = 0;
    for (Index i = 0; i < parts.n_options; ++i) {
        similarity(i, i) = 1.0;
        for (Index j = 0; j < i; ++j, ++pair) {
            const Floats apart = parts.apart[pair];
            for (Index k = 0; k < parts.n; ++k) apart[k] = moves(i, k) - moves(j, k);
            const Norm distance = rounded_norm(apart, problem.manhattan, rounding, apart);
            parts.gaps[pair] = distance.root;
            similarity(i, j) = similarity(j, i) = 1.0 / (1.0 + distance.value);
        }
    }
    // Both norms make K positive semidefinite: a pivot that is not positive is rounding, and stands for zero.
    double determinant = 1.0;
    for (Index j = 0; j < parts.n_options; ++j) {
        double pivot = similarity(j, j);
        for (Index k = 0; k < j; ++k) pivot -= factor(j, k) * factor(j, k);
        pivot = std::max(pivot, LEAST_PIVOT);
        determinant *= pivot;
        factor(j, j) = std::sqrt(pivot);
        for (Index i = j + 1; i < parts.n_options; ++i) {
            double total = similarity(i, j);
            for (Index k = 0; k < j; ++k) total -= factor(i, k) * factor(j, k);
            factor(i, j) = total / factor(j, j);
        }
    }
    invert_from_cholesky(factor, inverse);
    pair = 0;
    for (Index i = 0; i < parts.n_options; ++i) {
        for (Index j = 0; j < i; ++j, ++pair) {
            parts.slope[pair] = -2.0 * determinant * inverse(i, j) * square_of(similarity(i, j));
        }
    }
    return determinant;
}

// Soft minimum of weight * ratio, -T log sum_j prior_j exp(-weight ratio_j / T), and each option's share in it.
inline double soften(Floats ratio, double weight, double temperature, Floats prior, Floats share) {
    const double least = *std::min_element(ratio.begin(), ratio.end());
    double total = 0.0;
    for (Index j = 0; j < ratio.size; ++j) {
        share[j] = prior[j] * std::exp(-weight * (ratio[j] - least) / temperature);
        total += share[j];
    }
    for (double& each : share) each /= total;
    return weight * least - temperature * std::log(total);
}

// Subtract the diversity weight times the gradient of the determinant.
inline void add_diversity_gradient(const Problem& problem, const Parts& parts, Floats2 gradient) {
    const double weight = problem.diversity_weight;
    if (weight == 0.0) return;
    Index pair = 0;
    for (Index i = 0; i < parts.n_options; ++i) {
        for (Index j = 0; j < i; ++j, ++pair) {
            const double slope = -weight * parts.slope[pair];
            for (Index k = 0; k < parts.n; ++k) {
                gradient(i, k) += slope * parts.apart(pair, k);
                gradient(j, k) -= slope * parts.apart(pair, k);
            }
        }
    }
}

// The objective with its kinks rounded and a soft minimum, and its gradient.
//
// `prior` (J,) weighs the options in the soft minimum: at the optimal weights its minimiser is the hard one's.
inline double smooth_objective(const Problem& problem, Floats2 moves, double temperature, Floats prior, double rounding,
                               const Parts& parts, Floats2 gradient) {
    double value = proximity(problem, moves, rounding, parts);
    for (Index j = 0; j < parts.n_options; ++j) {
        for (Index k = 0; k < parts.n; ++k) gradient(j, k) = parts.away(j, k) / static_cast<double>(parts.n_options);
    }
    if (problem.validity_weight > 0.0) {
        ratios(problem, moves, parts);
        value -= soften(parts.ratio, problem.validity_weight, temperature, prior, parts.share);
        for (Index j = 0; j < parts.n_options; ++j) {
            const double pull = problem.validity_weight * parts.share[j];
            for (Index k = 0; k < parts.n; ++k) gradient(j, k) -= pull * parts.rise(j, k);
        }
    }
    const double determinant = diversity(problem, moves, rounding, parts);
    add_diversity_gradient(problem, parts, gradient);
    return value - problem.diversity_weight * determinant;
}

// The objective itself, nothing rounded; `parts` is overwritten.
inline double hard_objective(const Problem& problem, Floats2 moves, const Parts& parts) {
    double value = proximity(problem, moves, 0.0, parts);
    if (problem.validity_weight > 0.0) value -= problem.validity_weight * ratios(problem, moves, parts);
    return value - problem.diversity_weight * diversity(problem, moves, 0.0, parts);
}

}  // namespace copa::objective
