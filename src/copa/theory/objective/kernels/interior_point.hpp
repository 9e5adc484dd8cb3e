// Descent with the objective itself: a primal-dual interior-point method.
//
// A step solves the Newton system of the barrier problem with the multipliers eliminated, shifted until it is positive
// definite (the determinant is not concave), stays strictly inside the constraints and lowers the barrier function.
#pragma once

#include "theory/objective/kernels/barrier.hpp"
#include "theory/objective/kernels/moves.hpp"

namespace copa::objective {

// Descends with plans of J options in n coordinates, one after another, with the same arrays.
struct InteriorPointDescent {
    static constexpr double LAST_BARRIER = 1e-9;  // about what the objective may miss its minimum by
    static constexpr double SHRINK = 0.2;  // of the barrier, once a step promises less than the barrier itself
    // Plans that can be turned at almost no cost have long curved valleys: only so many steps go into one barrier there.
    static constexpr int LEVEL_STEPS = 8;
    static constexpr double FLAT = 1e-2;     // promised decrease
    static constexpr double NEARLY = 100.0;  // barriers that a full Newton step may promise to gain
    static constexpr double SADDLE = 1e-4;   // least shift of the Newton matrix that tells of a way down off the path
    static constexpr double CLOSEST = 0.01;  // share of a slack or a multiplier that one step must leave
    static constexpr int MAX_STEPS_TRIED = 12;  // along one direction
    static constexpr double LONGEST_STEP = 2.0;  // of an option
    static constexpr double ARMIJO = 1e-4;
    static constexpr double TRUST = 1e8;  // how far a multiplier may stray from barrier / slack
    // First barriers, in turn: a high one gets ahead, a low one cannot push a plan out of its valley.
    static constexpr double BARRIERS[] = {1e-2, 1e-4};
    static constexpr double LOWEST_INSET = 1e-6;  // how far inside its constraints a descent starts at least
    static constexpr double KINK = 0.05;  // distance from the applicant within which an option may end up there
    // Rounding of kinks by stage: at first it is not known which coordinates stay there.
    static constexpr double ROUNDED[] = {1e-3, 1e-3, 0.0, 1e-5};
    static constexpr double NEAR = 5e-3;  // distance from the applicant's own value at which a coordinate stays there
    static constexpr double SNAP = 1e-6;  // distance within which a coordinate is put onto a bound, or back to its value
    static constexpr double NO_LOSS = 1e-9;  // relative; what that may cost

    // Without steps there is no Newton system to make room for.
    InteriorPointDescent(Index n_options, Index n, bool takes_steps)
        : parts(n_options, n), interior(takes_steps ? n_options : 1, takes_steps ? n : 1) {}

    // Lower the objective of an allowed plan, in place, and return it.
    //
    // A descent; another one if it came to nothing; with kinks, one that holds what is close to them and one that does
    // not; the snapping. Each is kept only if the objective does not rise.
    double polish(const Problem& problem, std::int64_t max_steps, Stop stop, Floats2 plan, double value) {
        const bool kinks = has_kinks(problem, plan);
        bool improved = false;
        for (int stage = 0; stage < 5; ++stage) {
            double loss = 0.0;
            bool found;
            if (stage == 4) {
                loss = NO_LOSS;
                found = snap(problem, plan);
            } else {
                const double barrier = BARRIERS[std::min(stage, 1)];
                const bool wanted = stage == 0 || (stage >= 2 ? kinks : !improved);
                found = max_steps > 0 && wanted && step_inside(problem, plan, stage == 2 ? NEAR : -1.0, barrier);
                if (found) {
                    descend(problem, barrier, kinks ? ROUNDED[stage] : 0.0, max_steps, stop);
                    for (Index j = 0; j < plan.rows; ++j) {
                        project(interior.plan[j], problem.gain, problem.needed, problem.lower, problem.upper, trial[j]);
                    }
                }
            }
            if (!found) continue;
            const double reached = hard_objective(problem, trial, parts);
            if (reached <= value + loss * (1.0 + std::abs(reached))) {
                improved = true;
                value = reached;
                copy(trial, plan);
            }
        }
        return value;
    }

    // Lower the objective from the strictly feasible `interior.plan`, in place.
    //
    // `barrier` is the first one; kinks are rounded by the barrier, and by `rounding` at least.
    void descend(const Problem& problem, double barrier, double rounding, std::int64_t max_steps, Stop stop) {
        interior.slack.fill(INFINITE);
        double shift = 0.0;
        int at_level = 0;
        BarrierValue value{INFINITE, 1.0};
        bool changed = true;
        for (std::int64_t count = 0; count < max_steps && !stop(); ++count) {
            const double rounded = std::max(barrier, rounding);
            if (changed) {
                value = interior.barrier_function(problem, interior.plan, barrier, rounded, parts);
                if (!(value.total < INFINITE)) return;
                if (count == 0) start_multipliers(barrier);
            }
            changed = false;
            interior.set_system(problem, value.determinant, barrier, rounded, parts);
            shift = interior.solve_system(shift);
            if (shift < 0.0) return;
            double decrease = 0.0;
            for (Index i = 0; i < interior.step.size; ++i) decrease += interior.descent[i] * interior.step[i];
            interior.set_changes(problem, barrier, parts);
            const Steps longest = longest_steps(problem);
            const double step = line_search(problem, value, decrease, longest.primal, barrier, rounded);
            if (step == 0.0) return;
            copy(interior.trial, interior.plan);
            step_multipliers(longest.dual, barrier);
            ++at_level;
            const bool close =
                decrease <= barrier || (step == 1.0 && decrease <= std::min(NEARLY * barrier, FLAT * FLAT));
            const bool settled = close && shift <= SADDLE;
            if (settled || (at_level >= LEVEL_STEPS && decrease <= FLAT)) {
                if (barrier <= LAST_BARRIER) return;
                barrier = std::max(LAST_BARRIER, std::min(SHRINK * barrier, std::pow(barrier, 1.5)));
                at_level = 0;
                changed = true;
            }
        }
    }

    // Largest steps of the plan and of the multipliers that leave a share of every slack and multiplier.
    struct Steps {
        double primal = 1.0, dual = 1.0;
    };
    Steps longest_steps(const Problem& problem) const {
        const Index n = interior.n;
        Steps longest;
        for (Index j = 0; j < interior.n_options; ++j) {
            const Floats slack = interior.slack[j], multiplier = interior.multiplier[j], change = interior.change[j];
            double square = 0.0, along_gain = 0.0;
            for (Index k = 0; k < n; ++k) {
                const double step = interior.step[j * n + k];
                square += step * step;
                along_gain += problem.gain[k] * step;
                if (step < 0.0) {
                    longest.primal = std::min(longest.primal, (CLOSEST - 1.0) * slack[BOX + 2 * k] / step);
                } else if (step > 0.0) {
                    longest.primal = std::min(longest.primal, (1.0 - CLOSEST) * slack[BOX + 2 * k + 1] / step);
                }
            }
            if (along_gain < 0.0) longest.primal = std::min(longest.primal, (CLOSEST - 1.0) * slack[SCORE] / along_gain);
            if (square * longest.primal * longest.primal > LONGEST_STEP * LONGEST_STEP) {
                longest.primal = LONGEST_STEP / std::sqrt(square);
            }
            for (Index i = 0; i < change.size; ++i) {
                if (change[i] < 0.0) longest.dual = std::min(longest.dual, (CLOSEST - 1.0) * multiplier[i] / change[i]);
            }
        }
        return longest;
    }

    // Add to the Newton step what cancels the ratios' deviation, at the trial, from their linear course.
    void add_second_order_correction(double step) {
        const Index n = interior.n, last = interior.n_options * n;
        const Floats correction = interior.correction;
        correction[last] = 0.0;
        for (Index j = 0; j < interior.n_options; ++j) {
            const double push =
                interior.stiffness[j] * (parts.ratio[j] - interior.ratio[j] - step * interior.ratio_step[j]) / step;
            correction[last] += push;
            for (Index k = 0; k < n; ++k) correction[j * n + k] = interior.held(j, k) ? 0.0 : -push * interior.rise(j, k);
        }
        solve_cholesky(interior.factor, correction);
        for (Index i = 0; i <= last; ++i) interior.step[i] += correction[i];
    }

    // Halve the step until the barrier function falls; return the step (0 if none does), and write the new value.
    double line_search(const Problem& problem, BarrierValue& value, double decrease, double step, double barrier,
                       double rounding) {
        const Index n = interior.n;
        bool corrected = false;
        for (int trials = 0; trials < MAX_STEPS_TRIED; ++trials) {
            for (Index j = 0; j < interior.n_options; ++j) {
                for (Index k = 0; k < n; ++k) interior.trial(j, k) = interior.plan(j, k) + step * interior.step[j * n + k];
            }
            const BarrierValue lower = interior.barrier_function(problem, interior.trial, barrier, rounding, parts);
            if (lower.total <= value.total - ARMIJO * step * decrease) {
                value = lower;
                return step;
            }
            if (trials == 0 && problem.validity_weight > 0.0 && lower.total < INFINITE) {
                // The ratios' curvature bends the path that keeps them level: follow it to second order before giving
                // up length.
                add_second_order_correction(step);
                corrected = true;
                continue;
            }
            if (corrected) {
                for (Index i = 0; i < interior.step.size; ++i) interior.step[i] -= interior.correction[i];
                corrected = false;
            }
            step *= 0.5;
        }
        return 0.0;
    }

    // Multipliers barrier / slack.
    void start_multipliers(double barrier) {
        for (Index j = 0; j < interior.slack.rows; ++j) {
            for (Index i = 0; i < interior.slack.cols; ++i) interior.multiplier(j, i) = barrier / interior.slack(j, i);
        }
    }

    // Step of the multipliers, kept within reach of barrier / slack at the new slacks.
    void step_multipliers(double step, double barrier) {
        for (Index j = 0; j < interior.slack.rows; ++j) {
            for (Index i = 0; i < interior.slack.cols; ++i) {
                const double middle = barrier / interior.slack(j, i);
                const double moved = interior.multiplier(j, i) + step * interior.change(j, i);
                interior.multiplier(j, i) = std::min(std::max(moved, middle / TRUST), middle * TRUST);
            }
        }
    }

    // Largest change of a coordinate.
    static double largest_move(Floats move) {
        double largest = 0.0;
        for (double change : move) largest = std::max(largest, std::abs(change));
        return largest;
    }

    // Whether a kink of the costs may matter: always in the Manhattan norm, else for options close to the applicant.
    static bool has_kinks(const Problem& problem, Floats2 plan) {
        if (problem.manhattan) return true;
        for (Index j = 0; j < plan.rows; ++j) {
            if (largest_move(plan[j]) <= KINK) return true;
        }
        return false;
    }

    // Start a descent from the plan, moved strictly inside its constraints; false if there is no room to.
    //
    // Coordinates within `near` of the applicant's own value (in the Euclidean norm: options, as a whole) are held there,
    // and so are those without room.
    bool step_inside(const Problem& problem, Floats2 plan, double near, double inset) {
        double length = 0.0;
        for (double slope : problem.gain) length += slope * slope;
        length = std::sqrt(length);
        for (; inset >= LOWEST_INSET; inset *= 0.01) {
            bool inside = true;
            for (Index j = 0; j < plan.rows; ++j) {
                const bool close = largest_move(plan[j]) <= near;
                for (Index k = 0; k < plan.cols; ++k) {
                    double lower = problem.lower[k], upper = problem.upper[k];
                    const bool unchanged = problem.manhattan ? std::abs(plan(j, k)) <= near : close;
                    if (unchanged && lower <= 0.0 && 0.0 <= upper) lower = upper = 0.0;
                    interior.held(j, k) = !(lower < upper);
                    const double margin = std::min(inset, 0.25 * (upper - lower));
                    box(0, k) = lower + margin;
                    box(1, k) = upper - margin;
                }
                const double needed = problem.needed + inset * length;
                inside = inside && largest_score(problem.gain, box[0], box[1]) >= needed && needed > problem.needed;
                project(plan[j], problem.gain, needed, box[0], box[1], interior.plan[j]);
            }
            if (inside) return true;
        }
        return false;
    }

    // Write the plan, with coordinates that are all but there put onto bounds and own values, to `trial`.
    //
    // The other coordinates make up for the score; false where they cannot.
    bool snap(const Problem& problem, Floats2 plan) {
        for (Index j = 0; j < plan.rows; ++j) {
            for (Index k = 0; k < plan.cols; ++k) {
                const double lower = problem.lower[k], upper = problem.upper[k];
                box(0, k) = lower;
                box(1, k) = upper;
                for (double target : {lower, upper, 0.0}) {
                    if (std::abs(plan(j, k) - target) <= SNAP && lower <= target && target <= upper) {
                        box(0, k) = box(1, k) = target;
                    }
                }
            }
            if (largest_score(problem.gain, box[0], box[1]) < problem.needed) return false;
            project(plan[j], problem.gain, problem.needed, box[0], box[1], trial[j]);
        }
        return true;
    }

    Parts parts;
    Interior interior;
    Arena arena;
    const Floats2 trial = arena.matrix(parts.n_options, parts.n), box = arena.matrix(2, parts.n);
};

// Descend from every allowed plan: see `interior_point_descents` in bindings.cpp.
inline void interior_point_descents(const Problems& problems, std::int64_t max_steps, Stop stop, Floats4 plans,
                                    Floats2 values) {
    InteriorPointDescent method(plans.rows, plans.cols, max_steps > 0);
    for (Index p = 0; p < plans.count; ++p) {
        const Problem problem = problem_of(problems, p);
        for (Index s = 0; s < plans.size; ++s) {
            values(p, s) = method.polish(problem, max_steps, stop, plans[p][s], values(p, s));
        }
    }
}

}  // namespace copa::objective
