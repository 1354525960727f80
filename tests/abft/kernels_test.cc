// Compares the checksum kernels with plain loops in long double, on every SIMD target. The data are
// real numbers of every storage, at odd lengths and with special values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "abft/oracle.h"
#include "assay/base/constants.h"
#include "assay/base/index.h"
#include "assay/format/convert.h"
#include "assay/simd/checksum.h"
#include "assay/simd/packed_product.h"
#include "simd/target_fixture.h"

namespace assay::abft {
namespace {

using simd::Storage;
using testing_oracle::Real;

struct Stored {
  Storage storage;
  const char* dtype;
};
constexpr Stored kStored[] = {{Storage::kF64, "float64"},
                              {Storage::kF32, "float32"},
                              {Storage::kF16, "float16"},
                              {Storage::kBf16, "bfloat16"}};

// Elements in a block of exactly their size, so that the sanitizer finds a read beyond it.
struct StoredRow {
  std::vector<std::byte> bytes;
  std::vector<double> values;  // as stored
  const void* data() const { return bytes.data(); }
};
StoredRow row_of(const char* dtype, const std::vector<double>& values) {
  const Format& f = format_named(dtype);
  StoredRow row;
  row.bytes.resize(values.size() * static_cast<std::size_t>(f.storage_bytes));
  encode_array(f, values.data(), values.size(), row.bytes.data());
  row.values.resize(values.size());
  decode_array(f, row.bytes.data(), values.size(), row.values.data());
  return row;
}
// Returns normals, subnormals, zeros of both signs and the largest values of the format.
StoredRow random_row(const char* dtype, std::size_t n, std::uint64_t stream) {
  const Format& f = format_named(dtype);
  Random random(55, stream);
  std::vector<double> values(n);
  for (double& v : values) {
    switch (random.below(8)) {
      case 0:
        v = random.below(2) == 0 ? 0.0 : -0.0;
        break;
      case 1:
        v = min_subnormal(f) * static_cast<double>(random.below(9));
        break;
      case 2:
        v = f.bits == 64 ? 1e100 : -max_finite(f);
        break;
      default:
        v = std::ldexp(random.normal(), static_cast<int>(random.below(20)) - 10);
    }
  }
  return row_of(dtype, values);
}

std::vector<double> reals(std::size_t n, std::uint64_t stream) {
  Random random(56, stream);
  std::vector<double> values(n);
  for (double& v : values) v = random.normal();
  return values;
}

void expect_sum(double actual, Real wanted, Real size) {
  ASSERT_NEAR(actual, static_cast<double>(wanted), static_cast<double>(size) * 0x1p-45);
}

class Kernels : public simd::OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(OnTarget, Kernels, testing::ValuesIn(simd::available_targets()),
                         simd::target_of);

constexpr std::size_t kLengths[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67, 131};

TEST_P(Kernels, GroupSums) {
  std::uint64_t stream = 0;
  for (const Stored& s : kStored) {
    for (const std::size_t n : kLengths) {
      for (const std::size_t width : {1u, 3u, 8u, 16u, 1000u}) {
        const StoredRow row = random_row(s.dtype, n, ++stream);
        const std::size_t groups = (n + width - 1) / width;
        std::vector<double> sum(groups), square(groups);
        simd::group_sums(s.storage, row.data(), n, width, sum.data(), square.data());
        for (std::size_t g = 0; g < groups; ++g) {
          Real total = 0, size = 0, squares = 0;
          for (std::size_t i = g * width; i < std::min(n, (g + 1) * width); ++i) {
            total += row.values[i];
            size += std::abs(Real(row.values[i]));
            squares += Real(row.values[i]) * row.values[i];
          }
          expect_sum(sum[g], total, size);
          expect_sum(square[g], squares, squares);
        }
      }
    }
  }
}

TEST_P(Kernels, RowProducts) {
  std::uint64_t stream = 1000;
  for (const Stored& s : kStored) {
    const auto bytes = static_cast<std::size_t>(format_named(s.dtype).storage_bytes);
    for (const std::size_t n : kLengths) {
      for (const std::size_t count : {1u, 2u, 3u, 4u, 5u, 9u}) {
        // The rows have a gap of 3 elements between them.
        const std::size_t step = n + 3;
        const StoredRow rows = random_row(s.dtype, (count - 1) * step + n, ++stream);
        const std::vector<double> x = reals(n, stream), y = reals(n, stream + 5000);
        std::vector<double> ax(count), aay(count);
        simd::row_products(s.storage, rows.data(), static_cast<std::ptrdiff_t>(step * bytes), count,
                           n, x.data(), y.data(), ax.data(), aay.data());
        for (std::size_t i = 0; i < count; ++i) {
          Real sum = 0, size = 0, squares = 0, squares_size = 0;
          for (std::size_t k = 0; k < n; ++k) {
            const Real a = rows.values[i * step + k];
            sum += a * x[k];
            size += std::abs(a * x[k]);
            squares += a * a * y[k];
            squares_size += std::abs(a * a * y[k]);
          }
          expect_sum(ax[i], sum, size);
          expect_sum(aay[i], squares, squares_size);
        }
      }
    }
  }
}

TEST_P(Kernels, OutputSums) {
  std::uint64_t stream = 2000;
  for (const Stored& s : kStored) {
    const Format& f = format_named(s.dtype);
    for (const std::size_t n : kLengths) {
      for (const std::size_t width : {1u, 3u, 16u, 1000u}) {
        const StoredRow row = random_row(s.dtype, n, ++stream);
        std::vector<simd::OutputSums> exact((n + width - 1) / width), bounded(exact.size());
        simd::output_sums(s.storage, row.data(), n, width, f.mantissa_bits(), min_subnormal(f),
                          true, exact.data());
        simd::output_sums(s.storage, row.data(), n, width, f.mantissa_bits(), min_subnormal(f),
                          false, bounded.data());
        for (std::size_t g = 0; g < exact.size(); ++g) {
          Real sum = 0, size = 0, squares = 0, ulps = 0, ulp_squares = 0;
          for (std::size_t i = g * width; i < std::min(n, (g + 1) * width); ++i) {
            const Real ulp = ulp_of(f, row.values[i]);
            sum += row.values[i];
            size += std::abs(Real(row.values[i]));
            squares += Real(row.values[i]) * row.values[i];
            ulps += ulp;
            ulp_squares += ulp * ulp;
          }
          for (const simd::OutputSums& got : {exact[g], bounded[g]}) {
            expect_sum(got.sum, sum, size);
            expect_sum(got.ulp, ulps, ulps);
            if (f.bits < 64) expect_sum(got.ulp_square, ulp_squares, ulp_squares);
          }
          expect_sum(exact[g].square, squares, squares);
          if (f.bits < 64) {
            ASSERT_GE(bounded[g].square, static_cast<double>(squares));
          }
        }
      }
    }
  }
}

TEST_P(Kernels, OutputSizes) {
  std::uint64_t stream = 2500;
  for (const Stored& s : kStored) {
    for (const std::size_t n : kLengths) {
      for (const std::size_t width : {1u, 3u, 16u, 1000u}) {
        const StoredRow row = random_row(s.dtype, n, ++stream);
        std::vector<simd::OutputSizes> sizes((n + width - 1) / width);
        simd::output_sizes(s.storage, row.data(), n, width, true, sizes.data());
        for (std::size_t g = 0; g < sizes.size(); ++g) {
          Real absolute = 0;
          double largest = 0;
          for (std::size_t i = g * width; i < std::min(n, (g + 1) * width); ++i) {
            absolute += std::abs(Real(row.values[i]));
            largest = std::max(largest, std::abs(row.values[i]));
          }
          expect_sum(sizes[g].absolute, absolute, absolute);
          ASSERT_EQ(sizes[g].largest, largest);
        }
      }
    }
  }
}

TEST_P(Kernels, SpecialsReachTheirSumsWhereverTheyAre) {
  for (const Stored& s : kStored) {
    const Format& f = format_named(s.dtype);
    for (const std::size_t n : {1u, 9u, 33u}) {
      for (std::size_t i = 0; i < n; ++i) {
        for (const double special : {kNan, kInfinity, -kInfinity}) {
          std::vector<double> values(n, 1.5);
          values[i] = special;
          const StoredRow row = row_of(s.dtype, values);
          const auto same = [&](double got) {
            return std::isnan(special) ? std::isnan(got) : got == special;
          };
          double sum = 0, square = 0;
          simd::group_sums(s.storage, row.data(), n, n, &sum, &square);
          ASSERT_TRUE(same(sum)) << s.dtype << " " << n << " " << i;
          ASSERT_FALSE(std::isfinite(square));
          const std::vector<double> ones(n, 1.0);
          simd::row_products(s.storage, row.data(), 0, 1, n, ones.data(), ones.data(), &sum,
                             &square);
          ASSERT_TRUE(same(sum));
          ASSERT_FALSE(std::isfinite(square));
          for (const bool squares : {false, true}) {
            simd::OutputSums sums{};
            simd::output_sums(s.storage, row.data(), n, n, f.mantissa_bits(), min_subnormal(f),
                              squares, &sums);
            ASSERT_TRUE(same(sums.sum));
            ASSERT_FALSE(std::isfinite(sums.ulp));
            ASSERT_FALSE(std::isfinite(sums.ulp_square));
            ASSERT_FALSE(std::isfinite(sums.square));
          }
          simd::OutputSizes sizes{};
          simd::output_sizes(s.storage, row.data(), n, n, true, &sizes);
          ASSERT_FALSE(std::isfinite(sizes.absolute));
          ASSERT_FALSE(std::isfinite(sizes.largest));
          const simd::RowExtremes e = simd::row_extremes(s.storage, row.data(), n);
          ASSERT_TRUE(same(e.sum));
          if (!std::isnan(special)) {
            ASSERT_EQ(e.high, n == 1 || special > 0 ? special : 1.5);
            ASSERT_EQ(e.low, n == 1 || special < 0 ? special : 1.5);
          }
        }
      }
    }
  }
}

TEST_P(Kernels, RowExtremes) {
  std::uint64_t stream = 3000;
  for (const Stored& s : kStored) {
    for (const std::size_t n : kLengths) {
      const StoredRow row = random_row(s.dtype, n, ++stream);
      const simd::RowExtremes e = simd::row_extremes(s.storage, row.data(), n);
      Real sum = 0, size = 0;
      for (const double v : row.values) {
        sum += v;
        size += std::abs(Real(v));
      }
      expect_sum(e.sum, sum, size);
      ASSERT_EQ(e.low, *std::min_element(row.values.begin(), row.values.end()));
      ASSERT_EQ(e.high, *std::max_element(row.values.begin(), row.values.end()));
    }
  }
}

TEST_P(Kernels, MultiplyPacked) {
  std::uint64_t stream = 4000;
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{7}, simd::kProductRows}) {
    for (const std::int64_t n : {1, 5, 16, 37}) {
      for (const std::int64_t k : {1, 3, 255, 256, 257, 600}) {
        const std::vector<double> a = reals(at(rows * k), ++stream), b = reals(at(k * n), ++stream);
        std::vector<double> packed(simd::packed_size(k, n)), c(at(rows * n), kNan);
        for (std::int64_t kk = 0; kk < k; ++kk)
          simd::pack_row(k, n, kk, b.data() + kk * n, packed.data());
        simd::multiply_packed(simd::Storage::kF64, a.data(), 8 * k, rows, n, k, false,
                              packed.data(), c.data());
        for (std::int64_t i = 0; i < rows; i += std::max<std::int64_t>(1, rows / 3)) {
          for (std::int64_t j = 0; j < n; ++j) {
            Real sum = 0, size = 0;
            for (std::int64_t kk = 0; kk < k; ++kk) {
              sum += Real(a[at(i * k + kk)]) * b[at(kk * n + j)];
              size += std::abs(Real(a[at(i * k + kk)]) * b[at(kk * n + j)]);
            }
            expect_sum(c[at(i * n + j)], sum, size);
          }
        }
      }
    }
  }
}

// A NaN of one row or column does not reach others: the padding of a tile never enters a result.
TEST_P(Kernels, MultiplyPackedKeepsSpecialsWhereTheyBelong) {
  const std::int64_t rows = 7, n = 5, k = 9;
  for (const double special : {kNan, kInfinity}) {
    std::vector<double> a(at(rows * k), 1.0), b(at(k * n), 1.0), c(at(rows * n));
    std::vector<double> packed(simd::packed_size(k, n));
    a[at(6 * k + 2)] = special;
    b[at(4 * n + 4)] = special;
    for (std::int64_t kk = 0; kk < k; ++kk)
      simd::pack_row(k, n, kk, b.data() + kk * n, packed.data());
    simd::multiply_packed(simd::Storage::kF64, a.data(), 8 * k, rows, n, k, false, packed.data(),
                          c.data());
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        EXPECT_EQ(std::isfinite(c[at(i * n + j)]), i != 6 && j != 4) << i << " " << j;
      }
    }
  }
}

}  // namespace
}  // namespace assay::abft
