// Operators along one dimension: the shape of x is seen as (outer, n, inner), and its lines of n
// elements are processed one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2 {

struct AxisExtent {
  std::int64_t outer = 1, n = 1, inner = 1;
};

// Returns the extents of the case's x along a dimension. A negative axis counts from the end.
// Throws Refusal, which names the case, if x does not have this dimension.
AxisExtent extent_along(const Case& test_case, std::int64_t axis);

// Writes the transpose of `from` to `to`: to[i][j] = from[j][i], where `from` has the shape rows x
// n.
void transpose(std::int64_t rows, std::int64_t n, const double* from, double* to);
void transpose(std::int64_t rows, std::int64_t n, const float* from, float* to);

// Calls body(row, scratch) for every row of n elements of the case's x, as T[n], with `spare`
// arrays of n as scratch memory. The body leaves its result in the row. store_values() then writes
// the row to the result, which has the shape of x. Rows are processed in parallel.
template <typename T, typename Body>
void each_row(const Case& test_case, const AxisExtent& e, Overflow overflow, int spare, int threads,
              Tensor& result, const Body& body) {
  if (result.size() == 0) return;
  const Tensor& x = test_case.input("x");
  const Format& output = result.format();
  // A task has about 2^14 elements: rows if the dimension is the last one, otherwise columns of one
  // outer row, which are transposed into rows and back.
  const std::int64_t together = std::clamp<std::int64_t>((1 << 14) / e.n, 1, 1 << 14);
  const bool along = e.inner == 1;
  const std::int64_t lines = along ? e.outer : e.inner;
  const std::int64_t parts = (lines + together - 1) / together;
  parallel_for(along ? parts : parts * e.outer, threads, [&](std::int64_t part) {
    const std::int64_t first = part % parts * together, w = std::min(together, lines - first);
    const std::int64_t outer = along ? 0 : part / parts;
    std::vector<T> rows(static_cast<std::size_t>(w * e.n)), turned,
        scratch(static_cast<std::size_t>(spare * e.n));
    const auto at = [&](std::int64_t i) {
      return along ? first * e.n : (outer * e.n + i) * e.inner + first;
    };
    if (along) {
      read_values(x, at(0), w * e.n, rows.data());
    } else {
      turned.resize(rows.size());
      for (std::int64_t i = 0; i < e.n; ++i) read_values(x, at(i), w, turned.data() + i * w);
      transpose(e.n, w, turned.data(), rows.data());
    }
    for (std::int64_t j = 0; j < w; ++j) body(rows.data() + j * e.n, scratch.data());
    const auto store = [&](std::int64_t element, std::int64_t count, T* values) {
      store_values(test_case, output, overflow, values, count,
                   result.bytes() + element * output.storage_bytes);
    };
    if (along) {
      store(at(0), w * e.n, rows.data());
    } else {
      transpose(w, e.n, rows.data(), turned.data());
      for (std::int64_t i = 0; i < e.n; ++i) store(at(i), w, turned.data() + i * w);
    }
  });
}

// A line of a tensor along a dimension: element i lies at the row-major index first + i * step.
struct LineAlong {
  std::int64_t index;  // of the line
  std::span<const double> values;
  std::int64_t first, step;

  std::size_t position(std::size_t i) const {
    return static_cast<std::size_t>(first + static_cast<std::int64_t>(i) * step);
  }
};

// Calls body(scratch, line) for every line of a tensor. Lines are processed in parallel. Groups of
// about 2^16 elements are processed one line after the other, and their lines share one `scratch`,
// a Scratch that is made for the group.
template <typename Scratch, typename Body>
void for_lines(const Tensor& x, const AxisExtent& e, int threads, const Body& body) {
  const std::int64_t together =
      std::max<std::int64_t>((1 << 16) / std::max<std::int64_t>(e.n, 1), 1);
  // A task reads rows if the dimension is the last one, otherwise columns of one outer row, which
  // it transposes into rows.
  const bool along = e.inner == 1;
  const std::int64_t lines = along ? e.outer : e.inner, parts = (lines + together - 1) / together;
  parallel_for(along ? parts : parts * e.outer, threads, [&](std::int64_t part) {
    const std::int64_t first = part % parts * together, w = std::min(together, lines - first);
    const std::int64_t outer = along ? 0 : part / parts;
    std::vector<double> rows(static_cast<std::size_t>(w * e.n)), turned;
    if (along) {
      x.view().read(first * e.n, w * e.n, rows.data());
    } else {
      turned.resize(rows.size());
      for (std::int64_t i = 0; i < e.n; ++i) {
        x.view().read((outer * e.n + i) * e.inner + first, w, turned.data() + i * w);
      }
      transpose(e.n, w, turned.data(), rows.data());
    }
    Scratch scratch{};
    for (std::int64_t j = 0; j < w; ++j) {
      const std::span<const double> row(rows.data() + j * e.n, static_cast<std::size_t>(e.n));
      const std::int64_t at = first + j;
      body(scratch,
           along ? LineAlong{at, row, at * e.n, 1}
                 : LineAlong{outer * e.inner + at, row, outer * e.n * e.inner + at, e.inner});
    }
  });
}

}  // namespace assay
