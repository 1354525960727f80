// Number formats as data: a row of a table defines the meaning of a bit pattern, and one decode and
// one encode serve all rows. Only this room converts between bits and numbers.
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

namespace assay::inline v0_2 {

// The rounding modes of encode().
enum class Rounding : std::uint8_t {
  kNearestEven,
  kNearestAway,
  kTowardZero,
  kUp,
  kDown,
  kToOdd,       // an inexact result gets an odd last bit
  kStochastic,  // rounds by random bits of the caller: struct Encoding
};

// The treatment of results beyond the largest finite value when they are written (encode).
enum class Overflow : std::uint8_t {
  // A result beyond the range becomes infinity if the rounding mode requires it. It becomes NaN if
  // the format has NaN but no infinity, and the largest finite value if the format has neither.
  kIeee,
  // A result beyond the range becomes the largest finite value, and NaN becomes zero. This is what
  // the Ascend 910B does with CTRL[48] = 0.
  kSaturate,
};

// The treatment of subnormal numbers when they are read (decode) or written (encode).
enum class Subnormals : std::uint8_t {
  kGradual,  // as IEEE 754
  // Subnormal numbers become the zero of their sign, or +0 if the format has no negative zero.
  kFlush,
};

// Options of encode(): the rounding and the treatment of overflow and subnormals.
struct Encoding {
  Rounding rounding = Rounding::kNearestEven;
  Overflow overflow = Overflow::kIeee;
  // With kFlush, a result that is subnormal becomes zero. A value that is rounded up to the
  // smallest normal number stays.
  Subnormals subnormals = Subnormals::kGradual;
  // For kStochastic. The low `random_bits` bits (1 to 64) of `random` are an integer r, which must
  // be uniform and new for every element. Let d in [0, 1) be the distance from the neighbour nearer
  // to zero, as a fraction of the gap to the next one, cut to random_bits bits. The result is the
  // neighbour farther from zero if d + r / 2^random_bits >= 1, hence with probability d.
  // Representable numbers stay. Beyond the largest finite value the next neighbour is an overflow.
  std::uint64_t random = 0;
  int random_bits = 0;
};

// Returns the format of a name. Output always has the table's own name, but other common names are
// accepted:
// - fp16, half and torch.float16 for float16, bf16 for bfloat16, fp8_e4m3fn for float8_e4m3fn
// - fp32 and float for float32, fp64 and double for float64
// - int, short and long as in C
// - tf32, hf32 and hif8.
//
// Throws Refusal, which names the word and the nearest known name, or the names that
// it may stand for.
const Format& format_named(std::string_view name);
// Returns the format of a name as format_named() does, but nullptr if the name is unknown.
const Format* find_format(std::string_view name);
// Returns the message for a name that is not a dtype: "'fp8' may be float8_e4m3fn, ...: which
// one?", "'float17' is no dtype that assay knows; ...". The Python package has the same messages.
std::string no_dtype(std::string_view name);

// Returns the format of the parts of a format's elements: float64, float32 and float16 for
// complex128, complex64 and complex32, and the format itself for every other one. All functions
// below take one part. For a complex format they throw Refusal, except the sizes
// (max_finite() to unit_roundoff()), which are those of the part.
const Format& part_format(const Format& format);
// True if a format is wider: `a` is of the same kind as `b`, real or complex, float or integer, and
// has more bits of the significand (integers: value bits).
bool has_more_precision(const Format& a, const Format& b);
// Throws Refusal for a complex format. Functions that take only real numbers call it.
void require_real(const Format& format);

// Returns a float format made at run time, with a sign, `exponent_bits`, `mantissa_bits`, and these
// specials (kInfNan, kNanOnly, kFnuz or kFinite). An exponent field e > 0 stands for 2^(e - bias).
// The row lives as long as the program. Equal arguments return the same row, and the arguments of a
// row of the table return that row.
//
// Names follow ml_dtypes: float9_e4m4fn, float8_e3m4b7fnuz. They contain b and the bias if it is
// not the usual one (2^(exponent_bits - 1) - 1, for kFnuz one more), and "fin" for kFinite.
// format_named() does not know them.
//
// Throws Refusal, which names the argument, for exponent bits outside 1..11 or
// mantissa bits outside 0..52 (1..52 with kInfNan). Also throws if the largest value is not normal,
// or if values lie beyond float64.
const Format& custom_float(int exponent_bits, int mantissa_bits, int bias, Specials specials);

// Returns the value of a bit pattern. It is exact, except that int64 and uint64 beyond 2^53 round
// to nearest even. NaN codes return a quiet NaN with the code's sign.
double decode(const Format& format, std::uint64_t bits,
              Subnormals subnormals = Subnormals::kGradual);

// Returns the bit pattern of a value rounded once. NaN becomes the format's canonical quiet NaN
// with its sign, or 0 in a float format with Overflow::kSaturate. Otherwise a NaN throws Refusal
// for a format without NaN (integers, float4, float6). Integers and bool saturate at their range
// whatever the overflow policy is; bool is x != 0. Throws Refusal for stochastic rounding without
// random bits.
std::uint64_t encode(const Format& format, double value, const Encoding& encoding);
inline std::uint64_t encode(const Format& format, double value,
                            Rounding rounding = Rounding::kNearestEven,
                            Overflow overflow = Overflow::kIeee) {
  return encode(format, value, Encoding{.rounding = rounding, .overflow = overflow});
}

// Returns decode(encode(value)), which is the representable number that `value` rounds to.
double round_to(const Format& format, double value, const Encoding& encoding);
inline double round_to(const Format& format, double value,
                       Rounding rounding = Rounding::kNearestEven,
                       Overflow overflow = Overflow::kIeee) {
  return round_to(format, value, Encoding{.rounding = rounding, .overflow = overflow});
}

// Return true if a bit pattern is NaN, infinity, or a subnormal number other than 0. They return
// false for integers and bool.
bool is_nan(const Format& format, std::uint64_t bits);
bool is_inf(const Format& format, std::uint64_t bits);
bool is_subnormal(const Format& format, std::uint64_t bits);
// True if two codes are equal, or both are NaN.
bool same_code(const Format& format, std::uint64_t a, std::uint64_t b);

// True if a stored element is a code of the format: no other bits are set, and bool is 0 or 1.
bool is_valid_code(const Format& format, std::uint64_t bits);

// Returns the position in the ordered list of representable values. -0 and +0 are both 0,
// neighbours differ by one, and infinity follows the largest finite value. Empty for NaN. (For
// uint64, 2^63 has position 0.)
std::optional<std::int64_t> ordinal(const Format& format, std::uint64_t bits);
// Returns the code at a position that ordinal() gives. It is +0 for position 0. Empty beyond the
// ends of the list of values.
std::optional<std::uint64_t> at_ordinal(const Format& format, std::int64_t position);

// Returns how many representable values a and b are apart. Empty if either is NaN.
std::optional<std::uint64_t> ulp_distance(const Format& format, std::uint64_t a, std::uint64_t b);

// Return the next bit pattern up or down in the order of values. Infinity and NaN stay.
std::uint64_t next_up(const Format& format, std::uint64_t bits);
std::uint64_t next_down(const Format& format, std::uint64_t bits);

// Returns the spacing of the format's values at |value|: 2^(floor(log2 |value|) - mantissa bits).
// It is at least the smallest subnormal (which is ulp(0)) and at most the spacing at the largest
// finite value. Returns 1 for integers, and NaN for NaN.
double ulp_of(const Format& format, double value);

// Return the largest finite value, the smallest positive normal value and the smallest positive
// value. For integers, the first is rounded to float64, and the other two are 1.
double max_finite(const Format& format);
double min_normal(const Format& format);
double min_subnormal(const Format& format);
// Returns half the spacing at 1, which is the largest relative error of one rounding to nearest. 0
// for integers.
double unit_roundoff(const Format& format);

// Returns a stored element in decimal and in bits, as failure texts print it: "1.5 (0x3fc0)".
std::string element_text(const Format& format, std::uint64_t bits);

// Returns the two parts of a stored complex element: "1.5-2j (0x3fc00000, 0xc0000000)".
std::string complex_text(const Format& format, std::uint64_t real, std::uint64_t imaginary);

// Returns the name of a rounding mode, such as "nearest_even".
std::string_view rounding_name(Rounding rounding);

}  // namespace assay
