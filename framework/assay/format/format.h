// Number formats as data: a row of a table says what a bit pattern means, and one decode and one
// encode serve all rows. This room is the only door between bits and numbers.
//
//   const Format& bf16 = format_named("bfloat16");
//   encode(bf16, 1.0 / 3) == 0x3eab;      // nearest, ties to even
//   decode(bf16, 0x3eab) == 0.333984375;  // exact
//   ulp_distance(bf16, 0x3eab, 0x3eac) == 1;
//   custom_float(4, 4, 7, Specials::kNanOnly).name == "float9_e4m4fn";  // made at run time
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "assay/format/table.h"

namespace assay {

enum class Rounding : std::uint8_t {
  kNearestEven,
  kNearestAway,
  kTowardZero,
  kUp,
  kDown,
  kToOdd,       // inexact results get an odd last bit
  kStochastic,  // by random bits that the caller gives: struct Encoding
};

enum class Overflow : std::uint8_t {
  kIeee,      // to infinity where the rounding mode says so; NaN where a format has no infinity
  kSaturate,  // to the largest finite value; NaN to zero, as the Ascend 910B with CTRL[48] = 0
};

// What happens to subnormal numbers, on the way in (decode) or out (encode).
enum class Subnormals : std::uint8_t {
  kGradual,  // as IEEE 754
  kFlush,    // to the zero of their sign, +0 where a format has no negative zero
};

// How encode() turns a number into bits.
struct Encoding {
  Rounding rounding = Rounding::kNearestEven;
  Overflow overflow = Overflow::kIeee;
  // kFlush: what rounds to a subnormal becomes zero; what rounds up to the smallest normal stays.
  Subnormals subnormals = Subnormals::kGradual;
  // For kStochastic: the low `random_bits` bits (1 to 64) of `random`, uniform and fresh for every
  // element, as an integer r. Let d in [0, 1) be what lies beyond the neighbour nearer to zero, as
  // a fraction of the gap to the next one, cut to random_bits bits. The result is the neighbour
  // farther from zero where d + r / 2^random_bits >= 1, hence with probability d. Representable
  // numbers stay. Beyond the largest finite value the next neighbour is an overflow.
  std::uint64_t random = 0;
  int random_bits = 0;
};

// The row of a name, or of what others call it: fp16, half and torch.float16 are float16, bf16 is
// bfloat16, fp32 and float float32, fp64 and double float64, fp8_e4m3fn float8_e4m3fn, int, short
// and long those of C, tf32, hf32, hif8. What is printed and written is the row's own name. Throws
// std::invalid_argument that names the word, and the nearest known one or those that it may be.
const Format& format_named(std::string_view name);
// The same, nullptr where the name is unknown.
const Format* find_format(std::string_view name);
// What is said of a name that is none: "'fp8' may be float8_e4m3fn, ...: which one?", "'float17' is
// no dtype that assay knows; ...". The Python package says the same.
std::string no_dtype(std::string_view name);

// What the elements of a format are made of: of complex128, complex64 and complex32 float64,
// float32 and float16, of every other format itself. Decoding, encoding and all else below takes
// one part: of a complex format it throws std::invalid_argument, but for the sizes (max_finite() to
// unit_roundoff()), which are the part's.
const Format& part_format(const Format& format);
// Whether `a` is of the same kind as `b`, real or complex, float or integer, and has more bits of
// the significand (integers: value bits).
bool has_more_precision(const Format& a, const Format& b);
// For what takes real numbers alone. Throws std::invalid_argument of a complex format.
void require_real(const Format& format);

// A float format made at run time: a sign, `exponent_bits`, `mantissa_bits`, and these specials
// (kInfNan, kNanOnly, kFnuz or kFinite). A field e > 0 of the exponent stands for 2^(e - bias). The
// row lives as long as the program; equal arguments give the same row, and those of a row of the
// table give that row. Names are in the manner of ml_dtypes: float9_e4m4fn, float8_e3m4b7fnuz, with
// b and the bias where it is not the usual one (2^(exponent_bits - 1) - 1, for kFnuz one more), and
// "fin" for kFinite; format_named() does not know them.
// Throws std::invalid_argument that names the argument: exponent bits outside 1..11, mantissa bits
// outside 0..52 (1..52 with kInfNan), a largest value that is not normal, values beyond float64.
const Format& custom_float(int exponent_bits, int mantissa_bits, int bias, Specials specials);

// The value of a bit pattern; exact, except that int64 beyond 2^53 rounds to nearest even. NaN
// codes give a quiet NaN with the code's sign.
double decode(const Format& format, std::uint64_t bits,
              Subnormals subnormals = Subnormals::kGradual);

// The bit pattern of a value rounded once. NaN becomes the format's canonical quiet NaN with its
// sign; a format without NaN (integers, float4, float6) throws std::invalid_argument on it.
// Integers and bool saturate at their range whatever the policy; bool is x != 0. Throws
// std::invalid_argument for stochastic rounding without random bits.
std::uint64_t encode(const Format& format, double value, const Encoding& encoding);
inline std::uint64_t encode(const Format& format, double value,
                            Rounding rounding = Rounding::kNearestEven,
                            Overflow overflow = Overflow::kIeee) {
  return encode(format, value, Encoding{.rounding = rounding, .overflow = overflow});
}

// decode(encode(value)): the representable number that `value` rounds to.
double round_to(const Format& format, double value, const Encoding& encoding);
inline double round_to(const Format& format, double value,
                       Rounding rounding = Rounding::kNearestEven,
                       Overflow overflow = Overflow::kIeee) {
  return round_to(format, value, Encoding{.rounding = rounding, .overflow = overflow});
}

bool is_nan(const Format& format, std::uint64_t bits);
bool is_inf(const Format& format, std::uint64_t bits);
bool is_subnormal(const Format& format, std::uint64_t bits);

// Whether a stored element is a code of the format: no bits beyond it, bool 0 or 1.
bool is_valid_code(const Format& format, std::uint64_t bits);

// Position in the ordered list of representable values: -0 and +0 are both 0, neighbours differ by
// one, infinity follows the largest finite value. Empty for NaN. (Of uint64 2^63 is 0.)
std::optional<std::int64_t> ordinal(const Format& format, std::uint64_t bits);
// The code at such a position, +0 at 0; empty beyond the ends.
std::optional<std::uint64_t> at_ordinal(const Format& format, std::int64_t position);

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

// "1.5-2j (0x3fc00000, 0xc0000000)": the two parts of a stored complex element.
std::string complex_text(const Format& format, std::uint64_t real, std::uint64_t imaginary);

std::string_view rounding_name(Rounding rounding);

}  // namespace assay
