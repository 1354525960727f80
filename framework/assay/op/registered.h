// Checks that a team's own operators (register_operator) do what their rows promise.
#pragma once

#include <string_view>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Checks the row of a team's operator. Throws Refusal if register_operator() cannot accept it.
void check_row(const Operator& row);
[[noreturn]] void refuse_row(const Operator& row, std::string_view why);

// Returns the dtype of the case's golden result: float64, or the output's dtype if that is an
// integer.
const Format& golden_format(const Case& test_case);

// Returns the result of the reference. Throws Refusal, which names the case and the
// operator, if the reference returns no result, or one of another dtype than the call's.
Tensor reference_result(const Operator& op, const ReferenceCall& call);

// Throws Refusal, which names the case and the operator, if the result has another
// dtype than the case's output, or another shape than its golden result. That is the golden result
// of the case, or of the reference if the case has none. The reference may take as long as the
// operator, so it runs once for inputs of the same dtypes and shapes with the same parameters. Any
// thread may call this function.
void check_result(const Case& test_case, const Operator& op, const Tensor& result, int threads);

}  // namespace assay
