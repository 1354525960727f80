// Converts whole arrays of a number format to float64 and float32, and back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::simd {

// How an element lies in memory.
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
  kTable8,   // one byte that indexes `table` (256 entries)
  kTable16,  // two bytes that index `table` (65536 entries)
};

// to[i] = the value of from[i]; NaN stays NaN (payload unspecified), signs and zeros are kept.
void to_float64(Storage storage, const void* from, std::size_t n, double* to, const double* table);

// A float format as the rounding kernel sees it.
struct RoundSpec {
  int drop;  // mantissa bits that a float64 has more: 53 - precision
  double min_normal;
  double min_subnormal;
  double max_finite;
};

// Rounds values[i] to the nearest representable number, ties to even, in place; NaN stays, overflow
// goes to infinity. Returns whether any finite value overflowed (a format without infinity then
// needs its own rule).
bool round_float64(const RoundSpec& spec, double* values, std::size_t n);
// to[i] = from[i] rounded in the same way, to a format less precise than float32 all of whose
// values float32 holds.
bool round_float32(const RoundSpec& spec, const float* from, std::size_t n, float* to);

// A float format of at most 16 bits with sign, exponent and mantissa, all of whose values float32
// holds, as the kernels below see it. A magnitude code is the bits of an element without its sign.
struct SmallFloat {
  int bits;                    // an element is one byte where these are at most 8, else two
  int mantissa_bits;           // 1 or more
  int bias;                    // 0 to 127
  std::int32_t max_code;       // the largest finite magnitude
  std::int32_t infinity_code;  // of infinity, or max_code where there is none; NaN lies beyond it
  std::int32_t nan_bits;       // the code that is NaN besides ("fnuz": that of -0), or -1
  // What follows is read by encoding alone.
  std::int32_t overflow_code;  // the magnitude that replaces what is larger than max_code
  std::int32_t nan_code;       // the magnitude of the canonical NaN
  bool signed_zero, signed_nan;
};

// to[i] = the value of from[i]; NaN becomes the quiet NaN of its sign, 0x7fc00000 or 0xffc00000.
void small_to_float32(const SmallFloat& format, const void* from, std::size_t n, float* to);

// to[i] = the code of from[i], rounded once, ties to even. Returns whether any from[i] is NaN.
bool float32_to_small(const SmallFloat& format, const float* from, std::size_t n, void* to);

// to[i] = from[i] rounded to odd. Where that is rounded once more, to at most 22 bits and no finer
// than 2^-147, the result is that of a single rounding (Boldo and Melquiond, IEEE Transactions on
// Computers 57(4), 2008). NaN stays NaN.
void round_to_odd_float32(const double* from, std::size_t n, float* to);

}  // namespace assay::simd
