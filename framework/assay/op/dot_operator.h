// dot, and what it shares with matmul: which sums of products a machine's matrix unit takes.
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

namespace assay {

// The row of dot: n independent c + a . b, for a and b [n, K] and c [n]. With a float16 c and a
// float16 result the accumulator is float16, rounded to nearest once a chunk.
//
// Tolerance: as matmul's, over K products and c, with the roundoff of the accumulator: rtol half an
// ulp of the output, atol n u / (1 - n u) max (|c| + sum_k |a_k b_k|), n = K + 1, and half the
// smallest subnormal of each rounding. Zero for integers.
std::vector<Operator> dot_operators();

// How the products of a case's operands a and b are summed.
struct MatrixUnit {
  // Empty where sums are exact: those of the reference, and of integers.
  std::optional<DotModel> model;
  // What a machine's sums of integers do beyond int32; empty: they are the reference's, or floats'.
  std::optional<IntegerOverflow> overflow = std::nullopt;
  const Format* compute = nullptr;  // what operands are rounded to first; nullptr: nothing
  Rounding compute_rounding = Rounding::kNearestEven;
  // Operands are the sums of two terms, `compute` of them and `compute` of what that leaves.
  bool in_two_terms = false;
  KSplit split;
  Rounding output_rounding = Rounding::kNearestEven;
  bool round_before_bias = false;

  bool sums_exactly() const { return !model; }
  // What a product would be exact of, row-major: the matrix as the unit reads it; of operands in
  // two terms the matrix as it is.
  std::vector<double> operand(const TensorView& matrix) const;
  // The same, into memory for as many values, by `threads` threads (0: default_threads()).
  void read_operand(const TensorView& matrix, std::span<double> to, int threads) const;
  // The operands m x k and k x n, as operand() gives them, in the order in which they are summed:
  // those given, which are not copied, or the Summed's own.
  struct Summed {
    DotModel model;
    std::int64_t k = 0;
    std::span<const double> a, b;
    KParts parts;
    std::vector<double> own_a, own_b;
  };
  Summed summed(std::int64_t m, std::int64_t n, std::int64_t k, std::span<const double> a,
                std::span<const double> b) const;
  // The two terms of an operand's value; what is left of an infinity or NaN is 0.
  double first_term(double value) const;
  double rest(double value) const;
  // Exact sums as the accumulator holds them: with `overflow`, in int32.
  void hold(std::span<double> sums) const;
};

// From the case's inputs a and b and its parameters compute_dtype (tfloat32, hfloat32 or bfloat16,
// of float32 operands), compute_rounding and, of matmul, compute_terms: operands as they are to be
// read, with exact sums. Throws std::invalid_argument that names the case where operands or
// parameters do not go together.
MatrixUnit exact_unit(const Case& test_case);
// The same with the machine's sums, as promotion_interval changes them. Throws
// std::invalid_argument that names the case and what its machine lacks.
MatrixUnit matrix_unit(const Call& call);
// The parameters that matrix_unit reads, as rows of the table list them, behind `own`.
std::vector<Parameter> product_parameters(std::vector<Parameter> own);
// All of matmul's.
std::vector<Parameter> matmul_parameters();
// transpose_a or transpose_b.
Parameter transpose_parameter(const std::string& operand);

// The rule for the output's dtype: int8 -> int32, else computed_format().
const Format& product_format(const Case& test_case);

// How a machine sums the products of a case's result in this format, for checksums of emulated
// results; empty where sums are exact, and of an operator without such a product. Throws as
// matrix_unit() does.
std::optional<DotModel> product_model(const Case& test_case, const Machine& machine,
                                      const Format& output);

// Throws std::invalid_argument that names the case where it is a product whose sums are rounded in
// a way that thresholds of checksums and expected errors do not take into account.
void require_known_errors(const Case& test_case);

// Whether a matrix unit takes the result as one product: what checksums can check. An operator that
// assay does not know may be one.
bool may_be_product(const Case& test_case);

// Why nothing can be said of the sums of a case's products a b without a machine: they may be
// summed by fewer bits than float32 has, as those of 8-bit floats are. Empty where float32 holds.
std::string why_machine_is_needed(const Case& test_case);
// Throws std::invalid_argument where that is not empty.
void require_machine(const Case& test_case);

// Why a product of integers has no tolerance.
inline constexpr std::string_view kExactSums = "integers are multiplied and summed exactly";

}  // namespace assay
