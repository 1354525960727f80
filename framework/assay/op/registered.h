// What holds a team's own operators (register_operator) to what their rows promise.
#pragma once

#include <string_view>

#include "assay/op/operator.h"

namespace assay {

// Throws std::invalid_argument where register_operator cannot take the row.
void check_row(const Operator& row);
[[noreturn]] void refuse_row(const Operator& row, std::string_view why);

// The dtype of the case's golden result: float64, or the output's dtype where that is an integer.
const Format& golden_format(const Case& test_case);

// What the reference gives. Throws std::invalid_argument that names case and operator where that is
// no result, or of another dtype than it was asked for.
Tensor reference_result(const Operator& op, const ReferenceCall& call);

// Throws std::invalid_argument that names case and operator where the result is of another dtype
// than the case's output, or of another shape than its golden result: the one that the case
// carries, else the reference's. That may take as long as the operator, so it is asked once for
// inputs of the same dtypes and shapes, and the same parameters. Any thread may call it.
void check_result(const Case& test_case, const Operator& op, const Tensor& result, int threads);

}  // namespace assay
