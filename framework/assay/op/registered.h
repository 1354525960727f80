// What holds a team's own operators (register_operator) to what their rows promise.
#pragma once

#include "assay/op/operator.h"

namespace assay {

// Throws std::invalid_argument where register_operator cannot take the row.
void check_row(const Operator& row);

// The row's own rule for the dtype of its results, else: that of the first input that it names, and
// of a case without inputs the golden result's.
OutputRule output_rule(const Operator& row);

// What the reference gives. Throws std::invalid_argument that names case and operator where that is
// no result, or of another dtype than float64 (the output dtype where it is an integer).
Tensor reference_result(const Case& test_case, const Operator& op, int threads);

// Throws std::invalid_argument that names case and operator where the result is of another dtype
// than the case's output, or of another shape than its golden result: the one that the case
// carries, else the reference's. That may take as long as the operator, so it is asked once for
// inputs of the same dtypes and shapes, and the same parameters. Any thread may call it.
void check_result(const Case& test_case, const Operator& op, const Tensor& result, int threads);

}  // namespace assay
