// Compares judge() with the scalar judge of oracle.h under every rule that judges single elements:
// in every format, for complex elements, by every such standard, and by bounds of single elements.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/text.h"
#include "assay/judge/rule_table.h"
#include "assay/judge/standards.h"
#include "drawn_outputs.h"
#include "emulated.h"
#include "every_standard.h"
#include "oracle.h"

namespace assay {
namespace {

using drawn::golden_values;
using drawn::output_values;
using drawn::stored;

std::vector<std::pair<std::string, Bound>> bounds_of_all_rules() {
  std::vector<std::pair<std::string, Bound>> all = {
      {"sum", oracle::tolerance(1e-4, 1e-3)},
      {"sum, exact", oracle::tolerance(1e-4, 1e-3, false, true)},
      {"equality", oracle::tolerance(0, 0)},
      {"2 ulp", oracle::within_ulps(2)},
      {"0 ulp", oracle::within_ulps(0)},
      {"bits", oracle::same_bits()}};
  Bound b = oracle::tolerance(1e-4, 1e-3);
  b.rule = Rule::kLargest;
  b.floor = 0.125;
  all.emplace_back("largest", b);
  b.rule = Rule::kSymmetric;
  all.emplace_back("symmetric", b);
  b.rule = Rule::kEither;
  all.emplace_back("either", b);
  b.or_ulps = 1;
  all.emplace_back("either or an ulp", b);
  b = oracle::tolerance(1e-4, 1e-3, false);
  b.small_value = 0.01;
  b.small_atol = 1e-6;
  b.max_mismatch_fraction = 0.125;
  all.emplace_back("small values", b);
  b = oracle::tolerance(1e-3, 4e-3, false, true);
  b.infinity = Infinity::kSaturating;
  b.max_mismatches = 100;
  all.emplace_back("saturating", b);
  b.round_expected = true;
  all.emplace_back("saturating, rounded", b);
  b = oracle::tolerance(1e-3, 4e-3);
  b.infinity = Infinity::kFewer;
  b.nan_accepts = true;
  all.emplace_back("fewer", b);
  b = oracle::same_bits();
  b.nan_equal = true;
  all.emplace_back("bits, NaN equal", b);
  return all;
}

// Counts what the oracle expected, because a comparison in which nothing ever fails proves little.
struct Seen {
  std::int64_t passes = 0, failures = 0, untrusted = 0, specials = 0, forgiven = 0, blind = 0;

  void add(const oracle::Expectation& e) {
    passes += e.outcome == Outcome::kPass ? 1 : 0;
    failures += e.outcome == Outcome::kFail ? 1 : 0;
    untrusted += e.outcome == Outcome::kUntrusted ? 1 : 0;
    specials += e.special_mismatches;
    forgiven += e.forgiven;
    blind += e.blind;
  }
};

TEST(Rules, EveryFormatUnderEveryRule) {
  Seen seen;
  const Shape shape = {5, 2, 53};
  const std::int64_t n = element_count(shape);
  for (const Format& f : formats()) {
    for (const bool specials : {false, true}) {
      if (specials && !f.is_float()) continue;
      const std::vector<double> golden = golden_values(f, n, 11, specials);
      const Tensor expected = f.is_float()
                                  ? Tensor::from_values(format_named("float64"), shape, golden)
                                  : stored(f, shape, golden);
      for (const double off : {0x1p-9, 0x1p-14}) {
        if (walks_a_share() && off != 0x1p-9) continue;
        const Tensor actual = stored(f, shape, output_values(f, golden, 12, specials, off));
        for (const auto& [name, bound] : bounds_of_all_rules()) {
          SCOPED_TRACE(name);
          seen.add(oracle::check(actual, expected, bound));
        }
      }
    }
  }
  EXPECT_GT(seen.passes, walks_a_share() ? 40 : 100);
  EXPECT_GT(seen.failures, 100);
  EXPECT_GT(seen.untrusted, 3);
  EXPECT_GT(seen.specials, 1000);
  EXPECT_GT(seen.forgiven, 100);
  EXPECT_GT(seen.blind, 1000);
}

TEST(Rules, ComplexElements) {
  Seen seen;
  const Shape shape = {3, 201};
  for (const Format& f : complex_formats()) {
    const Format& part = part_format(f);
    for (const bool specials : {false, true}) {
      const std::vector<double> golden = golden_values(part, 2 * 603, 21, specials);
      for (const double off : {0x1p-9, 0x1p-14}) {
        const Tensor actual =
            Tensor::from_values(f, shape, output_values(part, golden, 22, specials, off));
        for (const Format* const of : {&format_named("complex128"), &f}) {
          const Tensor expected = Tensor::from_values(*of, shape, golden);
          for (const auto& [name, bound] : bounds_of_all_rules()) {
            SCOPED_TRACE(name);
            if (bound.rule == Rule::kUlps || bound.or_ulps > 0 ||
                bound.infinity == Infinity::kSaturating) {
              EXPECT_EQ(judge(actual, expected, bound).outcome, Outcome::kNotComparable);
              continue;
            }
            seen.add(oracle::check(actual, expected, bound));
          }
        }
      }
    }
  }
  EXPECT_GT(seen.passes, 5);
  EXPECT_GT(seen.failures, 20);
  EXPECT_GT(seen.specials, 100);
  EXPECT_GT(seen.forgiven, 10);
}

// Returns the golden result itself if nothing is off.
std::vector<double> output_of(const Format& f, const std::vector<double>& golden,
                              std::uint64_t seed, double off, bool specials = false) {
  return off == 0 ? golden : output_values(f, golden, seed, specials, off);
}

// Judges outputs that are only rounded, a little off, and far off.
TEST(Rules, EveryStandardOfSingleElements) {
  Seen seen;
  const Shape shape = {14, 50};
  const std::int64_t n = element_count(shape);
  std::size_t place = 0;
  for (const char* dtype : {"float32", "float16", "bfloat16", "float8_e5m2"}) {
    const Format& f = format_named(dtype);
    for (const std::string& name : every_standard(1, place++)) {
      const auto bound = standard_bound(name, f, 100);
      if (!bound || !bound->limits.empty()) continue;
      SCOPED_TRACE(name);
      for (const double off : {0.0, 0x1p-12, 0x1p-6, 0.25}) {
        for (const bool specials : {false, true}) {
          if (specials && off > 0x1p-12) continue;
          const std::vector<double> golden = golden_values(f, n, 51, specials);
          const Tensor expected = Tensor::from_values(format_named("float64"), shape, golden),
                       actual = Tensor::from_values(f, shape, output_of(f, golden, 52, off));
          seen.add(oracle::check(actual, expected, *bound));
        }
      }
    }
  }
  EXPECT_GT(seen.passes, 20);
  EXPECT_GT(seen.failures, 100);
}

// The caller gives a bound for each element, from 0 to more than the element's size. Some exact
// results are beyond the output's range.
TEST(Rules, BoundsOfSingleElements) {
  Seen seen;
  const Shape shape = {10, 60};
  for (const char* dtype : {"float32", "float16", "float8_e4m3fn"}) {
    const Format& f = format_named(dtype);
    const std::vector<double> golden = golden_values(f, 600, 41, true);
    const Tensor expected = Tensor::from_values(format_named("float64"), shape, golden);
    for (const double size : {0.0, 0x1p-10, 1.0}) {
      if (walks_a_share() && size == 1.0) continue;
      std::vector<double> own = golden_values(f, 600, 43, false);
      for (double& v : own) v = std::abs(v) * size;
      const Tensor bounds = Tensor::from_values(format_named("float64"), shape, own);
      const TensorView element_bounds = bounds.view();
      for (const double off : {0.0, 0x1p-9, 0x1p-14}) {
        for (const bool specials : {false, true}) {
          const Tensor actual =
              Tensor::from_values(f, shape, output_of(f, golden, 42, off, specials));
          for (const char* standard : {"accumulation", "expected_error"}) {
            for (const Infinity infinity : {Infinity::kSign, Infinity::kSaturating}) {
              Bound bound = oracle::bound_of(standard, dtype);
              bound.infinity = infinity;
              seen.add(oracle::check(actual, expected, bound, &element_bounds));
              bound.nan_equal = true;
              seen.add(oracle::check(actual, expected, bound, &element_bounds));
            }
          }
        }
      }
    }
  }
  EXPECT_GT(seen.passes, 5);
  EXPECT_GT(seen.failures, 50);
  EXPECT_GT(seen.specials, 1000);
}

// The tolerance of an element, for values at the end of each rule's cases.
TEST(Rules, TolerancesOfElements) {
  for (const Rule rule : {Rule::kTolerance, Rule::kLargest, Rule::kSymmetric, Rule::kEither,
                          Rule::kAccumulation, Rule::kUlps}) {
    for (const double rtol : {0.125, 0.0, kInfinity}) {
      for (const double small : {0.0, 0.5}) {
        Bound b = oracle::tolerance(0.25, rtol);
        b.rule = rule;
        b.floor = 4;
        b.small_value = small;
        b.small_atol = 0.0625;
        EXPECT_EQ(b.is_plain(), rule == Rule::kTolerance && small == 0);
        for (const double e : {0.0, -0.25, 0.5, -1.0, 2.0, 3.0, -64.0, 1e308, kInfinity}) {
          if (rtol == 0 && std::isinf(e)) continue;  // settled before any tolerance is read
          for (const double a : {0.0, 1.0, -8.0}) {
            EXPECT_EQ(tolerance_at(b, e, a), oracle::limit_of(b, e, a))
                << b.text() << " of " << e << " and " << a;
          }
        }
      }
    }
  }
  Bound near = oracle::tolerance(0.25, 0);
  near.or_ulps = 1;
  EXPECT_FALSE(near.is_plain());
}

TEST(Rules, BudgetsOfCountsAndFractions) {
  for (const std::int64_t elements : {std::int64_t{0}, std::int64_t{1}, std::int64_t{999},
                                      std::int64_t{1000}, std::int64_t{1} << 62}) {
    for (const double fraction : {-1.0, 0.0, 1e-3, 0.5, 1.0, 1e30}) {
      for (const std::int64_t most : {-1, 0, 1, 500}) {
        Bound b;
        if (most >= 0) b.max_mismatches = most;
        if (fraction >= 0) b.max_mismatch_fraction = fraction;
        EXPECT_EQ(b.forgiven(elements), oracle::budget_of(b, elements))
            << fraction << " of " << elements << ", at most " << most;
      }
    }
  }
  Bound b;
  b.max_mismatch_fraction = 1e-3;
  EXPECT_EQ(b.forgiven(999), 0);
  EXPECT_EQ(b.forgiven(1000), 1);
  b.max_mismatches = 0;
  EXPECT_EQ(b.forgiven(1000), 0);
}

}  // namespace
}  // namespace assay
