// The table of rules: one row each, with its code. To add a rule is to add a value of Rule and its
// row.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "assay/judge/verdict.h"
#include "assay/simd/compare.h"

namespace assay {

struct RuleRow {
  Rule rule;
  std::string_view name = "";  // in files of standards, if the rule has a tolerance
  // The members of Bound that it reads, as reports name them: "rtol atol".
  std::string_view parameters = "";
  // Where {0} is atol, {1} rtol, {2} the floor and {3} the number of ulps.
  std::string_view words = "";
  std::string (*text)(const Bound& bound) = nullptr;  // null: `words`
  // The bound of an element's error, for |expected| and |actual|. Null: atol + rtol |expected|.
  double (*bound)(const Bound& bound, double expected, double actual) = nullptr;
  simd::ToleranceForm form = simd::ToleranceForm::kSum;  // the same for kernels
  bool by_codes = false;       // compares stored values, so that the expected one is always rounded
  bool by_value = true;        // an element's expected value and `bound` decide, and nothing else
  bool needs_expected = true;  // false: the law of the draws says what is expected
  // Judges the whole output. Null if elements are judged one by one.
  Verdict (*judge)(const TensorView& actual, const TensorView& expected, const Bound& bound,
                   const JudgeOptions& options) = nullptr;
  std::string_view why_not_complex = "";  // empty: it judges complex numbers
  std::string_view why_not_saved = "";    // of `judge`: why saved metrics do not decide it

  std::string text_of(const Bound& bound) const;
  bool takes(std::string_view parameter) const;
};
const RuleRow& row_of(Rule rule);
std::span<const RuleRow> tolerance_rules();  // the rows with a name

// The largest error of an element that the bound allows. kGiven adds the element's own bound to it.
double largest_error(const Bound& bound, const Format& output, double expected, double actual);

}  // namespace assay
