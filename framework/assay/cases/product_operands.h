// The operands of one product, or of a batch of them. They may lie in a case or anywhere else in
// memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/cases/product.h"

namespace assay::inline v0_2 {

// The operands a (..., M, K) and b (..., K, N) as they are stored: the last two dimensions of a
// transposed operand are exchanged. Both are views, so the caller must keep the elements alive.
struct ProductOperands {
  std::string name = {};  // name of the case, with which error messages begin
  std::string op = "matmul";
  TensorView a, b;
  bool transpose_a = false, transpose_b = false;
  std::optional<TensorView> bias = {};  // N

  // Returns the sizes of the product. Throws CaseError, with both shapes, if the operands do not
  // multiply.
  MatmulShape shape() const;
  // Return the operands of product number `batch` of the batch, after transposes: M x K and K x N.
  TensorView matrix_a(std::int64_t batch) const;
  TensorView matrix_b(std::int64_t batch) const;
  // Returns the bias as float64, or an empty list if there is no bias.
  std::vector<double> bias_values() const;
};

// Returns the operands of a case, as views of its tensors. Throws CaseError if the case has no
// input a or b.
ProductOperands product_operands(const Case& test_case);

}  // namespace assay
