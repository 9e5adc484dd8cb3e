// The inner functions of the kernels, for the tests: built with -DCOPA_TESTS=ON, never part of a wheel.
//
// Arrays that are only read may be of any layout and are copied where they must be; those that are written may not.
#include <nanobind/stl/pair.h>

#include "_core/kernels/arrays.hpp"
#include "_core/kernels/projection.hpp"
#include "planner/search/kernels/selection.hpp"
#include "theory/bounds/kernels/lower.hpp"
#include "theory/bounds/kernels/mixture.hpp"
#include "theory/objective/kernels/barrier.hpp"

namespace {

using namespace copa;
using namespace nb::literals;
using V = Output<double, 1>;
using M = Output<double, 2>;
using C = Output<double, 3>;
using I = Output<std::int64_t, 1>;
using B = Output<bool, 2>;

// An array of Python that shows the memory of a view; `owner` keeps it alive.
auto shown(Floats3 cube, nb::handle owner) {
    const auto size = [](Index n) { return static_cast<std::size_t>(n); };
    return nb::ndarray<nb::numpy, double, nb::ndim<3>>(cube.data, {size(cube.size), size(cube.rows), size(cube.cols)}, owner);
}
auto shown(Floats2 matrix, nb::handle owner) {
    const auto size = [](Index n) { return static_cast<std::size_t>(n); };
    return nb::ndarray<nb::numpy, double, nb::ndim<2>>(matrix.data, {size(matrix.rows), size(matrix.cols)}, owner);
}

// Getter of a member of InteriorPoint that is a view.
template <auto member>
auto getter() {
    return [](nb::handle_t<InteriorPoint> h) { return shown(nb::cast<InteriorPoint&>(h).*member, h); };
}

void bind_small_matrices(nb::module_ m) {
    m.def("dot", [](V a, V b) { return dot(view(a), view(b)); });
    m.def("cholesky", [](M a, M out) { return cholesky(view(a), view(out)); }, "matrix"_a, "factor"_a.noconvert());
    m.def("cholesky_pivots", [](M a, M out, V pivots) { return cholesky_pivots(view(a), view(out), view(pivots)); },
          "matrix"_a, "factor"_a.noconvert(), "pivots"_a.noconvert());
    m.def("solve_cholesky", [](M factor, V rhs) { solve_cholesky(view(factor), view(rhs)); }, "factor"_a, "rhs"_a.noconvert());
    m.def("invert_from_cholesky", [](M factor, M out) { invert_from_cholesky(view(factor), view(out)); }, "factor"_a,
          "inverse"_a.noconvert());
    m.def("reflect", [](M a, V axis, M out) { reflect(view(a), view(axis), view(out)); }, "matrix"_a, "axis"_a,
          "out"_a.noconvert());
    m.def("scale_first", [](M a, double scale) { scale_first(view(a), scale); }, "matrix"_a.noconvert(), "scale"_a);
    m.def("symmetric_product",
          [](M left, M middle, M right, M work, M out) {
              symmetric_product(view(left), view(middle), view(right), view(work), view(out));
          },
          "left"_a, "middle"_a, "right"_a, "work"_a.noconvert(), "out"_a.noconvert());
    m.def("triangular_rows", [](M rows, M out) { triangular_rows(view(rows), view(out)); }, "rows"_a.noconvert(),
          "out"_a.noconvert());
}

void bind_projection(nb::module_ m) {
    m.def("project",
          [](V point, V normal, double needed, V lower, V upper, V out) {
              return project(view(point), view(normal), needed, view(lower), view(upper), view(out));
          },
          "point"_a, "normal"_a, "needed"_a, "lower"_a, "upper"_a, "out"_a.noconvert());
}

void bind_newton_system(nb::module_ m) {
    m.def("pair", &pair);
    m.def("list_triangle", [](M a, V out) { list_triangle(view(a), view(out)); }, "matrix"_a, "out"_a.noconvert());
    m.def("fill_symmetric", [](V triangle, M out) { fill_symmetric(view(triangle), view(out)); }, "triangle"_a,
          "out"_a.noconvert());
    m.def("system_rhs", [](M a, double corner, V out) { system_rhs(view(a), corner, view(out)); }, "matrix"_a, "corner"_a,
          "out"_a.noconvert());
    m.def("system_matrix",
          [](M p_triangles, M q_triangles, M p_columns, M q_columns, double corner, M products, M out) {
              system_matrix(view(p_triangles), view(q_triangles), view(p_columns), view(q_columns), corner,
                            view(products), view(out));
          },
          "p_triangles"_a, "q_triangles"_a, "p_columns"_a, "q_columns"_a, "corner"_a, "products"_a.noconvert(),
          "out"_a.noconvert());
    m.def("reflection_axes", [](M directions, M axes) { reflection_axes(view(directions), view(axes)); }, "directions"_a,
          "axes"_a.noconvert());
    m.def("into_frame", [](M a, V axis, double reach, M out) { into_frame(view(a), view(axis), reach, view(out)); },
          "matrix"_a, "axis"_a, "reach"_a, "out"_a.noconvert());
    m.def("add_out_of_frame",
          [](M block, V axis, double reach, V work, V triangle) {
              add_out_of_frame(view(block), view(axis), reach, view(work), view(triangle));
          },
          "block"_a, "axis"_a, "reach"_a, "work"_a.noconvert(), "triangle"_a.noconvert());
    m.def("column_out_of_frame",
          [](V column, V axis, double reach, V out) { column_out_of_frame(view(column), view(axis), reach, view(out)); },
          "column"_a, "axis"_a, "reach"_a, "out"_a.noconvert());
}

void bind_interior_point(nb::module_ m) {
    nb::class_<InteriorPoint>(m, "InteriorPoint")
        .def(nb::init<Index, Index>(), "n_options"_a, "n"_a)
        .def("solve",
             [](InteriorPoint& method, M directions, V reach, double tolerance, I stop, M matrix, C blocks) {
                 const auto found = method.solve(view(directions), view(reach), tolerance, {stop.data()}, view(matrix), view(blocks));
                 return std::pair(found.g, found.iterations);
             },
             "directions"_a, "reach"_a, "tolerance"_a, "stop"_a.noconvert(), "matrix"_a.noconvert(), "blocks"_a.noconvert())
        .def("refresh", [](InteriorPoint& method, double g, V reach) { return method.refresh(g, view(reach)); })
        .def("factorise_system",
             [](InteriorPoint& method, double g, double x_g, V reach) { return method.factorise_system(g, x_g, view(reach)); })
        .def("direction",
             [](InteriorPoint& method, double target, double inverse_corner, double correction_g, V reach) {
                 const auto step = method.direction(target, inverse_corner, correction_g, view(reach));
                 return std::pair(step.g, step.x_g);
             })
        .def("largest_step",
             [](InteriorPoint& method, C blocks, C changes, double number, double number_change) {
                 return method.largest_step(view(blocks), view(changes), number, number_change);
             })
        .def_prop_ro("axes", getter<&InteriorPoint::axes>())
        .def_prop_ro("slack", getter<&InteriorPoint::slack>())
        .def_prop_ro("slack_step", getter<&InteriorPoint::slack_step>())
        .def_prop_ro("multiplier", getter<&InteriorPoint::multiplier>())
        .def_prop_ro("multiplier_step", getter<&InteriorPoint::multiplier_step>())
        .def_prop_ro("correction", getter<&InteriorPoint::correction>());
}

void bind_lower(nb::module_ m) {
    m.def("canonical_plan",
          [](M roots, V means, V reaches, M work, M directions, V reach) {
              canonical_plan(view(roots), view(means), view(reaches), view(work), view(directions), view(reach));
          },
          "roots"_a, "means"_a, "reaches"_a, "work"_a.noconvert(), "directions"_a.noconvert(), "reach"_a.noconvert());
    m.def("first_broken", [](M directions, V reach) {
        const Broken worst = first_broken(view(directions), view(reach));
        return std::pair(worst.option, worst.slack);
    });
    m.def("broken_plan",
          [](M directions, V reach, Index worst, M axes, V column, M matrix, C blocks) {
              broken_plan(view(directions), view(reach), worst, view(axes), view(column), view(matrix), view(blocks));
          },
          "directions"_a, "reach"_a, "worst"_a, "axes"_a.noconvert(), "column"_a.noconvert(), "matrix"_a.noconvert(),
          "blocks"_a.noconvert());
    m.def("make_safe", [](double g, M matrix, C blocks) { return make_safe(g, view(matrix), view(blocks)); }, "g"_a,
          "matrix"_a.noconvert(), "blocks"_a.noconvert());
    m.def("attack_weights",
          [](C blocks, M axes, V reach, V weights) {
              Arena arena;
              const Index n = static_cast<Index>(axes.shape(1));
              return attack_weights(view(blocks), view(axes), view(reach), arena.vector(n), arena.vector(n), view(weights));
          },
          "blocks"_a, "axes"_a, "reach"_a, "weights"_a.noconvert());
}

void bind_mixture(nb::module_ m) {
    m.def("held_angle", &held_angle);
    m.def("nonnegative_least_squares",
          [](M gram, V rhs, V weights) {
              NonnegativeLeastSquares(static_cast<Index>(rhs.shape(0))).solve(view(gram), view(rhs), view(weights));
          },
          "gram"_a, "rhs"_a, "weights"_a.noconvert());
}

// Named tuples of the tests, as far as effort and distance look at them.
search::Prices read_prices(nb::handle r) {
    return {input<double, 1>(r, "per_unit"), input<double, 2>(r, "gaps"), input<double, 1>(r, "penalties"),
            number<std::int64_t>(r, "power")};
}
struct Applicant {
    Floats own, reference, leaving, level_prices;
};

void bind_search(nb::module_ m) {
    m.def("effort", [](nb::handle prices, nb::handle region, V row) {
        const Applicant applicant{input<double, 1>(region, "own"), input<double, 1>(region, "reference"),
                                  input<double, 1>(region, "leaving"), input<double, 1>(region, "level_prices")};
        return search::effort(read_prices(prices), applicant, view(row));
    });
    m.def("row_distance",
          [](nb::handle prices, V row, V other) { return search::row_distance(read_prices(prices), view(row), view(other)); });
    m.def("asks_less", [](Index n_numeric, V own, V row, V other) {
        return search::asks_less(n_numeric, view(own), view(row), view(other));
    });
    m.def("are_alike", [](V alike, V row, V other) { return search::are_alike(view(alike), view(row), view(other)); });
    m.def("group_rows", [](V own, M rows, I groups) { search::group_rows(view(own), view(rows), view(rows).rows, view(groups)); },
          "own"_a, "rows"_a, "groups"_a.noconvert());
    m.def("choose_plan",
          [](V efforts, M distances, B excludes, I groups, double weight, I chosen) {
              Arena arena;
              const Index n_options = static_cast<Index>(chosen.shape(0));
              const search::Compared compared{view(distances), view(excludes), view(groups), arena.matrix(n_options, n_options)};
              return search::choose_plan(view(efforts), compared, view(efforts).size, weight, view(chosen));
          },
          "efforts"_a, "distances"_a, "excludes"_a, "groups"_a, "weight"_a, "chosen"_a.noconvert());
}

// A named tuple of the tests: what one applicant may do.
objective::Problem read_problem(nb::handle r) {
    return {input<double, 2>(r, "curvature"),     input<double, 1>(r, "gain"),           input<double, 1>(r, "tilt"),
            number<double>(r, "score"),           number<double>(r, "variance"),         number<double>(r, "needed"),
            input<double, 1>(r, "lower"),         input<double, 1>(r, "upper"),          number<double>(r, "validity_weight"),
            number<double>(r, "diversity_weight"), number<bool>(r, "manhattan")};
}

void bind_objective(nb::module_ m) {
    using objective::Parts;
    nb::class_<Parts>(m, "Parts").def(nb::init<Index, Index>(), "n_options"_a, "n"_a).def_ro("n_pairs", &Parts::n_pairs);
    m.def("proximity", [](nb::handle problem, M moves, double rounding, const Parts& parts) {
        return objective::proximity(read_problem(problem), view(moves), rounding, parts);
    });
    m.def("ratios", [](nb::handle problem, M moves, const Parts& parts) {
        return objective::ratios(read_problem(problem), view(moves), parts);
    });
    m.def("diversity", [](nb::handle problem, M moves, double rounding, const Parts& parts) {
        return objective::diversity(read_problem(problem), view(moves), rounding, parts);
    });
    m.def("soften",
          [](V ratio, double weight, double temperature, V prior, V share) {
              return objective::soften(view(ratio), weight, temperature, view(prior), view(share));
          },
          "ratio"_a, "weight"_a, "temperature"_a, "prior"_a, "share"_a.noconvert());
    m.def("smooth_objective",
          [](nb::handle problem, M moves, double temperature, V prior, double rounding, const Parts& parts, M gradient) {
              return objective::smooth_objective(read_problem(problem), view(moves), temperature, view(prior), rounding,
                                                 parts, view(gradient));
          },
          "problem"_a, "moves"_a, "temperature"_a, "prior"_a, "rounding"_a, "parts"_a, "gradient"_a.noconvert());
    m.def("hard_objective", [](nb::handle problem, M moves, const Parts& parts) {
        return objective::hard_objective(read_problem(problem), view(moves), parts);
    });
    m.def("add_proximity",
          [](nb::handle problem, double rounding, const Parts& parts, M matrix) {
              objective::add_proximity(read_problem(problem), rounding, parts, view(matrix));
          },
          "problem"_a, "rounding"_a, "parts"_a, "matrix"_a.noconvert());
    m.def("add_ratios",
          [](nb::handle problem, const Parts& parts, M multipliers, M slacks, M matrix) {
              objective::add_ratios(read_problem(problem), parts, view(multipliers), view(slacks), view(matrix));
          },
          "problem"_a, "parts"_a, "multipliers"_a, "slacks"_a, "matrix"_a.noconvert());
    m.def("add_diversity",
          [](nb::handle problem, double determinant, double rounding, const Parts& parts, M matrix) {
              Arena arena;
              objective::add_diversity(read_problem(problem), determinant, rounding, parts,
                                       arena.matrix(parts.n_pairs, parts.n_pairs), arena.matrix(parts.n_pairs, parts.n),
                                       view(matrix));
          },
          "problem"_a, "determinant"_a, "rounding"_a, "parts"_a, "matrix"_a.noconvert());
}

}  // namespace

NB_MODULE(_inner_kernels, module) {
    module.doc() = "Inner functions of the compiled kernels, for the tests.";
    bind_small_matrices(module.def_submodule("small_matrices"));
    bind_projection(module.def_submodule("projection"));
    bind_newton_system(module.def_submodule("newton_system"));
    bind_interior_point(module.def_submodule("interior_point"));
    bind_lower(module.def_submodule("lower"));
    bind_mixture(module.def_submodule("mixture"));
    bind_search(module.def_submodule("search"));
    bind_objective(module.def_submodule("objective"));
}
