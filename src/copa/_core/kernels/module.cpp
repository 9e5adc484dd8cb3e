// The module that Python imports: the kernels of every room.
#include <nanobind/nanobind.h>

namespace copa {
void bind_projection(nanobind::module_& module);
void bind_bounds(nanobind::module_& module);
void bind_objective(nanobind::module_& module);
void bind_search(nanobind::module_& module);
void bind_trees(nanobind::module_& module);
}  // namespace copa

NB_MODULE(_kernels, module) {
    module.doc() = "Compiled kernels. Arrays are checked, and the interpreter's lock is released while a kernel works.";
    copa::bind_projection(module);
    copa::bind_bounds(module);
    copa::bind_objective(module);
    copa::bind_search(module);
    copa::bind_trees(module);
}
