// Euclidean projection onto a box together with a half-space.
#pragma once

#include <limits>

#include "small_matrices.hpp"

namespace copa {

inline constexpr int MAX_TRIALS = 200;       // of the multiplier; a Newton step lands on the root once it is on its piece
inline constexpr double SCORE_ROUNDING = 2e-15;  // relative to the terms that the score is summed from

// A score normal'x, its slope in the multiplier, and the size of its terms.
struct Placed {
    double score = 0.0, slope = 0.0, size = 0.0;
};

// Clip point + multiplier * normal into the box.
inline Placed place(Floats point, Floats normal, double multiplier, Floats lower, Floats upper, Floats out) {
    Placed placed;
    for (Index k = 0; k < point.size; ++k) {
        const double moved = point[k] + multiplier * normal[k];
        const double clipped = std::min(std::max(moved, lower[k]), upper[k]);
        out[k] = clipped;
        const double term = normal[k] * clipped;
        placed.score += term;
        placed.size += std::abs(term);
        // Just past a corner the coordinate moves if it then lies inside.
        const bool enters = normal[k] > 0.0 ? moved >= lower[k] : moved > lower[k];
        const bool stays = normal[k] > 0.0 ? moved < upper[k] : moved <= upper[k];
        if (enters && stays) placed.slope += normal[k] * normal[k];
    }
    return placed;
}

// Smallest larger multiplier at which a coordinate that waits outside of the box enters it.
inline double next_corner(Floats point, Floats normal, double multiplier, Floats lower, Floats upper) {
    double nearest = std::numeric_limits<double>::infinity();
    for (Index k = 0; k < point.size; ++k) {
        const double moved = point[k] + multiplier * normal[k];
        if (normal[k] > 0.0 && moved < lower[k]) {
            nearest = std::min(nearest, (lower[k] - point[k]) / normal[k]);
        } else if (normal[k] < 0.0 && moved > upper[k]) {
            nearest = std::min(nearest, (upper[k] - point[k]) / normal[k]);
        }
    }
    return nearest;
}

// Write the point of {normal'x >= needed, lower <= x <= upper} nearest to `point` into `out`.
//
// The projection is clip(point + t normal) for the least t >= 0 whose score normal'x is `needed`; the score is piecewise
// linear and never falls in t, so a Newton step kept inside a bracket finds t. Where the box holds no such point, `out`
// is the box's point of largest score. Return t, the half-space's multiplier, 0 where the box alone decides.
inline double project(Floats point, Floats normal, double needed, Floats lower, Floats upper, Floats out) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Placed at = place(point, normal, 0.0, lower, upper, out);
    if (at.score >= needed) return 0.0;
    double multiplier = 0.0, below = 0.0, above = infinity;
    for (int round = 0; round < MAX_TRIALS; ++round) {
        double trial = at.slope > 0.0 ? multiplier + (needed - at.score) / at.slope : infinity;
        if (!(below < trial && trial < above)) trial = 0.5 * (below + above);
        if (trial == infinity) {
            trial = next_corner(point, normal, multiplier, lower, upper);
            if (trial == infinity) return multiplier;
            // Rounding may leave a coordinate short of its corner.
            trial = std::max(trial, multiplier * (1.0 + SCORE_ROUNDING));
        }
        multiplier = trial;
        at = place(point, normal, multiplier, lower, upper, out);
        if (std::abs(at.score - needed) <= SCORE_ROUNDING * at.size) return multiplier;
        (at.score < needed ? below : above) = multiplier;
        if (above < infinity && above - below <= SCORE_ROUNDING * above) break;
    }
    if (at.score < needed && above < infinity) {
        multiplier = above;
        place(point, normal, multiplier, lower, upper, out);
    }
    return multiplier;
}

// Project every point (M, F) onto its half-space {normal'x >= needed} and its box.
inline void project_points(Floats2 points, Floats normal, Floats needed, Floats2 lower, Floats2 upper, Floats2 projected) {
    for (Index m = 0; m < points.rows; ++m) project(points[m], normal, needed[m], lower[m], upper[m], projected[m]);
}

}  // namespace copa
