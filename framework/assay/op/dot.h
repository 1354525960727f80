// dot, and what it shares with matmul: which sums of products a machine's matrix unit takes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/machine/machine.h"
#include "assay/op/operator.h"

namespace assay {

// How the products of a case's operands a and b are summed on a machine.
struct MatrixUnit {
  // Empty where sums are exact: on machine `exact`, and of integers.
  std::optional<DotModel> model;
  const Format* compute = nullptr;  // what operands are rounded to first; nullptr: nothing
  Rounding compute_rounding = Rounding::kNearestEven;
  std::int64_t split_k = 0;

  bool is_exact() const { return !model; }
  // A matrix as the unit reads it, row-major.
  std::vector<double> operand(const TensorView& matrix) const;
};

// Why a product of integers has no tolerance.
// Throws std::invalid_argument where a's and b's products may be summed by fewer bits than float32
// has, as those of 8-bit floats are, and nothing says by which machine.
void require_machine(const Case& test_case);

// Whether a matrix unit takes the result as one product: what checksums can check. An operator that
// assay does not know may be one.
bool may_be_product(const Case& test_case);

inline constexpr std::string_view kExactSums = "integers are multiplied and summed exactly";

// The parameters that matrix_unit reads, for the table of operators.
#define ASSAY_DOT_PARAMETERS \
  "output_dtype compute_dtype compute_rounding promotion_interval split_k"

// From the case's inputs a and b and its parameters compute_dtype (tfloat32 or hfloat32, of float32
// operands), compute_rounding, promotion_interval and split_k. Throws std::invalid_argument that
// names the case and what its machine lacks.
MatrixUnit matrix_unit(const Call& call);

// How a machine sums the products of a case's result in this format, for checksums of emulated
// results; empty where sums are exact, and of an operator without such a product. Throws as
// matrix_unit() does.
std::optional<DotModel> product_model(const Case& test_case, const Machine& machine,
                                      const Format& output);

// n independent c + a . b: a and b [n, K], c [n]. With a float16 c and a float16 result the
// accumulator is float16, rounded to nearest once a chunk.
Tensor run_dot(const Call& call);
// As matmul's, over K products and c, with the roundoff of the accumulator: rtol half an ulp of the
// output, atol n u / (1 - n u) max (|c| + sum_k |a_k b_k|), n = K + 1, and half the smallest
// subnormal of each rounding. Zero for integers.
DerivedTolerance dot_tolerance(const Case& test_case);

}  // namespace assay
