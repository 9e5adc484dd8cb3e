#include "_core/kernels/arrays.hpp"
#include "theory/bounds/kernels/lower.hpp"
#include "theory/bounds/kernels/mixture.hpp"

namespace copa {

using namespace nb::literals;

void bind_bounds(nb::module_& module) {
    module.def(
        "lower_bounds",
        [](Input<double, 3> roots, Input<double, 2> means, Input<double, 2> reaches, double tolerance,
           Input<std::int64_t, 1> stop, Output<double, 3> directions, Output<double, 2> reach, Output<double, 3> matrices,
           Output<double, 1> penalties, Output<double, 4> blocks, Output<double, 2> weights, Output<double, 1> lower,
           Output<double, 1> ceiling) {
            nb::gil_scoped_release unlocked;
            lower_bounds(view(roots), view(means), view(reaches), tolerance, {stop.data()}, view(directions),
                         view(reach), view(matrices), view(penalties), view(blocks), view(weights), view(lower),
                         view(ceiling));
        },
        "roots"_a.noconvert(), "means"_a.noconvert(), "reaches"_a.noconvert(), "tolerance"_a, "stop"_a.noconvert(),
        "directions"_a.noconvert(), "reach"_a.noconvert(), "matrices"_a.noconvert(), "penalties"_a.noconvert(),
        "blocks"_a.noconvert(), "weights"_a.noconvert(), "lower"_a.noconvert(), "ceiling"_a.noconvert(),
        R"(Solve every plan of a batch and report only what is proven.

Parameters
----------
roots : (N, J, K) rows whose inner products are the covariances of the options' scores
means : (N, J) mean scores
reaches : (N, J) how far each score can be moved at the cost of the whole radius
tolerance : gap at which a plan counts as solved
stop : (1,) not zero once the solution is not wanted any more; the plan at work then keeps what is
    proven of it, and those after it are left as they are
directions, reach : (N, J, n), (N, J); receive the canonical form, n = min(J, K) + 1
matrices, penalties : (N, n, n), (N,); receive M and g
blocks : (N, J, n, n); receives the X_j
weights : (N, J); receives lambda_j
lower, ceiling : (N,); receive the proven lower and upper value of L*
)");
    module.def(
        "surest_mixtures",
        [](Input<double, 3> roots, Input<double, 3> reach_roots, Input<double, 2> means, Input<std::int64_t, 1> stop,
           Output<double, 2> mixtures, Output<double, 1> held) {
            nb::gil_scoped_release unlocked;
            surest_mixtures(view(roots), view(reach_roots), view(means), {stop.data()}, view(mixtures), view(held));
        },
        "roots"_a.noconvert(), "reach_roots"_a.noconvert(), "means"_a.noconvert(), "stop"_a.noconvert(),
        "mixtures"_a.noconvert(), "held"_a.noconvert(),
        R"(Find the surest mixture of every plan of a batch.

Parameters
----------
roots : (N, J, K) rows whose inner products are the covariances of the options' scores
reach_roots : (N, J, L) rows whose lengths are the options' reaches
means : (N, J) mean scores
stop : (1,) not zero once the best mixtures are not wanted any more; plans that are left are then not looked at
mixtures : (N, J); receives the weights, in the units of the options given
held : (N,); receives the probability with which the mixture holds in the worst case
)");
}

}  // namespace copa
