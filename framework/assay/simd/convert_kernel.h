// Converts whole arrays of a number format to float64 and float32, and back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::inline v0_2::simd {

// The storage of an element in memory.
enum class Storage : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBf16,
  kI8,
  kU8,
  kI16,
  kI32,
  kI64,
  kTable8,   // one byte, an index into `table` (256 entries)
  kTable16,  // two bytes, an index into `table` (65536 entries)
};

// Sets to[i] to the value of from[i]. NaN stays NaN (its payload is unspecified), and signs and
// zeros are kept.
void to_float64(Storage storage, const void* from, std::size_t n, double* to, const double* table);

// A float format as the rounding kernel sees it.
struct RoundSpec {
  int drop;  // number of mantissa bits that only float64 has, 53 - precision
  double min_normal;
  double min_subnormal;
  double max_finite;
};

// Rounds values[i] in place to the nearest representable number, ties to even. NaN stays NaN, and
// overflow becomes infinity. Returns true if any finite value overflowed (a format without infinity
// then needs its own rule).
bool round_float64(const RoundSpec& spec, double* values, std::size_t n);
// Sets to[i] to from[i] rounded as by round_float64(). Float32 must be more precise than the format
// and hold all its values.
bool round_float32(const RoundSpec& spec, const float* from, std::size_t n, float* to);

// A float format of at most 16 bits with sign, exponent and mantissa, as the kernels below read it.
// Float32 holds all its values. A magnitude code is the bits of an element without its sign.
struct SmallFloat {
  // Number of bits of an element. It is stored in one byte if it has at most 8 bits, and in two
  // bytes if not.
  int bits;
  int mantissa_bits;      // 1 or more
  int bias;               // 0 to 127
  std::int32_t max_code;  // magnitude code of the largest finite value
  // Magnitude code of infinity, or max_code if the format has none. Larger magnitude codes are NaN.
  std::int32_t infinity_code;
  // Another code that is NaN (that of -0 in "fnuz" formats), or -1 if the format has no such code.
  std::int32_t nan_bits;
  // Only encoding reads the following fields.
  std::int32_t overflow_code;  // magnitude code that replaces those above max_code
  std::int32_t nan_code;       // magnitude code of the NaN that is written
  bool signed_zero, signed_nan;
};

// Sets to[i] to the value of from[i]. NaN becomes the quiet NaN of its sign, 0x7fc00000 or
// 0xffc00000.
void small_to_float32(const SmallFloat& format, const void* from, std::size_t n, float* to);

// Sets to[i] to the code of from[i], rounded once, ties to even. Returns true if any from[i] is
// NaN.
bool float32_to_small(const SmallFloat& format, const float* from, std::size_t n, void* to);

// Sets to[i] to from[i] rounded to odd. Rounding it once more, to at most 22 bits and no finer than
// 2^-147, gives the same as a single rounding (Boldo and Melquiond, IEEE Transactions on Computers
// 57(4), 2008). NaN stays NaN.
void round_to_odd_float32(const double* from, std::size_t n, float* to);

}  // namespace assay::simd
