// Tests how indices are judged: an index is right if the value that it leads to is right.
#include "assay/judge/indices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/judge/standards.h"
#include "error_of.h"

namespace assay {
namespace {

using testing::HasSubstr;

using Values = std::vector<double>;

Tensor indices(const Shape& shape, const Values& values, const char* dtype = "int64") {
  return Tensor::from_values(format_named(dtype), shape, values);
}
Tensor floats(const Shape& shape, const Values& values) {
  return Tensor::from_values(format_named("float32"), shape, values);
}

struct Asked {
  Tensor source;
  std::int64_t axis = -1;
  std::string standard = "indices";
  double rtol = 0, atol = 0;
};

Verdict judged(const Asked& asked, const Tensor& actual, const Tensor& expected) {
  Bound bound = *standard_bound(asked.standard, actual.format());
  bound.rtol = asked.rtol;
  bound.atol = asked.atol;
  JudgeOptions options;
  options.index_source = asked.source.view();
  options.index_axis = asked.axis;
  return judge(actual, expected, bound, options);
}

TEST(Indices, ValuesMustMatchAndTheIndexNeedNot) {
  const Asked x{.source = floats({6}, {3, 1, 3, 2, 0, 1})};
  const Verdict v = judged(x, indices({3}, {2, 0, 3}), indices({3}, {0, 2, 3}));
  EXPECT_EQ(v.outcome, Outcome::kPass);
  EXPECT_EQ(v.because,
            "the values at all 3 indices are right (equality); 2 of the indices differ from the "
            "golden ones");
  EXPECT_EQ(judged(x, indices({3}, {0, 2, 3}, "int32"), indices({3}, {0, 2, 3})).outcome,
            Outcome::kPass);
}

TEST(Indices, AnotherValueFails) {
  const Verdict v = judged({.source = floats({6}, {3, 1, 3, 2, 0, 1})}, indices({3}, {2, 0, 5}),
                           indices({3}, {0, 2, 3}));
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_EQ(v.because, "1 of 3 indices are wrong: 1 at a value that differs (equality)");
  ASSERT_EQ(v.worst.size(), 1u);
  EXPECT_EQ(v.worst[0].index, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(v.worst[0].actual, 5);
  EXPECT_EQ(v.worst[0].expected, 3);
  EXPECT_EQ(v.worst[0].error, 1);
}

TEST(Indices, OutOfRangeAndNegativeFail) {
  const Asked x{.source = floats({4}, {5, 5, 5, 1})};
  const Verdict v = judged(x, indices({4}, {4, -1, 1, 3}), indices({4}, {0, 1, 2, 3}));
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_EQ(v.because, "2 of 4 indices are wrong: 2 out of range (0 to 3)");
  EXPECT_TRUE(std::isinf(v.worst_ratio));
}

// A kernel that gives the index of the largest element twice has the right values, but is wrong.
TEST(Indices, AnIndexTwiceInItsRowFails) {
  const Asked x{.source = floats({2, 3}, {7, 7, 1, 2, 7, 7})};
  const Verdict v = judged(x, indices({2, 2}, {1, 1, 2, 1}), indices({2, 2}, {0, 1, 1, 2}));
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_EQ(v.because, "1 of 4 indices are wrong: 1 a second time in the row");
  // The same index in two different rows is not a repetition.
  EXPECT_EQ(judged(x, indices({2, 1}, {1, 1}), indices({2, 1}, {0, 1})).outcome, Outcome::kPass);
}

TEST(Indices, NoBudgetForgivesAFlawedIndex) {
  const Tensor source = floats({4}, {5, 4, 3, 1});
  Bound bound = *standard_bound("indices", format_named("int64"));
  bound.max_mismatches = 1;
  JudgeOptions options;
  options.index_source = source.view();
  const Tensor golden = indices({2}, {0, 1});
  EXPECT_EQ(judge(indices({2}, {0, 2}), golden, bound, options).outcome, Outcome::kPass);
  EXPECT_EQ(judge(indices({2}, {0, 0}), golden, bound, options).outcome, Outcome::kFail);
  EXPECT_EQ(judge(indices({2}, {3, 2}), golden, bound, options).outcome, Outcome::kFail);
}

TEST(Indices, TheAxisMayBeAnyOrLeftOut) {
  // The columns of a 3 x 2 input are sorted in descending order, along axis 0.
  const Asked x{.source = floats({3, 2}, {1, 9, 3, 8, 3, 7}), .axis = 0};
  const Tensor golden = indices({3, 2}, {1, 0, 2, 1, 0, 2});
  EXPECT_EQ(judged(x, indices({3, 2}, {2, 0, 1, 1, 0, 2}), golden).outcome, Outcome::kPass);
  EXPECT_EQ(judged(x, indices({3, 2}, {1, 1, 2, 0, 0, 2}), golden).outcome, Outcome::kFail);
  // The indices of argmax have no dimension for the axis.
  EXPECT_EQ(judged(x, indices({2}, {2, 0}), indices({2}, {1, 0})).outcome, Outcome::kPass);
  EXPECT_EQ(judged(x, indices({2}, {0, 0}), indices({2}, {1, 0})).outcome, Outcome::kFail);
}

TEST(Indices, UnsortedRowsHaveTheSameValuesInAnyOrder) {
  const double nan = std::nan("");
  const Asked x{.source = floats({2, 4}, {4, 3, 2, 1, nan, 5, 5, 1}),
                .standard = "indices(unsorted)"};
  const Tensor golden = indices({2, 3}, {0, 1, 2, 0, 1, 2});
  const Verdict v = judged(x, indices({2, 3}, {2, 0, 1, 2, 1, 0}), golden);
  EXPECT_EQ(v.outcome, Outcome::kPass);
  EXPECT_EQ(v.because,
            "the values at all 6 indices are right (equality); none of the indices differ from the "
            "golden ones");
  // An index may lead to another element of the same value.
  EXPECT_EQ(judged({.source = floats({4}, {4, 4, 3, 3}), .standard = "indices(unsorted)"},
                   indices({2}, {3, 1}), indices({2}, {0, 2}))
                .because,
            "the values at all 2 indices are right (equality); 2 of the indices differ from the "
            "golden ones");
  // A row must have each value as often as the golden row: values 3 and 3 are wrong for 4 and 3.
  const Verdict wrong = judged(x, indices({2, 3}, {3, 0, 1, 1, 0, 2}), golden);
  EXPECT_EQ(wrong.outcome, Outcome::kFail);
  EXPECT_EQ(wrong.mismatches, 1);
  EXPECT_EQ(judged(x, indices({2, 3}, {2, 0, 1, 3, 1, 0}), golden).outcome, Outcome::kFail);
  EXPECT_EQ(judged(x, indices({2, 3}, {2, 0, 2, 2, 1, 0}), golden).because,
            "1 of 6 indices are wrong: 1 a second time in the row");
  const Asked near{
      .source = floats({4}, {1, 1.0005F, 2, 3}), .standard = "indices(unsorted)", .rtol = 1e-3};
  EXPECT_EQ(judged(near, indices({2}, {2, 1}), indices({2}, {0, 2})).outcome, Outcome::kPass);
}

TEST(Indices, FlattenedOnesAreOneRow) {
  const Asked x{.source = floats({2, 3}, {5, 1, 4, 5, 0, 3}), .standard = "indices(flattened)"};
  EXPECT_EQ(judged(x, indices({}, {3}), indices({}, {0})).outcome, Outcome::kPass);
  EXPECT_EQ(judged(x, indices({}, {2}), indices({}, {0})).outcome, Outcome::kFail);
  EXPECT_EQ(judged(x, indices({2, 2}, {3, 0, 2, 5}), indices({2, 2}, {0, 3, 2, 5})).outcome,
            Outcome::kPass);
  EXPECT_THAT(judged(x, indices({2}, {0, 6}), indices({2}, {0, 3})).because,
              HasSubstr("1 out of range (0 to 5)"));
}

TEST(Indices, WordsOfTheStandard) {
  const IndexRule rule = *index_rule("indices( ulp(4) , flattened,unsorted)");
  EXPECT_EQ(rule.values, "ulp(4)");
  EXPECT_TRUE(rule.unsorted && rule.flattened);
  EXPECT_EQ(with_values(rule, "torch"), "indices(torch,unsorted,flattened)");
  EXPECT_EQ(with_values(*index_rule("indices(torch)"), ""), "indices");
  for (const char* wrong : {"indices(torch,numpy)", "indices(unsorted,unsorted)"}) {
    EXPECT_EQ(error_of([&] { (void)index_rule(wrong); }),
              std::string("standard '") + wrong +
                  "': indices(...) takes one standard of single elements, and the words unsorted "
                  "and flattened, each once");
  }
}

TEST(Indices, NanLeadsToNan) {
  const double nan = std::nan("");
  const Asked x{.source = floats({4}, {nan, 2, nan, 1})};
  const Tensor golden = indices({3}, {0, 2, 1});
  EXPECT_EQ(judged(x, indices({3}, {2, 0, 1}), golden).outcome, Outcome::kPass);
  EXPECT_EQ(judged(x, indices({3}, {2, 1, 0}), golden).outcome, Outcome::kFail);
}

TEST(Indices, ValuesMayHaveAToleranceOrAStandard) {
  const Tensor source = floats({4}, {1, 1.0005F, 2, 3}), golden = indices({2}, {0, 2}),
               near = indices({2}, {1, 2});
  EXPECT_EQ(judged({.source = source}, near, golden).outcome, Outcome::kFail);
  EXPECT_EQ(judged({.source = source, .rtol = 1e-3}, near, golden).outcome, Outcome::kPass);
  EXPECT_EQ(judged({.source = source, .standard = "indices(torch)"}, near, golden).outcome,
            Outcome::kFail);
  EXPECT_EQ(judged({.source = source, .standard = "indices(ulp(8192))"}, near, golden).outcome,
            Outcome::kPass);
}

// The standard in brackets, as in indices(torch), judges the values by its own bound for the
// input's dtype. Every standard of single elements may stand there.
TEST(Indices, TheBoundOfValuesIsTheStandardsOwn) {
  const Tensor source = floats({4}, {1, 2, 3, 4}), golden = indices({2}, {0, 2}),
               other = indices({2}, {1, 2});
  int counted = 0;
  std::vector<std::string> names = {"ulp(4)", "bit_equal"};
  for (const Standard& s : standards()) names.emplace_back(s.name);
  for (const std::string& name : names) {
    std::optional<Bound> bound;
    try {
      bound = standard_bound(name, source.format());
    } catch (const AccumulationsUnknown&) {
      continue;
    }
    if (!bound || !judges_single_elements(*bound)) continue;
    const Verdict v =
        judged({.source = source, .standard = formatted("indices({})", name)}, other, golden);
    EXPECT_EQ(v.outcome, Outcome::kFail) << name;
    EXPECT_EQ(v.because,
              formatted("1 of 2 indices are wrong: 1 at a value that differs ({})", bound->text()))
        << name;
    ++counted;
  }
  EXPECT_GT(counted, 10);
  const Asked near{.source = floats({3}, {1, 1 + 0x1p-20F, 2}), .standard = "indices(torch)"};
  EXPECT_EQ(judged(near, indices({2}, {1, 2}), indices({2}, {0, 2})).outcome, Outcome::kPass)
      << "2^-20 is below torch's 1.3e-6";
}

// A tolerance that is given separately replaces that of the standard, even if it has only rtol or
// only atol.
TEST(Indices, AToleranceStandsForTheStandards) {
  for (const char* standard : {"indices", "indices(torch)", "indices(ulp(8192))"}) {
    for (const auto& [rtol, atol] : {std::pair(1e-3, 0.0), {0.0, 1e-3}, {1e-3, 1.0}}) {
      const Asked asked{.source = floats({4}, {1, 1.0005F, 2, 3}),
                        .standard = standard,
                        .rtol = rtol,
                        .atol = atol};
      const Verdict v = judged(asked, indices({2}, {1, 3}), indices({2}, {0, 2}));
      Bound wanted;
      wanted.rtol = rtol;
      wanted.atol = atol;
      EXPECT_EQ(v.mismatches, atol == 1 ? 0 : 1) << standard << " " << rtol << " " << atol;
      EXPECT_THAT(v.because, HasSubstr(wanted.text())) << standard;
    }
  }
}

// The policies of the bound for NaN and infinity hold for the values at the indices.
TEST(Indices, ValuesHaveThePoliciesOfTheBound) {
  const double nan = std::nan(""), inf = HUGE_VAL, most = max_finite(format_named("float32"));
  const Tensor source = floats({6}, {nan, nan, inf, most, 1, -inf});
  const auto mismatches = [&](double index, double wanted, bool nan_equal, bool nan_accepts,
                              Infinity infinity) {
    Bound bound = *standard_bound("indices", format_named("int64"));
    bound.nan_equal = nan_equal;
    bound.nan_accepts = nan_accepts;
    bound.infinity = infinity;
    JudgeOptions options;
    options.index_source = source.view();
    return judge(indices({1}, {index}), indices({1}, {wanted}), bound, options).mismatches;
  };
  for (const bool equal : {false, true}) {
    EXPECT_EQ(mismatches(1, 0, equal, false, Infinity::kSign), equal ? 0 : 1);
    EXPECT_EQ(mismatches(4, 0, false, equal, Infinity::kSign), equal ? 0 : 1);
  }
  for (const Infinity infinity : {Infinity::kSign, Infinity::kSaturating, Infinity::kFewer}) {
    EXPECT_EQ(mismatches(3, 2, true, false, infinity), infinity == Infinity::kSign ? 1 : 0);
    EXPECT_EQ(mismatches(4, 2, true, false, infinity), infinity == Infinity::kFewer ? 0 : 1);
    EXPECT_EQ(mismatches(5, 2, true, false, infinity), 1);
  }
}

TEST(Indices, ACheckThatCouldNotFailIsNotTrusted) {
  const Verdict v =
      judged({.source = floats({4}, {0, 0, 0, 0})}, indices({2}, {3, 1}), indices({2}, {0, 1}));
  EXPECT_EQ(v.outcome, Outcome::kUntrusted);
  EXPECT_EQ(
      v.because,
      "the check could not have failed: 100 % of the indices could be any other of their row, "
      "where all values are within the bound (equality)");
  // Three of four rows have only one value.
  const Tensor zeros = indices({4, 1}, {0, 0, 0, 0});
  EXPECT_THAT(judged({.source = floats({4, 2}, {1, 1, 2, 2, 3, 3, 4, 0})}, zeros,
                     indices({4, 1}, {0, 0, 0, 0}))
                  .because,
              HasSubstr(": 75 % of the indices could be any other of their row"));
  const Verdict half = judged({.source = floats({2, 2}, {1, 1, 2, 0})}, indices({2, 1}, {1, 0}),
                              indices({2, 1}, {0, 0}));
  EXPECT_EQ(half.outcome, Outcome::kPass);
  EXPECT_THAT(half.notes,
              testing::ElementsAre("50 % of the indices could be any other of their row, where all "
                                   "values are within the bound"));
  const Tensor golden = indices({1}, {0});
  EXPECT_EQ(judged({.source = floats({2}, {1, 0})}, golden, golden).outcome, Outcome::kUntrusted);
}

TEST(Indices, WhatCannotBeComparedSaysWhy) {
  const Asked x{.source = floats({2, 3}, {1, 2, 3, 4, 5, 6})};
  const auto because = [&](const Tensor& actual, const Tensor& expected) {
    const Verdict v = judged(x, actual, expected);
    EXPECT_EQ(v.outcome, Outcome::kNotComparable);
    return v.because;
  };
  EXPECT_EQ(because(indices({3, 2}, {0, 1, 2, 0, 1, 2}), indices({3, 2}, {0, 1, 2, 0, 1, 2})),
            "indices of shape [3, 2] along axis 1 do not fit an input of shape [2, 3]: all other "
            "extents agree, or the axis is left out");
  EXPECT_EQ(because(indices({2, 1}, {0, 1}), indices({2, 1}, {3, 1})),
            "the golden result's index 3 at [0, 0] is none of 0 to 2");
  EXPECT_EQ(because(indices({2, 2}, {0, 1, 0, 1}), indices({2, 2}, {0, 1, 2, 2})),
            "the golden result's index 2 at [1, 1] stands twice in its row");
  for (const std::int64_t axis : {2, -3}) {
    const Verdict v = judged({.source = floats({2, 3}, {1, 2, 3, 4, 5, 6}), .axis = axis},
                             indices({2, 1}, {0, 1}), indices({2, 1}, {0, 1}));
    EXPECT_EQ(v.outcome, Outcome::kNotComparable);
    EXPECT_EQ(v.because, formatted("axis {} is none of an input of shape [2, 3]", axis));
  }
  EXPECT_EQ(because(floats({2, 1}, {0, 1}), floats({2, 1}, {0, 1})),
            "the output is float32, but indices must be integers");
  const Tensor one = indices({1}, {0});
  EXPECT_EQ(judge(one, indices({1}, {0}), *standard_bound("indices", one.format())).because,
            "standard indices needs the input that the indices point into; name it in the case's "
            "attribute 'of'");
}

TEST(Indices, OnlyStandardsOfSingleElementsStandInBrackets) {
  const Format& f = format_named("int64");
  EXPECT_EQ(error_of([&] { (void)standard_bound("indices(cann_l0)", f); }),
            "standard 'indices(cann_l0)': cann_l0 does not judge single elements, which the values "
            "at indices need");
  EXPECT_THAT(error_of([&] { (void)standard_bound("indices(tortch)", f); }), HasSubstr("torch"));
  EXPECT_TRUE(needs_operands("indices"));
  EXPECT_TRUE(needs_operands("indices(torch)"));
}

}  // namespace
}  // namespace assay
