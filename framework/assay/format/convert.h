// Conversion of whole arrays between bits and numbers, with the same results as decode() and
// encode() for each element, by vector instructions chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "assay/format/format.h"

namespace assay::inline v0_2 {

// For all functions: `from` and `to` do not overlap unless stated, and codes are stored without
// gaps, format.storage_bytes each.
//
// Conversions between float32 and formats of at most 16 bits run at memory speed. This holds for
// every float format of the table except float8_e8m0fnu and hifloat8, and for custom formats with
// at least one mantissa bit, a bias of 0 to 127 and no value beyond float32. Rounding is
// nearest_even.

// Writes decode(format, from[i]) to to[i]. For float32, wider values (float64, integers) are
// rounded to nearest even. NaN becomes the quiet NaN of its sign.
void decode_array(const Format& format, const std::byte* from, std::size_t n, double* to);
void decode_array(const Format& format, const std::byte* from, std::size_t n, float* to);

// Writes encode(format, from[i], Rounding::kNearestEven, overflow) to to[i].
void encode_array(const Format& format, const double* from, std::size_t n, std::byte* to,
                  Overflow overflow = Overflow::kIeee);
void encode_array(const Format& format, const float* from, std::size_t n, std::byte* to,
                  Overflow overflow = Overflow::kIeee);

// Replaces values[i] by round_to(format, values[i]) with nearest_even and IEEE overflow. Values
// that the format cannot represent at all stay unchanged: NaN in a format without NaN, and infinity
// in one without NaN and infinity.
void round_array(const Format& format, double* values, std::size_t n);

// Writes round_to(format, from[i]) with nearest_even and IEEE overflow to to[i]. The format must
// have infinity, and float32 must hold all its values. `from` and `to` may be one array.
void round_array(const Format& format, const float* from, std::size_t n, float* to);
void round_array(const Format& format, const double* from, std::size_t n, float* to);

// Load one stored element as an integer, and store one. Elements are little-endian, like all
// platforms that assay runs on. `at` need not be aligned. The elements of a complex tensor are
// loaded part by part (tensor.h: parts_of).
inline std::uint64_t load_element(const Format& format, const std::byte* at) {
  if (format.is_complex()) require_real(format);
  const auto load = [at](auto element) {
    std::memcpy(&element, at, sizeof element);
    return static_cast<std::uint64_t>(element);
  };
  switch (format.storage_bytes) {
    case 1:
      return load(std::uint8_t{});
    case 2:
      return load(std::uint16_t{});
    case 4:
      return load(std::uint32_t{});
    default:
      return load(std::uint64_t{});
  }
}
inline void store_element(const Format& format, std::byte* at, std::uint64_t bits) {
  if (format.is_complex()) require_real(format);
  switch (format.storage_bytes) {
    case 1:
      std::memcpy(at, &bits, 1);
      break;
    case 2:
      std::memcpy(at, &bits, 2);
      break;
    case 4:
      std::memcpy(at, &bits, 4);
      break;
    default:
      std::memcpy(at, &bits, 8);
      break;
  }
}

}  // namespace assay
