// The vector unit of emulated machines: elementwise arithmetic and reductions. A model is data, as
// a dot model is; every operation is the exact result rounded once (nearest even) to the format
// that the unit computes in, with its overflow and subnormal policy.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "assay/machine/machine.h"
#include "assay/simd/vector_unit.h"

namespace assay {

std::string_view subnormals_word(Subnormals subnormals);

// How a unit treats one input format.
struct VectorFormat {
  std::string_view input;
  Known<std::string_view> unit;  // the format that it computes in
  Known<int> repeat;             // elements of one repeat, a power of two; 0: has no repeats
};

struct VectorModel {
  std::string_view machine;  // its row in machines()
  std::span<const VectorFormat> formats;
  Known<Overflow> overflow;
  Known<Subnormals> subnormals;
  Known<bool> fused;  // multiply-add: one rounding, else the product is rounded first
  // tanh is (e - 1) / (e + 1) with e = exp(2 x), x held at +-8.8, in float32; tanh's GELU is
  // x / (1 + exp(-2 u)). Else tanh is a function as the others are.
  Known<bool> tanh_by_exp;
  // How it is known that exp, log, sqrt, rsqrt, erf and tanh are the exact value rounded once.
  Provenance functions;
  std::string_view source;
};

std::span<const VectorModel> vector_models();
// nullptr where the machine has none (`exact`, the reference, is not emulated by one).
const VectorModel* find_vector_model(std::string_view machine);
// Throws std::invalid_argument that names the machine, and those that have a vector unit.
const VectorModel& vector_model(const Machine& machine);
// Throws std::invalid_argument with the formats that the machine's vector unit takes.
const VectorFormat& vector_format(const VectorModel& model, const Format& input);

// What one operation needs to know.
struct VectorArithmetic {
  const Format* format;  // of operands and results; at most float32, or float64
  Overflow overflow = Overflow::kIeee;
  Subnormals subnormals = Subnormals::kGradual;
  bool fused = true;
};

using simd::VectorOp;

// Scalar oracle: a + b, a - b, a * b, a / b, a * b + c, the larger or smaller of a and b, or a
// function of a, in the unit's arithmetic. The operands are values of its format. Functions are
// within 2.5 ulps of float64 before they are rounded (machine/functions.h); kMax and kMin are
// exact, NaN wins and -0 is below +0, whatever the policies.
double vector_oracle(const VectorArithmetic& unit, VectorOp op, double a, double b = 0,
                     double c = 0);

// An operand of an array operation: an array, or one number that goes with all elements.
template <typename T>
struct VectorOperand {
  VectorOperand(const T* array) : data(array) {}  // NOLINT: an array is an operand
  VectorOperand(const T* number, bool is_scalar) : data(number), scalar(is_scalar) {}
  const T* data;
  bool scalar = false;
};

// Whether arrays of the unit's values may be float32, which is the fast path: float16 and float32.
bool fits_float32(const VectorArithmetic& unit);

// to[i] = vector_oracle(unit, op, a[i], b[i], c[i]), the same bits (any NaN for NaN); `to` may be
// one of the operands. `b` is read by operations of two operands, `c` by kFma alone. Arrays of
// float32 need fits_float32(unit).
void vector_apply(const VectorArithmetic& unit, VectorOp op, std::int64_t n,
                  VectorOperand<double> a, VectorOperand<double> b, VectorOperand<double> c,
                  double* to);
void vector_apply(const VectorArithmetic& unit, VectorOp op, std::int64_t n, VectorOperand<float> a,
                  VectorOperand<float> b, VectorOperand<float> c, float* to);

// The order of a sum. A tree adds adjacent pairs, level by level; the last of an odd number goes up
// as it is.
enum class ReduceOrder : std::uint8_t {
  kSequential,  // ascending
  kPairwise,    // one tree
  kBlock,       // a tree a chunk, their sums in ascending order by block_arithmetic
  kFirstN,      // a tree a chunk, their sums in ascending order
  kHighDim,     // a tree a chunk, and a tree over their sums
};

// The same policies in float32 (float64 in float64).
VectorArithmetic block_arithmetic(const VectorArithmetic& unit);

// Scalar oracle: the sum of x[i * stride] for i < n; +0 for n = 0. `chunk` is read by the last
// three orders, and is at least 1. The result of kBlock is a float32, of the others the unit's
// format.
double reduce_oracle(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk,
                     std::int64_t n, const double* x, std::int64_t stride = 1);

// sums[j] = reduce_oracle of column j of a row-major n x w matrix, the same bits. `x` is scratch
// afterwards. Arrays of float32 need fits_float32(unit).
void reduce_sum(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk, std::int64_t n,
                std::int64_t w, double* x, double* sums);
void reduce_sum(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk, std::int64_t n,
                std::int64_t w, float* x, float* sums);

// The largest of n > 0 numbers by kMax.
double vector_maximum(std::int64_t n, const double* x);
float vector_maximum(std::int64_t n, const float* x);

}  // namespace assay
