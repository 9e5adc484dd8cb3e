#include "_core/kernels/arrays.hpp"
#include "models/trees/kernels/reading.hpp"
#include "models/trees/kernels/score_trees.hpp"

namespace copa {

using namespace nb::literals;

namespace trees {
namespace {

// The named tuples of models/trees/arrays.py, field by field.
WordArrays read_trees(nb::handle r) {
    return {input<std::int64_t, 1>(r, "ensembles"), input<std::int64_t, 1>(r, "roots"), input<std::uint64_t, 1>(r, "nodes"),
            input<bool, 1>(r, "has_sets"),          input<double, 1>(r, "value"),       input<std::uint64_t, 1>(r, "sets"),
            input<std::int64_t, 1>(r, "n_codes")};
}
SmallTrees read_small(nb::handle r) {
    return {output<bool, 1>(r, "is_small"), output<std::uint64_t, 1>(r, "tests"), output<std::uint32_t, 1>(r, "kept"),
            output<double, 1>(r, "leaves")};
}
}  // namespace
}  // namespace trees

void bind_trees(nb::module_& module) {
    module.def(
        "lay_out_trees",
        [](nb::handle trees, nb::handle small) {
            const auto trees_view = trees::read_trees(trees);
            const auto small_view = trees::read_small(small);
            nb::gil_scoped_release unlocked;
            trees::lay_out(trees_view, small_view);
        },
        "trees"_a, "small"_a,
        "Write the tests and leaves of small trees to `small`; the named tuples of models/trees/arrays.py, sound.");
    module.def(
        "score_trees",
        [](nb::handle trees, nb::handle small, nb::handle links, Input<std::int32_t, 2> codes, std::int64_t first,
           std::int64_t last, Output<double, 2> scores) {
            const auto trees_view = trees::read_trees(trees);
            const auto small_view = trees::read_small(small);
            const auto links_view = trees::read_links(links);
            nb::gil_scoped_release unlocked;
            trees::score_trees(trees_view, small_view, links_view, view(codes), first, last, view(scores));
        },
        "trees"_a, "small"_a, "links"_a, "codes"_a.noconvert(), "first"_a, "last"_a, "scores"_a.noconvert(),
        "Score coded rows (N, C), from `first` up to `last`, by K tree ensembles, into `scores` (K, N); the named tuples "
        "of models/trees/arrays.py, sound.");
}

}  // namespace copa
