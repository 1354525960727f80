// The operands of a case whose operator multiplies its inputs a and b, as the product sees them:
// transposes, batches and bias.
#pragma once

#include <string>
#include <vector>

#include "assay/cases/case.h"

namespace assay {

// batch x (M x K) x (K x N), after transposes.
struct MatmulShape {
  std::int64_t batch, m, n, k;
  Shape output;
};
// Throws Refusal that names the case and both shapes if they do not multiply.
MatmulShape matmul_shape(const Case& test_case);

// Matrix `batch` of operand `name` ("a": M x K, "b": K x N), a view of rank 2.
TensorView matmul_matrix(const Case& test_case, const std::string& name, std::int64_t batch);

// Returns the bias (N) as float64, or an empty list if the case has no bias.
std::vector<double> matmul_bias(const Case& test_case);

}  // namespace assay
