// What judging element by element finds, and the verdict that it makes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "assay/judge/metrics_pass.h"
#include "assay/judge/statistic_table.h"
#include "assay/judge/verdict.h"

namespace assay {

// What the elements of a part, or of several that follow one another, gave.
struct ElementFindings {
  std::int64_t misses = 0, special_misses = 0;
  std::int64_t unmeetable = 0;  // misses that the correctly rounded result would be as well
  double worst_ratio = 0;
  bool within_one_ulp = true;           // of all misses
  bool zeros_would_miss = false;        // an output of zeros would miss where no budget forgives it
  std::int64_t misses_of_zeros = 0;     // elsewhere
  std::int64_t nonzero = 0, blind = 0;  // as in Verdict, but for the budget
  // Elements whose expected value is NaN, and those of them where the output's NaN was accepted.
  std::int64_t expected_nans = 0, equal_nans = 0;
  std::vector<Miss> worst;              // the worst first; their `index` is left empty
  std::vector<std::int64_t> positions;  // of the first misses, to see the pattern they form
  std::optional<MetricsPass> metrics;
  std::optional<MissMap> miss_map;  // of the whole array

  // Whether an output of zeros would miss somewhere, the bound's budget counted.
  bool zeros_miss(const Bound& bound, std::int64_t sites) const;
  // Misses that the budget allows: all of them or none, and none where NaN or infinity missed.
  std::int64_t forgiven(const Bound& bound, std::int64_t sites) const;
  // Counts one, and keeps its place and its ratio to the bound.
  void count_miss(const Miss& miss, bool is_special);
  // Whether it is among the worst `listed` so far, and puts it there.
  bool lists(const Miss& miss, std::size_t listed) const;
  void list(Miss miss, std::size_t listed);
  // `later`: of the elements that follow. At most `listed` of the worst are kept.
  void merge(ElementFindings later, std::size_t listed);
};

// Completes the verdict on an output of verdict.sites elements. A pass is not trusted if more than
// half of the expected elements are NaN. A note says how many elements are NaN on both sides and
// were accepted.
void settle_nans(Verdict& verdict, std::int64_t expected, std::int64_t accepted);

// Fills in what the findings say: counts, the worst elements, outcome, reason and pattern.
// `verdict` has bound, format, shape and sites; `statistics` are those of the bound's limits, empty
// where it has none. `sizes` gives |expected| of sampled_positions(), asked where the reason needs
// them.
void settle(Verdict& verdict, ElementFindings findings,
            const std::optional<StatisticsResult>& statistics, bool metrics,
            const std::function<std::vector<double>()>& sizes);

}  // namespace assay
