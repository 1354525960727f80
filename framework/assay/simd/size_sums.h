// The sizes of sums of products, and of the digits that a matrix unit cuts off when it aligns their
// terms, for eight sums side by side (machine/unit_bound.h has the theory).
#pragma once

#include <cstdint>

namespace assay::inline v0_2::simd {

// The number of columns whose sums are computed side by side.
inline constexpr std::int64_t kSizedColumns = 8;

struct SizedUnit {
  std::int64_t chunk;
  // Number of products between promotions, or 0 if sums are not promoted.
  std::int64_t promotion_interval;
  double share;         // share of a chunk's largest term that the chunk may lose, or 0
  double floor;         // lower limit of a chunk's largest term
  double least_normal;  // of the accumulator
  double sum_error;     // relative error of a sum of k sizes
};

// Absolute values of factors, and their sizes as they count if terms are aligned. Rows are `stride`
// apart.
struct FactorSizes {
  const double *size, *aligned;
  std::int64_t stride;
};

// Adds the sizes of k products to each of rows x kSizedColumns numbers, `sums`, and the largest
// losses of the chunks to `cuts`. `a` has `rows` rows of k factors, and `b` has k rows of
// kSizedColumns factors. A chunk and a promoted part begin with the first product. Every SIMD
// target gives the same bits, because products are added one after the other.
void size_sums(const SizedUnit& unit, std::int64_t rows, std::int64_t k, const FactorSizes& a,
               const FactorSizes& b, double* sums, double* cuts);

}  // namespace assay::simd
