#include "assay/op/cast.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/format/convert.h"
#include "assay/format/rounding.h"
#include "assay/op/generate.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2 {
namespace {

Rounding rounding_of(const Case& c) { return *find_rounding(word_of(c, "rounding")); }

struct Conversion {
  const Format& from;
  const Format& to;
  Rounding rounding;
  Overflow overflow;
  Subnormals subnormals;
};

bool is_integer64(const Format& f) { return !f.is_float() && f.bits == 64; }

// Returns a 64-bit integer, given by sign and size, rounded to the 53 bits of a float64.
double integer64_to_float64(bool negative, std::uint64_t size, Rounding mode) {
  const int drop = std::max(0, static_cast<int>(std::bit_width(size)) - 53);
  const std::uint64_t rest = size & ((std::uint64_t{1} << drop) - 1);
  const std::uint64_t half = (std::uint64_t{1} << drop) >> 1;
  std::uint64_t kept = size >> drop;
  if (rest != 0) {
    const bool odd = (kept & 1) != 0;
    const bool away = mode == Rounding::kNearestEven   ? rest > half || (rest == half && odd)
                      : mode == Rounding::kNearestAway ? rest >= half
                      : mode == Rounding::kUp          ? !negative
                      : mode == Rounding::kDown        ? negative
                                                       : mode == Rounding::kToOdd && !odd;
    kept += away ? 1 : 0;
  }
  const double rounded = std::ldexp(static_cast<double>(kept), drop);
  return negative ? -rounded : rounded;
}

double flushed(const Conversion& how, const Format& f, double value) {
  const bool tiny =
      how.subnormals == Subnormals::kFlush && f.is_float() && std::abs(value) < min_normal(f);
  return tiny ? std::copysign(0.0, value) : value;
}

// Returns the code that one stored element is converted to.
std::uint64_t convert(const Conversion& how, std::uint64_t bits) {
  double value;
  Rounding mode = how.rounding;
  if (is_integer64(how.from)) {
    const bool upper_half = bits >> 63 != 0, negative = upper_half && how.from.is_signed();
    if (is_integer64(how.to)) {
      if (!upper_half || how.to.is_signed() == how.from.is_signed()) return bits;
      return negative ? 0 : encode(how.to, max_finite(how.to));
    }
    // A number that is first rounded to odd and then to the second format has the result of one
    // rounding, if the second format has at least two bits of precision less (Boldo and Melquiond).
    // Every format except float64 has.
    value = integer64_to_float64(negative, negative ? 0 - bits : bits,
                                 how.to.precision == 53 ? mode : Rounding::kToOdd);
  } else {
    value = flushed(how, how.from, decode(how.from, bits));
  }
  if (how.overflow == Overflow::kSaturate) {
    if (std::isnan(value)) value = 0;
    // Limits infinities of a float64 result. encode() would limit them, too.
    if (how.to.precision == 53) {
      value = std::clamp(value, -max_finite(how.to), max_finite(how.to));
    }
  }
  std::uint64_t code = encode(how.to, value, mode, how.overflow);
  if (how.subnormals == Subnormals::kFlush && is_subnormal(how.to, code)) {
    code = encode(how.to, std::copysign(0.0, value));
  }
  return code;
}

// -- The reference: the same rule by arithmetic on numbers ---------------------------------------

// A number type that holds every int64 and float64, and all numbers that are computed from one of
// them.
using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64, "long double holds every int64");

template <typename Real>
Real whole(Real q, Rounding mode) {
  const Real low = std::floor(q), rest = q - low;
  if (rest == 0) return q;
  const bool low_is_even = std::floor(low / 2) == low / 2;
  switch (mode) {
    case Rounding::kNearestEven:
      return rest > Real{0.5} || (rest == Real{0.5} && !low_is_even) ? low + 1 : low;
    case Rounding::kNearestAway:
      return std::round(q);
    case Rounding::kTowardZero:
      return std::trunc(q);
    case Rounding::kUp:
      return low + 1;
    case Rounding::kDown:
      return low;
    default:
      return low_is_even ? low + 1 : low;
  }
}

// True if a mode may round a finite value beyond the largest finite one.
bool leaves_range(Rounding mode, bool negative) {
  return mode == Rounding::kNearestEven || mode == Rounding::kNearestAway ||
         mode == (negative ? Rounding::kDown : Rounding::kUp);
}

double overflowed(const Conversion& how, bool negative, bool finite) {
  double size = how.to.has_infinity() ? std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::quiet_NaN();
  if (how.overflow == Overflow::kSaturate || how.to.specials == Specials::kFinite ||
      (finite && !leaves_range(how.rounding, negative))) {
    size = max_finite(how.to);
  }
  return std::copysign(size, negative ? -1.0 : 1.0);
}

// Rounds to a format with sign, exponent and mantissa: the result is a whole number of quanta.
template <typename Real>
double reference_float(const Conversion& how, Real value) {
  const bool negative = std::signbit(value);
  if (std::isinf(value)) return overflowed(how, negative, false);
  if (value == 0) return static_cast<double>(value);
  const int exponent = std::max(std::ilogb(value), how.to.min_exponent()) - how.to.mantissa_bits();
  const Real rounded = std::ldexp(whole(std::ldexp(value, -exponent), how.rounding), exponent);
  if (std::abs(rounded) > static_cast<Real>(max_finite(how.to))) {
    return overflowed(how, negative, true);
  }
  return std::copysign(static_cast<double>(rounded), negative ? -1.0 : 1.0);
}

template <typename Real>
std::uint64_t reference_of(const Conversion& how, const Format& output, Real value) {
  if (std::isnan(value) && how.overflow == Overflow::kSaturate) value = 0;
  if (how.to.kind == Kind::kBool) return value != 0 ? 1 : 0;
  if (!how.to.is_float()) {
    if (std::isnan(value)) return encode(how.to, static_cast<double>(value));
    const Real most = std::ldexp(static_cast<Real>(1), how.to.precision) - 1;
    const Real least = how.to.is_signed() ? -most - 1 : 0;
    const Real rounded = std::isinf(value) ? value : whole(value, how.rounding);
    const Real clamped = std::clamp(rounded, least, most);
    const std::uint64_t code = clamped < 0
                                   ? static_cast<std::uint64_t>(static_cast<std::int64_t>(clamped))
                                   : static_cast<std::uint64_t>(clamped);
    return how.to.bits == 64 ? code : code & ((std::uint64_t{1} << how.to.bits) - 1);
  }
  double rounded = std::isnan(value) ? static_cast<double>(value) : reference_float(how, value);
  rounded = flushed(how, how.to, rounded);
  return encode(output, rounded);
}

std::uint64_t reference(const Conversion& how, const Format& output, std::uint64_t bits) {
  if (how.from.name == "int64") {
    return reference_of(how, output, static_cast<Wide>(static_cast<std::int64_t>(bits)));
  }
  if (how.from.name == "uint64") return reference_of(how, output, static_cast<Wide>(bits));
  const double value = flushed(how, how.from, decode(how.from, bits));
  // If a float64 is rounded to 32 bits or fewer, every step is exact in float64.
  if (how.to.precision <= 32) return reference_of(how, output, value);
  return reference_of(how, output, static_cast<Wide>(value));
}

// True if a whole array can be converted at once, which is faster: to nearest even, from values
// that a float64 holds.
bool by_array(const Conversion& how) {
  return how.rounding == Rounding::kNearestEven && how.subnormals == Subnormals::kGradual &&
         !is_integer64(how.from) && how.to.is_float() && how.to.specials != Specials::kFinite &&
         how.to.specials != Specials::kScale;
}

// True if the golden result has a path of its own. Conversions to tapered and scale formats have
// none, but the tests of framework/assay/format cover them.
bool has_reference(const Format& f) {
  return f.specials != Specials::kTapered && f.specials != Specials::kScale;
}

// Returns how the case converts, with the overflow and the subnormals of a machine or of the
// reference.
Conversion conversion_of(const Case& c, Overflow overflow, Subnormals subnormals) {
  return {c.input("x").format(), output_format(c), rounding_of(c), overflow, subnormals};
}

constexpr std::int64_t kPart = 1 << 14;  // number of elements that a thread converts at a time

// Sets elements [begin, end) of the result to the codes that code_of returns for those of x.
template <typename CodeOf>
void convert_each(const Case& c, const Conversion& how, std::int64_t begin, std::int64_t end,
                  Tensor& result, const CodeOf& code_of) {
  const Tensor& x = c.input("x");
  const bool keeps_nan =
      how.to.is_float() ? how.to.specials != Specials::kFinite : how.to.kind == Kind::kBool;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::uint64_t bits = x.bits_at(i);
    if (!keeps_nan && how.overflow == Overflow::kIeee && is_nan(how.from, bits)) {
      refuse_case(c.name, "x holds NaN, which {} cannot represent; set saturate = 1 to make it 0",
                  how.to.name);
    }
    result.set_bits(i, code_of(bits));
  }
}

// Returns the code in `output` of the value that convert() returns.
std::uint64_t converted(const Conversion& how, const Format& output, std::uint64_t bits) {
  const std::uint64_t code = convert(how, bits);
  return &output == &how.to ? code : encode(output, decode(how.to, code));
}

Tensor run_cast(const Call& call) {
  const Case& c = call.test_case;
  const Tensor& x = c.input("x");
  const Conversion how =
      conversion_of(c, overflow_of(c, call.machine), subnormals_of(c, call.machine));
  Tensor result(call.output, x.shape());
  const auto convert_part = [&](std::int64_t begin, std::int64_t n) {
    if (!by_array(how)) {
      return convert_each(c, how, begin, begin + n, result,
                          [&](std::uint64_t bits) { return converted(how, call.output, bits); });
    }
    std::vector<double> values(static_cast<std::size_t>(n));
    x.view().read(begin, n, values.data());
    store_values(c, call.output, how.overflow, values.data(), n,
                 result.bytes() + begin * how.to.storage_bytes);
  };
  parallel_ranges(x.size(), call.threads, convert_part, kPart);
  return result;
}

Tensor cast_reference(const ReferenceCall& call) {
  const Case& c = call.test_case;
  const Conversion how = conversion_of(c, overflow_of(c), subnormals_of(c));
  const bool second_path = has_reference(how.to);
  Tensor result(call.output, c.input("x").shape());
  const auto code_of = [&](std::uint64_t bits) {
    return second_path ? reference(how, call.output, bits) : converted(how, call.output, bits);
  };
  const auto convert_part = [&](std::int64_t begin, std::int64_t n) {
    convert_each(c, how, begin, begin + n, result, code_of);
  };
  parallel_ranges(result.size(), call.threads, convert_part, kPart);
  return result;
}

DerivedTolerance cast_tolerance(const Case& c) {
  const Format& to = output_format(c);
  const bool overflows_to_nan =
      to.is_float() && !to.has_infinity() && to.specials != Specials::kFinite;
  if (overflows_to_nan && !c.flag("saturate")) {
    for (const double v : c.input("x").view().values()) {
      if (std::isnan(v) || std::isfinite(round_to(to, v))) continue;
      refuse_case(c.name,
                  "no tolerance can be derived: {} is beyond {}'s largest number, which some units "
                  "turn into NaN and others into that number; set the parameter saturate",
                  short_number(v, 6), to.name);
    }
  }
  return {0, 0,
          formatted("a conversion to {} is exact or rounded once, as its golden result",
                    output_format(c).name)};
}

}  // namespace

std::vector<Operator> cast_operators() {
  const std::vector<std::string> modes = names_of(deterministic_rounding_rows());
  std::vector<Parameter> parameters =
      unit_parameters({word_parameter("rounding", modes, "rounding of the conversion")}, false);
  for (Parameter& p : parameters) {
    if (p.name == "rounding") {
      p.tried = {"nearest_even", "nearest_away", "toward_zero", "up", "down"};
    }
    if (p.name != "output_dtype") continue;
    p.needed = true;
    p.words = "dtype to which x is converted";
    p.tried = {"float16", "bfloat16", "float8_e4m3fn", "int32", "float32"};
  }
  return {{.name = "cast",
           .summary = "x in another dtype, rounded once",
           .inputs = {{.name = "x", .shape = "(...)", .words = "of any dtype"}},
           .parameters = std::move(parameters),
           .run = run_cast,
           .reference = cast_reference,
           .output_format = first_input_format,
           .no_element_bounds = "a conversion is right or wrong",
           .tolerance = cast_tolerance,
           .generate = generate_vector,
           .uneven_outputs = true,
           .keeps_nan_signs = true}};
}

}  // namespace assay
