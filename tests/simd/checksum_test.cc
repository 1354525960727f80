// Tests the checksum kernels on every SIMD target. On integers, whose sums are exact in any order,
// they are compared with plain sums. On other values, all targets must agree.
#include "assay/simd/checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/simd/packed_product.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

constexpr Storage kStorages[] = {Storage::kF64, Storage::kF32, Storage::kF16, Storage::kBf16};

// Returns the float16 code of an integer below 256 or of a special value.
std::uint16_t half_code(double v) {
  if (std::isnan(v)) return 0x7e00;
  const std::uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  if (std::isinf(v)) return sign | 0x7c00;
  if (v == 0) return sign;
  const int exponent = std::ilogb(v);
  const int mantissa = static_cast<int>(std::ldexp(std::abs(v), 10 - exponent)) - 1024;
  return static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) | mantissa);
}

std::vector<unsigned char> stored(Storage storage, const std::vector<double>& values) {
  std::vector<unsigned char> bytes;
  const auto append = [&](auto element) {
    const auto* from = reinterpret_cast<const unsigned char*>(&element);
    bytes.insert(bytes.end(), from, from + sizeof element);
  };
  for (const double v : values) {
    if (storage == Storage::kF64) append(v);
    if (storage == Storage::kF32) append(static_cast<float>(v));
    if (storage == Storage::kF16) append(half_code(v));
    if (storage == Storage::kBf16) {
      append(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) >> 16));
    }
  }
  bytes.resize(bytes.size() + 1);  // never empty
  return bytes;
}

class ChecksumTest : public OnEveryTarget {
 protected:
  std::vector<double> integers(std::size_t n) {
    std::vector<double> values(n);
    for (double& v : values) v = static_cast<double>(random.below(201)) - 100;
    return values;
  }
  Random random{13, 1};
};

INSTANTIATE_TEST_SUITE_P(OnTarget, ChecksumTest, testing::ValuesIn(available_targets()), target_of);

TEST_P(ChecksumTest, GroupSums) {
  for (const Storage storage : kStorages) {
    ASSERT_TRUE(has_checksum_kernel(storage));
    for (const std::size_t n : {0u, 1u, 7u, 16u, 31u, 100u}) {
      for (const std::size_t width : {1u, 5u, 16u, 1000u}) {
        const auto values = integers(n);
        const std::size_t groups = (n + width - 1) / width;
        std::vector<double> sum(groups + 1, -7), square(groups + 1, -7);
        group_sums(storage, stored(storage, values).data(), n, width, sum.data(), square.data());
        for (std::size_t g = 0; g < groups; ++g) {
          double s = 0, q = 0;
          for (std::size_t i = g * width; i < std::min(n, (g + 1) * width); ++i) {
            s += values[i];
            q += values[i] * values[i];
          }
          ASSERT_EQ(sum[g], s) << n << " " << width;
          ASSERT_EQ(square[g], q) << n << " " << width;
        }
        ASSERT_EQ(sum[groups], -7);
        std::vector<double> alone(groups + 1, -7);
        group_sums(storage, stored(storage, values).data(), n, width, alone.data(), nullptr);
        ASSERT_EQ(alone, sum) << n << " " << width;
        ASSERT_EQ(square[groups], -7);
      }
    }
  }
  EXPECT_FALSE(has_checksum_kernel(Storage::kI8));
  EXPECT_FALSE(has_checksum_kernel(Storage::kTable8));
}

TEST_P(ChecksumTest, RowProducts) {
  for (const Storage storage : kStorages) {
    for (std::size_t n = 0; n <= 40; ++n) {
      for (const std::size_t rows : {0u, 1u, 5u, 9u}) {
        const auto x = integers(n), y = integers(n), a = integers(rows * (n + 3));
        // The rows have a gap of three elements.
        const auto bytes = stored(storage, a);
        const std::size_t width = rows == 0 ? 0 : (bytes.size() - 1) / (rows * (n + 3)) * (n + 3);
        std::vector<double> ax(rows + 1, -7), aay(rows + 1, -7);
        row_products(storage, bytes.data(), static_cast<std::ptrdiff_t>(width), rows, n, x.data(),
                     y.data(), ax.data(), aay.data());
        for (std::size_t r = 0; r < rows; ++r) {
          double sum = 0, squares = 0;
          for (std::size_t i = 0; i < n; ++i) {
            const double v = a[r * (n + 3) + i];
            sum += v * x[i];
            squares += v * v * y[i];
          }
          ASSERT_EQ(ax[r], sum) << n << " " << r;
          ASSERT_EQ(aay[r], squares) << n << " " << r;
        }
        ASSERT_EQ(ax[rows], -7);
        ASSERT_EQ(aay[rows], -7);
        std::vector<double> alone(rows + 1, -7);
        row_products(storage, bytes.data(), static_cast<std::ptrdiff_t>(width), rows, n, x.data(),
                     nullptr, alone.data(), nullptr);
        ASSERT_EQ(alone, ax);
      }
    }
  }
}

TEST_P(ChecksumTest, RowSizes) {
  for (const Storage storage : kStorages) {
    for (std::size_t n = 0; n <= 40; ++n) {
      for (const std::size_t rows : {0u, 1u, 5u, 9u}) {
        auto x = integers(n), y = integers(n);
        for (double& v : x) v = std::abs(v);
        for (double& v : y) v = std::abs(v);
        const auto a = integers(rows * (n + 3));
        // The rows have a gap of three elements.
        const auto bytes = stored(storage, a);
        const std::size_t width = rows == 0 ? 0 : (bytes.size() - 1) / (rows * (n + 3)) * (n + 3);
        for (const bool products : {false, true}) {
          std::vector<RowSizes> sizes(rows + 1, {-7, -7, -7});
          std::vector<RowSizes> without(rows + 1, {-7, -7, -7});
          std::vector<double> az(rows + 1, -7);
          row_sizes(storage, bytes.data(), static_cast<std::ptrdiff_t>(width), rows, n, x.data(),
                    products ? y.data() : nullptr, sizes.data(), x.data(), az.data());
          row_sizes(storage, bytes.data(), static_cast<std::ptrdiff_t>(width), rows, n, x.data(),
                    without.data());
          for (std::size_t r = 0; r < rows; ++r) {
            double weighted = 0, largest = 0, product = 0, sum = 0;
            for (std::size_t i = 0; i < n; ++i) {
              const double size = std::abs(a[r * (n + 3) + i]);
              weighted += size * x[i];
              sum += a[r * (n + 3) + i] * x[i];
              largest = std::max(largest, size);
              if (products) product = std::max(product, size * y[i]);
            }
            ASSERT_EQ(sizes[r].weighted, weighted) << n << " " << r;
            ASSERT_EQ(sizes[r].largest, largest) << n << " " << r;
            ASSERT_EQ(sizes[r].product, product) << n << " " << r;
            ASSERT_EQ(az[r], sum) << n << " " << r;
            ASSERT_EQ(without[r].weighted, weighted) << n << " " << r;
            ASSERT_EQ(without[r].largest, largest) << n << " " << r;
            ASSERT_EQ(without[r].product, 0) << n << " " << r;
          }
          ASSERT_EQ(az[rows], -7);
          ASSERT_EQ(sizes[rows].weighted, -7);
          ASSERT_EQ(sizes[rows].largest, -7);
          ASSERT_EQ(sizes[rows].product, -7);
          ASSERT_EQ(without[rows].weighted, -7);
          ASSERT_EQ(without[rows].largest, -7);
          ASSERT_EQ(without[rows].product, -7);
        }
      }
    }
  }
}

TEST_P(ChecksumTest, SpecialsReachAllSizesOfTheirRow) {
  const std::vector<double> x(21, 1), y(21, 0);
  for (const Storage storage : kStorages) {
    for (std::size_t at = 0; at < 21; ++at) {
      auto values = integers(21);
      const auto sizes = [&](double special) {
        values[at] = special;
        RowSizes row{}, without{};
        double az = 0;
        row_sizes(storage, stored(storage, values).data(), 0, 1, 21, x.data(), y.data(), &row,
                  x.data(), &az);
        row_sizes(storage, stored(storage, values).data(), 0, 1, 21, x.data(), &without);
        EXPECT_THAT(without.product, testing::NanSensitiveDoubleEq(row.product)) << at;
        return row;
      };
      const RowSizes infinite = sizes(-kInfinity), nan = sizes(kNan);
      ASSERT_EQ(infinite.weighted, kInfinity) << at;
      ASSERT_EQ(infinite.largest, kInfinity) << at;
      ASSERT_EQ(infinite.product, kInfinity) << at;
      ASSERT_TRUE(std::isnan(nan.weighted)) << at;
      ASSERT_TRUE(std::isnan(nan.largest)) << at;
      ASSERT_TRUE(std::isnan(nan.product)) << at;
    }
  }
}

TEST_P(ChecksumTest, OutputSums) {
  for (const Storage storage : kStorages) {
    for (const std::size_t n : {1u, 7u, 16u, 31u, 100u}) {
      for (const bool squares : {true, false}) {
        const std::size_t width = 9;
        const auto values = integers(n);
        std::vector<OutputSums> groups((n + width - 1) / width);
        output_sums(storage, stored(storage, values).data(), n, width, 7, 0x1p-10, squares,
                    groups.data());
        for (std::size_t g = 0; g < groups.size(); ++g) {
          double sum = 0, square = 0, ulps = 0, ulp_squares = 0;
          for (std::size_t i = g * width; i < std::min(n, (g + 1) * width); ++i) {
            const double ulp = values[i] == 0 ? 0x1p-10 : std::exp2(std::ilogb(values[i]) - 7);
            sum += values[i];
            square += values[i] * values[i];
            ulps += ulp;
            ulp_squares += ulp * ulp;
          }
          ASSERT_EQ(groups[g].sum, sum);
          ASSERT_EQ(groups[g].ulp, ulps) << n;
          ASSERT_EQ(groups[g].ulp_square, ulp_squares) << n;
          if (squares) {
            ASSERT_EQ(groups[g].square, square);
          } else {
            ASSERT_GE(groups[g].square, square);
            // This sum of squares may be too large. It counts a zero as the smallest number.
            ASSERT_LE(groups[g].square, 4 * square + 9 * 0x1p-6);
          }
        }
      }
    }
  }
}

// A row's sum has the same bits in every kernel, whatever else is computed with it, also if the row
// is long or its squares leave float32.
TEST_P(ChecksumTest, SumsDependOnTheRowAlone) {
  Random drawn(5, 1);
  for (const Storage storage : kStorages) {
    for (const double scale : {1.0, 0x1p-90, 0x1p90}) {
      if (storage == Storage::kF16 && scale != 1) continue;
      for (const std::size_t n : {5u, 31u, 255u, 256u, 263u, 280u, 271u, 1000u}) {
        std::vector<double> values(n), x(n, 1.0 / 3), ones(n, 1);
        for (double& v : values) v = scale * (1 + drawn.uniform());
        const auto bytes = stored(storage, values);
        for (const std::size_t width : {16u, 24u, 300u, 1000u}) {
          const std::size_t groups = (n + width - 1) / width;
          std::vector<double> alone(groups), sum(groups), square(groups);
          std::vector<OutputSums> ulps(groups);
          std::vector<OutputSizes> sizes(groups), largest(groups);
          group_sums(storage, bytes.data(), n, width, alone.data(), nullptr);
          group_sums(storage, bytes.data(), n, width, sum.data(), square.data());
          output_sums(storage, bytes.data(), n, width, 7, 0x1p-24, false, ulps.data());
          output_sizes(storage, bytes.data(), n, width, true, sizes.data());
          output_sizes(storage, bytes.data(), n, width, false, largest.data());
          for (std::size_t g = 0; g < groups; ++g) {
            ASSERT_EQ(sum[g], alone[g]) << n << " " << width << " " << scale;
            ASSERT_EQ(ulps[g].sum, alone[g]) << n << " " << width << " " << scale;
            ASSERT_EQ(sizes[g].sum, alone[g]) << n << " " << width << " " << scale;
            ASSERT_EQ(largest[g].sum, alone[g]) << n << " " << width << " " << scale;
            ASSERT_EQ(largest[g].largest, sizes[g].largest);
            ASSERT_EQ(largest[g].absolute, 0);
          }
        }
        double ax, aay, alone;
        row_products(storage, bytes.data(), 0, 1, n, x.data(), ones.data(), &ax, &aay);
        row_products(storage, bytes.data(), 0, 1, n, x.data(), nullptr, &alone, nullptr);
        ASSERT_EQ(ax, alone) << n << " " << scale;
        for (const bool products : {false, true}) {
          RowSizes with{}, without{};
          double az = 0;
          const double* y = products ? ones.data() : nullptr;
          row_sizes(storage, bytes.data(), 0, 1, n, ones.data(), &without);
          row_sizes(storage, bytes.data(), 0, 1, n, ones.data(), y, &with, x.data(), &az);
          ASSERT_EQ(az, ax) << n << " " << scale;
          ASSERT_EQ(with.weighted, without.weighted);
          ASSERT_EQ(with.largest, without.largest);
          ASSERT_EQ(without.product, 0);
          ASSERT_EQ(with.product, products ? with.largest : 0);
        }
      }
    }
  }
}

// Rows are so long that the kernels add squares in float32. Sums of squares are right to 2^-19 for
// values of any size, also if their squares are outside of float32's range.
TEST_P(ChecksumTest, LongRows) {
  for (const Storage storage : {Storage::kF16, Storage::kBf16}) {
    for (const double scale : {1.0, 0x1p-7, 0x1p90, 0x1p-90, 0.0}) {
      if (storage == Storage::kF16 && (scale > 1 || scale == 0x1p-90)) continue;
      for (const std::size_t n : {256u, 700u, 1024u}) {
        const std::size_t rows = 5;
        auto a = integers(rows * n), x = integers(n), y = integers(n);
        for (double& v : a) v *= scale;
        for (double& v : y) v = std::abs(v) * 0x1p-200;
        a[n + 3] = kInfinity;
        a[2 * n + 200] = kNan;
        const auto bytes = stored(storage, a);
        std::vector<double> ax(rows), aay(rows);
        row_products(storage, bytes.data(), static_cast<std::ptrdiff_t>(2 * n), rows, n, x.data(),
                     y.data(), ax.data(), aay.data());
        for (std::size_t r = 0; r < rows; ++r) {
          double sum = 0, square = 0, sx = 0, sy = 0, ulps = 0, ulp_squares = 0;
          const double floor = storage == Storage::kBf16 ? 0x1p-133 : 0x1p-24;
          const int bits = storage == Storage::kBf16 ? 7 : 10;
          for (std::size_t i = 0; i < n; ++i) {
            const double v = a[r * n + i];
            sum += v;
            square += v * v;
            sx += v * x[i];
            sy += v * v * y[i];
            const double ulp = std::max(
                floor, std::ldexp(1.0, std::ilogb(std::isfinite(v) && v != 0 ? v : floor) - bits));
            ulps += ulp;
            ulp_squares += ulp * ulp;
          }
          double s, q;
          OutputSums out;
          group_sums(storage, bytes.data() + 2 * r * n, n, n, &s, &q);
          output_sums(storage, bytes.data() + 2 * r * n, n, n, bits, floor, false, &out);
          if (r == 1 || r == 2) {
            EXPECT_FALSE(std::isfinite(s) || std::isfinite(q) || std::isfinite(ax[r]));
            EXPECT_FALSE(std::isfinite(aay[r]) || std::isfinite(out.sum));
            EXPECT_TRUE(r == 2 || (out.ulp == kInfinity && out.ulp_square == kInfinity));
            continue;
          }
          ASSERT_EQ(s, sum);
          ASSERT_EQ(out.sum, sum);
          ASSERT_EQ(ax[r], sx);
          ASSERT_NEAR(q, square, square * 0x1p-19);
          ASSERT_NEAR(aay[r], sy, sy * 0x1p-19) << scale << " " << n << " " << r;
          ASSERT_NEAR(out.ulp, ulps, ulps * 0x1p-19);
          ASSERT_NEAR(out.ulp_square, ulp_squares, ulp_squares * 0x1p-19) << scale;
        }
      }
    }
  }
}

TEST_P(ChecksumTest, SpecialsReachTheirGroupsSums) {
  for (const Storage storage : kStorages) {
    for (std::size_t at = 0; at < 21; ++at) {
      auto values = integers(21);
      values[at] = kInfinity;
      OutputSums group[1] = {};
      output_sums(storage, stored(storage, values).data(), 21, 21, 7, 0x1p-10, true, group);
      ASSERT_EQ(group[0].sum, kInfinity) << at;
      values[at] = kNan;
      output_sums(storage, stored(storage, values).data(), 21, 21, 7, 0x1p-10, true, group);
      ASSERT_TRUE(std::isnan(group[0].sum)) << at;
    }
  }
}

// Tests special values with and without the sums of sizes, also if +infinity and -infinity have no
// sum.
TEST_P(ChecksumTest, SpecialsReachTheirGroupsSizes) {
  for (const Storage storage : kStorages) {
    for (const std::size_t n : {21u, 300u}) {
      for (const std::size_t at : {std::size_t{0}, std::size_t{19}, n - 1}) {
        for (const bool absolute : {true, false}) {
          auto values = integers(n);
          const auto sizes = [&](double special) {
            values[at] = special;
            OutputSizes group{};
            output_sizes(storage, stored(storage, values).data(), n, n, absolute, &group);
            return group;
          };
          EXPECT_EQ(sizes(-kInfinity).largest, kInfinity) << n << " " << at;
          EXPECT_TRUE(std::isnan(sizes(kNan).largest)) << n << " " << at;
          values[5] = kInfinity;
          const OutputSizes both = sizes(-kInfinity);
          EXPECT_EQ(both.largest, kInfinity) << n << " " << at;
          EXPECT_EQ(both.absolute, kInfinity) << n << " " << at;
        }
      }
    }
  }
}

TEST_P(ChecksumTest, RowExtremes) {
  for (const Storage storage : kStorages) {
    for (std::size_t n = 1; n <= 40; ++n) {
      auto values = integers(n);
      const RowExtremes e = row_extremes(storage, stored(storage, values).data(), n);
      double sum = 0;
      for (const double v : values) sum += v;
      ASSERT_EQ(e.sum, sum);
      ASSERT_EQ(e.low, *std::min_element(values.begin(), values.end()));
      ASSERT_EQ(e.high, *std::max_element(values.begin(), values.end()));
    }
  }
}

TEST_P(ChecksumTest, ANanMakesTheExtremesNan) {
  for (std::size_t n = 1; n <= 21; ++n) {
    for (std::size_t at = 0; at < n; ++at) {
      auto values = integers(n);
      values[at] = kNan;
      const RowExtremes e = row_extremes(Storage::kF64, stored(Storage::kF64, values).data(), n);
      ASSERT_TRUE(std::isnan(e.sum)) << n << " " << at;
      ASSERT_TRUE(std::isnan(e.low)) << n << " " << at;
      ASSERT_TRUE(std::isnan(e.high)) << n << " " << at;
    }
  }
}

TEST_P(ChecksumTest, PackedProducts) {
  for (const std::int64_t rows : {1, 5, 13, 192}) {
    for (const std::int64_t n : {1, 33, 70}) {
      for (const std::int64_t k : {0, 1, 20, 257, 520}) {
        const auto a = integers(static_cast<std::size_t>(rows * k));
        const auto b = integers(static_cast<std::size_t>(k * n));
        std::vector<double> packed(packed_size(k, n) + 1), c(static_cast<std::size_t>(rows * n), 5);
        packed.back() = -7;
        for (std::int64_t kk = 0; kk < k; ++kk)
          pack_row(k, n, kk, b.data() + kk * n, packed.data());
        ASSERT_EQ(packed.back(), -7);
        multiply_packed(Storage::kF64, a.data(), 8 * k, rows, n, k, false, packed.data(), c.data());
        for (std::int64_t i = 0; i < rows; i += 3) {
          for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::int64_t kk = 0; kk < k; ++kk) {
              sum +=
                  a[static_cast<std::size_t>(i * k + kk)] * b[static_cast<std::size_t>(kk * n + j)];
            }
            ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], sum) << rows << " " << n << " " << k;
          }
        }
      }
    }
  }
}

// Returns all results of the kernels for three rows of `n` values that need rounding, as bits.
std::vector<std::uint64_t> told(Storage storage, std::size_t n, std::size_t width) {
  Random random(7, n);
  const auto draw = [&](std::size_t count) {
    std::vector<double> values(count);
    for (double& v : values) {
      v = std::ldexp(random.normal(), static_cast<int>(random.below(8)) - 4);
      if (std::abs(v) < 0x1p-14) v = 0;  // subnormal in float16
    }
    return values;
  };
  constexpr std::size_t kRows = 3;
  const auto bytes = stored(storage, draw(kRows * n));
  const std::size_t stride = (bytes.size() - 1) / kRows;
  const auto x = draw(n), y = draw(n);
  std::vector<double> numbers(2 * kRows);
  row_products(storage, bytes.data(), static_cast<std::ptrdiff_t>(stride), kRows, n, x.data(),
               y.data(), numbers.data(), numbers.data() + kRows);
  std::vector<double> weights = x;
  for (double& w : weights) w = std::abs(w);
  RowSizes of_rows[kRows];
  std::vector<double> az(kRows);
  row_sizes(storage, bytes.data(), static_cast<std::ptrdiff_t>(stride), kRows, n, weights.data(),
            weights.data(), of_rows, x.data(), az.data());
  numbers.insert(numbers.end(), az.begin(), az.end());
  for (const RowSizes& s : of_rows) {
    numbers.insert(numbers.end(), {s.weighted, s.largest, s.product});
  }
  const std::size_t groups = (n + width - 1) / width;
  for (std::size_t row = 0; row < kRows; ++row) {
    const unsigned char* at = bytes.data() + row * stride;
    std::vector<double> sum(groups), square(groups);
    group_sums(storage, at, n, width, sum.data(), square.data());
    numbers.insert(numbers.end(), sum.begin(), sum.end());
    numbers.insert(numbers.end(), square.begin(), square.end());
    for (const bool squares : {true, false}) {
      std::vector<OutputSums> sums(groups);
      output_sums(storage, at, n, width, 7, 0x1p-24, squares, sums.data());
      for (const auto& s : sums)
        numbers.insert(numbers.end(), {s.sum, s.ulp, s.ulp_square, s.square});
    }
    std::vector<OutputSizes> sizes(groups);
    output_sizes(storage, at, n, width, true, sizes.data());
    for (const auto& s : sizes) numbers.insert(numbers.end(), {s.sum, s.absolute, s.largest});
    const RowExtremes e = row_extremes(storage, at, n);
    numbers.insert(numbers.end(), {e.sum, e.low, e.high});
  }
  const auto k = static_cast<std::int64_t>(n);
  constexpr std::int64_t kColumns = 35;
  std::vector<double> packed(packed_size(k, kColumns)), c(kRows * kColumns);
  const auto b = draw(n * kColumns);
  for (std::int64_t kk = 0; kk < k; ++kk) {
    pack_row(k, kColumns, kk, b.data() + kk * kColumns, packed.data());
  }
  for (const bool squared : {false, true}) {
    multiply_packed(storage, bytes.data(), static_cast<std::ptrdiff_t>(stride), kRows, kColumns, k,
                    squared, packed.data(), c.data());
    numbers.insert(numbers.end(), c.begin(), c.end());
  }
  std::vector<std::uint64_t> bits(numbers.size());
  std::memcpy(bits.data(), numbers.data(), numbers.size() * sizeof(double));
  return bits;
}

TEST_P(ChecksumTest, AllTargetsTellTheSameBits) {
  for (const Storage storage : kStorages) {
    for (const std::size_t n : {1u, 7u, 33u, 255u, 256u, 300u, 700u, 1033u}) {
      for (const std::size_t width : {5u, 64u, 300u, 2000u}) {
        force_target(GetParam());
        const auto got = told(storage, n, width);
        force_target(available_targets().back());
        EXPECT_EQ(got, told(storage, n, width))
            << static_cast<int>(storage) << " " << n << " " << width;
      }
    }
  }
}

}  // namespace
}  // namespace assay::simd
