#include "_core/kernels/arrays.hpp"
#include "models/trees/kernels/reading.hpp"
#include "models/trees/kernels/score_trees.hpp"

namespace copa {

using namespace nb::literals;

void bind_trees(nb::module_& module) {
    module.def(
        "score_trees",
        [](nb::handle trees, nb::handle links, Input<std::int32_t, 2> codes, std::int64_t first, std::int64_t last,
           Output<double, 2> scores) {
            const auto trees_view = trees::read_trees(trees);
            const auto links_view = trees::read_links(links);
            nb::gil_scoped_release unlocked;
            trees::score_trees(trees_view, links_view, view(codes), first, last, view(scores));
        },
        "trees"_a, "links"_a, "codes"_a.noconvert(), "first"_a, "last"_a, "scores"_a.noconvert(),
        "Score coded rows (N, C), from `first` up to `last`, by K tree ensembles, into `scores` (K, N); the named tuples "
        "of models/trees/arrays.py, which must be sound.");
}

}  // namespace copa
