// Lower bounds for a batch of plans: canonical form, solution and proof of each.
#pragma once

#include "interior_point.hpp"

namespace copa {

inline constexpr double ROUNDING = 64 * 2.2e-16;  // per row of a block: far above the rounding errors in forming it

// Unit vectors u_j = (root_j, mean_j) / h_j and reaches t_j = reach_j / h_j of one plan.
//
// `roots` (J, K) may be rotated freely, so more columns than options are folded into a triangle first.
inline void canonical_plan(Floats2 roots, Floats means, Floats reaches, Floats2 work, Floats2 directions, Floats reach) {
    const Index n = directions.cols;
    if (roots.cols > roots.rows) {
        copy(roots, work);
        triangular_rows(work, directions.first_columns(n - 1));
    } else {
        copy(roots, directions);
    }
    for (Index j = 0; j < roots.rows; ++j) {
        const Floats direction = directions[j];
        direction[n - 1] = means[j];
        double square = 0.0;
        for (double entry : direction) square += entry * entry;
        const double scale = square > 0.0 ? 1.0 / std::sqrt(square) : 0.0;
        for (double& entry : direction) entry *= scale;
        reach[j] = square > 0.0 ? reaches[j] * scale : std::numeric_limits<double>::infinity();
    }
}

// Option whose mean score is least above its reach, and by how much (in the option's own scale).
struct Broken {
    Index option;
    double slack;
};
inline Broken first_broken(Floats2 directions, Floats reach) {
    Broken worst{0, std::numeric_limits<double>::infinity()};
    for (Index j = 0; j < directions.rows; ++j) {
        const double slack = directions(j, directions.cols - 1) - reach[j];
        if (slack < worst.slack) worst = {j, slack};
    }
    return worst;
}

// Pair for L* = 0: M = e e', g = 0, and all the mass against one option, W = e e'.
inline void broken_plan(Floats2 directions, Floats reach, Index worst, Floats2 axes, Floats column, Floats2 matrix,
                        Floats3 blocks) {
    const Index n = matrix.rows;
    matrix.fill(0.0);
    matrix(n - 1, n - 1) = 1.0;
    blocks.fill(0.0);
    reflection_axes(directions, axes);
    // H e, the last axis in the frame of the option before the reach becomes its unit.
    for (Index k = 0; k < n; ++k) column[k] = -2.0 * axes(worst, n - 1) * axes(worst, k);
    column[n - 1] += 1.0;
    // Along its own direction the option allows (X)_11 <= 1: exact for |mean| <= reach, a cut for a mean that rejects.
    const double unit = std::max(reach[worst], std::abs(column[0]));
    column[0] = unit > 0.0 ? column[0] / unit : 0.0;
    for (Index a = 0; a < n; ++a) {
        for (Index b = 0; b < n; ++b) blocks(worst, a, b) = column[a] * column[b];
    }
}

// Move an interior pair away from the boundary by more than rounding errors can amount to; return g.
inline double make_safe(double g, Floats2 matrix, Floats3 blocks) {
    const Index n = matrix.rows;
    double size = 1.0 + g;
    for (Index i = 0; i < n; ++i) size += matrix(i, i);
    const double margin = ROUNDING * static_cast<double>(n) * size;
    for (Index i = 0; i < n; ++i) matrix(i, i) += margin;
    const double shrink = 1.0 - ROUNDING * static_cast<double>(n);
    for (double& entry : blocks.flat()) entry *= shrink;
    return g + margin;
}

// Write lambda_j = e' U_j X_j U_j' e, the mass against each option; return their sum.
inline double attack_weights(Floats3 blocks, Floats2 axes, Floats reach, Floats image, Floats e_in_frame, Floats weights) {
    const Index n = axes.cols;
    double total = 0.0;
    for (Index j = 0; j < axes.rows; ++j) {
        image.fill(0.0);
        image[n - 1] = 1.0;
        column_out_of_frame(image, axes[j], 1.0, e_in_frame);  // H is its own inverse
        e_in_frame[0] *= reach[j];
        double mass = 0.0;
        for (Index a = 0; a < n; ++a) {
            for (Index b = 0; b < n; ++b) mass += e_in_frame[a] * blocks(j, a, b) * e_in_frame[b];
        }
        weights[j] = mass;
        total += mass;
    }
    return total;
}

// Solve every plan of a batch and report only what is proven: see `lower_bounds` in bindings.cpp.
inline void lower_bounds(Floats3 roots, Floats2 means, Floats2 reaches, double tolerance, Stop stop, Floats3 directions,
                         Floats2 reach, Floats3 matrices, Floats penalties, Floats4 blocks, Floats2 weights,
                         Floats lower, Floats ceiling) {
    const Index n_options = roots.rows, n = matrices.rows;
    InteriorPoint method(n_options, n);
    Arena arena;
    const Floats2 work = arena.matrix(n_options, roots.cols);
    const Floats first = arena.vector(n), second = arena.vector(n);
    for (Index p = 0; p < roots.size && !stop(); ++p) {
        canonical_plan(roots[p], means[p], reaches[p], work, directions[p], reach[p]);
        const Broken worst = first_broken(directions[p], reach[p]);
        if (!(worst.slack > 0.0)) {
            broken_plan(directions[p], reach[p], worst.option, method.axes, first, matrices[p], blocks[p]);
            penalties[p] = 0.0;
            weights[p].fill(0.0);
            weights(p, worst.option) = 1.0;
            lower[p] = 0.0;
            ceiling[p] = 0.0;
            continue;
        }
        const double g = method.solve(directions[p], reach[p], tolerance, stop, matrices[p], blocks[p]).g;
        penalties[p] = make_safe(g, matrices[p], blocks[p]);
        lower[p] = 1.0 - penalties[p];
        for (Index i = 0; i < n; ++i) lower[p] -= matrices(p, i, i);
        ceiling[p] = 1.0 - attack_weights(blocks[p], method.axes, reach[p], first, second, weights[p]);
        lower[p] = std::max(lower[p], 0.0);
    }
}

}  // namespace copa
