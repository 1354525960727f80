// The operands of one product, or of a batch of them, wherever they lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/tensor/product.h"

namespace assay {

// a (..., M, K), b (..., K, N), each as it is stored: the other way round in its last two
// dimensions where it is transposed. Views: whoever makes them keeps the elements alive.
struct ProductOperands {
  std::string name = {};  // of the case, which begins what is refused
  std::string op = "matmul";
  TensorView a, b;
  bool transpose_a = false, transpose_b = false;
  std::optional<TensorView> bias = {};  // N

  // Throws CaseError, with both shapes, where they do not multiply.
  MatmulShape shape() const;
  // The matrices of one product of the batch, as it sees them: M x K and K x N.
  TensorView matrix_a(std::int64_t batch) const;
  TensorView matrix_b(std::int64_t batch) const;
  // As float64; empty where there is none.
  std::vector<double> bias_values() const;
};

// Those of a case, in its tensors. Throws std::invalid_argument that names the case where it has no
// a or b.
ProductOperands product_operands(const Case& test_case);

}  // namespace assay
