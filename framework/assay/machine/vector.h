// The arithmetic of emulated vector units: elementwise operations and reductions. Every operation
// is the exact result, rounded once (to nearest even) to the format that the unit computes in, with
// the unit's policies for overflow and subnormal numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "assay/machine/vector_model.h"
#include "assay/simd/vector_unit.h"

namespace assay {

// What one operation needs to know of its unit.
struct VectorArithmetic {
  const Format* format;  // of operands and results: float32, one within it, or float64
  Overflow overflow = Overflow::kIeee;
  Subnormals subnormals = Subnormals::kGradual;
  bool fused = true;
};

using simd::VectorOp;

// The scalar oracle: a + b, a - b, a * b, a / b, a * b + c, the larger or smaller of a and b, or a
// function of a, in the unit's arithmetic. The operands are values of its format. Functions are
// within 2.5 ulps of float64 before they are rounded (machine/functions.h). kMax and kMin are exact
// whatever the policies: a NaN wins over every number, and -0 is below +0.
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

// Whether arrays of the unit's values may be float32, which is faster: so for float16 and float32.
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
  kBlock,       // a tree for each chunk; their sums in ascending order, in block_arithmetic()
  kFirstN,      // a tree for each chunk; their sums in ascending order
  kHighDim,     // a tree for each chunk, and a tree over their sums
};

// The unit's policies in float32; of a unit that computes in float64, in float64.
VectorArithmetic block_arithmetic(const VectorArithmetic& unit);

// The scalar oracle: the sum of x[i * stride] for i < n; +0 for n = 0. Only the last three orders
// read `chunk`, which is at least 1. The result is a value of the unit's format; that of kBlock one
// of block_arithmetic()'s.
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
