#include "assay/simd/column_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

using Values = std::vector<double>;

class ColumnSumsOnTargets : public OnEveryTarget {};

// Returns column w of a row-major matrix of kSummedColumns columns.
Values column_of(const Values& matrix, std::int64_t w) {
  Values column;
  for (auto i = static_cast<std::size_t>(w); i < matrix.size(); i += kSummedColumns) {
    column.push_back(matrix[i]);
  }
  return column;
}

// Returns terms of which each column is of another kind: of one sign and of both, zeros of both
// signs, subnormal numbers, outliers, and terms whose squares overflow.
Values drawn(std::int64_t n, std::uint64_t stream) {
  Random random(20261128, stream);
  Values terms;
  for (std::int64_t k = 0; k < n; ++k) {
    const bool outlier = random.below(16) == 0;
    terms.push_back(random.normal());
    terms.push_back(1 + random.uniform() * 0x1p-10);
    terms.push_back(random.below(2) == 0 ? 0.0 : -0.0);
    terms.push_back(std::ldexp(random.normal(), -1070));
    terms.push_back(std::ldexp(random.normal(), outlier ? 30 : 0));
    terms.push_back(-std::ldexp(random.uniform(), 600));
    terms.push_back(static_cast<double>(random.below(256)) - 128);
    terms.push_back(std::ldexp(random.normal(), static_cast<int>(random.below(80)) - 40));
  }
  return terms;
}

const std::int64_t kCounts[] = {0,  1,  2,  3,  4,  5,  7,   8,   9,    15,   16,   17,
                                31, 32, 33, 63, 65, 80, 100, 257, 1023, 1025, 2049, 3000};

// A column that is summed, either together with the others or separately.
struct Summed {
  ColumnTerms columns;
  std::int64_t kind, at;  // the column's number in drawn(), and its place here
  const Values& terms;    // of the column
};

template <typename Check>
void for_columns(const Check& check) {
  for (const std::int64_t n : kCounts) {
    const Values all = drawn(n, static_cast<std::uint64_t>(n));
    for (std::int64_t w = 0; w < kSummedColumns; ++w) {
      SCOPED_TRACE(testing::Message() << n << " terms of column " << w);
      const Values column = column_of(all, w);
      check(Summed{{n, kSummedColumns, all.data()}, w, w, column});
      check(Summed{{n, 1, column.data()}, w, 0, column});
    }
  }
}

TEST_P(ColumnSumsOnTargets, PartialSumsAreThoseOfOneTermAfterTheOther) {
  for_columns([](const Summed& s) {
    double size = 0, squares = 0, sum = 0, low = 0, high = 0;
    for (const double t : s.terms) {
      size += std::abs(t);
      squares += t * t;
      sum += t;
      low = std::min(low, sum);
      high = std::max(high, sum);
    }
    const PartialSums got = partial_sums(s.columns);
    EXPECT_EQ(got.sizes[s.at], size);
    EXPECT_EQ(got.squares[s.at], squares);
    EXPECT_EQ(got.sum[s.at], sum);
    EXPECT_EQ(got.low[s.at], low);
    EXPECT_EQ(got.high[s.at], high);
  });
}

TEST_P(ColumnSumsOnTargets, StridedSumsAreThoseOfLanes) {
  for_columns([](const Summed& s) {
    std::size_t lanes = 1;
    int strides = 0;
    while (2 * lanes < s.terms.size() && lanes < 1024) lanes *= 2, ++strides;
    const StridedSums got = strided_sums(s.columns);
    ASSERT_EQ(got.strides, strides);
    Values sums(lanes, 0.0);
    for (std::size_t k = 0; k < s.terms.size(); ++k) sums[k % lanes] += s.terms[k];
    double largest = 0;
    for (int stride = strides - 1; stride >= 0; --stride, lanes /= 2) {
      double squares = 0;
      for (std::size_t l = 0; l < lanes; ++l) {
        squares += sums[l] * sums[l];
        largest = std::max(largest, std::abs(sums[l]));
      }
      EXPECT_EQ(got.squares[stride][s.at], squares) << lanes << " lanes";
      for (std::size_t l = 0; l < lanes / 2; ++l) sums[l] += sums[l + lanes / 2];
    }
    EXPECT_EQ(got.largest[s.at], largest);
  });
}

// Sums part(t) over the terms t of each of 4 segments. Returns the sum of the sizes of these sums.
template <typename Part>
double of_segments(const Values& terms, const Part& part) {
  double total = 0;
  for (std::size_t segment = 0; segment < 4; ++segment) {
    double sum = 0;
    for (std::size_t k = terms.size() * segment / 4; k < terms.size() * (segment + 1) / 4; ++k) {
      sum += part(terms[k]);
    }
    total += std::abs(sum);
  }
  return total;
}

// A power of 2 for each kind of column: about the size of its terms, or far from it.
const OfColumns kUnits[] = {{1, 0x1p-20, 1, 0x1p-1074, 0x1p8, 0x1p580, 2, 1},
                            {0x1p-30, 4, 0x1p-1074, 0x1p-1000, 0x1p-16, 0x1p601, 8, 0x1p-5}};

TEST_P(ColumnSumsOnTargets, RemaindersAreWhatRoundingToAGridLeaves) {
  for (const OfColumns& units : kUnits) {
    for_columns([&units](const Summed& s) {
      OfColumns totals[kGrids];
      remainder_sums(s.columns, 4, units + s.kind - s.at, totals);
      for (int g = 0; g < kGrids; ++g) {
        const double grid = std::ldexp(units[s.kind], -g);  // this is 0 below float64's range
        const double wanted = of_segments(s.terms, [grid](double t) {
          return grid == 0 ? 0.0 : std::nearbyint(t / grid) * grid - t;
        });
        EXPECT_EQ(totals[g][s.at], wanted) << "grid " << grid;
      }
    });
  }
}

TEST_P(ColumnSumsOnTargets, LimitedSumsTakeNoMoreOfATermThanTheLimit) {
  for (const OfColumns& limits : kUnits) {
    for_columns([&limits](const Summed& s) {
      const double limit = limits[s.kind];
      OfColumns totals;
      limited_sums(s.columns, 4, limits + s.kind - s.at, totals);
      EXPECT_EQ(totals[s.at], of_segments(s.terms, [limit](double t) {
                  return std::abs(t) < limit ? t : std::copysign(limit, t);
                }));
    });
  }
}

TEST_P(ColumnSumsOnTargets, ProductsHaveTheLeastGridOfTheirColumn) {
  constexpr std::int64_t kStride = 11;
  Random random(20261128, 5);
  for (std::int64_t k = 0; k < 40; ++k) {
    Values row, row_grids, columns, column_grids;
    const auto add = [&random](Values& values, Values& grids) {
      const int exponent = static_cast<int>(random.below(400)) - 200;
      const bool is_zero = random.below(3) == 0;
      const double odd = 2 * static_cast<double>(random.below(100)) - 99;
      values.push_back(is_zero ? 0 : std::ldexp(odd, exponent));
      grids.push_back(is_zero ? kInfinity : std::ldexp(1.0, exponent));
    };
    for (std::int64_t i = 0; i < k; ++i) add(row, row_grids);
    for (std::int64_t i = 0; i < k * kStride; ++i) add(columns, column_grids);
    Values terms(static_cast<std::size_t>(k * kSummedColumns));
    OfColumns grids;
    column_products(k, kStride, row.data(), row_grids.data(), columns.data(), column_grids.data(),
                    terms.data(), grids);
    for (std::int64_t w = 0; w < kSummedColumns; ++w) {
      double least = kInfinity;
      for (std::int64_t i = 0; i < k; ++i) {
        const auto in_row = static_cast<std::size_t>(i),
                   at = static_cast<std::size_t>(i * kStride + w),
                   to = static_cast<std::size_t>(i * kSummedColumns + w);
        EXPECT_EQ(terms[to], row[in_row] * columns[at]);
        least = std::min(least, row_grids[in_row] * column_grids[at]);
      }
      EXPECT_EQ(grids[w], least) << k << " products of column " << w;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnTarget, ColumnSumsOnTargets, testing::ValuesIn(available_targets()),
                         target_of);

}  // namespace
}  // namespace assay::simd
