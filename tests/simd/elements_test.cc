// Compares elements of a product with a plain loop, one by one. Every SIMD target gives the same
// bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/index.h"
#include "assay/base/random.h"
#include "assay/simd/elements_kernel.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

// Sums one column in the order that the header promises. Finds the errors of products by std::fma
// and those of sums by Knuth's TwoSum.
ElementSums plain(std::int64_t k, std::int64_t chunk, const double* a, const double* b,
                  std::ptrdiff_t stride, const double* start) {
  const double first = start != nullptr ? *start : 0;
  ElementSums s{0, std::abs(first), first * first, 0};
  double sum = 0, error = 0;
  for (std::int64_t kk = 0; kk < k; ++kk) {
    const double x = a[kk], y = b[kk * stride], product = x * y;
    const double next = sum + product, z = next - sum;
    error += ((sum - (next - z)) + (product - z)) + std::fma(x, y, -product);
    sum = next;
    s.absolute += std::abs(product);
    s.squares += product * product;
    if (kk % chunk == chunk - 1 || kk == k - 1) {
      s.prefix_squares += (sum + first) * (sum + first);
    }
  }
  s.reference = std::isfinite(sum) ? sum + error : sum;
  if (start != nullptr) s.reference += first;
  return s;
}

class ElementsTest : public OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, ElementsTest, testing::ValuesIn(available_targets()), target_of);

TEST_P(ElementsTest, SameBitsAsAPlainLoop) {
  Random random(5, 1);
  for (const std::int64_t k : {0, 1, 7, 16, 33, 64}) {
    for (const std::int64_t chunk : {1, 4, 16, 1000}) {
      for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 31}) {
        for (const int recipe : {0, 1, 2}) {
          const std::ptrdiff_t stride = n + 2;
          std::vector<double> a(at(k)), b(at(k * stride) + 1), start(at(n));
          // Draws float32 numbers, as operands are. Those of recipe 2 are small integers, whose
          // sums may cancel.
          const auto draw = [&] {
            const double v = random.normal() * (recipe == 1 ? std::exp2(20 * random.normal()) : 1);
            return static_cast<double>(static_cast<float>(recipe == 2 ? std::round(8 * v) : v));
          };
          for (double& v : a) v = draw();
          for (double& v : b) v = draw();
          for (double& v : start) v = draw();
          for (const bool started : {false, true}) {
            std::vector<ElementSums> got(at(n) + 1);
            got.back().reference = -7;
            element_sums(k, n, chunk, a.data(), b.data(), stride, started ? start.data() : nullptr,
                         got.data());
            EXPECT_EQ(got.back().reference, -7);
            for (std::int64_t j = 0; j < n; ++j) {
              const ElementSums right = plain(k, chunk, a.data(), b.data() + j, stride,
                                              started ? start.data() + j : nullptr);
              ASSERT_EQ(got[at(j)].reference, right.reference) << k << " " << n << " " << j;
              ASSERT_EQ(got[at(j)].absolute, right.absolute) << k << " " << n << " " << j;
              ASSERT_EQ(got[at(j)].squares, right.squares) << k << " " << n << " " << j;
              ASSERT_EQ(got[at(j)].prefix_squares, right.prefix_squares)
                  << k << " " << n << " " << chunk;
            }
          }
        }
      }
    }
  }
}

// By hand: 2^60 and its negative cancel, and a plain float64 sum would lose the other terms.
TEST_P(ElementsTest, TheReferenceKeepsWhatASumLoses) {
  const double a[] = {0x1p30, 1, 0x1p30, 3};
  const double b[] = {0x1p30, 0x1p-10, -0x1p30, 1};
  ElementSums s;
  element_sums(4, 1, 2, a, b, 1, nullptr, &s);
  EXPECT_EQ(s.reference, 3 + 0x1p-10);
  EXPECT_EQ(s.absolute, 0x1p61 + 3);
}

TEST_P(ElementsTest, InfinityAndNanStay) {
  const double a[] = {1, 1};
  const double b[] = {kInfinity, 1, 2, 3, kInfinity, -kInfinity};
  ElementSums s[3];
  // The sums of the columns are inf + 3, 1 + inf and 2 - inf.
  element_sums(2, 3, 1, a, b, 3, nullptr, s);
  EXPECT_EQ(s[0].reference, kInfinity);
  EXPECT_EQ(s[1].reference, kInfinity);
  EXPECT_EQ(s[2].reference, -kInfinity);
  const double c[] = {kInfinity, -kInfinity};
  element_sums(2, 1, 1, a, c, 1, nullptr, s);
  EXPECT_TRUE(std::isnan(s[0].reference));
}

}  // namespace
}  // namespace assay::simd
