#include "_core/kernels/arrays.hpp"
#include "_core/kernels/projection.hpp"

namespace copa {

using namespace nb::literals;

void bind_projection(nb::module_& module) {
    module.def(
        "project_points",
        [](Input<double, 2> points, Input<double, 1> normal, Input<double, 1> needed, Input<double, 2> lower,
           Input<double, 2> upper, Output<double, 2> projected) {
            nb::gil_scoped_release unlocked;
            project_points(view(points), view(normal), view(needed), view(lower), view(upper), view(projected));
        },
        "points"_a.noconvert(), "normal"_a.noconvert(), "needed"_a.noconvert(), "lower"_a.noconvert(),
        "upper"_a.noconvert(), "projected"_a.noconvert(),
        "Project every point (M, F) onto its half-space {normal'x >= needed} and its box, into `projected`.");
}

}  // namespace copa
