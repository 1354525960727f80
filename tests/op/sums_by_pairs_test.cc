// Compares the sums by pairs of ChanceUnit, which kernels compute, with sums of one addition after
// the other.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/op/chance_unit.h"
#include "assay/simd/targets.h"

namespace assay {
namespace {

class SumsByPairsOnTargets : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { simd::force_target(GetParam()); }
  void TearDown() override { simd::force_target(""); }
};

// Adds the numbers by pairs, level by level. If `leave` is set, the last sum is not rounded.
Uncertain by_pairs(std::vector<Uncertain> numbers, const RoundingStep& step, bool leave) {
  while (numbers.size() > 1) {
    std::vector<Uncertain> sums;
    for (std::size_t i = 0; i < numbers.size(); i += 2) {
      Uncertain sum = numbers[i];
      if (i + 1 < numbers.size()) {
        sum.add(numbers[i + 1]);
        if (!leave || numbers.size() > 2) sum.round(step);
      }
      sums.push_back(sum);
    }
    numbers = sums;
  }
  return numbers.empty() ? Uncertain{} : numbers[0];
}

void expect_same(const Uncertain& sum, const Uncertain& wanted, const std::string& what) {
  EXPECT_EQ(sum.value, wanted.value) << what;
  EXPECT_EQ(sum.grid, wanted.grid) << what;
  EXPECT_EQ(sum.mean, wanted.mean) << what;
  EXPECT_EQ(sum.variance, wanted.variance) << what;
  EXPECT_EQ(sum.known, wanted.known) << what;
  EXPECT_EQ(sum.odd, wanted.odd) << what;
}

// Returns values of few and of many digits, of all sizes, zeros, and pairs that cancel.
std::vector<double> drawn(std::size_t n, std::uint64_t kind) {
  Random random(20261129, kind * 10007 + n);
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) {
    const double normal = random.normal();
    const auto whole = static_cast<double>(random.below(64)) - 32;
    values.push_back(kind == 0   ? static_cast<double>(static_cast<float>(normal))
                     : kind == 1 ? whole
                     : kind == 2 ? std::ldexp(normal, static_cast<int>(random.below(80)) - 40)
                     : kind == 3 ? std::ldexp(whole, -150)
                     : i % 2 == 1 && random.below(4) == 0
                         ? -values.back()
                         : round_to(format_named("float16"), normal));
  }
  return values;
}

const std::size_t kCounts[] = {0, 1, 2, 3, 7, 16, 31, 100, 511, 512, 513, 1024, 1500, 5000};

TEST_P(SumsByPairsOnTargets, AreTheSumsOfOneAfterTheOther) {
  for (const char* name : {"float32", "float16", "float64"}) {
    ChanceUnit unit{.unit = &format_named(name), .after = &format_named(name), .order = {}};
    const RoundingStep step(*unit.unit);
    for (std::uint64_t kind = 0; kind < 5; ++kind) {
      for (const std::size_t n : kCounts) {
        const std::string what = formatted("{} {} {}", name, kind, n);
        const std::vector<double> values = drawn(n, kind);
        std::vector<Uncertain> exact, rounded;
        for (const double v : values) {
          exact.push_back(Uncertain::exact(v));
          // One third of the numbers are products, one third have an error of their own, and one
          // third are exact.
          Uncertain number = exact.size() % 3 == 0 ? Uncertain::product(exact.back(), exact.front())
                             : exact.size() % 3 == 1 ? Uncertain::inexact(v)
                                                     : exact.back();
          number.round(step);
          rounded.push_back(number);
        }
        for (const Format* output : {unit.after, static_cast<const Format*>(nullptr)}) {
          const bool leave = output != nullptr;
          expect_same(unit.sum_of_exact(values, output), by_pairs(exact, step, leave), what);
          expect_same(unit.sum(exact, output), by_pairs(exact, step, leave), what);
          expect_same(unit.sum(rounded, output), by_pairs(rounded, step, leave), what);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, SumsByPairsOnTargets,
                         testing::ValuesIn(simd::available_targets()),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace assay
