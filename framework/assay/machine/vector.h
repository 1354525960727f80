// The arithmetic of emulated vector units: elementwise operations and reductions. Every operation
// is the exact result, rounded once (to nearest even) to the format that the unit computes in, with
// the unit's policies for overflow and subnormal numbers. There are two exceptions: a multiply-add
// rounds its product first if the unit does not fuse, and functions round a float64 result.
#pragma once

#include <cstdint>

#include "assay/machine/vector_model.h"
#include "assay/simd/vector_unit.h"

namespace assay::inline v0_2 {

// The properties of a unit that one operation needs.
struct VectorArithmetic {
  const Format* format;  // format of operands and results: float32, a subset of it, or float64
  Overflow overflow = Overflow::kIeee;
  Subnormals subnormals = Subnormals::kGradual;
  bool fused = true;
};

using simd::VectorOp;

// The scalar oracle. Computes a + b, a - b, a * b, a / b, a * b + c, the larger or smaller of a and
// b, or a function of a, in the unit's arithmetic. The operands are values of its format. Functions
// are within 2.5 ulps of float64 before they are rounded (machine/functions.h). kMax and kMin are
// exact under all policies: a NaN wins over every number, and -0 is below +0.
double vector_oracle(const VectorArithmetic& unit, VectorOp op, double a, double b = 0,
                     double c = 0);

// An operand of an array operation: an array, or one number for all elements.
template <typename T>
struct VectorOperand {
  VectorOperand(const T* array) : data(array) {}  // NOLINT: an array is an operand
  VectorOperand(const T* number, bool is_scalar) : data(number), scalar(is_scalar) {}
  const T* data;
  bool scalar = false;
};

// True if arrays of the unit's values may be float32, which is faster. This holds for float16 and
// float32.
bool fits_float32(const VectorArithmetic& unit);

// Writes vector_oracle(unit, op, a[i], b[i], c[i]) to to[i], with the same bits (any NaN for NaN).
// `to` may be one of the operands. Operations of one operand do not read `b`, and only kFma reads
// `c`. Arrays of float32 need fits_float32(unit).
void vector_apply(const VectorArithmetic& unit, VectorOp op, std::int64_t n,
                  VectorOperand<double> a, VectorOperand<double> b, VectorOperand<double> c,
                  double* to);
void vector_apply(const VectorArithmetic& unit, VectorOp op, std::int64_t n, VectorOperand<float> a,
                  VectorOperand<float> b, VectorOperand<float> c, float* to);

// The order of a sum. A tree adds adjacent pairs, level by level. The last of an odd number of
// elements moves up unchanged.
enum class ReduceOrder : std::uint8_t {
  kSequential,  // ascending
  kPairwise,    // one tree
  // Each chunk is summed by a tree. The chunks' sums are added in ascending order, in
  // block_arithmetic().
  kBlock,
  // Each chunk is summed by a tree. The chunks' sums are added in ascending order.
  kFirstN,
  // Each chunk is summed by a tree, and the chunks' sums by another tree.
  kHighDim,
};

// Returns the unit's policies in float32, or in float64 if the unit computes in float64.
VectorArithmetic block_arithmetic(const VectorArithmetic& unit);

// Writes the sum of column j of a row-major n x w matrix to sums[j], or +0 if n is 0. Only the last
// three orders read `chunk`, which is at least 1. A sum is a value of the unit's format, or of
// block_arithmetic()'s for kBlock. Overwrites `x`. Arrays of float32 need fits_float32(unit).
void reduce_sum(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk, std::int64_t n,
                std::int64_t w, double* x, double* sums);
void reduce_sum(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk, std::int64_t n,
                std::int64_t w, float* x, float* sums);

// Returns the largest of n > 0 numbers, as kMax compares them.
double vector_maximum(std::int64_t n, const double* x);
float vector_maximum(std::int64_t n, const float* x);

}  // namespace assay
