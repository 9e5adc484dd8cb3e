// From applicants in full vectors to the problem of their moves, and from moves to options.
#pragma once

#include "_core/kernels/projection.hpp"

namespace copa::objective {

inline constexpr double SAFETY = 1e-13;  // relative; by how much more than the margin is asked for: rounding costs some
inline constexpr double UNREACHABLE = 1e-12;  // relative; a margin is out of reach only by more than rounding

// Largest gain'z over a box.
inline double largest_score(Floats gain, Floats lower, Floats upper) {
    double total = 0.0;
    for (Index k = 0; k < gain.size; ++k) {
        if (gain[k] != 0.0) total += gain[k] * (gain[k] > 0.0 ? upper[k] : lower[k]);
    }
    return total;
}

// Describe what applicants may do, in moves of the free coordinates: see `read_applicants` in bindings.cpp.
inline void read_applicants(Floats2 origins, Floats mean, Floats2 cov, Ints free, Floats scale, Floats2 lower,
                            Floats2 upper, double margin, Floats2 scores, Floats2 tilts, Floats3 bounds,
                            Vector<bool> feasible) {
    Arena arena;
    const Floats gain = arena.vector(free.size);
    for (Index k = 0; k < free.size; ++k) gain[k] = mean[free[k]] / scale[k];
    for (Index p = 0; p < origins.rows; ++p) {
        const Floats origin = origins[p];
        const Floats2 box = bounds[p];
        double score = 0.0, size = std::abs(margin), variance = 0.0;
        Index k = 0;
        for (Index i = 0; i < mean.size; ++i) {
            score += mean[i] * origin[i];
            size += std::abs(mean[i] * origin[i]);
            double image = 0.0;
            for (Index h = 0; h < mean.size; ++h) image += cov(i, h) * origin[h];
            variance += image * origin[i];
            if (k < free.size && free[k] == i) {
                tilts(p, k) = image / scale[k];
                box(0, k) = (lower(p, i) - origin[i]) * scale[k];
                box(1, k) = (upper(p, i) - origin[i]) * scale[k];
                ++k;
            }
        }
        scores(p, 0) = score;
        scores(p, 1) = variance;
        scores(p, 2) = margin - score + SAFETY * size;
        feasible[p] = !(largest_score(gain, box[0], box[1]) < margin - score - UNREACHABLE * size);
    }
}

// Write options (N, J, D) for the moves (N, J, n): see `deliver_options` in bindings.cpp.
inline void deliver_options(Floats2 origins, Floats mean, Ints free, Floats scale, Floats2 lower, Floats2 upper,
                            double margin, Floats3 moves, Floats3 points) {
    Arena arena;
    const Index n = free.size;
    const Floats gain = arena.vector(n), low = arena.vector(n), high = arena.vector(n);
    const Floats wanted = arena.vector(n), nearest = arena.vector(n);
    for (Index k = 0; k < n; ++k) gain[k] = mean[free[k]];
    for (Index p = 0; p < origins.rows; ++p) {
        for (Index j = 0; j < moves.rows; ++j) {
            const Floats point = points[p][j], move = moves[p][j];
            copy(origins[p], point);
            for (Index k = 0; k < n; ++k) {
                const Index i = free[k];
                point[i] = std::min(std::max(origins(p, i) + move[k] / scale[k], lower(p, i)), upper(p, i));
            }
            double score = 0.0;
            for (Index i = 0; i < mean.size; ++i) score += mean[i] * point[i];
            if (score >= margin) continue;
            double needed = margin - score;
            for (Index k = 0; k < n; ++k) {
                const Index i = free[k];
                low[k] = lower(p, i);
                high[k] = upper(p, i);
                wanted[k] = point[i];
                needed += gain[k] * point[i];
            }
            project(wanted, gain, needed, low, high, nearest);
            for (Index k = 0; k < n; ++k) point[free[k]] = nearest[k];
        }
    }
}

}  // namespace copa::objective
