// The Newton system of the interior-point method.
//
// The unknowns are the lower triangle of dM, listed by rows, and dg. With P_j = U_j X_j U_j' and Q_j = U_j S_j^{-1} U_j'
// the operator is dM -> sum_j sym(P_j dM Q_j), bordered by the row and column of g.
#pragma once

#include "_core/kernels/small_matrices.hpp"

namespace copa {

// Place of entry (a, b) of a symmetric matrix in its lower triangle listed by rows.
inline Index pair(Index a, Index b) { return a >= b ? a * (a + 1) / 2 + b : b * (b + 1) / 2 + a; }

// List the lower triangle by rows.
inline void list_triangle(Floats2 matrix, Floats out) {
    Index k = 0;
    for (Index a = 0; a < matrix.rows; ++a) {
        for (Index b = 0; b <= a; ++b) out[k++] = matrix(a, b);
    }
}

// Symmetric matrix from its lower triangle listed by rows.
inline void fill_symmetric(Floats triangle, Floats2 out) {
    Index k = 0;
    for (Index a = 0; a < out.rows; ++a) {
        for (Index b = 0; b <= a; ++b) {
            out(a, b) = triangle[k];
            out(b, a) = triangle[k++];
        }
    }
}

// Right-hand side: the products of `matrix` with the unit matrices of the unknowns, then the entry of g.
inline void system_rhs(Floats2 matrix, double corner, Floats out) {
    Index k = 0;
    for (Index a = 0; a < matrix.rows; ++a) {
        for (Index b = 0; b <= a; ++b) out[k++] = a == b ? matrix(a, b) : 2.0 * matrix(a, b);
    }
    out[k] = corner;
}

// Write left' right of two lists of vectors (K, T) into `out` (T, T), along its rows and in the order of the lists.
//
// Not by BLAS, whose sums may depend on the processor and on the number of its threads.
COPA_WIDE static void multiply_lists(Floats2 left, Floats2 right, Floats2 out) {
    const Index length = left.rows, grouped = length / 4 * 4;
    for (Index i = 0; i < out.rows; ++i) {
        const Floats row = out[i];
        row.fill(0.0);
        for (Index k = 0; k < grouped; k += 4) {
            const Floats first = right[k], second = right[k + 1], third = right[k + 2], fourth = right[k + 3];
            const double a = left(k, i), b = left(k + 1, i), c = left(k + 2, i), d = left(k + 3, i);
            for (Index j = 0; j < row.size; ++j) {
                row[j] = row[j] + a * first[j] + b * second[j] + c * third[j] + d * fourth[j];
            }
        }
        for (Index k = grouped; k < length; ++k) {
            const Floats only = right[k];
            const double share = left(k, i);
            for (Index j = 0; j < row.size; ++j) row[j] += share * only[j];
        }
    }
}

// Lower triangle of the symmetric system matrix.
//
// p_triangles, q_triangles : (J + 1, n (n + 1) / 2) triangles of P_j and Q_j, with P_0 = X_0 and Q_0 = M^{-1}
// p_columns, q_columns : (J, n) vectors U_j X_j e_1 and U_j S_j^{-1} e_1, which couple dM with dg
// corner : entry of (g, g)
// products : (n (n + 1) / 2) squared, scratch
//
// Entry ((a, b), (c, d)) is the sum over j of P_bc Q_ad + P_ad Q_bc + P_bd Q_ac + P_ac Q_bd, so that one product of the
// two lists of triangles holds all that is needed.
inline void system_matrix(Floats2 p_triangles, Floats2 q_triangles, Floats2 p_columns, Floats2 q_columns, double corner,
                          Floats2 products, Floats2 out) {
    multiply_lists(p_triangles, q_triangles, products);
    const Index n = p_columns.cols, size = products.rows;
    Index row = 0;
    for (Index a = 0; a < n; ++a) {
        for (Index b = 0; b <= a; ++b, ++row) {
            Index column = 0;
            for (Index c = 0; c <= a; ++c) {
                for (Index d = 0; d <= std::min(c, c == a ? b : c); ++d, ++column) {
                    const Index bc = pair(b, c), ad = pair(a, d), bd = pair(b, d), ac = pair(a, c);
                    double entry = products(bc, ad) + products(ad, bc) + products(bd, ac) + products(ac, bd);
                    if (a == b) entry *= 0.5;
                    if (c == d) entry *= 0.5;
                    out(row, column) = entry;
                }
            }
            double entry = 0.0;
            for (Index j = 0; j < p_columns.rows; ++j) {
                entry += p_columns(j, a) * q_columns(j, b) + p_columns(j, b) * q_columns(j, a);
            }
            out(size, row) = a == b ? 0.5 * entry : entry;
        }
    }
    out(size, size) = corner;
}

// Write the unit vectors w_j of H_j = I - 2 w_j w_j' for unit directions u_j.
inline void reflection_axes(Floats2 directions, Floats2 axes) {
    for (Index j = 0; j < directions.rows; ++j) {
        const Floats axis = axes[j];
        copy(directions[j], axis);
        axis[0] += std::copysign(1.0, directions(j, 0));  // the sign that avoids cancellation
        double square = 0.0;
        for (double entry : axis) square += entry * entry;
        for (double& entry : axis) entry /= std::sqrt(square);
    }
}

// Write U' A U into `out`.
inline void into_frame(Floats2 matrix, Floats axis, double reach, Floats2 out) {
    reflect(matrix, axis, out);
    scale_first(out, reach);
}

// Add the lower triangle of U B U', listed by rows, to `triangle`; `work` is a vector.
//
// With A = diag(t, 1, ..., 1) B diag(t, 1, ..., 1) it is that of H A H = A - w y' - y w', y = 2 A w - 2 (w'A w) w.
inline void add_out_of_frame(Floats2 block, Floats axis, double reach, Floats work, Floats triangle) {
    const Index n = block.rows;
    for (Index i = 0; i < n; ++i) {
        double total = block(i, 0) * (axis[0] * reach);
        for (Index k = 1; k < n; ++k) total += block(i, k) * axis[k];
        work[i] = total;
    }
    work[0] *= reach;
    double curvature = 0.0;
    for (Index i = 0; i < n; ++i) curvature += axis[i] * work[i];
    for (Index i = 0; i < n; ++i) work[i] = 2.0 * (work[i] - curvature * axis[i]);
    triangle[0] += block(0, 0) * reach * reach - 2.0 * axis[0] * work[0];
    Index row = 1;
    for (Index i = 1; i < n; ++i) {
        triangle[row] += block(i, 0) * reach - axis[i] * work[0] - axis[0] * work[i];
        for (Index k = 1; k <= i; ++k) triangle[row + k] += block(i, k) - axis[i] * work[k] - axis[k] * work[i];
        row += i + 1;
    }
}

// Write U c into `out`.
inline void column_out_of_frame(Floats column, Floats axis, double reach, Floats out) {
    copy(column, out);
    out[0] *= reach;
    double dot = 0.0;
    for (Index k = 0; k < out.size; ++k) dot += axis[k] * out[k];
    for (Index k = 0; k < out.size; ++k) out[k] -= 2.0 * dot * axis[k];
}

}  // namespace copa
