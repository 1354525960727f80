// Whole arrays of a number format to float64 and back to representable values.
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

}  // namespace assay::simd
