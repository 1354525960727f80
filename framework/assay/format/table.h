// The table of number formats, and the fields of a row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace assay::inline v0_2 {

// The kinds of numbers that a format can store.
enum class Kind : std::uint8_t {
  kFloat,
  kSigned,
  kUnsigned,
  kBool,
  // Two parts of a float format, first the real part (format.h: part_format).
  kComplex,
};

// The meaning of the codes at the end of a float format's range.
enum class Specials : std::uint8_t {
  // As in IEEE 754: codes with an all-ones exponent are infinity (zero mantissa) or NaN.
  kInfNan,
  kNanOnly,  // "fn": there is no infinity, and NaN is the all-ones code
  // There is no infinity and no negative zero. The one NaN has the code of negative zero.
  kFnuz,
  kFinite,   // every code is a finite number
  kScale,    // float8_e8m0fnu: 2^(code - bias), NaN is the all-ones code
  kTapered,  // hifloat8: a prefix of the code gives the width of the exponent
};

// A number format: its name, and the properties that give its bit patterns their meaning.
struct Format {
  std::string_view name;  // the name in ml_dtypes, and in a dataset's `dtype` attribute
  Kind kind;
  int storage_bytes;  // bytes of one element in memory and in a file
  int bits;           // number of bits that carry the value
  int precision;      // bits of the significand with the hidden one; integers: value bits
  int exponent_bits;
  int bias;
  Specials specials;
  int padding = 0;  // low bits of the storage that must be zero (tfloat32, hfloat32)

  bool is_float() const { return kind == Kind::kFloat; }
  bool is_complex() const { return kind == Kind::kComplex; }
  bool is_signed() const {
    return kind == Kind::kFloat ? specials != Specials::kScale : kind == Kind::kSigned;
  }
  bool has_infinity() const {
    return is_float() && (specials == Specials::kInfNan || specials == Specials::kTapered);
  }
  int mantissa_bits() const { return precision - 1; }
  // Exponent of the smallest normal value.
  int min_exponent() const { return 1 - bias; }
  // True if the stored bits are those of a float64.
  bool is_float64() const { return precision == 53 && exponent_bits == 11; }
};

// Returns the rows of real numbers, in the order of the documentation.
std::span<const Format> formats();
// Returns the rows of complex numbers. Only their name, kind and widths have a meaning; the other
// properties are those of the part's row.
std::span<const Format> complex_formats();

}  // namespace assay
