// Tests the vector unit's fast path for arrays of float32 against its scalar oracle.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "assay/simd/targets.h"
#include "emulated.h"
#include "sum_oracles.h"
#include "vector_inputs.h"

namespace assay {
namespace {

using vectors::all_units;
using vectors::kOps;
using vectors::kOrders;
using vectors::same;
using vectors::summands;
using vectors::text_of;
using vectors::Triple;
using vectors::triples;
using vectors::unit_of;

class FloatOnTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { simd::force_target(GetParam()); }
  void TearDown() override { simd::force_target(""); }
};
INSTANTIATE_TEST_SUITE_P(VectorFloat, FloatOnTarget, testing::ValuesIn(simd::available_targets()),
                         [](const auto& row) { return row.param; });

std::vector<VectorArithmetic> fast_units() {
  std::vector<VectorArithmetic> units;
  for (const VectorArithmetic& unit : all_units()) {
    if (fits_float32(unit)) units.push_back(unit);
  }
  return units;
}

TEST(VectorFloatTest, IsForFloat16AndFloat32) {
  EXPECT_EQ(fast_units().size(), 16u);
  // The products of bfloat16 numbers may underflow float32.
  EXPECT_FALSE(fits_float32(unit_of("bfloat16")));
  EXPECT_FALSE(fits_float32(unit_of("float64")));
  EXPECT_FALSE(fits_float32(unit_of("tfloat32")));
}

TEST_P(FloatOnTarget, ArraysAreTheOracleElementByElement) {
  std::vector<VectorOp> ops(std::begin(kOps), std::end(kOps));
  ops.push_back(VectorOp::kMax);
  ops.push_back(VectorOp::kMin);
  std::uint64_t stream = 100;
  for (const VectorArithmetic& unit : fast_units()) {
    const auto drawn = triples(*unit.format, 6001, stream++);
    std::vector<float> a, b, c;
    for (const Triple& t : drawn) {
      a.push_back(static_cast<float>(t.a)), b.push_back(static_cast<float>(t.b));
      c.push_back(static_cast<float>(t.c));
    }
    for (const VectorOp op : ops) {
      std::vector<float> to = a;  // in place
      const auto n = static_cast<std::int64_t>(to.size());
      vector_apply(unit, op, n, to.data(), b.data(), c.data(), to.data());
      int mismatches = 0;
      for (std::size_t i = 0; i < to.size(); ++i) {
        const double expected = vector_oracle(unit, op, drawn[i].a, drawn[i].b, drawn[i].c);
        if (!same(static_cast<double>(to[i]), expected) && ++mismatches < 4) {
          ADD_FAILURE() << text_of(unit) << " op " << static_cast<int>(op) << std::hexfloat
                        << " of " << a[i] << ", " << b[i] << ", " << c[i] << ": " << to[i]
                        << ", not " << expected;
        }
      }
      EXPECT_EQ(mismatches, 0) << text_of(unit) << " op " << static_cast<int>(op);
    }
  }
}

template <typename T>
void expect_scalars_as_arrays(const VectorArithmetic& unit) {
  const auto drawn = triples(*unit.format, 50, 7);
  std::vector<T> a, out(50);
  for (const Triple& t : drawn) a.push_back(static_cast<T>(t.a));
  for (std::size_t i = 0; i < 20; ++i) {
    const T b = static_cast<T>(drawn[i].b), c = static_cast<T>(drawn[i].c);
    vector_apply(unit, VectorOp::kFma, 50, {&b, true}, a.data(), {&c, true}, out.data());
    for (std::size_t j = 0; j < a.size(); ++j) {
      ASSERT_TRUE(same(static_cast<double>(out[j]),
                       vector_oracle(unit, VectorOp::kFma, drawn[i].b, drawn[j].a, drawn[i].c)))
          << text_of(unit);
    }
    vector_apply(unit, VectorOp::kTanh, 50, {&b, true}, a.data(), a.data(), out.data());
    for (const T v : out) {
      ASSERT_TRUE(same(static_cast<double>(v), vector_oracle(unit, VectorOp::kTanh, drawn[i].b)));
    }
  }
}

TEST_P(FloatOnTarget, ANumberGoesWithAllElements) {
  for (const VectorArithmetic& unit : all_units()) {
    expect_scalars_as_arrays<double>(unit);
    if (fits_float32(unit)) expect_scalars_as_arrays<float>(unit);
  }
}

TEST(VectorFloatTest, ReductionsAreTheOracleColumnByColumnOnAllTargets) {
  std::uint64_t stream = 0, place = 0;
  for (const VectorArithmetic& unit : fast_units()) {
    if (!unit.fused) continue;
    for (const ReduceOrder order : kOrders) {
      for (const std::int64_t n : {0, 1, 2, 3, 7, 64, 65, 300, 1031}) {
        for (const std::int64_t w : {1, 2, 9, 40, 133}) {
          for (const std::int64_t chunk : {1, 5, 64}) {
            if (n * w > 5000 && chunk != 5) continue;
            const std::uint64_t kind = stream++ % 6;
            // A share is every fourth of the 19 large sums of an order, so that four orders cover
            // all of them.
            if (walks_a_share() && n * w > 2000 && place++ % 4 != 0) continue;
            const auto x = summands(*unit.format, static_cast<std::size_t>(n * w), kind, stream);
            std::vector<double> expected;
            for (std::int64_t j = 0; j < w; ++j) {
              expected.push_back(
                  reduce_oracle(unit, order, chunk, n, x.data() + (n > 0 ? j : 0), w));
            }
            for (const std::string& target : simd::available_targets()) {
              simd::force_target(target);
              std::vector<float> narrow(x.begin(), x.end()), sums(static_cast<std::size_t>(w));
              reduce_sum(unit, order, chunk, n, w, narrow.data(), sums.data());
              simd::force_target("");
              for (std::size_t j = 0; j < sums.size(); ++j) {
                ASSERT_TRUE(same(static_cast<double>(sums[j]), expected[j]))
                    << target << " " << text_of(unit) << " order " << static_cast<int>(order)
                    << " n " << n << " w " << w << " chunk " << chunk << " kind " << kind << ": "
                    << sums[j] << ", not " << expected[j];
              }
            }
          }
        }
      }
    }
  }
}

TEST_P(FloatOnTarget, TransposesMoveEveryElement) {
  for (const std::size_t rows : {1u, 3u, 4u, 9u, 64u}) {
    for (const std::size_t n : {1u, 15u, 16u, 37u, 130u}) {
      std::vector<float> x(rows * n), y(rows * n, -1.0f);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
      simd::transpose(rows, n, x.data(), y.data());
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < rows; ++j) ASSERT_EQ(y[i * rows + j], x[j * n + i]);
      }
    }
  }
}

TEST_P(FloatOnTarget, MaximaAreTheOracle) {
  const auto unit = unit_of("float32");
  for (std::uint64_t stream = 0; stream < 300; ++stream) {
    const auto x = summands(*unit.format, 1 + stream % 67, stream % 6, stream);
    const std::vector<float> narrow(x.begin(), x.end());
    double most = x[0];
    for (const double v : x) most = vector_oracle(unit, VectorOp::kMax, most, v);
    const auto n = static_cast<std::int64_t>(x.size());
    EXPECT_TRUE(same(vector_maximum(n, x.data()), most)) << stream;
    EXPECT_TRUE(same(static_cast<double>(vector_maximum(n, narrow.data())), most)) << stream;
  }
}

}  // namespace
}  // namespace assay
