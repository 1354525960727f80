// The operator dot, and what it shares with matmul: how a machine's matrix unit sums products.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/machine/machine.h"
#include "assay/op/k_split.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns the operator dot: n independent c + a . b, for a and b [n, K] and c [n]. If c and the
// result are float16, the accumulator is float16, rounded to nearest once a chunk.
//
// The tolerance is that of matmul, over K products and c, with the roundoff of the accumulator.
// rtol is half an ulp of the output. atol is n u / (1 - n u) max (|c| + sum_k |a_k b_k|), n = K +
// 1, plus half the smallest subnormal for each rounding. Both are zero for integers.
std::vector<Operator> dot_operators();

// Describes how the products of a case's operands a and b are summed.
struct MatrixUnit {
  // The model by which the unit sums products. Empty if sums are exact, which is the case for the
  // reference and for integers.
  std::optional<DotModel> model;
  // The machine's behaviour when an integer sum overflows int32. Empty for the reference and for
  // floats.
  std::optional<IntegerOverflow> overflow = std::nullopt;
  // The format to which operands are rounded before they are multiplied. nullptr if they are not
  // rounded.
  const Format* compute = nullptr;
  Rounding compute_rounding = Rounding::kNearestEven;
  // Each operand is split into two terms: its value rounded to `compute`, and the remainder rounded
  // to `compute`.
  bool in_two_terms = false;
  KSplit split;
  Rounding output_rounding = Rounding::kNearestEven;
  bool round_before_bias = false;

  bool sums_exactly() const { return !model; }
  // Returns a matrix as the unit reads it, row-major. Products of the returned values are exact.
  // Returns the matrix unchanged if operands are split into two terms.
  std::vector<double> operand(const TensorView& matrix) const;
  // Writes the values that operand() returns to `to`, which has the size of the matrix. `threads`
  // is the number of threads. 0 means default_threads().
  void read_operand(const TensorView& matrix, std::span<double> to, int threads) const;
  // The operands m x k and k x n, as operand() returns them, with k in the order of summation. `a`
  // and `b` refer to the operands that were passed in, which are not copied, or to own_a and own_b.
  struct Summed {
    DotModel model;
    std::int64_t k = 0;
    std::span<const double> a, b;
    KParts parts;
    std::vector<double> own_a, own_b;
  };
  Summed summed(std::int64_t m, std::int64_t n, std::int64_t k, std::span<const double> a,
                std::span<const double> b) const;
  // first_term() and rest() are the two terms of an operand's value. The rest of an infinity or NaN
  // is 0.
  double first_term(double value) const;
  double rest(double value) const;
  // Converts exact sums to values that the accumulator can hold: to int32 if `overflow` is set.
  void hold(std::span<double> sums) const;
};

// Returns the unit that reads a case's inputs a and b, with exact sums. Operands are read as the
// case's parameters require: compute_dtype (tfloat32, hfloat32 or bfloat16, for float32 operands),
// compute_rounding and, for matmul, compute_terms. Throws Refusal, which names the case, if
// operands or parameters do not go together.
MatrixUnit exact_unit(const Case& test_case);
// Returns the unit of exact_unit(), but with the machine's sums, as promotion_interval changes
// them. Throws Refusal, which names the case and what its machine lacks.
MatrixUnit matrix_unit(const Call& call);
// Returns `own` and then the parameters that matrix_unit() reads, as an operator lists them.
std::vector<Parameter> product_parameters(std::vector<Parameter> own);
// Returns all parameters of matmul.
std::vector<Parameter> matmul_parameters();
// Returns the parameter transpose_a or transpose_b.
Parameter transpose_parameter(const std::string& operand);

// Returns the format of the output: int32 for int8 operands, computed_format() otherwise.
const Format& product_format(const Case& test_case);

// Returns how a machine sums the products of a case whose result has the format `output`. Checksums
// of emulated results need it. Empty if sums are exact, or if the operator is not a product. Throws
// like matrix_unit().
std::optional<DotModel> product_model(const Case& test_case, const Machine& machine,
                                      const Format& output);

// Throws Refusal, which names the case, if the case is a product whose sums are
// rounded in a way that checksum thresholds and expected errors do not cover.
void require_known_errors(const Case& test_case);

// True if a matrix unit may compute the result as one product, so that checksums can check it. An
// operator that assay does not know may be one.
bool may_be_product(const Case& test_case);

// Returns the reason why nothing is known of the sums of a case's products a b without a machine.
// Such sums may have fewer bits than float32, as for 8-bit floats. Empty if float32 sums can be
// assumed.
std::string why_machine_is_needed(const Case& test_case);
// Throws Refusal if why_machine_is_needed() returns a reason.
void require_machine(const Case& test_case);

// The words for the reason why the tolerance of a product of integers is 0.
inline constexpr std::string_view kExactSums = "integers are multiplied and summed exactly";

}  // namespace assay
