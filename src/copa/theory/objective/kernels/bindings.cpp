#include "_core/kernels/arrays.hpp"
#include "theory/objective/kernels/interior_point.hpp"
#include "theory/objective/kernels/lbfgs_descent.hpp"

namespace copa {

using namespace nb::literals;

namespace objective {
namespace {

// The named tuple of objective/arguments.py, field by field.
Problems read_problems(nb::handle r) {
    return {input<double, 2>(r, "curvature"),      input<double, 1>(r, "gain"),
            input<double, 2>(r, "scores"),         input<double, 2>(r, "tilts"),
            input<double, 3>(r, "bounds"),         number<double>(r, "validity_weight"),
            number<double>(r, "diversity_weight"), number<bool>(r, "manhattan")};
}

}  // namespace
}  // namespace objective

void bind_objective(nb::module_& module) {
    module.def(
        "read_applicants",
        [](Input<double, 2> origins, Input<double, 1> mean, Input<double, 2> cov, Input<std::int64_t, 1> free,
           Input<double, 1> scale, Input<double, 2> lower, Input<double, 2> upper, double margin, Output<double, 2> scores,
           Output<double, 2> tilts, Output<double, 3> bounds, Output<bool, 1> feasible) {
            nb::gil_scoped_release unlocked;
            objective::read_applicants(view(origins), view(mean), view(cov), view(free), view(scale), view(lower),
                                       view(upper), margin, view(scores), view(tilts), view(bounds), view(feasible));
        },
        "origins"_a.noconvert(), "mean"_a.noconvert(), "cov"_a.noconvert(), "free"_a.noconvert(), "scale"_a.noconvert(),
        "lower"_a.noconvert(), "upper"_a.noconvert(), "margin"_a, "scores"_a.noconvert(), "tilts"_a.noconvert(),
        "bounds"_a.noconvert(), "feasible"_a.noconvert(),
        R"(Describe what applicants may do, in moves z = scale * (x - origin) of the free coordinates.

Parameters
----------
origins : (N, D) applicants
mean, cov : (D,), (D, D) moments of the parameters
free, scale : (n,) coordinates that may change, ascending, and their cost weights
lower, upper : (N, D) boxes
margin : least mean score
scores : (N, 3); receives the applicant's mean score, its variance, and what the moves must add to the mean score
tilts : (N, n); receives half of the variance's slope at the applicant
bounds : (N, 2, n); receives the box of the moves
feasible : (N,); receives whether the margin can be reached
)");
    module.def(
        "deliver_options",
        [](Input<double, 2> origins, Input<double, 1> mean, Input<std::int64_t, 1> free, Input<double, 1> scale,
           Input<double, 2> lower, Input<double, 2> upper, double margin, Input<double, 3> moves,
           Output<double, 3> points) {
            nb::gil_scoped_release unlocked;
            objective::deliver_options(view(origins), view(mean), view(free), view(scale), view(lower), view(upper),
                                       margin, view(moves), view(points));
        },
        "origins"_a.noconvert(), "mean"_a.noconvert(), "free"_a.noconvert(), "scale"_a.noconvert(),
        "lower"_a.noconvert(), "upper"_a.noconvert(), "margin"_a, "moves"_a.noconvert(), "points"_a.noconvert(),
        R"(Write options (N, J, D) for the moves (N, J, n): inside the box exactly, fixed coordinates as they are.

Where rounding, or a margin out of reach, leaves the score short, the option is projected once more.
)");
    module.def(
        "lbfgs_descents",
        [](nb::handle problems, Input<double, 1> temperatures, std::int64_t max_steps, Input<std::int64_t, 1> stop,
           Output<double, 4> plans, Output<double, 2> values) {
            const auto problems_view = objective::read_problems(problems);
            nb::gil_scoped_release unlocked;
            objective::lbfgs_descents(problems_view, view(temperatures), max_steps, {stop.data()}, view(plans), view(values));
        },
        "problems"_a, "temperatures"_a.noconvert(), "max_steps"_a, "stop"_a.noconvert(), "plans"_a.noconvert(),
        "values"_a.noconvert(),
        R"(Project every start onto what is allowed and descend from it, at one temperature after another.

Parameters
----------
problems : the named tuple of objective/arguments.py
temperatures : (T,) of the soft minimum, falling
max_steps : most steps at one temperature
stop : (1,) not zero once the descents are not wanted any more
plans : (N, S, J, n) starts of every applicant; receives where they lead to
values : (N, S); receives their objectives
)");
    module.def(
        "interior_point_descents",
        [](nb::handle problems, std::int64_t max_steps, Input<std::int64_t, 1> stop, Output<double, 4> plans,
           Output<double, 2> values) {
            const auto problems_view = objective::read_problems(problems);
            nb::gil_scoped_release unlocked;
            objective::interior_point_descents(problems_view, max_steps, {stop.data()}, view(plans), view(values));
        },
        "problems"_a, "max_steps"_a, "stop"_a.noconvert(), "plans"_a.noconvert(), "values"_a.noconvert(),
        R"(Descend from every allowed plan to where the objective, with all its kinks, cannot be lowered.

Parameters
----------
problems : the named tuple of objective/arguments.py
max_steps : most Newton steps; 0 only puts coordinates onto the bounds and own values that they all but have
stop : (1,) not zero once the descents are not wanted any more
plans : (N, S, J, n) plans of every applicant; receives where they lead to
values : (N, S) their objectives; receives the new ones
)");
}

}  // namespace copa
