// The operands of a case whose operator multiplies its inputs a and b, as the product sees them:
// transposes, batches and bias.
#pragma once

#include <string>
#include <vector>

#include "assay/tensor/case.h"

namespace assay {

// batch x (M x K) x (K x N), after transposes.
struct MatmulShape {
  std::int64_t batch, m, n, k;
  Shape output;
};
// Throws std::invalid_argument that names the case and both shapes where they do not multiply.
MatmulShape matmul_shape(const Case& test_case);

// Matrix `batch` of operand `name` ("a": M x K, "b": K x N), a view of rank 2.
TensorView matmul_matrix(const Case& test_case, const std::string& name, std::int64_t batch);

// The bias (N) as float64; empty where the case has none.
std::vector<double> matmul_bias(const Case& test_case);

}  // namespace assay
