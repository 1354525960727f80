// The results of judging element by element, and the verdict that they lead to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "assay/judge/metrics_pass.h"
#include "assay/judge/statistic_table.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// The result of the rule for one element.
struct Finding {
  double error = 0, bound = 0;
  bool missed = false;
  bool special = false;  // the output or the expected value is NaN or infinite
  bool nonzero = false;  // the expected value is finite, and not 0 in the output's format
  bool expects_nan = false;
  bool fraction = false;  // the expected value of an integer output is not a whole number
  // missed_by_zero is true if a 0 in place of the output's element would be a mismatch that a
  // budget may forgive. missed_by_zero_for_good is true if no budget would forgive it, because NaN
  // or infinity is expected.
  bool missed_by_zero = false, missed_by_zero_for_good = false;
};

// The expected values that are no whole numbers and were rounded to one for an output of integers.
struct RoundedFractions {
  std::int64_t count = 0, first = 0;  // `first` is the row-major position of the first one
  double value = 0;                   // the first one as it is stored

  void add(std::int64_t position, double stored) {
    if (count++ > 0) return;
    first = position;
    value = stored;
  }
};

// The results of one part of the elements, or of several parts in sequence.
struct ElementFindings {
  std::int64_t mismatches = 0, special_mismatches = 0;
  std::int64_t unmeetable = 0;  // mismatches that even the correctly rounded result would be
  double worst_ratio = 0;
  bool within_one_ulp = true;  // every mismatch is within one ulp of the expected value
  // True if an output of zeros would have a mismatch that no budget forgives.
  bool zeros_would_mismatch = false;
  // Number of mismatches of an output of zeros that a budget may forgive.
  std::int64_t mismatches_of_zeros = 0;
  // Verdict::nonzero and Verdict::blind, before the mismatches that the budget forgives are added
  // to `blind`.
  std::int64_t nonzero = 0, blind = 0;
  // The elements whose expected value is NaN, and those of them whose output was NaN and accepted.
  std::int64_t expected_nans = 0, equal_nans = 0;
  // The format of the expected values, if it is a float format and the output's is not.
  const Format* floats_for_integers = nullptr;
  RoundedFractions fractions;
  // The worst mismatches, the worst first. Their `index` is not set.
  std::vector<Mismatch> worst;
  // Positions of the first mismatches, to find the pattern that they form.
  std::vector<std::int64_t> positions;
  std::optional<MetricsPass> metrics;
  // Number of mismatches in each region of the whole array.
  std::optional<MismatchMap> mismatch_map;

  // True if an output of zeros would fail, even with the bound's budget.
  bool zeros_mismatch(const Bound& bound, std::int64_t sites) const;
  // Returns the number of mismatches that the budget forgives: all or 0. It is 0 if any of them has
  // NaN or infinity.
  std::int64_t forgiven(const Bound& bound, std::int64_t sites) const;
  // Counts an element. `is_nan` says that the output is NaN. If the element is not a mismatch and
  // `has_ratio` is true, the ratio of its error to its bound is recorded.
  void count(const Finding& finding, bool is_nan, bool has_ratio);
  // Counts a mismatch, and records its position and its ratio to the bound.
  void count_mismatch(const Mismatch& mismatch, bool is_special);
  // True if the mismatch is among the worst `listed` ones so far. list() then adds it to them.
  bool lists(const Mismatch& mismatch, std::size_t listed) const;
  void list(Mismatch mismatch, std::size_t listed);
  // Adds the findings of the next part of the elements. Keeps at most `listed` of the worst
  // mismatches.
  void merge(ElementFindings later, std::size_t listed);
};

// Completes the verdict on an output of verdict.sites elements. A pass is not trusted if more than
// half of the expected elements are NaN. A note says how many elements are NaN on both sides and
// were accepted.
void settle_nans(Verdict& verdict, std::int64_t expected, std::int64_t accepted);

// Fills in the counts, the worst elements, the outcome, its reason and the pattern. `verdict`
// already has bound, format, shape and sites. `statistics` are the readings of the bound's limits.
// It is empty if the bound has no limits. `sizes` returns |expected| at sampled_positions(). It is
// called only if the reason needs these values.
void settle(Verdict& verdict, ElementFindings findings,
            const std::optional<StatisticsResult>& statistics, bool metrics,
            const std::function<std::vector<double>()>& sizes);

}  // namespace assay
