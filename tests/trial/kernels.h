// Right kernels of a few operators, and wrong ones, for the tests of trials.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/trial.h"

namespace assay::testing_kernels {

inline void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows && columns > 0; ++r) {
    const float* const a = x + r * columns;
    float* const b = y + r * columns;
    const float largest = *std::max_element(a, a + columns);
    double sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) sum += std::exp(static_cast<double>(a[i]) - largest);
    for (std::int64_t i = 0; i < columns; ++i) {
      b[i] = static_cast<float>(std::exp(static_cast<double>(a[i]) - largest) / sum);
    }
  }
}

// Adds only the first 64 elements of a row.
inline void softmax_of_64(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows && columns > 0; ++r) {
    const float* const a = x + r * columns;
    float* const b = y + r * columns;
    const float largest = *std::max_element(a, a + columns);
    double sum = 0;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(columns, 64); ++i) {
      sum += std::exp(static_cast<double>(a[i]) - largest);
    }
    for (std::int64_t i = 0; i < columns; ++i) {
      b[i] = static_cast<float>(std::exp(static_cast<double>(a[i]) - largest) / sum);
    }
  }
}

inline void add_views(const TensorView& a, const TensorView& b, const MutableTensorView& y) {
  std::vector<double> sums = a.values();
  const std::vector<double> more = b.values();
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
  copy_elements(Tensor::from_values(*y.format, y.shape, sums), y);
}

}  // namespace assay::testing_kernels
