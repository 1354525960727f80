// The verdict of regate on saved metrics is the judge's verdict on the tensors, or "not
// comparable".
#include "assay/judge/regate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/judge/standards.h"
#include "assay/report.h"
#include "assay/wire/gate_results.h"
#include "assay/wire/saved_results.h"
#include "drawn_outputs.h"
#include "emulated.h"
#include "every_standard.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::Dice;
using oracle::same_bits;
using oracle::tolerance;
using oracle::vector_of;
using oracle::within_ulps;
using testing::ElementsAre;
using testing::IsEmpty;

// Returns the saved verdict, written to JSON and read back as the program does it.
SavedResult saved_of(const Verdict& v) { return wire::read_results(verdict_json(v)).at(0); }

constexpr const char* kNotKnown =
    "saved metrics do not tell how many elements this bound is blind to; judge the tensors again "
    "to know";

// Also judges integers in a type that does not hold every expected one.
TEST(Regate, AgreesWithTheJudgeOrCannotTell) {
  Dice dice(77);
  int told = 0, untold = 0, not_known = 0, blind = 0;
  const char* const kDtypes[] = {"float32", "bfloat16", "int32", "int8", "uint64"};
  for (int trial = 0; trial < 2500; ++trial) {
    const char* dtype = kDtypes[trial % 5];
    const bool whole = trial % 5 >= 2;
    std::vector<double> golden(40), actual;
    for (double& x : golden) x = dice.uniform() * 8 - 4;
    if (dice.below(8) == 0) golden.assign(40, 1e-3);
    // Most values are small, so that some bounds are blind to them.
    if (dice.below(3) == 0) {
      for (std::size_t i = 0; i < 30; ++i) golden[i] *= 1e-4;
    }
    const double noise = std::ldexp(1.0, -static_cast<int>(dice.below(24)));
    for (double& x : golden) {
      if (whole) x = std::nearbyint(x * 100);
      if (!whole && dice.below(400) == 0) x = dice.below(2) != 0 ? kInfinity : kNan;
      actual.push_back(dice.below(3) == 0 ? x : x * (1 + noise * (dice.uniform() - 0.5)));
      if (!whole && dice.below(400) == 0) actual.back() = dice.below(2) != 0 ? -kInfinity : kNan;
    }
    const Tensor a = vector_of(dtype, actual);
    const char* const wide = whole && dice.below(2) != 0 ? "int16" : "float64";
    const Tensor e = vector_of(dice.below(2) != 0 ? wide : dtype, golden);
    const auto draw = [&] {
      const auto size = [&] {
        return dice.below(3) == 0 ? 0 : std::ldexp(1.0, -static_cast<int>(dice.below(26)));
      };
      return tolerance(size(), size(), dice.below(2) != 0, dice.below(2) != 0);
    };
    const Bound first = draw();
    const SavedResult saved = saved_of(judge(a, e, first));
    for (const Bound& bound : {first, draw(), draw(), within_ulps(dice.below(70)), same_bits()}) {
      const Verdict truth = judge(a, e, bound);
      const Verdict again = regate(saved, bound);
      if (again.outcome == Outcome::kNotComparable) {
        EXPECT_EQ(again.because.find("cannot tell from the saved metrics: "), 0u);
        EXPECT_NE(bound.rule, Rule::kBits);
        ++untold;
        continue;
      }
      ++told;
      if (again.outcome == Outcome::kPass && !again.notes.empty()) {
        const bool has_nans = again.notes.back() != kNotKnown;
        ASSERT_LE(again.notes.size(), has_nans ? 2u : 1u);
        // Any other note says only that the output is NaN where NaN is expected.
        if (again.notes.front() != kNotKnown) continue;
        ++not_known;
        const Verdict asked = regate(saved, bound, true);
        EXPECT_EQ(asked.outcome, Outcome::kNotComparable);
        EXPECT_EQ(asked.because, kNotKnown);
        if (truth.blind_share() > bound.max_blind) continue;
      }
      blind += truth.blind_share() > bound.max_blind && again.blind == truth.blind ? 1 : 0;
      ASSERT_EQ(again.outcome, truth.outcome)
          << dtype << " by " << bound.text() << (bound.round_expected ? "" : " not rounded")
          << "\nsaved: " << again.because << "\ntensors: " << truth.because;
    }
  }
  EXPECT_GT(told, 3 * untold) << "most are decided";
  EXPECT_GT(not_known, 100);
  EXPECT_LT(not_known, told);
  EXPECT_GT(blind, 20);
}

// The same for every standard, and for tolerances around those that the metrics say are required.
TEST(Regate, EveryStandardAgreesWithTheJudgeOrCannotTell) {
  int told = 0, untold = 0, failures = 0;
  std::size_t place = 0;
  for (const char* dtype : {"float32", "float16"}) {
    const Format& f = format_named(dtype);
    for (const double off : {0.0, 0x1p-12, 0x1p-6}) {
      for (const bool specials : {false, true}) {
        for (const bool rounds : {false, true}) {
          const std::vector<double> golden = drawn::golden_values(f, 500, 81, specials);
          const Tensor e = vector_of("float64", golden),
                       a = vector_of(dtype, drawn::output_values(f, golden, 82, specials, off));
          const Verdict first = judge(a, e, tolerance(1e-4, 1e-3, rounds));
          const SavedResult saved = saved_of(first);
          const Metrics& m = *first.metrics;
          std::vector<Bound> bounds = {same_bits(), tolerance(1e30, 0), tolerance(kInfinity, 0)};
          for (const std::string& name : every_standard(1, place++)) {
            const auto bound = standard_bound(name, f, 100);
            if (bound && !bound->needs_reference()) bounds.push_back(*bound);
          }
          for (const double times : {0.5, 1.0, 2.0}) {
            for (const bool rounded : {false, true}) {
              const double rtol = times * m.required_rtol, atol = times * m.required_atol;
              bounds.push_back(tolerance(m.required_at_atol, rtol, rounded));
              bounds.push_back(tolerance(atol, m.required_at_rtol, rounded, true));
              bounds.push_back(tolerance(times * m.max_abs_error, 0, rounded));
              bounds.push_back(tolerance(2 * m.required_at_atol, rtol, rounded));
            }
          }
          for (const std::uint64_t ulps : {std::uint64_t{0}, std::uint64_t{1}, m.max_ulps}) {
            bounds.push_back(within_ulps(ulps));
          }
          bounds.push_back(tolerance(1e-4, 1e-3, rounds));
          bounds.back().max_mismatches = 3;
          for (const Bound& bound : bounds) {
            const Verdict again = regate(saved, bound, true), truth = judge(a, e, bound);
            if (again.outcome == Outcome::kNotComparable) {
              ++untold;
              continue;
            }
            ++told;
            failures += truth.outcome == Outcome::kFail ? 1 : 0;
            EXPECT_EQ(again.outcome, truth.outcome)
                << dtype << " off " << off << (specials ? " specials" : "") << " by "
                << bound.standard << ", " << bound.text() << "\nsaved: " << again.because
                << "\ntensors: " << truth.because;
          }
        }
      }
    }
  }
  EXPECT_GT(told, walks_a_share() ? 250 : 500);
  EXPECT_GT(untold, walks_a_share() ? 25 : 100);
  EXPECT_GT(failures, walks_a_share() ? 150 : 300);
}

// The blindness in the saved verdict is exact for the saved bound. It only limits the blindness
// under other bounds.
TEST(Regate, Blindness) {
  const Tensor e = vector_of("float32", {1e-4, 2e-4, 3e-4, 1, 2}),
               a = vector_of("float32", {1e-4, 2e-4, 3e-4, 1, 2.0001});
  const Verdict seeing = judge(a, e, tolerance(1e-5, 1e-3)),
                blind = judge(a, e, tolerance(1e-3, 1e-3));
  ASSERT_EQ(seeing.outcome, Outcome::kPass);
  ASSERT_EQ(blind.outcome, Outcome::kUntrusted);
  const SavedResult of_seeing = saved_of(seeing), of_blind = saved_of(blind);
  // Under the same bound, the blindness is as it was saved.
  const Verdict seen = regate(of_seeing, seeing.bound), same = regate(of_blind, blind.bound);
  EXPECT_EQ(seen.outcome, Outcome::kPass);
  EXPECT_THAT(seen.notes, IsEmpty());
  EXPECT_EQ(seen.blind, seeing.blind);
  EXPECT_EQ(same.outcome, Outcome::kUntrusted);
  EXPECT_EQ(same.because,
            "the check is blind to 3 of the 5 elements that are not zero (60.0 %): as zeros they "
            "would pass atol 0.001 + rtol 0.001 * |expected|");
  EXPECT_EQ(same.blind, blind.blind);
  // A stricter bound is blind to at most as many elements, and a looser one to at least as many.
  // For other bounds, nothing is known.
  EXPECT_THAT(regate(of_seeing, tolerance(0.5e-5, 1e-3)).notes, IsEmpty());
  EXPECT_EQ(regate(of_blind, tolerance(2e-3, 2e-3)).outcome, Outcome::kUntrusted);
  const Verdict looser = regate(of_seeing, tolerance(1e-3, 1e-3));
  EXPECT_EQ(looser.outcome, Outcome::kPass);
  EXPECT_THAT(looser.notes, ElementsAre(kNotKnown));
  // The case or the request may allow the blindness.
  Bound allowed = blind.bound;
  allowed.max_blind = 0.6;
  EXPECT_EQ(regate(of_blind, allowed).outcome, Outcome::kPass);
  // The saved blindness belongs to expected values that were rounded. Without rounding they differ,
  // so that the blindness is not known.
  const Verdict stored = regate(of_blind, tolerance(1e-3, 1e-3, false));
  EXPECT_EQ(stored.outcome, Outcome::kPass);
  EXPECT_THAT(stored.notes, ElementsAre(kNotKnown));
  // With atol 0 and rtol below 1, no element is blind. With rtol 1, zeros would pass.
  EXPECT_THAT(regate(of_blind, tolerance(0, 1e-3)).notes, IsEmpty());
  EXPECT_EQ(regate(of_blind, tolerance(0, 1)).outcome, Outcome::kUntrusted);
}

TEST(Regate, TheGoldenResultItself) {
  const Tensor e = vector_of("float32", {1, 2, 3});
  const Verdict v = judge(e.view(), e.view(), tolerance(0, 1e-3));
  ASSERT_EQ(v.outcome, Outcome::kUntrusted);
  for (const Bound& bound : {v.bound, within_ulps(1), same_bits()}) {
    const Verdict again = regate(saved_of(v), bound);
    EXPECT_EQ(again.outcome, Outcome::kUntrusted);
    EXPECT_EQ(again.because, v.because);
  }
}

TEST(Regate, CountsWhatTheHistogramTells) {
  const Tensor e = vector_of("float32", {1, 1, 1, 1});
  const Tensor a = vector_of("float32", {1, 1 + 0x1p-23, 1 + 0x3p-23, 1 + 0x40p-23});
  const SavedResult saved = saved_of(judge(a, e, tolerance(1e-5, 1e-5)));
  EXPECT_EQ(regate(saved, within_ulps(1)).because,
            "2 of 4 elements differ by more than 1 ulp; the largest distance is 64 ulp");
  EXPECT_EQ(regate(saved, within_ulps(64)).outcome, Outcome::kPass);
}

TEST(Regate, SaysWhatItLacks) {
  const Verdict v = judge(vector_of("float32", {1, 2, 3}), vector_of("float32", {1, 2.1, 3}),
                          tolerance(1e-3, 1e-3));
  const Verdict again = regate(saved_of(v), tolerance(1e-4, 4.76e-2));
  EXPECT_EQ(again.outcome, Outcome::kNotComparable);
  EXPECT_EQ(again.because.substr(0, 71),
            "cannot tell from the saved metrics: they say what would pass at atol 0.");
  const SavedResult none = saved_of(not_comparable("the shapes differ"));
  EXPECT_EQ(regate(none, same_bits()).because,
            "no metrics were saved, because it was judged: the shapes differ");
}

TEST(Regate, Statistics) {
  Dice dice(3);
  std::vector<double> golden(3000), actual;
  for (double& x : golden) {
    x = dice.below(50) == 0 ? 0 : dice.uniform() - 0.5;
    actual.push_back(x + 1e-3 * (dice.uniform() - 0.5));
  }
  const Tensor a = vector_of("float32", actual), e = vector_of("float32", golden);
  const Metrics m = saved_of(judge(a, e, tolerance(1, 1))).metrics.at(0);
  EXPECT_EQ(read_statistic({.output = &m}, Statistic::kMere)->low, m.mere);
  for (const double p : {1e-4, 1e-3, 0.01, 0.3}) {
    std::int64_t over = 0, small = 0;
    for (std::int64_t i = 0; i < 3000; ++i) {
      const double x = e.view().value_at(i), error = std::abs(a.view().value_at(i) - x);
      over += error != 0 && !(error < p * std::abs(x)) ? 1 : 0;
      small += std::abs(x) < 0x1p-14 && error > 0x1p-30 ? 1 : 0;
    }
    const auto share = read_statistic({.output = &m}, Statistic::kShareRelative, p);
    EXPECT_LE(share->low, static_cast<double>(over) / 3000);
    EXPECT_GE(share->high, static_cast<double>(over) / 3000);
    if (p < 2e-3) {
      EXPECT_EQ(share->low, share->high);
    }
    EXPECT_EQ(read_statistic({.output = &m}, Statistic::kSmallErrors, 0x1p-14, 0x1p-30)->low,
              static_cast<double>(small));
  }
  EXPECT_FALSE(read_statistic({.output = &m}, Statistic::kSmallErrors, 0x1p-11, 0x1p-30));
  EXPECT_FALSE(read_statistic({.output = &m}, Statistic::kMereRatio));
}

TEST(Regate, FilesThatAreNoResults) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      (void)wire::read_results(text);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(""), "is no JSON");
  EXPECT_EQ(message("[1]"), "is no result of a gate or of a comparison");
  EXPECT_EQ(message("{\"schema\": 3}"), "has schema 3; this assay reads schema 2");
  EXPECT_EQ(message("{\"schema\": 1}"), "has schema 1: it was written by an older assay");
  EXPECT_EQ(message(R"({"schema": 2, "cases": [{"case": "x", "because": "",
                        "verdicts": [{"sites": "y"}]}]})"),
            "case x: 'sites' must be a whole number");
  EXPECT_EQ(message(R"({"schema": 2, "because": "", "metrics": {"compared": 3}})"),
            "has no 'bit_identical'; it may come from an older assay: judge the tensors again");
}

// In a group of limits, one that is met is enough, in any order. This holds for the judge, its
// text, its ratio, and saved metrics.
TEST(Regate, LimitsInGroups) {
  const Tensor actual = vector_of("float64", {1, 2, 4}),
               expected = vector_of("float64", {1, 2.5, 4});
  const auto at_most = [](double limit, int group) {
    return Limit{Statistic::kMaxAbs, limit, 0, 0, group};
  };
  // The expected texts. A digit stands for the text of that limit.
  using Words = std::vector<std::string>;
  struct Row {
    std::vector<Limit> limits;
    double worst_ratio;  // max |d| is 0.5
    Words of_tensors, of_saved;
  };
  const Words none = {"none of the alternatives of custom holds"};
  const Row rows[] = {
      {{at_most(1, 0), at_most(0.25, 1), at_most(0.125, 2), at_most(2, 1), at_most(4, 2)},
       0.5,
       {},
       {"all limits of custom hold"}},
      {{at_most(1, 0), at_most(0.25, 1), at_most(0.125, 2), at_most(2, 1), at_most(0.1, 2)},
       4,
       {"2", ", and ", "4"},
       none},
      {{at_most(0.25, 3), at_most(0.125, 3)}, 2, {"0", ", and ", "1"}, none},
      {{at_most(0.25, 1), at_most(0.125, 0), at_most(2, 1)}, 4, {"1"}, {"1"}},
      {{at_most(0.25, 1), at_most(0.125, 0), at_most(0.2, 2)},
       4,
       {"0", "; ", "1", ", and ", "2"},
       {"1"}},
  };
  for (const Row& row : rows) {
    Bound bound;
    bound.rule = Rule::kStatistics;
    bound.standard = "custom";
    bound.limits = row.limits;
    const auto said = [&](const Words& words, const char* of_limit) {
      std::string text;
      for (const std::string& word : words) {
        const bool limit = word.size() == 1;
        text += limit ? row.limits[static_cast<std::size_t>(word[0] - '0')].text() : word;
        if (limit) text += of_limit;
      }
      return text;
    };
    const Verdict v = judge(actual, expected, bound);
    const bool passes = row.of_tensors.empty();
    SCOPED_TRACE(v.because);
    EXPECT_EQ(v.outcome, passes ? Outcome::kPass : Outcome::kFail);
    EXPECT_EQ(v.worst_ratio, row.worst_ratio);
    if (!passes) {
      EXPECT_EQ(v.because, said(row.of_tensors, " is 0.5"));
    }
    const Verdict again = regate(saved_of(v), bound);
    EXPECT_EQ(again.outcome, v.outcome);
    EXPECT_EQ(again.because, said(row.of_saved, " does not hold: it is 0.5"));
  }
}

// If all finite expected values are 0, zeros in place of the output are a mismatch only at a NaN or
// an infinity.
TEST(Regate, OneSpecialIsEnoughForZerosToMiss) {
  Bound limits;
  limits.rule = Rule::kStatistics;
  limits.standard = "custom";
  limits.limits = {{.statistic = Statistic::kMere, .limit = 1}};
  limits.nan_equal = true;
  Bound ulps = within_ulps(4), bits = same_bits();
  ulps.nan_equal = true;
  for (const Bound& bound : {tolerance(1, 1, true, true), ulps, bits, limits}) {
    for (const double special : {kNan, kInfinity, -kInfinity, 0.0}) {
      SCOPED_TRACE(testing::Message() << bound.text() << " " << special);
      const Tensor t = vector_of("float32", {0, 0, special}), same = t;
      const Verdict v = judge(t, same, bound);
      EXPECT_EQ(v.outcome, special == 0 ? Outcome::kUntrusted : Outcome::kPass) << v.because;
      const Verdict again = regate(saved_of(v), bound);
      EXPECT_EQ(again.outcome, v.outcome) << again.because;
    }
  }
}

// The required tolerance is known except for roundings, to 1e-12 of it. A tolerance that is further
// below fails. In between, the verdict is open.
TEST(Regate, NextToTheRequiredTolerance) {
  const SavedResult saved = saved_of(
      judge(vector_of("float64", {1, 2.02}), vector_of("float64", {1, 2}), tolerance(0, 1)));
  const double required = saved.metrics.at(0).required_rtol;
  EXPECT_NEAR(required, 0.01, 1e-12);
  const auto outcome = [&](double times) {
    return regate(saved, tolerance(0, required * times)).outcome;
  };
  EXPECT_EQ(outcome(1), Outcome::kPass);
  EXPECT_EQ(outcome(1 - 0.5e-12), Outcome::kNotComparable);
  EXPECT_EQ(outcome(1 - 1.5e-12), Outcome::kFail);
}

}  // namespace
}  // namespace assay
