// Judges again from saved metrics, without the tensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay {

// What a result file keeps of one comparison.
struct SavedResult {
  std::string name;                // of the case; empty for a plain comparison
  const Format* format = nullptr;  // of the output
  std::int64_t sites = 0;          // elements
  std::string because;             // the verdict then, in words
  // One for each bound by which it was judged; they differ in what required_rtol and required_atol
  // refer to. None where nothing was compared.
  std::vector<Metrics> metrics;
  std::string output = {};  // which one, of a case that has several; else empty
};

// The verdict that the tensors would get by another bound. Where the metrics do not decide it, the
// outcome is kNotComparable and the reason names what is missing: nothing is guessed.
//   tolerance  decided by required_rtol at the saved atol, or required_atol at the saved rtol
//   ulps       always, bits always
// Whether the other bound is blind to most elements they never tell: a pass has a note that says
// so.
Verdict regate(const SavedResult& saved, const Bound& bound);

}  // namespace assay
