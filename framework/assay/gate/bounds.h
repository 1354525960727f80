// Which bounds a case is judged by: what is asked for, what the case says, and the default.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/cases/case.h"
#include "assay/judge/bound.h"
#include "assay/judge/standards.h"
#include "assay/machine/machine.h"

namespace assay {

// The case's attribute `accumulations`, else K of a product whose operands are there; 0.
std::int64_t accumulations_of(const Case& test_case);

// What a command line, an environment or a matcher asks for; it goes over what the case says.
struct BoundRequest {
  // All must pass. "bfloat16=atb" speaks of cases whose output is bfloat16 alone.
  std::vector<std::string> standards = {};
  std::optional<double> rtol = {}, atol = {};
  std::optional<bool> equal_nan = {};
  std::optional<std::int64_t> max_mismatches = {};
  std::optional<double> max_mismatch_fraction = {};
  std::optional<double> max_blind = {};  // the share of blind elements that a pass may have
  std::optional<Infinity> infinity = {};
  bool nan_accepts = false;
  std::vector<CustomStandard> custom = {};  // known besides standards()
  std::string origin = "command";
  // The dtype of the golden result, if two tensors are compared and no case holds it.
  const Format* golden = nullptr;
};

// Throws std::invalid_argument where a standard of the request, or the machine that it names, is
// unknown, with the nearest known one: for callers that say so before any case is looked at.
void check_request(const BoundRequest& request);

// The standards that the case itself names, joined by commas in its attribute `standard`.
std::vector<std::string> case_standards(const Case& test_case);

// Whether the request, or the case by its attributes rtol, atol or standard, names a bound for
// every output dtype. `header` may be a case without its data.
bool names_bound(const Case& header, const BoundRequest& request);

// The bounds that a case is judged by. Precedence: the request, then the case's own rtol and atol,
// then the case's standard (several joined by commas), then the operator's own bound where the case
// has its operands, then the default. The operator's own bound is that of `accumulation` where the
// operator has bounds of elements, else its derived tolerance (op/operator.h). Each result is a
// bound, or the reason why there is none (the standard has no row for the dtype). `machine`
// says what computed the output where a derived tolerance depends on it (nullptr, and where it is
// empty: as the case says, else any).
struct ChosenBound {
  std::optional<Bound> bound;
  std::string standard;
  std::string why_not;
  std::vector<std::string> notes = {};  // what a reader of the verdict should know
};
std::vector<ChosenBound> choose_bounds(const Case& test_case, const Format& output,
                                       const BoundRequest& request,
                                       const std::function<const Machine*()>& machine = {});

// The origin of an operator's own bound.
inline constexpr std::string_view kOperatorOrigin = "operator";

// Whether a case's output is codes. Their bounds say all of it: how far from the golden result the
// codes are that a right quotient may become.
bool gives_codes(const Case& test_case);
// Makes a bound of `accumulation` one by the elements' own bounds alone if the case gives codes.
void bound_codes(const Case& test_case, Bound& bound);

// What the operator's own bound is for outputs of a case, without the case's policies; of a derived
// tolerance on that machine (nullptr: as the case says, else any). Throws std::invalid_argument
// with the reason where it has none.
Bound own_bound(const Case& test_case, const Format& output, const Machine* machine = nullptr);

// Returns the bound of the standard `expected_error` with the case's policies, for an operator that
// adds numbers up. The gate judges by it beside the operator's own bound, which holds for all data
// and therefore lets less precise arithmetic pass. Empty if the operator has no bounds of elements
// or no expected errors, or if someone allows a number of mismatches, which statistics of all
// elements cannot leave out.
std::optional<Bound> chance_bound(const Case& test_case, const Format& output,
                                  const BoundRequest& request);

// The default's bound, for a case whose operator has none of its own, for this reason.
ChosenBound default_bound(const Case& test_case, const Format& output, const BoundRequest& request,
                          const std::string& why_no_own);

}  // namespace assay
