// The common part of the operators of the vector unit: the arithmetic that a case selects, and how
// a result is written.
#pragma once

#include <cstring>
#include <vector>

#include "assay/format/convert.h"
#include "assay/machine/vector.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns `own` and then the parameters that arithmetic_of() reads, as an operator lists them:
// output_dtype, saturate and subnormals. If `widens` is set, compute_dtype comes before them.
std::vector<Parameter> unit_parameters(std::vector<Parameter> own, bool widens);
// Returns the parameter `fused`, which fused_of() reads.
Parameter fused_parameter();

// Returns the overflow that the attribute `saturate` selects, or the machine's. Without a machine,
// as for a reference, the default is IEEE.
Overflow overflow_of(const Case& test_case, const Machine& machine);
Overflow overflow_of(const Case& test_case);
// Returns what the attribute `subnormals` selects, or the machine's. Without a machine the default
// is gradual.
Subnormals subnormals_of(const Case& test_case, const Machine& machine);
Subnormals subnormals_of(const Case& test_case);
// True if multiply-adds round once: by the attribute `fused`, or as the machine's vector unit does.
// True if the machine has no vector unit, because CUDA's compiler contracts a * b + c by default.
bool fused_of(const Case& test_case, const Machine& machine);
// Returns the arithmetic of the machine's unit for operands of a format, as the case's attributes
// change it: `saturate`, `subnormals`, `fused`, `sum_dtype`, and `compute_dtype`, to which operands
// are widened first. Throws Refusal if the machine has no unit for it.
VectorArithmetic arithmetic_of(const Call& call, const Format& input);

// Returns the one float format of these inputs. Throws Refusal, which names the case
// and the inputs, if the inputs differ or are not float, or if the output is not float.
const Format& operand_format(const Case& test_case, const std::vector<const char*>& names,
                             const Format& output);

// Elements of a result that a thread computes at a time, so that its scratch memory stays in cache.
inline constexpr std::int64_t kElementsOfPart = 1 << 12;

// Stores `n` values at `to` in a result's format, rounded to nearest even. If `overflow` saturates,
// values beyond the range of the case's output dtype become its largest value, and NaN becomes 0.
// (The dtype of a golden result has a wider range.) Overwrites `values`.
void store_values(const Case& test_case, const Format& output, Overflow overflow, double* values,
                  std::int64_t n, std::byte* to);
void store_values(const Case& test_case, const Format& output, Overflow overflow, float* values,
                  std::int64_t n, std::byte* to);

// Reads to[0, n) = the values of a tensor from row-major index `begin`. As float32 they are exact
// for the formats that fits_float32() units take.
template <typename T>
void read_values(const Tensor& tensor, std::int64_t begin, std::int64_t n, T* to) {
  const Format& f = tensor.format();
  const std::byte* from = tensor.bytes() + begin * f.storage_bytes;
  const bool as_is = sizeof(T) == sizeof(float) ? f.name == "float32" : f.is_float64();
  if (!as_is)
    decode_array(f, from, static_cast<std::size_t>(n), to);
  else if (n > 0)
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
}

// Relative errors for tolerances, whatever the machine: `unit` is that of one rounding by the unit,
// and `output` is that of writing its result. 16-bit formats without their own arithmetic are
// computed in float32. Throws Refusal if the case flushes subnormals, because the error of a
// flushed operand has no bound.
struct RoundoffBounds {
  double unit;    // of an operation
  double output;  // error of the result's conversion. 0 if unit and output have one format.
  double tiny;    // half the smallest subnormal of the unit, and of an output in another format
  double result() const { return of(unit); }
  // Returns the relative error of a result after its conversion, from its error before the
  // conversion.
  double of(double error) const { return error + output + error * output; }
};
RoundoffBounds roundoff_bounds(const Case& test_case, const Format& input, const Format& output);
// Returns the same errors for a unit that computes in the format `unit`.
RoundoffBounds roundoff_bounds_in(const Case& test_case, const Format& unit, const Format& output);

// Throws Refusal if `what`, a step of the operator, may exceed the largest number of
// the arithmetic that computes it. Some units saturate there and others overflow, so no rounding
// bounds their results.
void require_range(const Case& test_case, const Format& arithmetic, const char* what, double value);
// Throws Refusal if the exact result may exceed the unit's range, while the output can hold such
// values. (The judge settles a result beyond the output's own range.)
void require_result_range(const Case& test_case, const Format& input, const Format& output);
void require_result_range_in(const Case& test_case, const Format& unit, const Format& output);

// Returns the format that operands are widened to before the unit computes: `compute_dtype`, or
// their own format. Throws Refusal, which names the case, if it cannot hold them.
const Format& compute_format(const Case& test_case, const Format& input);

// Returns the format of sums that this parameter of the case names, or nullptr if it is not given.
// Throws Refusal, which names the case, if sums cannot be computed in that format.
const Format* sums_format(const Case& test_case, const char* parameter);

// Returns the format that tolerances assume for the unit: `sum_dtype`, otherwise `compute_dtype`,
// otherwise the input's format if it has its own arithmetic (float16, float64), otherwise float32.
const Format& unit_format(const Case& test_case, const Format& input);

}  // namespace assay
