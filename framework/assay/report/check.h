// Judging with a result that any test framework can show: a truth and a text.
//
//   CHECK(assay::check_close(view(out), view(golden)));            // doctest, Catch2
//   const assay::Check c = assay::check_case(dataset_case, out, {.producer = "npu"});
//   if (!c) std::cerr << c.text << '\n';
#pragma once

#include <iosfwd>
#include <string>

#include "assay/cases/case.h"
#include "assay/gate/gate.h"

namespace assay::inline v0_2 {

// The outcome of a check and its explanation. It converts to true if the outcome is a pass.
struct Check {
  Outcome outcome = Outcome::kPass;
  std::string text;  // the explanation, as the matchers give it

  explicit operator bool() const { return outcome == Outcome::kPass; }
};
// Writes "fails: " or another verb and the text.
std::ostream& operator<<(std::ostream& out, const Check& check);

// Judges a tensor against its reference, as the matcher CloseTo does. The request names standards,
// tolerances and policies (gate/request.h); without them, the standard `default` judges. Throws
// Refusal if a standard is unknown.
Check check_close(const TensorView& actual, const TensorView& expected,
                  const GateRequest& request = {});
// Judges an output of a case by the case's own bound, or by that of the request, and by checksums
// if the request asks for them. Throws as gate_case() does.
Check check_case(const Case& test_case, const TensorView& actual, const GateRequest& request = {},
                 const Origin& origin = {});

}  // namespace assay
