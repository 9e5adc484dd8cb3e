// What makes scores of sums of leaves, as Python hands it over: it is read in two rooms.
#pragma once

#include "_core/kernels/arrays.hpp"
#include "models/trees/kernels/trees.hpp"

namespace copa::trees {

// A named tuple of models/trees/arrays.py.
inline Links read_links(nb::handle r) {
    return {input<double, 1>(r, "base"),         input<double, 1>(r, "divisor"), input<bool, 1>(r, "is_single"),
            input<bool, 1>(r, "is_probability"), input<double, 1>(r, "sign"),    input<double, 1>(r, "limit"),
            input<double, 1>(r, "threshold"),    input<double, 1>(r, "tie")};
}

}  // namespace copa::trees
