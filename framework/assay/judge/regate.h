// Judges saved results again, from their metrics and without the tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// The part of a result file about one bound by which a result was judged.
struct SavedCheck {
  std::string text;                            // Bound::text() of the bound
  std::optional<double> rtol = {}, atol = {};  // set only if the bound is a tolerance
  bool round_expected = true;
  // The number of elements that are not 0, and the number of these to which the bound is blind.
  std::int64_t nonzero = 0, blind = 0;
};

// The part of a result file about one comparison.
struct SavedResult {
  std::string name;                // name of the case, or empty for a comparison without a case
  const Format* format = nullptr;  // of the output
  std::int64_t sites = 0;          // elements
  std::string because;             // the saved verdict in words
  // One for each bound by which the result was judged. They differ in the bound to which
  // required_rtol and required_atol refer. Empty if nothing was compared.
  std::vector<Metrics> metrics;
  std::string output = {};  // the output's name, if the case has several
  // Only the bounds for which the number of blind elements was saved.
  std::vector<SavedCheck> checks = {};
  bool same_data = false;  // the output was the golden result itself
};

// Returns the verdict that the tensors would get by another bound. Nothing is guessed: if the
// metrics do not decide it, the outcome is kNotComparable and the reason names what is missing.
// - A tolerance is decided by required_rtol at the saved atol, or by required_atol at the saved
//   rtol.
// - Ulps and bits are decided, unless the bound has a budget or accepts values for NaN or infinity.
//
// The number of elements to which the bound is blind follows from the saved bounds:
// - Bit equality, and a tolerance that is only an rtol below 1, are blind to no element.
// - A saved bound is blind to the saved number of elements.
// - A tolerance that is everywhere at least as large as a saved one is blind to at least as many
//   elements. One that is everywhere at most as large is blind to at most as many.
//
// A pass becomes kUntrusted if the share of blind elements exceeds bound.max_blind. If the share
// may exceed it, the pass has a note that says so, or becomes kNotComparable if blindness_is_asked.
Verdict regate(const SavedResult& saved, const Bound& bound, bool blindness_is_asked = false);

}  // namespace assay
