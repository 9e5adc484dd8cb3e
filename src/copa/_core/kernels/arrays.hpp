// Arrays of Python as views: checked where they come in, and nothing is copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <type_traits>

#include "_core/kernels/views.hpp"

namespace copa {

namespace nb = nanobind;

// What a kernel writes to.
template <class T, int n>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<n>, nb::c_contig, nb::device::cpu>;

// What a kernel only reads; Python may have made it read-only.
template <class T, int n>
using Input = Output<const T, n>;

// Views have one type for what is read and what is written.
template <class T>
std::remove_const_t<T>* start(T* data) {
    return const_cast<std::remove_const_t<T>*>(data);
}
template <class T>
Vector<std::remove_const_t<T>> view(const Output<T, 1>& a) {
    return {start(a.data()), static_cast<Index>(a.shape(0))};
}
template <class T>
Matrix<std::remove_const_t<T>> view(const Output<T, 2>& a) {
    return {start(a.data()), static_cast<Index>(a.shape(0)), static_cast<Index>(a.shape(1))};
}
template <class T>
Cube<std::remove_const_t<T>> view(const Output<T, 3>& a) {
    return {start(a.data()), static_cast<Index>(a.shape(0)), static_cast<Index>(a.shape(1)), static_cast<Index>(a.shape(2))};
}
template <class T>
Cubes<std::remove_const_t<T>> view(const Output<T, 4>& a) {
    return {start(a.data()), static_cast<Index>(a.shape(0)), static_cast<Index>(a.shape(1)),
            static_cast<Index>(a.shape(2)), static_cast<Index>(a.shape(3))};
}

// The view of a field of a named tuple that holds an array.
template <class Array>
auto field(nb::handle record, const char* name) {
    Array array;
    if (!nb::try_cast(record.attr(name), array, false)) {
        throw nb::type_error((std::string(name) + ": not a contiguous array of the right type and number of axes").c_str());
    }
    return view(array);
}
template <class T, int n>
auto input(nb::handle record, const char* name) {
    return field<Input<T, n>>(record, name);
}
template <class T, int n>
auto output(nb::handle record, const char* name) {
    return field<Output<T, n>>(record, name);
}

// A field of a named tuple that holds a number.
template <class T>
T number(nb::handle record, const char* name) {
    return nb::cast<T>(record.attr(name));
}

}  // namespace copa
