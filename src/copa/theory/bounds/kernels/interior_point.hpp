// The lower bound's semidefinite program, solved by a primal-dual interior-point method.
//
// In canonical form (docs/theory.md) a plan of J options is J unit vectors u_j in R^n and J numbers 0 <= t_j < 1. With e
// the last unit vector and U_j the frame of option j, the program and its dual are
//
//     min  g + tr M                  s.t.  M >= 0,  g >= 0,  S_j = U_j'(M - e e')U_j + g E_11 >= 0  for all j
//     max  sum_j e' U_j X_j U_j' e   s.t.  X_j >= 0,  sum_j U_j X_j U_j' <= I,  sum_j (X_j)_11 <= 1
//
// Both have the strictly feasible start written in `start`, and every iterate stays strictly feasible: the slacks S_j,
// X_0 = I - sum_j U_j X_j U_j' and x_g = 1 - sum_j (X_j)_11 are always recomputed from (M, g) and {X_j}. So the method
// may stop anywhere with a proven pair of bounds, and their gap is the sum of the complementarity products. Search
// directions are the H..K..M ones (Helmberg et al. 1996, Kojima et al. 1997, Monteiro 1997) with Mehrotra's corrector.
#pragma once

#include <limits>

#include "newton_system.hpp"

namespace copa {

inline constexpr int MAX_ITERATIONS = 60;
inline constexpr int PATIENCE = 5;               // iterations without a smaller gap after which the best one is kept
inline constexpr double LEAST_SHARE = 0.1;       // of the gap that the predictor is trusted to leave
inline constexpr double STEP_PRECISION = 0.02;   // relative precision to which the largest feasible step is found
inline constexpr int MAX_CHORDS = 20;            // trials spent on it per block
inline constexpr double SHORT_CHORD = 0.1;       // of the bracket, below which it is halved instead
inline constexpr double SHORTEST_STEP = 1e-8;

// Minimises g + tr M for plans of J options in R^n, one after another, with the same arrays.
struct InteriorPoint {
    InteriorPoint(Index n_options, Index n) : n_options(n_options), n(n) {}

    struct Found {
        double g;
        int iterations;
    };

    // The pair with the smallest gap seen is written to `matrix` (n, n), M, and `blocks` (J, n, n), the X_j in the
    // frames of the options. `directions` (J, n) are the unit vectors u_j, `reach` (J,) the numbers t_j in [0, 1); it
    // stops when the gap is below `tolerance`, or when `stop` is set from outside.
    Found solve(Floats2 directions, Floats reach, double tolerance, Stop stop, Floats2 matrix, Floats3 blocks) {
        const double order = static_cast<double>((n_options + 1) * n + 1);
        reflection_axes(directions, axes);
        start();
        double g = 1.0, best_g = 1.0, best_gap = std::numeric_limits<double>::infinity();
        int best_iteration = 0;
        for (int iteration = 0; iteration <= MAX_ITERATIONS; ++iteration) {
            const double x_g = refresh(g, reach);
            if (!(x_g > 0.0)) break;
            const double gap = inner_product(slack, multiplier) + g * x_g;
            if (gap < best_gap) {
                best_gap = gap, best_iteration = iteration, best_g = g;
                copy(slack[n_options], matrix);
                for (Index j = 0; j < n_options; ++j) copy(multiplier[j], blocks[j]);
            }
            if (gap < tolerance || iteration - best_iteration >= PATIENCE || stop()) break;
            const double inverse_corner = factorise_system(g, x_g, reach);
            if (!(inverse_corner > 0.0)) break;

            const Step predictor = direction(0.0, inverse_corner, 0.0, reach);
            double step_s = largest_step(slack, slack_step, g, predictor.g);
            double step_x = largest_step(multiplier, multiplier_step, x_g, predictor.x_g);
            const double target = centering(g, x_g, predictor, gap, step_s, step_x) * gap / order;
            for (Index j = 0; j <= n_options; ++j) {
                symmetric_product(multiplier_step[j], slack_step[j], inverse[j], work, correction[j]);
            }
            const Step step = direction(target, inverse_corner, predictor.g * predictor.x_g / g, reach);
            // Of the way to the boundary: the surer the direction, the further.
            const double part = 0.9 + 0.09 * std::min(step_s, step_x);
            step_s = part * largest_step(slack, slack_step, g, step.g);
            step_x = part * largest_step(multiplier, multiplier_step, x_g, step.x_g);
            if (std::max(step_s, step_x) < SHORTEST_STEP) break;
            g += step_s * step.g;
            advance(slack, slack_step, step_s);
            advance(multiplier, multiplier_step, step_x);
        }
        return {best_g, best_iteration};
    }

    struct Step {
        double g, x_g;
    };

    // M = 2 I (with g = 1) and X_j = I / 2J: strictly feasible for every plan.
    void start() {
        slack.fill(0.0);
        multiplier.fill(0.0);
        for (Index i = 0; i < n; ++i) {
            slack(n_options, i, i) = 2.0;
            for (Index j = 0; j < n_options; ++j) multiplier(j, i, i) = 0.5 / static_cast<double>(n_options);
        }
    }

    // Recompute S_j, P_j, X_0 and the slacks' inverses; return x_g, or a negative number outside the interior.
    double refresh(double g, Floats reach) {
        copy(slack[n_options], rhs);
        rhs(n - 1, n - 1) -= 1.0;
        double x_g = 1.0;
        p_triangles.fill(0.0);
        const Floats common = p_triangles[n_options];
        for (Index a = 0; a < n; ++a) common[pair(a, a)] = 1.0;
        for (Index j = 0; j < n_options; ++j) {
            into_frame(rhs, axes[j], reach[j], slack[j]);
            slack(j, 0, 0) += g;
            x_g -= multiplier(j, 0, 0);
            add_out_of_frame(multiplier[j], axes[j], reach[j], column, p_triangles[j]);
            for (Index k = 0; k < common.size; ++k) common[k] -= p_triangles(j, k);
        }
        fill_symmetric(common, multiplier[n_options]);
        for (Index j = 0; j <= n_options; ++j) {
            if (!cholesky(slack[j], small)) return -1.0;
            invert_from_cholesky(small, inverse[j]);
        }
        return x_g;
    }

    // Form and factorise the Newton system, after `refresh`; return 1/g + sum_j (S_j^{-1})_11, or -1 on failure.
    double factorise_system(double g, double x_g, Floats reach) {
        double corner = x_g / g, inverse_corner = 1.0 / g;
        q_triangles.fill(0.0);
        list_triangle(inverse[n_options], q_triangles[n_options]);
        list_triangle(inverse[n_options], inverse_sum);
        for (Index j = 0; j < n_options; ++j) {
            add_out_of_frame(inverse[j], axes[j], reach[j], column, q_triangles[j]);
            for (Index k = 0; k < inverse_sum.size; ++k) inverse_sum[k] += q_triangles(j, k);
            column_out_of_frame(multiplier[j][0], axes[j], reach[j], p_columns[j]);
            column_out_of_frame(inverse[j][0], axes[j], reach[j], q_columns[j]);
            corner += multiplier(j, 0, 0) * inverse(j, 0, 0);
            inverse_corner += inverse(j, 0, 0);
        }
        system_matrix(p_triangles, q_triangles, p_columns, q_columns, corner, products, system);
        return cholesky(system, factor) ? inverse_corner : -1.0;
    }

    // Newton direction towards complementarity products equal to `target`.
    //
    // A target of 0 is the predictor's: it has no second-order terms, whatever `correction` holds.
    Step direction(double target, double inverse_corner, double correction_g, Floats reach) {
        const bool corrected = target > 0.0;
        double corner = target * inverse_corner - 1.0 - correction_g;
        triangle.fill(0.0);
        if (corrected) {
            list_triangle(correction[n_options], triangle);
            for (Index j = 0; j < n_options; ++j) {
                add_out_of_frame(correction[j], axes[j], reach[j], column, triangle);
                corner -= correction(j, 0, 0);
            }
        }
        for (Index k = 0; k < triangle.size; ++k) triangle[k] = target * inverse_sum[k] - triangle[k];
        fill_symmetric(triangle, rhs);
        for (Index a = 0; a < n; ++a) rhs(a, a) -= 1.0;
        system_rhs(rhs, corner, unknowns);
        solve_cholesky(factor, unknowns);
        Step step{unknowns[unknowns.size - 1], 0.0};
        fill_symmetric(unknowns, slack_step[n_options]);

        triangle.fill(0.0);
        for (Index j = 0; j < n_options; ++j) {
            into_frame(slack_step[n_options], axes[j], reach[j], slack_step[j]);
            slack_step(j, 0, 0) += step.g;
            const Floats2 change = multiplier_step[j];
            symmetric_product(multiplier[j], slack_step[j], inverse[j], work, change);
            for (Index a = 0; a < n; ++a) {
                for (Index b = 0; b < n; ++b) {
                    const double newton = target * inverse(j, a, b) - multiplier(j, a, b) - change(a, b);
                    change(a, b) = corrected ? newton - correction(j, a, b) : newton;
                }
            }
            step.x_g -= change(0, 0);
            add_out_of_frame(change, axes[j], reach[j], column, triangle);
        }
        for (double& entry : triangle) entry = -entry;
        fill_symmetric(triangle, multiplier_step[n_options]);
        return step;
    }

    // Factorise value + step * change; return the row of the first pivot that is not positive, or -1.
    Index failing_pivot(Floats2 value, Floats2 change, double step, Floats found) {
        for (Index i = 0; i < n; ++i) {
            for (Index k = 0; k <= i; ++k) work(i, k) = value(i, k) + step * change(i, k);
        }
        return cholesky_pivots(work, small, found);
    }

    // Step in [0, 1], close to the largest one that keeps the blocks positive definite and the number positive.
    //
    // A pivot is a concave function of the step as long as those before it are positive. So where one fails, the chord
    // from a step at which all are positive meets zero at a step that is safe for it: a few chords lead near its root.
    double largest_step(Floats3 blocks, Floats3 changes, double number, double number_change) {
        double step = number_change >= -number ? 1.0 : -number / number_change;
        for (Index b = 0; b < blocks.size; ++b) {
            Index row = failing_pivot(blocks[b], changes[b], step, pivots);
            if (row < 0) continue;
            double safe = 0.0, above = step, deficit = pivots[row];
            failing_pivot(blocks[b], changes[b], 0.0, safe_pivots);
            for (int trials = 0; trials < MAX_CHORDS; ++trials) {
                const double chord = safe_pivots[row] / (safe_pivots[row] - deficit);
                // A very short chord says little: an earlier pivot may be near zero at `above`, and this one far below.
                const double trial = safe + (chord > SHORT_CHORD ? 0.999 * chord : 0.5) * (above - safe);
                const Index found = failing_pivot(blocks[b], changes[b], trial, pivots);
                if (found >= 0) {
                    row = found, above = trial, deficit = pivots[found];
                    continue;
                }
                const double gain = trial - safe;
                safe = trial;
                copy(pivots, safe_pivots);
                if (above - safe < STEP_PRECISION * above || (chord > SHORT_CHORD && gain < STEP_PRECISION * trial)) break;
            }
            step = safe;
        }
        return step;
    }

    // Add step * changes to the blocks, in place.
    static void advance(Floats3 blocks, Floats3 changes, double step) {
        const Floats all = blocks.flat(), change = changes.flat();
        for (Index k = 0; k < all.size; ++k) all[k] += step * change[k];
    }

    // Sum of the products of all entries of two lists of blocks.
    static double inner_product(Floats3 a, Floats3 b) { return dot(a.flat(), b.flat()); }

    // Mehrotra's rule: the square of the share of the gap that the predictor would leave.
    double centering(double g, double x_g, Step step, double gap, double step_s, double step_x) {
        double left = (g + step_s * step.g) * (x_g + step_x * step.x_g);
        left += gap - g * x_g + step_s * inner_product(slack_step, multiplier);
        left += step_x * inner_product(slack, multiplier_step);
        left += step_s * step_x * inner_product(slack_step, multiplier_step);
        const double share = std::min(std::max(left / gap, LEAST_SHARE), 1.0);
        return share * share;
    }

    Arena arena;
    const Index n_options, n, n_triangle = n * (n + 1) / 2;

    const Floats2 axes = arena.matrix(n_options, n);            // reflection axes of the frames
    Floats3 list() { return arena.cube(n_options + 1, n, n); }  // blocks of the options, then of the common space
    const Floats3 slack = list();                               // S_1 .. S_J, M
    const Floats3 slack_step = list();
    const Floats3 inverse = list();     // inverses of the slacks
    const Floats3 multiplier = list();  // X_1 .. X_J, X_0
    const Floats3 multiplier_step = list();
    const Floats3 correction = list();                                      // second-order terms of the corrector
    const Floats inverse_sum = arena.vector(n_triangle);                    // triangle of the sum of the Q_j
    const Floats2 p_triangles = arena.matrix(n_options + 1, n_triangle);    // triangles of the P_j, X_0
    const Floats2 q_triangles = arena.matrix(n_options + 1, n_triangle);
    const Floats2 p_columns = arena.matrix(n_options, n);
    const Floats2 q_columns = arena.matrix(n_options, n);
    const Floats2 system = arena.matrix(n_triangle + 1, n_triangle + 1), factor = arena.matrix(n_triangle + 1, n_triangle + 1);
    const Floats2 products = arena.matrix(n_triangle, n_triangle);  // scratch, like all below
    const Floats unknowns = arena.vector(n_triangle + 1);
    const Floats pivots = arena.vector(n), safe_pivots = arena.vector(n);
    const Floats triangle = arena.vector(n_triangle), column = arena.vector(n);
    const Floats2 rhs = arena.matrix(n, n), work = arena.matrix(n, n), small = arena.matrix(n, n);
};

}  // namespace copa
