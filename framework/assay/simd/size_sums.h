// The sizes of sums of products, and of what a matrix unit cuts off where it aligns their terms,
// for eight sums side by side (machine/unit_bound.h has the theory).
#pragma once

#include <cstdint>

namespace assay::simd {

// The number of columns whose sums are taken side by side.
inline constexpr std::int64_t kSizedColumns = 8;

struct SizedUnit {
  std::int64_t chunk;
  std::int64_t promotion_interval;  // 0 if sums are not promoted
  double share;                     // of a chunk's largest term, that the chunk may lose, or 0
  double floor;                     // the smallest largest term
  double least_normal;              // of the accumulator
  double sum_error;                 // how far a sum of k sizes may be off, relatively
};

// Absolute values of factors, and the same as they count where terms are aligned. Rows lie `stride`
// apart.
struct FactorSizes {
  const double *size, *aligned;
  std::int64_t stride;
};

// Adds the sizes of k products to each of rows x kSizedColumns numbers, `sums`, and what chunks may
// lose to `cuts`. `a` has `rows` rows of k factors, `b` k rows of kSizedColumns factors. A chunk
// and a part that is promoted begin with the first product. Every SIMD target gives the same bits:
// one product after the other.
void size_sums(const SizedUnit& unit, std::int64_t rows, std::int64_t k, const FactorSizes& a,
               const FactorSizes& b, double* sums, double* cuts);

}  // namespace assay::simd
