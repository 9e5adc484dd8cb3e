// Views of contiguous memory that someone else owns: what the kernels pass to each other.
//
// A view is two to four words and is passed by value. Indices are checked in debug builds (COPA_CHECKED), and cost
// nothing otherwise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#ifdef COPA_CHECKED
#include <stdexcept>
#define COPA_CHECK(condition) \
    if (!(condition)) throw std::out_of_range("index out of range: " #condition)
#else
#define COPA_CHECK(condition)
#endif

// Compiled twice where that can be: for AVX2, and for every processor. Without fused products both give the same bits.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(COPA_PLAIN)
#define COPA_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define COPA_WIDE
#endif

namespace copa {

using Index = std::ptrdiff_t;

template <class T>
struct Vector {
    T* data;
    Index size;

    T& operator[](Index i) const {
        COPA_CHECK(0 <= i && i < size);
        return data[i];
    }
    Vector from(Index first) const { return {data + first, size - first}; }
    Vector part(Index first, Index last) const { return {data + first, last - first}; }
    void fill(T value) const {
        for (Index i = 0; i < size; ++i) data[i] = value;
    }
    T* begin() const { return data; }
    T* end() const { return data + size; }
};

template <class T>
struct Matrix {
    T* data;
    Index rows, cols;
    Index stride;  // entries from one row to the next

    Matrix(T* data, Index rows, Index cols) : data(data), rows(rows), cols(cols), stride(cols) {}
    Matrix(T* data, Index rows, Index cols, Index stride) : data(data), rows(rows), cols(cols), stride(stride) {}

    T& operator()(Index i, Index k) const {
        COPA_CHECK(0 <= i && i < rows && 0 <= k && k < cols);
        return data[i * stride + k];
    }
    Vector<T> operator[](Index i) const {
        COPA_CHECK(0 <= i && i < rows);
        return {data + i * stride, cols};
    }
    Matrix first_columns(Index n) const { return {data, rows, n, stride}; }
    Matrix block(Index n) const { return {data, n, n, stride}; }  // the first n rows and columns
    void fill(T value) const {
        for (Index i = 0; i < rows; ++i) (*this)[i].fill(value);
    }
    // All entries in a row; only where there is nothing between the rows.
    Vector<T> flat() const {
        COPA_CHECK(stride == cols);
        return {data, rows * cols};
    }
};

template <class T>
struct Cube {
    T* data;
    Index size, rows, cols;

    T& operator()(Index j, Index i, Index k) const {
        COPA_CHECK(0 <= j && j < size && 0 <= i && i < rows && 0 <= k && k < cols);
        return data[(j * rows + i) * cols + k];
    }
    Matrix<T> operator[](Index j) const {
        COPA_CHECK(0 <= j && j < size);
        return {data + j * rows * cols, rows, cols};
    }
    Vector<T> flat() const { return {data, size * rows * cols}; }
    void fill(T value) const { flat().fill(value); }
};

// Cubes one behind another.
template <class T>
struct Cubes {
    T* data;
    Index count, size, rows, cols;

    Cube<T> operator[](Index p) const {
        COPA_CHECK(0 <= p && p < count);
        return {data + p * size * rows * cols, size, rows, cols};
    }
};

using Floats = Vector<double>;
using Floats2 = Matrix<double>;
using Floats3 = Cube<double>;
using Floats4 = Cubes<double>;
using Ints = Vector<std::int64_t>;

// Memory of a kernel: arrays are cut from blocks that are freed together.
class Arena {
public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    template <class T = double>
    Vector<T> vector(Index n) {
        return {take<T>(n), n};
    }
    Floats2 matrix(Index rows, Index cols) { return {take<double>(rows * cols), rows, cols}; }
    Floats3 cube(Index size, Index rows, Index cols) { return {take<double>(size * rows * cols), size, rows, cols}; }
    template <class T>
    Matrix<T> matrix_of(Index rows, Index cols) {
        return {take<T>(rows * cols), rows, cols};
    }

private:
    template <class T>
    T* take(Index n) {  // zeros
        blocks_.emplace_back(std::calloc(static_cast<std::size_t>(std::max<Index>(n, 1)), sizeof(T)), std::free);
        if (!blocks_.back()) throw std::bad_alloc();
        return static_cast<T*>(blocks_.back().get());
    }
    std::vector<std::unique_ptr<void, void (*)(void*)>> blocks_;
};

// The flag that another thread sets: read anew every time.
struct Stop {
    const volatile std::int64_t* flag;
    bool operator()() const { return *flag != 0; }
};

}  // namespace copa
