// Whole arrays through the door between bits and numbers: the same results as decode() and
// encode(), element by element, by vector instructions chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "assay/format/format.h"

namespace assay {

// `from` and `to` do not overlap. Codes lie without gaps, format.storage_bytes each.
//
// Between float32 and formats of at most 16 bits these run at memory speed, in every row but
// float8_e8m0fnu and hifloat8, and in custom formats with at least one mantissa bit, a bias of 0 to
// 127 and no value beyond float32. Rounding is nearest_even.

// to[i] = decode(format, from[i]), for float32 rounded to nearest even where it is wider (float64,
// integers). NaN is the quiet NaN of its sign.
void decode_array(const Format& format, const std::byte* from, std::size_t n, double* to);
void decode_array(const Format& format, const std::byte* from, std::size_t n, float* to);

// to[i] = encode(format, from[i], Rounding::kNearestEven, overflow).
void encode_array(const Format& format, const double* from, std::size_t n, std::byte* to,
                  Overflow overflow = Overflow::kIeee);
void encode_array(const Format& format, const float* from, std::size_t n, std::byte* to,
                  Overflow overflow = Overflow::kIeee);

// values[i] = round_to(format, values[i]) with nearest_even and IEEE overflow, in place. What the
// format cannot hold stays as it is: NaN in a format without NaN, infinity in one without NaN and
// infinity.
void round_array(const Format& format, double* values, std::size_t n);

// to[i] = round_to(format, from[i]) with nearest_even and IEEE overflow, for a format with infinity
// all of whose values float32 holds; `from` and `to` may be one array.
void round_array(const Format& format, const float* from, std::size_t n, float* to);
void round_array(const Format& format, const double* from, std::size_t n, float* to);

// One stored element as an integer, and back; little-endian, as everything assay runs on. `at` need
// not be aligned. Of complex elements it is parts that are loaded (tensor.h: parts_of).
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
