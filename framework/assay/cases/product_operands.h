// The operands of one product, or of a batch of them, wherever they lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/cases/product.h"

namespace assay {

// a (..., M, K), b (..., K, N), each as it is stored: a transposed operand has its last two
// dimensions exchanged. Views: whoever makes them keeps the elements alive.
struct ProductOperands {
  std::string name = {};  // of the case, which begins what is refused
  std::string op = "matmul";
  TensorView a, b;
  bool transpose_a = false, transpose_b = false;
  std::optional<TensorView> bias = {};  // N

  // Throws CaseError, with both shapes, if they do not multiply.
  MatmulShape shape() const;
  // The matrices of one product of the batch, as it sees them: M x K and K x N.
  TensorView matrix_a(std::int64_t batch) const;
  TensorView matrix_b(std::int64_t batch) const;
  // Returns the bias as float64, or an empty list if there is no bias.
  std::vector<double> bias_values() const;
};

// Returns the operands of a case, as views of its tensors. Throws CaseError if the case has no
// input a or b.
ProductOperands product_operands(const Case& test_case);

}  // namespace assay
