// A product of matrices in blocks, whose factors the vector kernels of simd/factors.h take.
#pragma once

#include <cstdint>
#include <functional>

#include "assay/machine/machine.h"
#include "assay/simd/factors.h"

namespace assay {

// A row-major m x k matrix, with rows `a_stride` apart, times a row-major k x n matrix.
struct FactorMatrices {
  std::int64_t m, n, k;
  const double* a;
  std::int64_t a_stride;
  const double* b;
};

// Some rows of the product, and at most simd::kFactorColumns of its columns.
struct FactorPanel {
  static constexpr std::int64_t kMostRows = 32;
  std::int64_t row, rows, column, columns;
  simd::SumFactors a, b;
};

// Calls body(panel) for all elements of the product on `threads` threads. Values are read as the
// model's formats, and flushed if the model flushes inputs. Returns true if a value was flushed
// that is not 0.
bool for_factor_panels(const DotModel& model, const FactorMatrices& matrices, int threads,
                       const std::function<void(const FactorPanel&)>& body);

}  // namespace assay
