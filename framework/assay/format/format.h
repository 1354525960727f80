// Number formats as data: a row of a table says what a bit pattern means, and one decode and one
// encode serve all rows. This room is the only door between bits and numbers.
//
//   const Format& bf16 = format_named("bfloat16");
//   encode(bf16, 1.0 / 3) == 0x3eab;      // nearest, ties to even
//   decode(bf16, 0x3eab) == 0.333984375;  // exact
//   ulp_distance(bf16, 0x3eab, 0x3eac) == 1;
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "assay: -ffast-math and its kind change results and lose NaN; compile without them"
#endif

namespace assay {

enum class Kind : std::uint8_t { kFloat, kSigned, kUnsigned, kBool };

// What the codes at the end of a float format's range mean.
enum class Specials : std::uint8_t {
  kInfNan,   // IEEE 754: the all-ones exponent holds infinity (zero mantissa) and NaN
  kNanOnly,  // "fn": no infinity, NaN is the all-ones code
  kFnuz,     // no infinity, no negative zero, the one NaN is the code of negative zero
  kFinite,   // every code is a number
  kScale,    // float8_e8m0fnu: 2^(code - bias), NaN is the all-ones code
  kTapered,  // hifloat8: the exponent's width is coded by a prefix
};

enum class Rounding : std::uint8_t {
  kNearestEven,
  kNearestAway,
  kTowardZero,
  kUp,
  kDown,
  kToOdd,  // inexact results get an odd last bit
};

enum class Overflow : std::uint8_t {
  kIeee,      // to infinity where the rounding mode says so; NaN where a format has no infinity
  kSaturate,  // to the largest finite value; NaN to zero, as the Ascend 910B with CTRL[48] = 0
};

struct Format {
  std::string_view name;  // the name in ml_dtypes, and in a dataset's `dtype` attribute
  Kind kind;
  int storage_bytes;  // of one element in memory and in a file
  int bits;           // that carry the value
  int precision;      // bits of the significand, the hidden one counted; integers: value bits
  int exponent_bits;
  int bias;
  Specials specials;
  int padding = 0;  // low bits of the storage that must be zero (tfloat32, hfloat32)

  bool is_float() const { return kind == Kind::kFloat; }
  bool is_signed() const {
    return kind == Kind::kFloat ? specials != Specials::kScale : kind == Kind::kSigned;
  }
  bool has_infinity() const {
    return is_float() && (specials == Specials::kInfNan || specials == Specials::kTapered);
  }
  int mantissa_bits() const { return precision - 1; }
  // Exponent of the smallest normal value.
  int min_exponent() const { return 1 - bias; }
};

// All rows, in the order of spec and documentation.
std::span<const Format> formats();

// The row of a name. Throws std::invalid_argument that names the word and the nearest known one.
const Format& format_named(std::string_view name);
// The same, nullptr where the name is unknown.
const Format* find_format(std::string_view name);

// The value of a bit pattern; exact, except that int64 beyond 2^53 rounds to nearest even. NaN
// codes give a quiet NaN with the code's sign.
double decode(const Format& format, std::uint64_t bits);

// The bit pattern of a value rounded once. NaN becomes the format's canonical quiet NaN with its
// sign; a format without NaN (integers, float4, float6) throws std::invalid_argument on it.
// Integers and bool saturate at their range whatever the policy; bool is x != 0.
std::uint64_t encode(const Format& format, double value, Rounding rounding = Rounding::kNearestEven,
                     Overflow overflow = Overflow::kIeee);

// decode(encode(value)): the representable number that `value` rounds to.
double round_to(const Format& format, double value, Rounding rounding = Rounding::kNearestEven,
                Overflow overflow = Overflow::kIeee);

bool is_nan(const Format& format, std::uint64_t bits);
bool is_inf(const Format& format, std::uint64_t bits);
bool is_subnormal(const Format& format, std::uint64_t bits);

// Whether a stored element is a code of the format: no bits beyond it, bool 0 or 1.
bool is_valid_code(const Format& format, std::uint64_t bits);

// Position in the ordered list of representable values: -0 and +0 are both 0, neighbours differ by
// one, infinity follows the largest finite value. Empty for NaN.
std::optional<std::int64_t> ordinal(const Format& format, std::uint64_t bits);

// How many representable values apart; empty where either is NaN. Saturates at 2^64 - 1.
std::optional<std::uint64_t> ulp_distance(const Format& format, std::uint64_t a, std::uint64_t b);

// The bit pattern next to this one, up or down; infinity and NaN stay.
std::uint64_t next_up(const Format& format, std::uint64_t bits);
std::uint64_t next_down(const Format& format, std::uint64_t bits);

// Spacing of the format's values at |value|: 2^(floor(log2 |value|) - mantissa bits), never less
// than the smallest subnormal (which is ulp(0)) nor more than the spacing at the largest finite
// value. Integers: 1. NaN gives NaN.
double ulp_of(const Format& format, double value);

double max_finite(const Format& format);
double min_normal(const Format& format);
double min_subnormal(const Format& format);
// Half the spacing at 1: the relative error of one nearest rounding. 0 for integers.
double unit_roundoff(const Format& format);

// "1.5 (0x3fc0)": a stored element in decimal and in bits, as failure texts print it.
std::string element_text(const Format& format, std::uint64_t bits);

std::string_view rounding_name(Rounding rounding);

}  // namespace assay
