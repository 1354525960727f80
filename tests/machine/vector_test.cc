// Tests the vector unit: its scalar oracle against MPFR, the array path against the oracle, and
// reductions.
#include "assay/machine/vector.h"

#include <gtest/gtest.h>
#include <mpfr.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/simd/targets.h"
#include "error_of.h"
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

// -- Against MPFR
// ----------------------------------------------------------------------------------

// Computes one unit's arithmetic by MPFR, with the precision, exponent range and gradual underflow
// of the format.
class MpfrUnit {
 public:
  explicit MpfrUnit(const VectorArithmetic& unit) : unit_(unit) {
    const Format& f = *unit.format;
    emin_ = mpfr_get_emin(), emax_ = mpfr_get_emax();
    mpfr_set_emin(f.min_exponent() - f.mantissa_bits() + 1);
    mpfr_set_emax(std::ilogb(max_finite(f)) + 1);
    for (auto* v : {a_, b_, c_}) mpfr_init2(v, 53);
    mpfr_init2(result_, f.precision);
  }
  ~MpfrUnit() {
    for (auto* v : {a_, b_, c_, result_}) mpfr_clear(v);
    mpfr_set_emin(emin_), mpfr_set_emax(emax_);
  }
  MpfrUnit(const MpfrUnit&) = delete;
  MpfrUnit& operator=(const MpfrUnit&) = delete;

  double apply(VectorOp op, double a, double b, double c) {
    if (op == VectorOp::kFma && !unit_.fused) {
      return apply(VectorOp::kAdd, apply(VectorOp::kMul, a, b, 0), c, 0);
    }
    mpfr_set_d(a_, flushed(a), MPFR_RNDN);
    mpfr_set_d(b_, flushed(b), MPFR_RNDN);
    mpfr_set_d(c_, flushed(c), MPFR_RNDN);
    int inexact = 0;
    if (op == VectorOp::kAdd) inexact = mpfr_add(result_, a_, b_, MPFR_RNDN);
    if (op == VectorOp::kSub) inexact = mpfr_sub(result_, a_, b_, MPFR_RNDN);
    if (op == VectorOp::kMul) inexact = mpfr_mul(result_, a_, b_, MPFR_RNDN);
    if (op == VectorOp::kDiv) inexact = mpfr_div(result_, a_, b_, MPFR_RNDN);
    if (op == VectorOp::kFma) inexact = mpfr_fma(result_, a_, b_, c_, MPFR_RNDN);
    mpfr_subnormalize(result_, inexact, MPFR_RNDN);
    const double value = mpfr_get_d(result_, MPFR_RNDN);
    if (unit_.overflow == Overflow::kSaturate) {
      if (std::isnan(value)) return 0;
      if (std::isinf(value)) return std::copysign(max_finite(*unit_.format), value);
    }
    return flushed(value);
  }

 private:
  double flushed(double v) const {
    const bool flush = unit_.subnormals == Subnormals::kFlush;
    return flush && std::abs(v) < min_normal(*unit_.format) ? std::copysign(0.0, v) : v;
  }

  VectorArithmetic unit_;
  mpfr_exp_t emin_, emax_;
  mpfr_t a_, b_, c_, result_;
};

TEST(VectorOracleTest, IsMpfrRoundedOnce) {
  std::uint64_t stream = 0;
  for (const VectorArithmetic& unit : all_units()) {
    MpfrUnit mpfr(unit);
    int mismatches = 0;
    for (const Triple& t : triples(*unit.format, 4000, stream++)) {
      for (const VectorOp op : kOps) {
        const double ours = vector_oracle(unit, op, t.a, t.b, t.c);
        const double theirs = mpfr.apply(op, t.a, t.b, t.c);
        if (!same(ours, theirs) && ++mismatches < 4) {
          ADD_FAILURE() << text_of(unit) << " op " << static_cast<int>(op) << std::hexfloat
                        << " of " << t.a << ", " << t.b << ", " << t.c << ": " << ours << ", not "
                        << theirs;
        }
      }
    }
    EXPECT_EQ(mismatches, 0) << text_of(unit);
  }
}

// A float64 multiply-add rounded to float32 is wrong here: the tie 1 + 2^-11 + 2^-24 loses 2^-80.
TEST(VectorOracleTest, AFusedMultiplyAddIsNotRoundedTwice) {
  const double a = 1 + 0x1p-12, c = 0x1p-80;
  EXPECT_EQ(static_cast<float>(std::fma(a, a, c)), 1 + 0x1p-11f);
  EXPECT_EQ(vector_oracle(unit_of("float32"), VectorOp::kFma, a, a, c), 1 + 0x1p-11 + 0x1p-23);
  EXPECT_EQ(vector_oracle(unit_of("float32"), VectorOp::kFma, a, a, -c), 1 + 0x1p-11);
  EXPECT_EQ(std::fma(1 + 0x1p-12f, 1 + 0x1p-12f, 0x1p-80f), 1 + 0x1p-11f + 0x1p-23f);
}

TEST(VectorOracleTest, OneRoundingAndTwoDiffer) {
  // a * a is 1 + 2^-9 + 2^-20, which float16 rounds to 1 + 2^-9.
  const double a = 1 + 0x1p-10, c = -(1 + 0x1p-9);
  for (const bool fused : {true, false}) {
    const auto unit = unit_of("float16", Overflow::kIeee, Subnormals::kGradual, fused);
    EXPECT_EQ(vector_oracle(unit, VectorOp::kFma, a, a, c), fused ? 0x1p-20 : 0.0);
  }
}

TEST(VectorOracleTest, MaximumAndMinimum) {
  const auto unit = unit_of("float16", Overflow::kSaturate, Subnormals::kFlush);
  const auto is = [&](VectorOp op, double a, double b, double expected) {
    EXPECT_TRUE(same(vector_oracle(unit, op, a, b), expected)) << a << ", " << b;
    EXPECT_TRUE(same(vector_oracle(unit, op, b, a), expected)) << a << ", " << b;
  };
  is(VectorOp::kMax, 1, 2, 2);
  is(VectorOp::kMin, 1, 2, 1);
  is(VectorOp::kMax, 0.0, -0.0, 0.0);
  is(VectorOp::kMin, 0.0, -0.0, -0.0);
  // A maximum returns the operand unchanged, whatever the policy.
  is(VectorOp::kMax, -kInfinity, 0x1p-24, 0x1p-24);
  is(VectorOp::kMin, kNan, 1, kNan);
  is(VectorOp::kMax, kNan, kInfinity, kNan);
}

TEST(VectorOracleTest, Policies) {
  const auto ieee = unit_of("float16"), saturating = unit_of("float16", Overflow::kSaturate);
  // 65520 is a tie. It is rounded to 65536, which overflows.
  EXPECT_EQ(vector_oracle(ieee, VectorOp::kAdd, 65504, 16), kInfinity);
  EXPECT_EQ(vector_oracle(ieee, VectorOp::kAdd, 65504, 15.9921875), 65504);
  EXPECT_EQ(vector_oracle(saturating, VectorOp::kMul, 300, -300), -65504);
  EXPECT_EQ(vector_oracle(saturating, VectorOp::kSub, kInfinity, kInfinity), 0);
  EXPECT_EQ(vector_oracle(saturating, VectorOp::kDiv, 1, -0.0), -65504);
  const auto flush = unit_of("float16", Overflow::kIeee, Subnormals::kFlush);
  EXPECT_EQ(vector_oracle(ieee, VectorOp::kAdd, 0x1p-15, 0x1p-15), 0x1p-14);
  EXPECT_EQ(vector_oracle(flush, VectorOp::kAdd, 0x1p-15, 0x1p-15), 0);
  EXPECT_TRUE(std::signbit(vector_oracle(flush, VectorOp::kMul, -0x1p-10, 0x1p-5)));
}

// -- Arrays against the oracle
// ---------------------------------------------------------------------

class OnTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { simd::force_target(GetParam()); }
  void TearDown() override { simd::force_target(""); }
};

INSTANTIATE_TEST_SUITE_P(Vector, OnTarget, testing::ValuesIn(simd::available_targets()),
                         [](const auto& row) { return row.param; });

TEST_P(OnTarget, ArraysAreTheOracleElementByElement) {
  std::uint64_t stream = 100;
  for (const VectorArithmetic& unit : all_units()) {
    const auto drawn = triples(*unit.format, 2500, stream++);
    std::vector<double> a, b, c;
    for (const Triple& t : drawn) a.push_back(t.a), b.push_back(t.b), c.push_back(t.c);
    for (const VectorOp op : kOps) {
      for (const std::size_t n : {drawn.size(), std::size_t{1}, std::size_t{0}}) {
        std::vector<double> to = a;  // in place
        vector_apply(unit, op, static_cast<std::int64_t>(n), to.data(), b.data(), c.data(),
                     to.data());
        int mismatches = 0;
        for (std::size_t i = 0; i < n; ++i) {
          mismatches += same(to[i], vector_oracle(unit, op, a[i], b[i], c[i])) ? 0 : 1;
        }
        EXPECT_EQ(mismatches, 0) << text_of(unit) << " op " << static_cast<int>(op);
      }
    }
  }
}

// No policy of a unit changes the result of a maximum, whether it is subnormal or infinite.
TEST_P(OnTarget, MaximaOfArraysKeepWhatTheyAreGiven) {
  const auto unit = unit_of("float16", Overflow::kSaturate, Subnormals::kFlush);
  const std::vector<double> a = {-kInfinity, kInfinity, 1, -0x1p-24, 0x1p-20},
                            b = {0x1p-24, 1, 2, -1, 0x1p-24};
  const std::vector<double> largest = {0x1p-24, kInfinity, 2, -0x1p-24, 0x1p-20},
                            smallest = {-kInfinity, 1, 1, -1, 0x1p-24};
  std::vector<double> to(a.size());
  const auto n = static_cast<std::int64_t>(a.size());
  vector_apply(unit, VectorOp::kMax, n, a.data(), b.data(), b.data(), to.data());
  EXPECT_EQ(to, largest);
  vector_apply(unit, VectorOp::kMin, n, a.data(), b.data(), b.data(), to.data());
  EXPECT_EQ(to, smallest);
}

TEST_P(OnTarget, ReductionsAreTheOracleColumnByColumn) {
  std::uint64_t stream = 0;
  for (const VectorArithmetic& unit : all_units()) {
    if (!unit.fused) continue;
    for (const ReduceOrder order : kOrders) {
      for (const std::int64_t n : {0, 1, 2, 3, 7, 64, 65, 300}) {
        for (const std::int64_t w : {1, 2, 9}) {
          for (const std::int64_t chunk : {1, 5, 8, 64}) {
            const std::uint64_t kind = stream++ % 6;
            auto x = summands(*unit.format, static_cast<std::size_t>(n * w), kind, stream);
            std::vector<double> sums(static_cast<std::size_t>(w)), expected;
            for (std::int64_t j = 0; j < w; ++j) {
              expected.push_back(
                  reduce_oracle(unit, order, chunk, n, x.data() + (n > 0 ? j : 0), w));
            }
            reduce_sum(unit, order, chunk, n, w, x.data(), sums.data());
            for (std::size_t j = 0; j < sums.size(); ++j) {
              ASSERT_TRUE(same(sums[j], expected[j]))
                  << text_of(unit) << " order " << static_cast<int>(order) << " n " << n << " w "
                  << w << " chunk " << chunk << " kind " << kind << ": " << sums[j] << ", not "
                  << expected[j];
            }
          }
        }
      }
    }
  }
}

// An array of numbers that ends before a page that may not be read.
template <typename T>
class BeforeAGap {
 public:
  explicit BeforeAGap(std::size_t count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = count * sizeof(T), whole = (bytes + page - 1) / page * page;
    size_ = whole + page;
    at_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at_ == MAP_FAILED || mprotect(static_cast<char*>(at_) + whole, page, PROT_NONE) != 0) {
      throw std::runtime_error("no page can be kept from being read");
    }
    data_ = reinterpret_cast<T*>(static_cast<char*>(at_) + whole - bytes);
    std::fill_n(data_, count, T{1});
  }
  BeforeAGap(const BeforeAGap&) = delete;
  BeforeAGap& operator=(const BeforeAGap&) = delete;
  ~BeforeAGap() { munmap(at_, size_); }
  T* data() const { return data_; }

 private:
  std::size_t size_ = 0;
  void* at_ = nullptr;
  T* data_ = nullptr;
};

template <typename T>
void expect_sums_of_ones() {
  for (const ReduceOrder order : kOrders) {
    for (const std::int64_t n : {2, 3, 4, 7, 16}) {
      for (const std::int64_t w : {1, 2, 9}) {
        const BeforeAGap<T> x(static_cast<std::size_t>(n * w));
        std::vector<T> sums(static_cast<std::size_t>(w));
        reduce_sum(unit_of("float32"), order, 4, n, w, x.data(), sums.data());
        for (const T sum : sums) EXPECT_EQ(sum, static_cast<T>(n)) << n << " rows of " << w;
      }
    }
  }
}

TEST_P(OnTarget, ReductionsReadNothingBehindTheirRows) {
  expect_sums_of_ones<double>();
  expect_sums_of_ones<float>();
}

// -- Orders
// ----------------------------------------------------------------------------------------

double reduced(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk,
               const std::vector<double>& x) {
  return reduce_oracle(unit, order, chunk, static_cast<std::int64_t>(x.size()), x.data());
}

// The vendor's worked example, [60000, 60000, -30000, 100] -> 35604, shows that the first pair
// saturates. 35604 itself is not a float16 value. -29900 becomes -29904, and 65504 - 29904 = 35600
// is a tie, which nearest even rounds to 35584. This is within one float16 ulp, 32, of the example.
TEST(ReduceOrderTest, TheDocumentedSaturatingSum) {
  const std::vector<double> x = {60000, 60000, -30000, 100};
  EXPECT_EQ(reduced(unit_of("float16", Overflow::kSaturate), ReduceOrder::kPairwise, 1, x), 35584);
  EXPECT_EQ(reduced(unit_of("float16"), ReduceOrder::kPairwise, 1, x), kInfinity);
  EXPECT_EQ(ulp_of(format_named("float16"), 35604), 32);
}

// The largest finite number is an ordinary sum, whatever policy applies to larger ones.
TEST(ReduceOrderTest, SumsMayBeTheLargestNumber) {
  for (const char* name : {"float16", "bfloat16", "float32"}) {
    for (const Overflow overflow : {Overflow::kIeee, Overflow::kSaturate}) {
      const double most = max_finite(format_named(name));
      std::vector<double> x = {most, -most / 2, 0, -most / 2, -most, 0};
      double sums[2];
      reduce_sum(unit_of(name, overflow), ReduceOrder::kSequential, 1, 3, 2, x.data(), sums);
      EXPECT_EQ(sums[0], 0);
      EXPECT_EQ(sums[1], -most);
    }
  }
}

TEST(ReduceOrderTest, ByHand) {
  const auto half = unit_of("float16");
  // In float16, 2048 + 1 is a tie, which is rounded to 2048.
  const std::vector<double> x = {2048, 1, 1, 1, 1, 1};
  EXPECT_EQ(reduced(half, ReduceOrder::kSequential, 1, x), 2048);
  EXPECT_EQ(reduced(half, ReduceOrder::kPairwise, 1, x), 2052);  // (2048 + 2) + 2
  EXPECT_EQ(reduced(half, ReduceOrder::kFirstN, 2, x), 2052);    // (2048 + 2) + 2
  EXPECT_EQ(reduced(half, ReduceOrder::kFirstN, 3, x), 2052);    // (2048 + 1) + (2 + 1), a tie
  EXPECT_EQ(reduced(half, ReduceOrder::kBlock, 3, x), 2051);     // 2048 + 3, added in float32
  EXPECT_EQ(reduced(half, ReduceOrder::kHighDim, 1, x), 2052);
  EXPECT_EQ(reduced(half, ReduceOrder::kPairwise, 1, {}), 0);
  EXPECT_TRUE(std::signbit(reduced(half, ReduceOrder::kPairwise, 1, {-0.0, -0.0, -0.0})));
}

// Ones in float16: a sequential sum stops at 2048, and trees do not.
TEST(ReduceOrderTest, ManyOnes) {
  const std::vector<double> ones(6000, 1.0);
  const auto half = unit_of("float16");
  EXPECT_EQ(reduced(half, ReduceOrder::kSequential, 1, ones), 2048);
  EXPECT_EQ(reduced(half, ReduceOrder::kHighDim, 128, ones), 6000);
  EXPECT_EQ(reduced(half, ReduceOrder::kFirstN, 128, ones), 6000);
}

// The repeats of units are powers of two, so that a tree over the trees of the repeats equals one
// tree over all elements.
TEST(ReduceOrderTest, ATreeOverRepeatsIsOneTree) {
  const auto unit = unit_of("float16");
  bool first_n_differs = false;
  for (std::uint64_t stream = 0; stream < 40; ++stream) {
    const auto x = summands(*unit.format, 1 + stream * 37, 1, stream);
    const double tree = reduced(unit, ReduceOrder::kPairwise, 1, x);
    EXPECT_TRUE(same(reduced(unit, ReduceOrder::kHighDim, 128, x), tree)) << stream;
    first_n_differs |= !same(reduced(unit, ReduceOrder::kFirstN, 128, x), tree);
  }
  EXPECT_TRUE(first_n_differs);
}

// -- Models
// ----------------------------------------------------------------------------------------

TEST(VectorModelTest, RowsAreComplete) {
  std::set<std::string> names;
  for (const VectorModel& model : vector_models()) {
    EXPECT_TRUE(names.emplace(model.machine).second) << model.machine;
    EXPECT_EQ(find_vector_model(model.machine), &model);
    EXPECT_FALSE(model.source.empty());
    EXPECT_FALSE(model.formats.empty());
    for (const VectorFormat& row : model.formats) {
      EXPECT_EQ(&vector_format(model, format_named(row.input)), &row);
      const Format &input = format_named(row.input), &unit = format_named(row.unit.value);
      EXPECT_LE(input.precision, unit.precision);
      EXPECT_LE(input.exponent_bits, unit.exponent_bits);
      EXPECT_TRUE(unit.precision <= 24 || unit.precision == 53);
      const int repeat = row.repeat.value;
      EXPECT_TRUE(repeat == 0 || std::has_single_bit(static_cast<unsigned>(repeat)));
    }
  }
  EXPECT_EQ(names.count("ascend910b"), 1u);
  EXPECT_EQ(find_vector_model("exact"), nullptr);
}

// Every machine with a matrix unit also has a vector unit, so that every operator runs on it.
TEST(VectorModelTest, EveryMachineHasOne) {
  for (const Machine& machine : machines()) {
    if (!machine.has_matrix_unit()) continue;
    EXPECT_EQ(vector_model(machine).machine,
              machine.vector_unit.empty() ? machine.name : machine.vector_unit);
  }
  const VectorModel& hopper = vector_model(machine_named("hopper,kept_bits=24"));
  EXPECT_EQ(hopper.overflow.value, Overflow::kIeee);
  EXPECT_EQ(hopper.subnormals.value, Subnormals::kGradual);
  EXPECT_TRUE(hopper.fused.value);
  EXPECT_FALSE(hopper.tanh_by_exp.value);
  EXPECT_EQ(vector_format(hopper, format_named("bfloat16")).unit.value, "float32");
}

TEST(VectorModelTest, Ascend910b) {
  const VectorModel& model = vector_model(machine_named("ascend910b"));
  EXPECT_EQ(model.overflow.value, Overflow::kSaturate);
  EXPECT_EQ(model.subnormals.how, Provenance::kAssumed);
  EXPECT_EQ(model.fused.how, Provenance::kAssumed);
  EXPECT_EQ(vector_format(model, format_named("float16")).repeat.value, 128);
  EXPECT_EQ(vector_format(model, format_named("float32")).repeat.value, 64);
  EXPECT_EQ(vector_format(model, format_named("float16")).unit.value, "float16");
}

TEST(VectorModelTest, AmdComputesAsAProcessorByAnalogy) {
  for (const char* machine : {"cdna1", "cdna2", "cdna3"}) {
    const VectorModel& model = *find_vector_model(machine);
    EXPECT_EQ(model.overflow.value, Overflow::kIeee);
    EXPECT_EQ(model.subnormals.value, Subnormals::kGradual);
    EXPECT_TRUE(model.fused.value);
    EXPECT_EQ(model.fused.how, Provenance::kAssumed);
    EXPECT_FALSE(model.tanh_by_exp.value);
    EXPECT_EQ(model.functions.value, "libm");
  }
}

TEST(VectorModelTest, TheTwoCpusDifferInTheMultiplyAdd) {
  EXPECT_TRUE(find_vector_model("cpu_fma")->fused.value);
  EXPECT_FALSE(find_vector_model("cpu_mul_add")->fused.value);
}

TEST(VectorModelTest, WhatIsUnknownIsNamed) {
  EXPECT_EQ(
      error_of([] { vector_model(machine_named("exact")); }),
      "assay has no vector unit of the machine exact; it has those of ascend910b, hopper, ampere, "
      "ada, volta, blackwell, cdna1, cdna2, cdna3, cpu_fma, cpu_mul_add");
  EXPECT_EQ(error_of([] {
              vector_format(vector_model(machine_named("ascend910b")), format_named("int32"));
            }),
            "the vector unit of ascend910b takes float16, bfloat16, float32, not int32");
}

}  // namespace
}  // namespace assay
