// The golden functions of whole arrays: a quick way in double-double arithmetic, and a test of its
// rounding that leaves what it does not decide to the caller. The scalar oracle, and what decides
// then, is op/function_reference.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::simd {

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

// values[i] becomes its function, correctly rounded, where that is sure; elsewhere it stays as it
// is, and the indices of those are left[0], left[1], ... in rising order (`left` has room for n).
// Returns how many they are: NaN, arguments that are subnormal, very large or very small, and
// about one of a thousand others or fewer. Which ones may differ from target to target, the values
// do not. n is below 2^32.
std::size_t golden_function(GoldenFunction function, std::size_t n, double* values,
                            std::uint32_t* left);

}  // namespace assay::simd
