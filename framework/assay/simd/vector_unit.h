// The arithmetic of a vector unit on arrays of float32, which hold values of float32 or of float16.
// Every operation rounds once, by the unit's policies, except kFma of a unit that is not fused. The
// scalar oracle is in machine/vector.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::inline v0_2::simd {

enum class VectorOp : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFma,  // a * b + c
  // The larger and the smaller of two numbers. NaN wins over numbers, and -0 is below +0. Both are
  // exact, and the policies do not apply to them.
  kMax,
  kMin,
  // Functions of a.
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kTanh,
  kErf,
};

// The format and the policies by which the unit computes.
struct VectorUnit {
  bool half;  // values are float16 if true, float32 if false
  // If true, results beyond the range become the largest finite value, and NaN becomes 0. If false,
  // as in IEEE 754.
  bool saturate;
  bool flush;  // subnormal operands and results become the zero of their sign
  bool fused;  // true if kFma rounds once, false if it also rounds the product
};

// An operand of unit_apply(): an array, or one number for all elements.
struct UnitOperand {
  const float* data = nullptr;
  bool scalar = false;
};

// Writes the result of `op` on a[i], b[i] and, for kFma, c[i] to to[i], for i < n and the
// operations kAdd to kMin. `to` may be one of the operands.
void unit_apply(const VectorUnit& unit, VectorOp op, std::size_t n, UnitOperand a, UnitOperand b,
                UnitOperand c, float* to);

// Writes f(x[i]) to to[i] for i < n and the functions kExp to kErf, computed in float64 by the
// polynomials of function_terms.h and rounded once. `to` may be x.
void unit_function(const VectorUnit& unit, VectorOp op, std::size_t n, const float* x, float* to);
// Writes the same functions without the rounding, as float64 values.
void float64_function(VectorOp op, std::size_t n, const double* x, double* to);

// Writes x[2 i] + x[2 i + 1] to to[i] for i < pairs, which is one level of a tree. `to` may be x.
void unit_pair_sums(const VectorUnit& unit, std::size_t pairs, const float* x, float* to);

// Writes x[0][j] + x[1][j] + ... to sums[j] for a row-major n x w matrix, added in ascending order,
// for n > 0. Does not flush subnormals of x.
void unit_chain(const VectorUnit& unit, std::size_t n, std::size_t w, const float* x, float* sums);

// Returns the largest of x, as kMax compares them, for n > 0.
float unit_maximum(std::size_t n, const float* x);

// Writes the transpose of `from` to `to`: to[i][j] = from[j][i], where `from` has the shape rows x
// n.
void transpose(std::size_t rows, std::size_t n, const float* from, float* to);

}  // namespace assay::simd
