// The operands of a case whose operator multiplies its inputs a and b, as the product sees them:
// transposes, batches and bias.
#pragma once

#include <string>
#include <vector>

#include "assay/cases/case.h"

namespace assay::inline v0_2 {

// The sizes of a batch of products: each multiplies an M x K matrix by a K x N matrix, after
// transposes.
struct MatmulShape {
  std::int64_t batch, m, n, k;
  Shape output;
};
// Returns the sizes of the case's product. Throws Refusal that names the case and both shapes if
// the operands do not multiply.
MatmulShape matmul_shape(const Case& test_case);

// Returns matrix `batch` of operand `name` as a view of rank 2: M x K for "a", and K x N for "b".
TensorView matmul_matrix(const Case& test_case, const std::string& name, std::int64_t batch);

// Returns the bias, which has N elements, as float64. Returns an empty list if the case has no
// bias.
std::vector<double> matmul_bias(const Case& test_case);

}  // namespace assay
