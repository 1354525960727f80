// Cuts a product of matrices into blocks, and prepares the factors of each block for the vector
// kernels of simd/factors.h.
#pragma once

#include <cstdint>
#include <functional>

#include "assay/machine/machine.h"
#include "assay/simd/factors.h"

namespace assay::inline v0_2 {

// A product of matrices: a row-major m x k matrix, with rows `a_stride` apart, times a row-major k
// x n matrix.
struct FactorMatrices {
  std::int64_t m, n, k;
  const double* a;
  std::int64_t a_stride;
  const double* b;
};

// A block of the product: at most kMostRows of its rows, and at most simd::kFactorColumns of its
// columns.
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
