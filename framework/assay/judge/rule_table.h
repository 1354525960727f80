// The table of rules: one row for each, with its code. To add a rule, add a value of Rule and its
// row.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "assay/judge/verdict.h"
#include "assay/simd/compare.h"

namespace assay::inline v0_2 {

struct RuleRow {
  Rule rule;
  std::string_view name = "";  // in files of standards, if the rule has a tolerance
  // The members of Bound that the rule reads, as reports name them: "rtol atol".
  std::string_view parameters = "";
  // The rule in words. {0} stands for atol, {1} for rtol, {2} for the floor and {3} for the number
  // of ulps.
  std::string_view words = "";
  std::string (*text)(const Bound& bound) = nullptr;  // returns the words; if null, `words` is used
  // Returns the bound of an element's error, for |expected| and |actual|. If null, the bound is
  // atol + rtol |expected|.
  double (*bound)(const Bound& bound, double expected, double actual) = nullptr;
  simd::ToleranceForm form = simd::ToleranceForm::kSum;  // the kernels' name for `bound`
  bool by_codes = false;           // compares stored values, so the expected one is always rounded
  bool by_value = true;            // only an element's expected value and `bound` decide
  bool by_element_bounds = false;  // adds JudgeOptions::element_bounds to the tolerance
  bool needs_expected = true;      // false if the law of the draws says what is expected
  // Judges the whole output. Null if elements are judged one by one.
  Verdict (*judge)(const TensorView& actual, const TensorView& expected, const Bound& bound,
                   const JudgeOptions& options) = nullptr;
  std::string_view why_not_complex = "";  // empty if it can judge complex numbers
  std::string_view why_not_saved = "";    // why saved metrics cannot replace `judge`

  std::string text_of(const Bound& bound) const;
  bool takes(std::string_view parameter) const;
};
const RuleRow& row_of(Rule rule);
inline bool by_element_bounds(const Bound& bound) { return row_of(bound.rule).by_element_bounds; }
std::span<const RuleRow> tolerance_rules();  // the rows with a name

// Returns the tolerance of a rule that has one, in float64. It is at most the largest finite
// number, so an infinite bound never accepts an infinite error. Infinity times zero counts as zero.
// Only kSymmetric reads `actual`. Rules by element bounds add the element's own to it.
double tolerance_at(const Bound& bound, double expected, double actual = 0);
// Returns the largest error of an element that the bound allows. If the rule is by element bounds,
// the caller must add the element's own.
double largest_error(const Bound& bound, const Format& output, double expected, double actual);

}  // namespace assay
