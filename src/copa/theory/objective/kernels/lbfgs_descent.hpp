// Descent with a smoothed objective: a limited-memory quasi-Newton method on the faces of the constraints.
//
// The minimum over the options is softened at a falling temperature. Which constraints are active is read off a projected
// gradient step; the quasi-Newton step lies in their tangent space and is followed along its projection.
#pragma once

#include "_core/kernels/projection.hpp"
#include "theory/objective/kernels/objective.hpp"

namespace copa::objective {

// Descends with plans of J options in n coordinates, one after another, with the same arrays.
struct LbfgsDescent {
    static constexpr Index MEMORY = 8;  // pairs of steps and gradient changes that stand for the curvature
    static constexpr double PROBE = 0.1;  // length of the gradient step that tells active constraints from others
    static constexpr double FIRST_STEP = 0.1;  // largest change of a coordinate in the first step: no curvature is known
    static constexpr double LONGEST_STEP = 1.0;  // of an option: the objective bends over distances of about one
    static constexpr int MAX_STEPS_TRIED = 12;   // along one direction
    static constexpr double ARMIJO = 1e-4;
    static constexpr double CURVATURE = 1e-8;    // least cosine between a step and its gradient change
    static constexpr int PATIENCE = 3;           // steps of little progress in a row that end the descent
    static constexpr double LEAST_SHARE = 1e-6;  // of an option in the next soft minimum
    static constexpr double ROUNDED = 1e-3;      // of the kinks of the costs
    static constexpr double TOLERANCE = 1e-3;    // speed of the gradient step at which a plan counts as stationary
    static constexpr double FACE = 1e-9;  // relative distance from the half-space's face within which an option is on it

    LbfgsDescent(Index n_options, Index n) : parts(n_options, n) {}

    // Project a start onto what is allowed and descend from it, at one temperature after another; return its objective.
    double solve(const Problem& problem, Floats2 plan, Floats temperatures, std::int64_t max_steps, Stop stop) {
        for (Index j = 0; j < plan.rows; ++j) {
            prior[j] = 1.0;
            copy(plan[j], line);
            project(line, problem.gain, problem.needed, problem.lower, problem.upper, plan[j]);
        }
        for (double temperature : temperatures) descend(problem, plan, temperature, max_steps, stop);
        return hard_objective(problem, plan, parts);
    }

    // Lower the smooth objective from `moves`, in place.
    //
    // The prior is replaced by the options' shares at the end, for a descent at a lower temperature.
    void descend(const Problem& problem, Floats2 moves, double temperature, std::int64_t max_steps, Stop stop) {
        double value = smooth_objective(problem, moves, temperature, prior, ROUNDED, parts, gradient);
        Index count = 0;
        int idle = 0;
        copy(prior, final);
        for (std::int64_t step = 0; step < max_steps; ++step) {
            if (stop() || find_active(problem, moves) <= TOLERANCE) break;
            choose_direction(problem.gain, count);
            const double lower = line_search(problem, moves, value, temperature);
            if (!(lower < value)) {
                if (count == 0) break;
                count = 0;
                continue;
            }
            count = update_memory(moves, count);
            for (Index j = 0; j < prior.size; ++j) final[j] = std::max(parts.share[j], LEAST_SHARE);
            idle = value - lower <= 0.01 * TOLERANCE * (1.0 + std::abs(value)) ? idle + 1 : 0;
            value = lower;
            if (idle >= PATIENCE) break;
        }
        copy(final, prior);
    }

    // Note the constraints that stop a gradient step; return how fast that step moves (zero at a stationary plan).
    double find_active(const Problem& problem, Floats2 moves) {
        const Floats lower = problem.lower, upper = problem.upper;
        double fastest = 0.0;
        for (Index j = 0; j < moves.rows; ++j) {
            double score = 0.0;
            for (Index k = 0; k < moves.cols; ++k) {
                line[k] = moves(j, k) - PROBE * gradient(j, k);
                score += problem.gain[k] * moves(j, k);
            }
            const Floats probed = probe[j];
            const bool pushed = project(line, problem.gain, problem.needed, lower, upper, probed) > 0.0;
            on_face[j] = pushed && score <= problem.needed + FACE * (1.0 + std::abs(problem.needed));
            for (Index k = 0; k < moves.cols; ++k) {
                const double move = moves(j, k);
                const bool low = move <= lower[k] && probed[k] <= lower[k];
                at_bound(j, k) = low || (move >= upper[k] && probed[k] >= upper[k]);
                fastest = std::max(fastest, std::abs(probed[k] - move));
            }
        }
        return fastest / PROBE;
    }

    // Remove from the direction what would leave the active constraints.
    void project_onto_tangent(Floats gain) {
        for (Index j = 0; j < direction.rows; ++j) {
            double along = 0.0, square = 0.0;
            for (Index k = 0; k < direction.cols; ++k) {
                if (at_bound(j, k)) {
                    direction(j, k) = 0.0;
                } else {
                    along += gain[k] * direction(j, k);
                    square += gain[k] * gain[k];
                }
            }
            if (!on_face[j] || !(square > 0.0)) continue;
            for (Index k = 0; k < direction.cols; ++k) {
                if (!at_bound(j, k)) direction(j, k) -= along / square * gain[k];
            }
        }
    }

    // Quasi-Newton direction from the last pairs of `count`, in the tangent space (the two-loop recursion).
    void choose_direction(Floats gain, Index count) {
        const Floats whole = direction.flat(), slopes = gradient.flat();
        for (Index i = 0; i < whole.size; ++i) whole[i] = -slopes[i];
        project_onto_tangent(gain);
        const Index oldest = std::max<Index>(0, count - MEMORY);
        for (Index age = 0; age < count - oldest; ++age) {
            const Index q = (count - 1 - age) % MEMORY;
            shares[q] = dot(steps[q], whole) * inverse_products[q];
            add_scaled(whole, -shares[q], changes[q]);
        }
        double scale;
        if (count > 0) {
            const Index q = (count - 1) % MEMORY;
            scale = 1.0 / (inverse_products[q] * dot(changes[q], changes[q]));
        } else {
            double largest = 0.0;
            for (double entry : whole) largest = std::max(largest, std::abs(entry));
            scale = largest > 0.0 ? std::min(1.0, FIRST_STEP / largest) : 1.0;
        }
        for (double& entry : whole) entry *= scale;
        for (Index i = oldest; i < count; ++i) {
            const Index q = i % MEMORY;
            const double share = dot(changes[q], whole) * inverse_products[q];
            add_scaled(whole, shares[q] - share, steps[q]);
        }
        project_onto_tangent(gain);
        double longest = 0.0;
        for (Index j = 0; j < direction.rows; ++j) longest = std::max(longest, dot(direction[j], direction[j]));
        if (longest > LONGEST_STEP * LONGEST_STEP) {
            for (double& entry : whole) entry *= LONGEST_STEP / std::sqrt(longest);
        }
    }

    // Try shorter and shorter steps along the projected direction; return the new value, infinite if none is lower.
    double line_search(const Problem& problem, Floats2 moves, double value, double temperature) {
        double step = 1.0;
        for (int trials = 0; trials < MAX_STEPS_TRIED; ++trials) {
            double expected = 0.0;
            for (Index j = 0; j < moves.rows; ++j) {
                for (Index k = 0; k < moves.cols; ++k) line[k] = moves(j, k) + step * direction(j, k);
                project(line, problem.gain, problem.needed, problem.lower, problem.upper, trial[j]);
                for (Index k = 0; k < moves.cols; ++k) expected += gradient(j, k) * (trial(j, k) - moves(j, k));
            }
            const double reached = smooth_objective(problem, trial, temperature, prior, ROUNDED, parts, trial_gradient);
            if (expected < 0.0 && reached <= value + ARMIJO * expected) return reached;
            const double bend = reached - value - expected;
            const double shrink = bend > 0.0 && expected < 0.0 ? -0.5 * expected / bend : 0.5;
            step *= std::min(std::max(shrink, 0.1), 0.5);
        }
        return INFINITE;
    }

    // Step to the trial, and keep the pair if it says something about the curvature; return how many pairs are kept.
    Index update_memory(Floats2 moves, Index count) {
        const Index q = count % MEMORY;
        const Floats step = steps[q], change = changes[q], plan = moves.flat(), slopes = gradient.flat();
        const Floats next = trial.flat(), next_slopes = trial_gradient.flat();
        for (Index i = 0; i < plan.size; ++i) {
            step[i] = next[i] - plan[i];
            change[i] = next_slopes[i] - slopes[i];
            plan[i] = next[i];
            slopes[i] = next_slopes[i];
        }
        const double product = dot(step, change), step_square = dot(step, step), change_square = dot(change, change);
        if (!(product > CURVATURE * std::sqrt(step_square * change_square))) return count;
        inverse_products[q] = 1.0 / product;
        return count + 1;
    }

    static void add_scaled(Floats target, double scale, Floats source) {
        for (Index i = 0; i < target.size; ++i) target[i] += scale * source[i];
    }

    Parts parts;
    Arena arena;
    Floats2 room() { return arena.matrix(parts.n_options, parts.n); }
    const Floats2 gradient = room(), trial = room(), trial_gradient = room(), direction = room(), probe = room();
    const Floats2 steps = arena.matrix(MEMORY, parts.n_options * parts.n);
    const Floats2 changes = arena.matrix(MEMORY, parts.n_options * parts.n);  // of the gradient
    const Floats inverse_products = arena.vector(MEMORY);                     // 1 / (step . change)
    const Floats shares = arena.vector(MEMORY);
    const Matrix<bool> at_bound = arena.matrix_of<bool>(parts.n_options, parts.n);
    const Vector<bool> on_face = arena.vector<bool>(parts.n_options);
    const Floats line = arena.vector(parts.n);
    const Floats final = arena.vector(parts.n_options), prior = arena.vector(parts.n_options);  // shares of the options
};

// Descend from every start: see `lbfgs_descents` in bindings.cpp.
inline void lbfgs_descents(const Problems& problems, Floats temperatures, std::int64_t max_steps, Stop stop, Floats4 plans,
                           Floats2 values) {
    LbfgsDescent method(plans.rows, plans.cols);
    for (Index p = 0; p < plans.count; ++p) {
        const Problem problem = problem_of(problems, p);
        for (Index s = 0; s < plans.size; ++s) {
            values(p, s) = method.solve(problem, plans[p][s], temperatures, max_steps, stop);
        }
    }
}

}  // namespace copa::objective
