// The records of trees as Python hands them over.
#pragma once

#include "_core/kernels/arrays.hpp"
#include "models/trees/kernels/trees.hpp"

namespace copa::trees {

// The named tuples of models/trees/arrays.py, field by field.
inline TreeArrays read_trees(nb::handle r) {
    return {input<std::int64_t, 1>(r, "ensembles"), input<std::int64_t, 1>(r, "roots"), input<std::uint8_t, 1>(r, "kind"),
            input<std::int32_t, 1>(r, "column"),    input<std::int32_t, 1>(r, "cut"),   input<std::int32_t, 1>(r, "left"),
            input<std::int32_t, 1>(r, "right"),     input<double, 1>(r, "value"),       input<std::uint64_t, 1>(r, "sets"),
            input<std::int64_t, 1>(r, "n_codes")};
}
inline Links read_links(nb::handle r) {
    return {input<double, 1>(r, "base"),         input<double, 1>(r, "divisor"), input<bool, 1>(r, "is_single"),
            input<bool, 1>(r, "is_probability"), input<double, 1>(r, "sign"),    input<double, 1>(r, "limit"),
            input<double, 1>(r, "threshold"),    input<double, 1>(r, "tie")};
}

}  // namespace copa::trees
