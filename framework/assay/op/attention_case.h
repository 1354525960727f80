// The operands and parameters of an attention, as its operator, golden result, bounds and expected
// errors read them.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/cases/attention_shape.h"
#include "assay/cases/case.h"

namespace assay::inline v0_2 {

struct Attention : AttentionShape {
  static constexpr std::int64_t kRows = 256;  // number of queries that one task computes

  const Case& test_case;
  const Format& input;
  std::int64_t tile = 0;

  std::int64_t parts() const { return batch * ((queries + kRows - 1) / kRows); }
};

// Returns the attention of a case. Throws Refusal, which names the case, if its operands or
// parameters do not fit.
Attention attention_of(const Case& test_case, const Format& output);

// Returns the rows [begin, begin + n) of the matrix `batch` of an operand, as float64.
std::vector<double> matrix_rows(const Tensor& tensor, std::int64_t batch, std::int64_t begin,
                                std::int64_t n);
// Returns the transpose of a row-major rows x columns matrix.
std::vector<double> transposed(std::int64_t rows, std::int64_t columns,
                               const std::vector<double>& from);

}  // namespace assay
