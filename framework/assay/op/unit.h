// What the operators of the vector unit share: which arithmetic a case asks for, and how a result
// is written.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "assay/format/convert.h"
#include "assay/machine/vector.h"
#include "assay/op/operator.h"

namespace assay {

// The parameters that arithmetic_of reads, as rows of the table list them, behind `own`:
// output_dtype, saturate and subnormals; with compute_dtype before them where `widens`.
std::vector<Parameter> unit_parameters(std::vector<Parameter> own, bool widens);
// The parameter `fused`, that fused_of reads.
Parameter fused_parameter();

// What the attribute `saturate` asks for, else the machine's overflow. Without a machine, as a
// reference asks: IEEE.
Overflow overflow_of(const Case& test_case, const Machine& machine);
Overflow overflow_of(const Case& test_case);
// What the attribute `subnormals` asks for, else the machine's; without a machine: gradual.
Subnormals subnormals_of(const Case& test_case, const Machine& machine);
Subnormals subnormals_of(const Case& test_case);
// Whether multiply-adds round once: by the attribute `fused`, else as the machine's vector unit
// does; where it has none, yes: CUDA's compiler contracts a * b + c by default.
bool fused_of(const Case& test_case, const Machine& machine);
// The arithmetic of the machine's unit for operands of a format, as the case's attributes change it
// (`fused`, `compute_dtype`: operands are widened to that dtype first; `sum_dtype`). Throws
// std::invalid_argument where the machine has no unit that takes it.
VectorArithmetic arithmetic_of(const Call& call, const Format& input);

// The one float format of these inputs. Throws std::invalid_argument that names the case and the
// inputs where they differ or are not float, and where the output is not float.
const Format& operand_format(const Case& test_case, const std::vector<const char*>& names,
                             const Format& output);

// Stores `n` values at `to` in a result's format, rounded to nearest even. Saturating, values
// beyond the range of the case's output dtype (that of a golden result is wider) become its
// largest, and NaN 0. `values` is scratch afterwards.
void store_values(const Case& test_case, const Format& output, Overflow overflow, double* values,
                  std::int64_t n, std::byte* to);
void store_values(const Case& test_case, const Format& output, Overflow overflow, float* values,
                  std::int64_t n, std::byte* to);

// to[0, n) = the values of a tensor from row-major index `begin`. As float32 they are exact for the
// formats that fits_float32() units take.
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

// For tolerances: the relative errors of one rounding by the unit, whatever the machine (16-bit
// formats without an arithmetic of their own are computed in float32), and of writing its result.
// Throws std::invalid_argument where the case flushes subnormals: a flushed operand's error is
// bounded by nothing.
struct RoundoffBounds {
  double unit;    // of an operation
  double output;  // of the result's conversion; 0 where unit and output are one format
  double tiny;    // half the smallest subnormals of both
  double result() const { return of(unit); }
  // A relative error before the conversion, and with it.
  double of(double error) const { return error + output + error * output; }
};
RoundoffBounds roundoff_bounds(const Case& test_case, const Format& input, const Format& output);
// The same of a unit that computes in this format.
RoundoffBounds roundoff_bounds_in(const Case& test_case, const Format& unit, const Format& output);

// Throws std::invalid_argument where `what`, a step of the operator, may reach a value beyond the
// largest number of the arithmetic that computes it. There some units saturate and others overflow,
// and no rounding bounds what they give.
void require_range(const Case& test_case, const Format& arithmetic, const char* what, double value);
// The same of the exact result, where the output could hold what the unit cannot. (A result beyond
// the output's own range is settled by the judge.)
void require_result_range(const Case& test_case, const Format& input, const Format& output);
void require_result_range_in(const Case& test_case, const Format& unit, const Format& output);

// What operands are widened to before the unit computes: `compute_dtype`, else their own format.
// Throws std::invalid_argument that names the case where it does not hold them.
const Format& compute_format(const Case& test_case, const Format& input);

// The format of sums that this parameter of the case names, nullptr where it is not given. Throws
// std::invalid_argument that names the case where no sums are computed in it.
const Format* sums_format(const Case& test_case, const char* parameter);

// The format that tolerances assume for the unit: that of `sum_dtype`, of `compute_dtype`, else the
// input's where it has arithmetic of its own (float16, float64), else float32.
const Format& unit_format(const Case& test_case, const Format& input);

}  // namespace assay
