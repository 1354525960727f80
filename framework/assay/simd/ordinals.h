// The parameters that give the ordinals of a binary float format's values.
#pragma once

#include <cstdint>

namespace assay::inline v0_2::simd {

// A binary float format that is at most as precise and as wide as float64. The ordinal of a
// magnitude x is (bits of x >> drop) - rebias if x >= min_normal, and x in units of the smallest
// subnormal if not.
struct Ordinals {
  double min_normal = 0, min_subnormal = 0;
  int drop = 0;  // number of float64's mantissa bits that the format does not have
  std::uint64_t rebias = 0;
};

// The value of `drop` for a format with float32's mantissa.
inline constexpr int kDropOfFloat32 = 52 - 23;

}  // namespace assay::simd
