// The golden functions of whole arrays: a fast path in double-double arithmetic, and a test of its
// rounding. Elements that the test does not decide are left to the caller. The scalar oracle, which
// also decides these elements, is op/function_reference.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::inline v0_2::simd {

enum class GoldenFunction : std::uint8_t {
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kTanh,
  kSigmoid,
  kSilu,
  kGelu,     // x Phi(x)
  kGeluTanh  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
};

// Replaces values[i] by its correctly rounded function value if the rounding is certain. Leaves the
// other elements unchanged and writes their indices to left[0], left[1], ... in ascending order
// (`left` has room for n). Returns the number of these indices. They are NaN, subnormal, very large
// or very small arguments, and at most about one of a thousand others. They may differ between
// targets, the values do not. n is below 2^32.
std::size_t golden_function(GoldenFunction function, std::size_t n, double* values,
                            std::uint32_t* left);

}  // namespace assay::simd
