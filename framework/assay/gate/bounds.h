// The choice of the bounds that judge a case: the request's, the case's, or the default.
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

namespace assay::inline v0_2 {

// Returns the case's attribute `accumulations`. Without it, returns K if the case is a product, and
// 0 otherwise.
std::int64_t accumulations_of(const Case& test_case);

// The bounds that a command line, an environment or a matcher asks for. They override those of the
// case.
struct BoundRequest {
  // The standards by which to judge. An output must pass all of them. "bfloat16=atb" applies only
  // to cases whose output is bfloat16.
  std::vector<std::string> standards = {};
  std::optional<double> rtol = {}, atol = {};
  std::optional<bool> equal_nan = {};
  std::optional<std::int64_t> max_mismatches = {};
  std::optional<double> max_mismatch_fraction = {};
  std::optional<double> max_blind = {};  // the largest share of blind elements that a pass may have
  std::optional<Infinity> infinity = {};
  bool nan_accepts = false;
  bool allow_empty = false;                 // an output without elements passes
  std::vector<CustomStandard> custom = {};  // standards that are known in addition to standards()
  std::string origin = "command";
  // The dtype of the golden result, if two tensors are compared and no case holds it.
  const Format* golden = nullptr;
};

// True if the request or the case lets an output without elements pass.
bool allows_empty(const Case& test_case, const BoundRequest& request);

// Throws Refusal if a standard of the request, or the machine that it names, is
// unknown. The message names the nearest known one. Callers use it to report such errors before
// they read any case.
void check_request(const BoundRequest& request);

// Returns the standards that the case itself names: those in its attribute `standard`, which
// separates them by commas.
std::vector<std::string> case_standards(const Case& test_case);

// True if the request or the case names a bound for every output dtype. A case does so by its
// attributes rtol, atol or standard. `header` may be a case without its data.
bool names_bound(const Case& header, const BoundRequest& request);

// A bound that a case is judged by, or the reason why it has no bound: for example, the standard
// has no row for the dtype.
struct ChosenBound {
  std::optional<Bound> bound;
  std::string standard;
  std::string why_not;
  std::vector<std::string> notes = {};  // remarks for the reader of the verdict
};
// Returns the bounds that judge a case. They come from the first of these that exists:
// - the request;
// - the case's own rtol and atol;
// - the case's standard (several standards are joined by commas);
// - the operator's own bound, if the case has its operands;
// - the default standard.
//
// The operator's own bound is that of `accumulation` if the operator has bounds of elements, and
// its derived tolerance (op/operator.h) otherwise. `machine` returns the machine that computed the
// output. It is called if a derived tolerance depends on the machine. If it is empty or returns
// nullptr, the tolerance is that of the machine that the case names, or of any machine.
std::vector<ChosenBound> choose_bounds(const Case& test_case, const Format& output,
                                       const BoundRequest& request,
                                       const std::function<const Machine*()>& machine = {});

// The name of the origin of an operator's own bound.
inline constexpr std::string_view kOperatorOrigin = "operator";
// The name of the origin of the default standard's bound.
inline constexpr std::string_view kDefaultOrigin = "default";

// True if a case's output is codes of a quantization. Their bounds are complete: they say how far
// from the golden result a code may be if the quotient is computed correctly.
bool gives_codes(const Case& test_case);
// Changes a bound of `accumulation` to use only the elements' own bounds if the outputs of the case
// are codes.
void bound_codes(const Case& test_case, Bound& bound);

// Returns the operator's own bound for outputs of a case, without the case's policies. A derived
// tolerance is that of `machine`. If `machine` is nullptr, it is that of the machine that the case
// names, or of any machine. Throws Refusal with the reason if there is no such bound.
Bound own_bound(const Case& test_case, const Format& output, const Machine* machine = nullptr);

// Returns the bound of the standard `expected_error` with the case's policies, for an operator that
// adds numbers. The gate uses it in addition to the operator's own bound, which holds for all data
// and therefore lets less precise arithmetic pass. Returns nothing if the operator has no bounds of
// elements or no expected errors. Also returns nothing if someone allows a number or a share of
// mismatches, because statistics of all elements cannot leave those out.
std::optional<Bound> chance_bound(const Case& test_case, const Format& output,
                                  const BoundRequest& request);

// Returns the bound of the default standard, for a case without an own bound of its operator.
// `why_no_own` is the reason why that bound is not known. If it is not empty, the result has a note
// with this reason.
ChosenBound default_bound(const Case& test_case, const Format& output, const BoundRequest& request,
                          const std::string& why_no_own);

}  // namespace assay
