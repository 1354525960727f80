// Judges again from saved metrics, without the tensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay {

// What a result file keeps of one bound by which a result was judged.
struct SavedCheck {
  std::string text;                            // of the bound: Bound::text()
  std::optional<double> rtol = {}, atol = {};  // of a tolerance
  bool round_expected = true;
  // Of the elements that are not 0: how many there are, and to how many the bound is blind.
  std::int64_t nonzero = 0, blind = 0;
};

// What a result file keeps of one comparison.
struct SavedResult {
  std::string name;                // of the case; empty for a plain comparison
  const Format* format = nullptr;  // of the output
  std::int64_t sites = 0;          // elements
  std::string because;             // the verdict then, in words
  // One for each bound by which it was judged; they differ in what required_rtol and required_atol
  // refer to. None where nothing was compared.
  std::vector<Metrics> metrics;
  std::string output = {};              // which one, of a case that has several; else empty
  std::vector<SavedCheck> checks = {};  // whose blindness is known
  bool same_data = false;               // the output was the golden result itself
};

// The verdict that the tensors would get by another bound. Where the metrics do not decide it, the
// outcome is kNotComparable and the reason names what is missing: nothing is guessed.
//   tolerance  decided by required_rtol at the saved atol, or required_atol at the saved rtol
//   ulps       always, bits always
// How many elements the other bound is blind to is known where it is the saved one, or a tolerance
// at most or at least as large; and bits, and an rtol below 1 alone, are blind to none. Elsewhere
// a pass has a note that says so, or is kNotComparable where the answer is asked for.
Verdict regate(const SavedResult& saved, const Bound& bound, bool blindness_is_asked = false);

}  // namespace assay
