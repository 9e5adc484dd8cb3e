// The mixture of options that is surest to hold.
//
// For weights w >= 0, x_w = sum_j w_j x_j is an option like any other: if it holds, at least one of the x_j does, and its
// worst-case probability has a closed form. The largest of them over all mixtures is the exact bound for "at least one
// option holds", and with the signs of all options turned it is 1 - U* (docs/theory.md, "Mixtures").
//
// For a fixed trade-off k >= 0 between spread and reach, the best mixture is a non-negative least-squares problem: the
// point of the cone spanned by the vectors (score root; sqrt(k) reach root; mean) nearest to the last unit vector. (The
// first two may be rescaled together: only the point's length changes.) The best k for a given mixture is a closed form,
// so what remains is a fixed point in one number.
#pragma once

#include <limits>

#include "_core/kernels/small_matrices.hpp"

namespace copa {

inline constexpr int MAX_SEARCH = 60;
inline constexpr double SEARCH_PRECISION = 1e-9;
inline constexpr double TINY = 1e-12;  // of a score's size: below it, spread, reach and angle count as zero in the choice of k
inline constexpr double STEEPEST = 1e-14;  // slope below which no option is worth entering

// Angle whose squared sine is the worst-case probability that a score is positive (J = 1 closed form).
inline double held_angle(double mean, double spread, double reach) {
    if (!(mean > reach)) return 0.0;
    const double length = std::hypot(mean, spread);
    return std::max(0.0, std::atan2(mean, spread) - std::asin(std::min(1.0, reach / length)));
}

// Minimises w' G w - 2 rhs' w over w >= 0 for plans of J options (active sets, as Lawson and Hanson).
class NonnegativeLeastSquares {
public:
    explicit NonnegativeLeastSquares(Index n_options) : size(n_options) {}

    // Start from the given weights. An option whose entry makes the Gram matrix singular to rounding is passed over: the
    // mixture found is still a mixture, and its bound still a bound.
    void solve(Floats2 gram, Floats rhs, Floats weights) {
        passed.fill(false);
        count = 0;
        for (Index j = 0; j < size; ++j) {
            if (weights[j] > 0.0) members[count++] = j;
        }
        Index newest = -1;
        for (Index round = 0; round < 6 * size + 10; ++round) {
            if (count == 0 || !solve_members(gram, rhs)) {
                if (count > 0) {
                    weights[members[--count]] = 0.0;
                    newest = -1;
                    continue;
                }
            } else {
                const Index before = count;
                move_towards_trial(weights);
                if (newest >= 0 && weights[newest] > 0.0) passed.fill(false);
                newest = -1;
                if (count < before) continue;
            }
            newest = entering(gram, rhs, weights);
            if (newest < 0) return;
            passed[newest] = true;  // until its entry is seen to succeed
            members[count++] = newest;
        }
    }

private:
    // Unconstrained minimiser over the member weights; false if their Gram matrix is singular to rounding.
    bool solve_members(Floats2 gram, Floats rhs) {
        for (Index a = 0; a < count; ++a) {
            for (Index b = 0; b <= a; ++b) system(a, b) = gram(members[a], members[b]);
            system(a, a) *= 1.0 + 1e-15;
            trial[a] = rhs[members[a]];
        }
        if (!cholesky(system.block(count), factor.block(count))) return false;
        solve_cholesky(factor.block(count), trial.part(0, count));
        return true;
    }

    // Option whose weight, now zero, should grow; -1 if there is none. Those in `passed` are passed over.
    Index entering(Floats2 gram, Floats rhs, Floats weights) const {
        Index best = -1;
        double steepest = STEEPEST;
        for (Index j = 0; j < size; ++j) {
            if (weights[j] > 0.0 || passed[j]) continue;
            double slope = rhs[j];
            for (Index k = 0; k < size; ++k) slope -= gram(j, k) * weights[k];
            slope /= std::sqrt(gram(j, j));
            if (slope > steepest) best = j, steepest = slope;
        }
        return best;
    }

    // Move the member weights towards the trial ones as far as they stay non-negative. Members that reach zero leave.
    void move_towards_trial(Floats weights) {
        double step = 1.0;
        for (Index a = 0; a < count; ++a) {
            const double old = weights[members[a]];
            if (trial[a] <= 0.0) step = std::min(step, old > 0.0 ? old / (old - trial[a]) : 0.0);
        }
        Index kept = 0;
        for (Index a = 0; a < count; ++a) {
            const Index j = members[a];
            const double old = weights[j];
            const double next = step == 1.0 ? trial[a] : old + step * (trial[a] - old);
            const bool leaves = trial[a] <= 0.0 && (old <= 0.0 || old / (old - trial[a]) <= step);
            weights[j] = leaves ? 0.0 : next;
            if (weights[j] > 0.0) {
                members[kept++] = j;
            } else {
                weights[j] = 0.0;
            }
        }
        count = kept;
    }

    Arena arena;
    const Index size;
    Index count = 0;  // of members: the options whose weights are not zero
    const Ints members = arena.vector<std::int64_t>(size);
    const Vector<bool> passed = arena.vector<bool>(size);
    const Floats2 system = arena.matrix(size, size), factor = arena.matrix(size, size);
    const Floats trial = arena.vector(size);
};

// Finds the surest mixtures of plans of J options, one after another, with the same arrays.
class SurestMixture {
public:
    SurestMixture(Index n_options, Index n_roots, Index n_reach_roots)
        : size(n_options), work(arena.vector(n_roots)), reach_work(arena.vector(n_reach_roots)) {}

    // Find the surest mixture of one plan, whose options are scaled to comparable size; return its angle.
    //
    // The search runs over k (in logarithm): `drift` below is the change of log k that the current mixture asks for,
    // positive below the best k and negative above, so it brackets the answer, and a secant step inside the bracket
    // finds it fast. The best mixture seen is kept, also where `stop` ends the search.
    double solve(Floats2 roots, Floats2 reach_roots, Floats means, Stop stop, Floats weights) {
        inner_products(roots, spreads);
        inner_products(reach_roots, reaches);
        double best = start(means, weights);
        constexpr double infinity = std::numeric_limits<double>::infinity();
        double below = -infinity, above = infinity, drift_below = 0.0, drift_above = 0.0, log_k = 0.0;
        for (int search = 0; search < MAX_SEARCH && !stop(); ++search) {
            const Scores scores = scores_of_trial(roots, reach_roots, means);
            const double angle = held_angle(scores.mean, scores.spread, scores.reach);
            if (angle > best) {
                best = angle;
                copy(trial, weights);
            }
            const double wanted = std::log(std::max(scores.spread, TINY) /
                                           (std::max(scores.reach, TINY) * std::max(std::sin(angle), TINY)));
            if (search == 0) {
                log_k = wanted;
            } else {
                const double drift = wanted - log_k;
                if (std::abs(drift) < SEARCH_PRECISION) break;
                if (drift > 0.0) {
                    below = log_k, drift_below = drift;
                } else {
                    above = log_k, drift_above = drift;
                }
                if (std::isinf(below) || std::isinf(above)) {
                    log_k = wanted;
                } else {
                    log_k = below + (above - below) * drift_below / (drift_below - drift_above);
                    const double inset = 0.02 * (above - below);
                    log_k = std::min(std::max(log_k, below + inset), above - inset);
                    if (above - below < SEARCH_PRECISION) break;
                }
            }
            trade_off_gram(means, std::exp(log_k));
            least_squares.solve(gram, means, trial);
        }
        return best;
    }

private:
    // Mean, spread and reach of a mixture's score.
    struct Scores {
        double mean, spread, reach;
    };

    // Begin with the surest option; where none is sure at all, with all that are accepted on average.
    double start(Floats means, Floats weights) {
        double best = 0.0;
        Index surest = -1;
        for (Index j = 0; j < size; ++j) {
            const double angle = held_angle(means[j], std::sqrt(spreads(j, j)), std::sqrt(reaches(j, j)));
            if (angle > best) best = angle, surest = j;
        }
        trial.fill(0.0);
        weights.fill(0.0);
        if (surest >= 0) {
            trial[surest] = weights[surest] = 1.0;
        } else {
            for (Index j = 0; j < size; ++j) trial[j] = std::max(means[j], 0.0);
        }
        return best;
    }

    // From the roots (not from squared quantities).
    Scores scores_of_trial(Floats2 roots, Floats2 reach_roots, Floats means) {
        double mean = 0.0;
        work.fill(0.0);
        reach_work.fill(0.0);
        for (Index j = 0; j < size; ++j) {
            if (!(trial[j] > 0.0)) continue;
            mean += trial[j] * means[j];
            for (Index k = 0; k < work.size; ++k) work[k] += trial[j] * roots(j, k);
            for (Index k = 0; k < reach_work.size; ++k) reach_work[k] += trial[j] * reach_roots(j, k);
        }
        return {mean, std::sqrt(dot(work, work)), std::sqrt(dot(reach_work, reach_work))};
    }

    // Write the Gram matrix of the cone's vectors for the trade-off k, spread and reach rescaled to size one.
    void trade_off_gram(Floats means, double k) {
        double largest = 0.0;
        for (Index a = 0; a < size; ++a) largest = std::max(largest, spreads(a, a) + k * reaches(a, a));
        const double unit = largest > 0.0 ? 1.0 / largest : 0.0;
        for (Index a = 0; a < size; ++a) {
            for (Index b = 0; b < size; ++b) gram(a, b) = unit * (spreads(a, b) + k * reaches(a, b)) + means[a] * means[b];
        }
    }

    // Write the inner products of all pairs of rows.
    static void inner_products(Floats2 rows, Floats2 out) {
        for (Index i = 0; i < rows.rows; ++i) {
            for (Index j = 0; j <= i; ++j) out(i, j) = out(j, i) = dot(rows[i], rows[j]);
        }
    }

    Arena arena;
    const Index size;
    NonnegativeLeastSquares least_squares{size};
    const Floats2 spreads = arena.matrix(size, size), reaches = arena.matrix(size, size), gram = arena.matrix(size, size);
    const Floats trial = arena.vector(size), work, reach_work;
};

// Surest mixture of every plan of a batch: see `surest_mixtures` in bindings.cpp.
inline void surest_mixtures(Floats3 roots, Floats3 reach_roots, Floats2 means, Stop stop, Floats2 mixtures, Floats held) {
    const Index n_options = roots.rows;
    SurestMixture method(n_options, roots.cols, reach_roots.cols);
    Arena arena;
    const Floats2 scaled_roots = arena.matrix(n_options, roots.cols);
    const Floats2 scaled_reach = arena.matrix(n_options, reach_roots.cols);
    const Floats scaled_means = arena.vector(n_options), scale = arena.vector(n_options);
    for (Index p = 0; p < roots.size && !stop(); ++p) {
        for (Index j = 0; j < n_options; ++j) {
            double square = means(p, j) * means(p, j);
            for (double root : roots[p][j]) square += root * root;
            scale[j] = square > 0.0 ? 1.0 / std::sqrt(square) : 0.0;
            for (Index k = 0; k < roots.cols; ++k) scaled_roots(j, k) = roots(p, j, k) * scale[j];
            for (Index k = 0; k < reach_roots.cols; ++k) scaled_reach(j, k) = reach_roots(p, j, k) * scale[j];
            scaled_means[j] = means(p, j) * scale[j];
        }
        const double sine = std::sin(method.solve(scaled_roots, scaled_reach, scaled_means, stop, mixtures[p]));
        held[p] = sine * sine;
        for (Index j = 0; j < n_options; ++j) mixtures(p, j) *= scale[j];
    }
}

}  // namespace copa
