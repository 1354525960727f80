#include "assay/simd/size_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/base/random.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

class SizeSumsOnTargets : public OnEveryTarget {};

// Computes one sum, one product after the other.
void sized_one_by_one(const SizedUnit& unit, std::int64_t k, const double* a_size,
                      const double* a_aligned, const double* b_size, const double* b_aligned,
                      double& sum, double& cut) {
  double promoted = 0;
  cut = 0;
  for (std::int64_t i = 0; i < k;) {
    if (unit.promotion_interval > 0 && i % unit.promotion_interval == 0) promoted = sum;
    const double held = sum == promoted ? 0 : sum - promoted + sum * unit.sum_error;
    double largest = std::max(held == 0 ? 0 : std::max(held, unit.least_normal), unit.floor);
    for (std::int64_t of_chunk = 0; of_chunk < unit.chunk && i < k; ++of_chunk) {
      sum += a_size[i] * b_size[i * kSizedColumns];
      largest = std::max(largest, a_aligned[i] * b_aligned[i * kSizedColumns]);
      ++i;
      if (unit.promotion_interval > 0 && i % unit.promotion_interval == 0) break;
    }
    cut += unit.share * largest;
  }
}

TEST_P(SizeSumsOnTargets, AreThoseOfOneProductAfterTheOther) {
  Random random(20261129, 6);
  for (int round = 0; round < 80; ++round) {
    const std::int64_t rows = 1 + round % 7, k = 1 + round * 3 % 50;
    const SizedUnit unit = {.chunk = 1 + round % 9,
                            .promotion_interval = round % 3 == 0 ? 0 : 11,
                            .share = round % 4 == 0 ? 0 : 0x1p-10,
                            .floor = round % 5 == 0 ? 0.25 : 0,
                            .least_normal = 0x1p-6,
                            .sum_error = 0x1p-50};
    const auto drawn = [&](std::int64_t n) {
      std::vector<double> values(static_cast<std::size_t>(n));
      for (double& v : values) v = random.below(5) == 0 ? 0 : std::abs(random.normal());
      return values;
    };
    const auto raised = [](std::vector<double> values) {
      for (double& v : values) v = v == 0 ? 0 : std::max(v, 0.125);
      return values;
    };
    const std::vector<double> a = drawn(rows * k), b = drawn(k * kSizedColumns),
                              start = drawn(rows * kSizedColumns), a_aligned = raised(a),
                              b_aligned = raised(b);
    std::vector<double> sums = start, cuts(sums.size());
    size_sums(unit, rows, k, {a.data(), a_aligned.data(), k},
              {b.data(), b_aligned.data(), kSizedColumns}, sums.data(), cuts.data());
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < kSizedColumns; ++j) {
        const auto at = static_cast<std::size_t>(i * kSizedColumns + j);
        double sum = start[at], cut = 0;
        sized_one_by_one(unit, k, a.data() + i * k, a_aligned.data() + i * k, b.data() + j,
                         b_aligned.data() + j, sum, cut);
        EXPECT_EQ(sums[at], sum) << round << " " << i << " " << j;
        EXPECT_EQ(cuts[at], cut) << round << " " << i << " " << j;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnTarget, SizeSumsOnTargets, testing::ValuesIn(available_targets()),
                         target_of);

}  // namespace
}  // namespace assay::simd
