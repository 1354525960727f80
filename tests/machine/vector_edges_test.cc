// Tests the ends of arrays and of formats. Nothing is written behind the last element, and the
// results at the ends of the ranges agree with those by hand.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/machine/sum_plan.h"
#include "assay/machine/vector.h"
#include "sum_oracles.h"
#include "vector_inputs.h"

namespace assay::vector_edges {
namespace {

using vectors::all_units;
using vectors::same;
using vectors::unit_of;

constexpr VectorOp kEveryOp[] = {VectorOp::kAdd, VectorOp::kSub,  VectorOp::kMul,   VectorOp::kDiv,
                                 VectorOp::kFma, VectorOp::kMax,  VectorOp::kMin,   VectorOp::kExp,
                                 VectorOp::kLog, VectorOp::kSqrt, VectorOp::kRsqrt, VectorOp::kTanh,
                                 VectorOp::kErf};

// Calls an operation for n elements, while the arrays are longer. The operands continue after these
// elements, but nothing may be written behind the n results.
template <typename T>
void expect_nothing_behind(const VectorArithmetic& unit, VectorOp op, std::int64_t n) {
  SCOPED_TRACE(formatted("{} op {} of {}", vectors::text_of(unit), static_cast<int>(op), n));
  std::vector<T> x(at(n + 2)), y(at(n + 2)), z(at(n + 2)), to(at(n + 2), T{77});
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(1 + i % 5);
    y[i] = static_cast<T>(2 + i % 3);
    z[i] = static_cast<T>(i % 7);
  }
  for (const bool scalar : {false, true}) {
    vector_apply(unit, op, n, VectorOperand<T>(x.data(), scalar), y.data(), z.data(), to.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const auto a = static_cast<double>(x[scalar ? 0 : at(i)]);
      const double wanted =
          vector_oracle(unit, op, a, static_cast<double>(y[at(i)]), static_cast<double>(z[at(i)]));
      ASSERT_TRUE(same(static_cast<double>(to[at(i)]), wanted)) << i;
    }
    ASSERT_EQ(to[at(n)], T{77});
    ASSERT_EQ(to[at(n + 1)], T{77});
  }
}

TEST(VectorEdges, NothingIsWrittenBehindTheLastElement) {
  for (const VectorArithmetic& unit :
       {unit_of("float16"), unit_of("float32", Overflow::kSaturate),
        unit_of("float32", Overflow::kIeee, Subnormals::kFlush, false), unit_of("float64")}) {
    for (const VectorOp op : kEveryOp) {
      for (const std::int64_t n : {0, 1, 7, 16, 33, 1023, 1024, 1025}) {
        expect_nothing_behind<double>(unit, op, n);
        if (fits_float32(unit)) expect_nothing_behind<float>(unit, op, n);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Units that flush keep the smallest normal number and flush smaller ones. Units that saturate keep
// the largest number.
TEST(VectorEdges, EndsOfTheRange) {
  for (const VectorArithmetic& unit : all_units()) {
    SCOPED_TRACE(vectors::text_of(unit));
    const Format& f = *unit.format;
    const double normal = min_normal(f), least = min_subnormal(f), most = max_finite(f);
    const bool flush = unit.subnormals == Subnormals::kFlush;
    const bool saturate = unit.overflow == Overflow::kSaturate;
    const struct {
      double value, wanted;
    } rows[] = {{normal, normal},
                {normal - least, flush ? 0 : normal - least},
                {least, flush ? 0 : least},
                {most, most},
                {kInfinity, saturate ? most : kInfinity}};
    for (const auto& row : rows) {
      for (const double sign : {1.0, -1.0}) {
        const double x = sign * row.value, wanted = sign * row.wanted, zero = sign * 0.0;
        EXPECT_TRUE(same(vector_oracle(unit, VectorOp::kAdd, x, zero), wanted)) << x;
        double to = 5;
        vector_apply(unit, VectorOp::kAdd, 1, &x, &zero, &zero, &to);
        EXPECT_TRUE(same(to, wanted)) << x;
        // A product with 1 has the same result as the sum with 0. A maximum returns the larger
        // operand unchanged.
        const double one = 1;
        vector_apply(unit, VectorOp::kMul, 1, &x, &one, &one, &to);
        EXPECT_TRUE(same(to, wanted)) << x;
        vector_apply(unit, VectorOp::kMax, 1, &x, &x, &x, &to);
        EXPECT_TRUE(same(to, x)) << x;
        if (std::isinf(x)) continue;
        for (const ReduceOrder order : vectors::kOrders) {
          for (const std::int64_t chunk : {1, 2, 3}) {
            std::vector<double> terms = {x, zero, zero, zero, zero};
            const std::vector<double> given = terms;
            const double of_oracle =
                reduce_oracle(unit, order, chunk, std::ssize(terms), terms.data());
            reduce_sum(unit, order, chunk, std::ssize(terms), 1, terms.data(), &to);
            EXPECT_TRUE(same(to, wanted)) << x;
            EXPECT_TRUE(same(of_oracle, wanted)) << x;
            if (!fits_float32(unit)) continue;
            std::vector<float> narrow(given.begin(), given.end());
            float sum = 5;
            reduce_sum(unit, order, chunk, std::ssize(narrow), 1, narrow.data(), &sum);
            EXPECT_TRUE(same(static_cast<double>(sum), wanted)) << x;
          }
        }
        const SumPlan plan;
        for (const std::int64_t n : {1, 5}) {
          std::vector<double> terms(at(n), zero);
          terms[0] = x;
          EXPECT_TRUE(same(plan_oracle(unit, unit, plan, n, terms.data(), 1), wanted)) << x;
          SumSchedule(plan, n).sum(unit, unit, 1, terms.data(), &to);
          EXPECT_TRUE(same(to, wanted)) << x;
        }
      }
    }
  }
}

// Sums by hand in each order, of eight numbers whose additions round. float16 has 11 bits, so that
// 2048 + 1 is 2048 and 2048 + 3 is 2052.
TEST(VectorEdges, OrdersThatRoundByHand) {
  const VectorArithmetic half = unit_of("float16");
  const std::vector<double> x = {2048, 1, 1, 1, 1, 1, 1, 1};
  const struct {
    ReduceOrder order;
    std::int64_t chunk;
    double wanted;
  } rows[] = {
      {ReduceOrder::kSequential, 1, 2048},  // each 1 is lost
      {ReduceOrder::kPairwise, 1, 2054},    // (2048 + 2) + 4
      {ReduceOrder::kFirstN, 4, 2054},      // (2048 + 2) + 4
      {ReduceOrder::kFirstN, 3, 2054},      // 2048 + 3 = 2052, + 2
      {ReduceOrder::kHighDim, 2, 2054},     // 2048, 2, 2, 2: 2050 + 4
      {ReduceOrder::kHighDim, 3, 2054},     // 2048 + 1 = 2048 + 3 = 2052, + 2
      {ReduceOrder::kBlock, 2, 2054},       // 2048, 2, 2, 2 in float32
      {ReduceOrder::kBlock, 8, 2054},
      {ReduceOrder::kBlock, 1, 2055},  // blocks of 1 are added in float32, which loses nothing
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(formatted("order {} of {}", static_cast<int>(row.order), row.chunk));
    EXPECT_EQ(reduce_oracle(half, row.order, row.chunk, 8, x.data()), row.wanted);
    std::vector<double> copy = x;
    double sum = 0;
    reduce_sum(half, row.order, row.chunk, 8, 1, copy.data(), &sum);
    EXPECT_EQ(sum, row.wanted);
  }
}

}  // namespace
}  // namespace assay::vector_edges
