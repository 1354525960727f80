#include "assay/format/format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/format/tapered.h"

namespace assay::inline v0_2 {
namespace {

std::uint64_t low_mask(int bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

std::int64_t sign_extend(std::uint64_t bits, int width) {
  return static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width);
}

// Returns the magnitude code of a float: its bits without sign and padding.
std::uint64_t magnitude(const Format& f, std::uint64_t bits) {
  return (bits >> f.padding) & low_mask(f.is_signed() ? f.bits - 1 : f.bits);
}
bool negative(const Format& f, std::uint64_t bits) {
  return f.is_signed() && ((bits >> (f.padding + f.bits - 1)) & 1) != 0;
}
std::uint64_t with_sign(const Format& f, std::uint64_t magnitude_code, bool is_negative) {
  return ((std::uint64_t{is_negative} << (f.bits - 1)) | magnitude_code) << f.padding;
}

// Returns the largest magnitude code that is a finite number.
std::uint64_t max_code(const Format& f) {
  const std::uint64_t all = low_mask(f.is_signed() ? f.bits - 1 : f.bits);
  switch (f.specials) {
    case Specials::kInfNan:
      return all - low_mask(f.mantissa_bits()) - 1;
    case Specials::kNanOnly:
    case Specials::kScale:
      return all - 1;
    case Specials::kTapered:
      return 0x6e;
    default:
      return all;
  }
}

double decode_magnitude(const Format& f, std::uint64_t code) {
  if (f.specials == Specials::kTapered) return tapered_value(static_cast<unsigned>(code));
  if (f.specials == Specials::kScale) return std::ldexp(1.0, static_cast<int>(code) - f.bias);
  const int mantissa_bits = f.mantissa_bits();
  const std::uint64_t mantissa = code & low_mask(mantissa_bits);
  // No format has 64 mantissa bits. NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult)
  const auto field = static_cast<int>(code >> mantissa_bits);
  // A float64 is returned as it is stored, without arithmetic. So subnormals are decoded correctly
  // even in a process that flushes them to zero (FloatEnvironment).
  if (f.is_float64()) return std::bit_cast<double>(code);
  const std::uint64_t significand =
      field == 0 ? mantissa : mantissa | (std::uint64_t{1} << mantissa_bits);
  // NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult)
  return std::ldexp(static_cast<double>(significand), std::max(field, 1) - f.bias - mantissa_bits);
}

// A number as integer and exponent: |value| = significand * 2^exponent, exactly.
struct ScaledInteger {
  std::uint64_t significand;
  int exponent;
};
ScaledInteger scaled_integer(double value) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const auto field = static_cast<int>((bits >> 52) & 0x7ff);
  const std::uint64_t mantissa = bits & low_mask(52);
  return field == 0 ? ScaledInteger{mantissa, -1074}
                    : ScaledInteger{mantissa | (std::uint64_t{1} << 52), field - 1075};
}

// True if a number between two codes is rounded to the larger magnitude. It lies rest / 2^shift of
// the gap (0 <= rest < 2^shift) beyond the lower code. `odd` is true if the lower code is odd.
bool rounds_away(std::uint64_t rest, int shift, bool odd, bool is_negative, const Encoding& how) {
  if (rest == 0) return false;
  const bool has_half = shift <= 64;  // for larger shifts, a rest of 53 bits is below half
  const std::uint64_t half = has_half ? std::uint64_t{1} << (shift - 1) : 0;
  switch (how.rounding) {
    case Rounding::kNearestEven:
      return has_half && (rest > half || (rest == half && odd));
    case Rounding::kNearestAway:
      return has_half && rest >= half;
    case Rounding::kTowardZero:
      break;
    case Rounding::kUp:
      return !is_negative;
    case Rounding::kDown:
      return is_negative;
    case Rounding::kToOdd:
      return !odd;
    case Rounding::kStochastic: {
      const int bits = how.random_bits, drop = shift - bits;
      const std::uint64_t fraction = drop <= 0 ? rest << -drop : drop < 64 ? rest >> drop : 0;
      return fraction > low_mask(bits) - (how.random & low_mask(bits));
    }
  }
  return false;
}

// The integer part of significand / 2^shift, and the bits that are cut off.
struct CutInteger {
  std::uint64_t kept, rest;
  int shift;
};
CutInteger cut(std::uint64_t significand, int shift) {
  if (shift <= 0) return {significand << -shift, 0, 0};
  if (shift >= 64) return {0, significand, shift};
  return {significand >> shift, significand & low_mask(shift), shift};
}

// Returns the magnitude code of the rounded value in an unbounded exponent range. A code beyond
// max_code means overflow.
std::uint64_t round_magnitude(const Format& f, double absolute, bool is_negative,
                              const Encoding& how) {
  const ScaledInteger split = scaled_integer(absolute);
  if (split.significand == 0) return 0;
  const int top = split.exponent + static_cast<int>(std::bit_width(split.significand)) - 1;
  const int quantum = std::max(top, f.min_exponent()) - f.mantissa_bits();
  const CutInteger parts = cut(split.significand, quantum - split.exponent);
  // The number may be rounded up into the next binade. Adding 1 then gives the right code, because
  // codes are consecutive.
  const auto binade = static_cast<std::uint64_t>(quantum + f.mantissa_bits() - f.min_exponent());
  const std::uint64_t code = (binade << f.mantissa_bits()) + parts.kept;
  return code + (rounds_away(parts.rest, parts.shift, (code & 1) != 0, is_negative, how) ? 1 : 0);
}

std::uint64_t round_tapered(double absolute, bool is_negative, const Encoding& how) {
  const auto& table = tapered_table();
  const auto above = std::ranges::lower_bound(table, absolute, {}, &TaperedEntry::value);
  // For a number beyond the largest value, the upper neighbour is 1.5 * 2^15, which would be the
  // next value. Its code, 0x6f, is infinity.
  const bool beyond = above == table.end();
  const std::uint8_t high_code = beyond ? 0x6f : above->code;
  const double high = beyond ? 0x1.8p15 : above->value;
  if (absolute >= high) return high_code;
  const TaperedEntry low = *(above - 1);
  // All gaps are powers of two, and the subtraction is exact, so `rest` is an exact fraction of the
  // gap.
  const ScaledInteger rest = scaled_integer(absolute - low.value);
  const int shift = std::ilogb(high - low.value) - rest.exponent;
  return rounds_away(rest.significand, shift, (low.code & 1) != 0, is_negative, how) ? high_code
                                                                                     : low.code;
}

std::uint64_t round_scale(const Format& f, double absolute, const Encoding& how) {
  if (absolute <= std::ldexp(1.0, -f.bias)) return 0;
  const ScaledInteger split = scaled_integer(absolute);
  const int width = static_cast<int>(std::bit_width(split.significand)) - 1;
  // A scale format has one bit of precision. So the last bit that to_odd looks at is that of the
  // exponent. A tie goes to the larger power, as PyTorch and ml_dtypes have it.
  const auto code = static_cast<std::uint64_t>(std::int64_t{split.exponent} + width + f.bias);
  const std::uint64_t rest = split.significand & low_mask(width);
  const bool odd = (code & 1) != 0 || how.rounding == Rounding::kNearestEven;
  return code + (rounds_away(rest, width, odd, false, how) ? 1 : 0);
}

// Returns the zero of this sign, or the only zero if the format has one zero.
std::uint64_t zero_code(const Format& f, bool is_negative) {
  const bool unsigned_zero = f.specials == Specials::kFnuz || f.specials == Specials::kTapered;
  return with_sign(f, 0, is_negative && !unsigned_zero);
}

std::uint64_t nan_code(const Format& f, bool is_negative) {
  switch (f.specials) {
    case Specials::kInfNan:
      return with_sign(f, max_code(f) + 1 + (std::uint64_t{1} << (f.mantissa_bits() - 1)),
                       is_negative);
    case Specials::kNanOnly:
      return with_sign(f, max_code(f) + 1, is_negative);
    case Specials::kFnuz:
    case Specials::kTapered:
      return with_sign(f, 0, true);
    case Specials::kScale:
      return max_code(f) + 1;
    case Specials::kFinite:
      break;
  }
  refuse("{} has no NaN, so a NaN cannot be stored in it", f.name);
}

std::uint64_t encode_integer(const Format& f, double value, const Encoding& how) {
  require_real(f);
  if (f.kind == Kind::kBool) return value != 0 ? 1 : 0;
  if (std::isnan(value)) {
    refuse("{} has no NaN, so a NaN cannot be stored in it", f.name);
  }
  const double low = f.is_signed() ? -std::ldexp(1.0, f.precision) : 0.0;
  const double limit = std::ldexp(1.0, f.precision);  // the largest value plus 1
  const std::uint64_t largest = low_mask(f.precision);
  if (value >= limit) return largest;
  if (value <= low) return f.is_signed() ? std::uint64_t{1} << (f.bits - 1) : 0;
  const ScaledInteger split = scaled_integer(value);
  const CutInteger parts = cut(split.significand, -split.exponent);
  const std::uint64_t size =
      parts.kept +
      (rounds_away(parts.rest, parts.shift, (parts.kept & 1) != 0, value < 0, how) ? 1 : 0);
  if (value >= 0) return std::min(size, largest);
  return (0 - size) & low_mask(f.bits);
}

// Other names of the formats, as torch, CUDA, C++ and papers use them.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"half", "float16"},    {"float", "float32"},    {"single", "float32"},
    {"double", "float64"},  {"bf16", "bfloat16"},    {"tf32", "tfloat32"},
    {"hf32", "hfloat32"},   {"hif8", "hifloat8"},    {"short", "int16"},
    {"int", "int32"},       {"long", "int64"},       {"float4_e1m2", "float4_e1m2fn"},
    {"chalf", "complex32"}, {"cfloat", "complex64"}, {"cdouble", "complex128"},
};

// Returns the name in the table for another name of a format. Other words stay as they are.
std::string canonical_name(std::string_view name) {
  name = without_prefix(name, "torch.");
  for (const auto& [alias, known] : kAliases) {
    if (name == alias) return std::string(known);
  }
  // Names such as fp16 and fp8_e4m3fn stand for float16 and float8_e4m3fn.
  const bool short_float =
      name.size() > 2 && name.starts_with("fp") && name[2] >= '1' && name[2] <= '9';
  return (short_float ? "float" : "") + std::string(name.substr(short_float ? 2 : 0));
}

// Returns the names of all rows, first of real numbers, then of complex ones.
std::vector<std::string> all_names() {
  std::vector<std::string> names = names_of(formats());
  for (const Format& f : complex_formats()) names.emplace_back(f.name);
  return names;
}

// Returns the names of all float formats of a width, for a name that gives only the width, such as
// fp8.
std::vector<std::string> family_of(std::string_view name) {
  std::vector<std::string> family;
  const std::string known = canonical_name(name);
  for (const Format& f : formats()) {
    if (known.starts_with("float") && f.name.starts_with(known + "_")) family.emplace_back(f.name);
  }
  return family;
}

}  // namespace

const Format* find_format(std::string_view name) {
  const auto row_of = [](std::string_view word) -> const Format* {
    const Format* real = find_row(formats(), word, &Format::name);
    return real != nullptr ? real : find_row(complex_formats(), word, &Format::name);
  };
  const Format* row = row_of(name);
  return row != nullptr ? row : row_of(canonical_name(name));
}

const Format& format_named(std::string_view name) {
  if (const Format* found = find_format(name)) return *found;
  refuse(family_of(name).empty() ? formatted("unknown dtype '{}'{}; docs/formats.md lists all",
                                             name, did_you_mean(name, all_names()))
                                 : no_dtype(name));
}

std::string no_dtype(std::string_view name) {
  if (const std::vector<std::string> family = family_of(name); !family.empty()) {
    return formatted("'{}' may be {}: which one?", name, joined(family));
  }
  return formatted("'{}' is no dtype that assay knows; docs/formats.md lists all", name);
}

const Format& custom_float(int exponent_bits, int mantissa_bits, int bias, Specials specials) {
  const auto require = [&](bool met, std::string_view what) {
    if (met) return;
    refuse("custom float of {} exponent bits, {} mantissa bits, bias {}: {}", exponent_bits,
           mantissa_bits, bias, what);
  };
  require(specials != Specials::kScale && specials != Specials::kTapered,
          "its specials must be kInfNan, kNanOnly, kFnuz or kFinite");
  require(exponent_bits >= 1 && exponent_bits <= 11, "exponent bits must be 1 to 11");
  require(mantissa_bits >= 0 && mantissa_bits <= 52, "mantissa bits must be 0 to 52");
  require(specials != Specials::kInfNan || mantissa_bits > 0,
          "infinity and NaN together need a mantissa bit");
  Format made{
      "",   Kind::kFloat, 0, 1 + exponent_bits + mantissa_bits, 1 + mantissa_bits, exponent_bits,
      bias, specials};
  made.storage_bytes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(made.bits + 7) / 8));
  const std::uint64_t top = max_code(made) >> mantissa_bits;
  require(top >= 1, "its largest value must be normal: give it more bits or fewer specials");
  // These comparisons cannot overflow, whatever the bias.
  require(bias <= 1075 - mantissa_bits, "its smallest value lies below float64's, 2^-1074");
  require(bias >= static_cast<int>(top) - 1023, "its largest value lies beyond float64's, 2^1024");

  const auto same = [&](const Format& f) {
    return f.is_float() && f.padding == 0 && f.exponent_bits == exponent_bits &&
           f.precision == made.precision && f.bias == bias && f.specials == specials;
  };
  for (const Format& f : formats()) {
    if (same(f)) return f;
  }
  struct Row {
    std::string name;
    Format format;
  };
  static std::mutex mutex;
  // Adding a format does not move others, so references to them stay valid.
  static std::deque<Row> rows;
  const std::lock_guard lock(mutex);
  for (const Row& row : rows) {
    if (same(row.format)) return row.format;
  }
  const bool fnuz = specials == Specials::kFnuz;
  const int usual_bias = (1 << (exponent_bits - 1)) - (fnuz ? 0 : 1);
  Row& row = rows.emplace_back();
  row.name = formatted("float{}_e{}m{}{}{}", made.bits, exponent_bits, mantissa_bits,
                       bias == usual_bias ? "" : formatted("b{}", bias),
                       fnuz                             ? "fnuz"
                       : specials == Specials::kNanOnly ? "fn"
                       : specials == Specials::kFinite  ? "fin"
                                                        : "");
  row.format = made;
  row.format.name = row.name;
  return row.format;
}

const Format& part_format(const Format& f) {
  if (!f.is_complex()) return f;
  return format_named(formatted("float{}", f.bits / 2));
}

bool has_more_precision(const Format& a, const Format& b) {
  return a.is_float() == b.is_float() && a.is_complex() == b.is_complex() &&
         part_format(a).precision > part_format(b).precision;
}

void require_real(const Format& f) {
  if (!f.is_complex()) return;
  refuse("{} is complex, but only real numbers are taken here; give its parts as {}", f.name,
         part_format(f).name);
}

bool is_nan(const Format& f, std::uint64_t bits) {
  require_real(f);
  if (!f.is_float()) return false;
  const std::uint64_t code = magnitude(f, bits);
  switch (f.specials) {
    case Specials::kInfNan:
      return code > max_code(f) + 1;
    case Specials::kNanOnly:
    case Specials::kScale:
      return code > max_code(f);
    case Specials::kFnuz:
    case Specials::kTapered:
      return code == 0 && negative(f, bits);
    case Specials::kFinite:
      break;
  }
  return false;
}

bool is_inf(const Format& f, std::uint64_t bits) {
  require_real(f);
  if (!f.has_infinity()) return false;
  if (f.specials == Specials::kTapered) return magnitude(f, bits) == 0x6f;
  return magnitude(f, bits) == max_code(f) + 1;
}

bool same_code(const Format& f, std::uint64_t a, std::uint64_t b) {
  return a == b || (is_nan(f, a) && is_nan(f, b));
}

bool is_subnormal(const Format& f, std::uint64_t bits) {
  require_real(f);
  if (!f.is_float() || f.specials == Specials::kScale) return false;
  const std::uint64_t code = magnitude(f, bits);
  return code != 0 &&
         code < (f.specials == Specials::kTapered ? 8 : std::uint64_t{1} << f.mantissa_bits());
}

bool is_valid_code(const Format& f, std::uint64_t bits) {
  require_real(f);
  if (f.kind == Kind::kBool) return bits <= 1;
  return (bits & low_mask(f.padding)) == 0 && (bits >> f.padding) <= low_mask(f.bits);
}

double decode(const Format& f, std::uint64_t bits, Subnormals subnormals) {
  switch (f.kind) {
    case Kind::kBool:
      return bits != 0 ? 1.0 : 0.0;
    case Kind::kUnsigned:
      return static_cast<double>(bits & low_mask(f.bits));
    case Kind::kSigned:
      return static_cast<double>(sign_extend(bits, f.bits));
    case Kind::kComplex:
      require_real(f);
      break;
    case Kind::kFloat:
      break;
  }
  const double sign = negative(f, bits) ? -1.0 : 1.0;
  if (is_nan(f, bits)) return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  if (is_inf(f, bits)) return sign * std::numeric_limits<double>::infinity();
  if (subnormals == Subnormals::kFlush && is_subnormal(f, bits)) bits = zero_code(f, sign < 0);
  return std::copysign(decode_magnitude(f, magnitude(f, bits)), negative(f, bits) ? -1.0 : 1.0);
}

std::uint64_t encode(const Format& f, double value, const Encoding& how) {
  const Rounding mode = how.rounding;
  if (mode == Rounding::kStochastic && (how.random_bits < 1 || how.random_bits > 64)) {
    refuse(
        "stochastic rounding takes 1 to 64 random bits, not {}: set Encoding::random and "
        "random_bits",
        how.random_bits);
  }
  if (!f.is_float()) return encode_integer(f, value, how);
  const bool is_negative = std::signbit(value);
  const bool saturate = how.overflow == Overflow::kSaturate;
  if (std::isnan(value)) return saturate ? 0 : nan_code(f, is_negative);
  // True if the rounding mode never rounds this finite value to infinity, because it points inward
  // (IEEE 754, section 7.4).
  const bool inward =
      !std::isinf(value) &&
      (mode == Rounding::kTowardZero || mode == Rounding::kToOdd ||
       (mode == Rounding::kUp && is_negative) || (mode == Rounding::kDown && !is_negative));
  const std::uint64_t largest = max_code(f);
  if (f.specials == Specials::kScale) {
    // Scale formats have no sign and no zero. Zero gets the code of the smallest value, and a
    // negative number has no code.
    if (value < 0) return saturate ? 0 : nan_code(f, false);
    const std::uint64_t code = std::isinf(value) ? largest + 1 : round_scale(f, value, how);
    return code <= largest ? code : largest + (saturate || inward ? 0 : 1);
  }
  const double absolute = std::abs(value);
  std::uint64_t code;
  bool overflows;
  if (f.specials == Specials::kTapered) {
    code = std::isinf(value) ? 0x6f : round_tapered(absolute, is_negative, how);
    overflows = code == 0x6f;
  } else {
    code = std::isinf(value) ? largest + 1 : round_magnitude(f, absolute, is_negative, how);
    overflows = code > largest;
  }
  if (overflows) {
    if (saturate || inward || f.specials == Specials::kFinite) {
      code = largest;
    } else if (f.specials == Specials::kInfNan) {
      code = largest + 1;
    } else if (f.specials == Specials::kTapered) {
      code = 0x6f;
    } else {
      return nan_code(f, is_negative);
    }
  }
  const bool flushed =
      how.subnormals == Subnormals::kFlush && is_subnormal(f, with_sign(f, code, false));
  if (code == 0 || flushed) return zero_code(f, is_negative);
  return with_sign(f, code, is_negative);
}

double round_to(const Format& f, double value, const Encoding& how) {
  if (f.is_float64() && how.subnormals == Subnormals::kGradual && how.overflow == Overflow::kIeee) {
    return value;
  }
  return decode(f, encode(f, value, how));
}

// Returns the code of an integer format whose ordinal is 0. For uint64 it is the middle of its
// range, because its ordinals are int64.
static std::uint64_t middle(const Format& f) {
  return f.kind == Kind::kUnsigned && f.bits == 64 ? std::uint64_t{1} << 63 : 0;
}

std::optional<std::int64_t> ordinal(const Format& f, std::uint64_t bits) {
  require_real(f);
  if (f.kind == Kind::kSigned) return sign_extend(bits, f.bits);
  if (!f.is_float()) return static_cast<std::int64_t>(bits - middle(f));
  if (is_nan(f, bits)) return std::nullopt;
  std::int64_t position = static_cast<std::int64_t>(magnitude(f, bits));
  if (f.specials == Specials::kTapered) {
    const auto& table = tapered_table();
    const double value = tapered_value(static_cast<unsigned>(position));
    position = position == 0x6f ? static_cast<std::int64_t>(table.size())
                                : std::ranges::lower_bound(table, value, {}, &TaperedEntry::value) -
                                      table.begin();
  }
  return negative(f, bits) ? -position : position;
}

std::optional<std::uint64_t> ulp_distance(const Format& f, std::uint64_t a, std::uint64_t b) {
  const auto at = ordinal(f, a), bt = ordinal(f, b);
  if (!at || !bt) return std::nullopt;
  return *at > *bt ? static_cast<std::uint64_t>(*at) - static_cast<std::uint64_t>(*bt)
                   : static_cast<std::uint64_t>(*bt) - static_cast<std::uint64_t>(*at);
}

namespace {

// The ordinals of a format's smallest and largest value. Infinity counts as a value.
struct OrdinalRange {
  std::int64_t low, high;
};
OrdinalRange ordinal_range(const Format& f) {
  require_real(f);
  if (!f.is_float()) {
    const auto high = static_cast<std::int64_t>(low_mask(f.precision) - middle(f));
    return {f.is_signed() || middle(f) != 0 ? -high - 1 : 0, high};
  }
  const std::int64_t high = f.specials == Specials::kTapered
                                ? static_cast<std::int64_t>(tapered_table().size())
                                : static_cast<std::int64_t>(max_code(f)) + f.has_infinity();
  return {f.is_signed() ? -high : 0, high};
}

// Returns the code of the value that is `step` values above `bits`. Returns `bits` if there is no
// such value.
std::uint64_t stepped(const Format& f, std::uint64_t bits, int step) {
  if (is_nan(f, bits) || is_inf(f, bits)) return bits;
  const std::int64_t at = *ordinal(f, bits);
  const OrdinalRange range = ordinal_range(f);
  if (step > 0 ? at >= range.high : at <= range.low) return bits;
  return *at_ordinal(f, at + step);
}

}  // namespace

std::optional<std::uint64_t> at_ordinal(const Format& f, std::int64_t position) {
  const OrdinalRange range = ordinal_range(f);
  if (position < range.low || position > range.high) return std::nullopt;
  if (!f.is_float()) {
    return (static_cast<std::uint64_t>(position) + middle(f)) & low_mask(f.bits);
  }
  auto code = static_cast<std::uint64_t>(std::abs(position));
  if (f.specials == Specials::kTapered) {
    const auto& table = tapered_table();
    code = code < table.size() ? table[code].code : 0x6f;
  }
  return with_sign(f, code, position < 0);
}

std::uint64_t next_up(const Format& f, std::uint64_t bits) { return stepped(f, bits, 1); }
std::uint64_t next_down(const Format& f, std::uint64_t bits) { return stepped(f, bits, -1); }

double max_finite(const Format& f) {
  if (f.is_complex()) return max_finite(part_format(f));
  if (!f.is_float()) return static_cast<double>(low_mask(f.precision));
  return decode_magnitude(f, max_code(f));
}

double min_normal(const Format& f) {
  if (f.is_complex()) return min_normal(part_format(f));
  if (!f.is_float()) return 1;
  if (f.specials == Specials::kTapered) return 0x1p-15;
  if (f.specials == Specials::kScale) return std::ldexp(1.0, -f.bias);
  return std::ldexp(1.0, f.min_exponent());
}

double min_subnormal(const Format& f) {
  if (f.is_complex()) return min_subnormal(part_format(f));
  if (!f.is_float()) return 1;
  if (f.specials == Specials::kTapered) return 0x1p-22;
  if (f.specials == Specials::kScale) return min_normal(f);
  return std::ldexp(1.0, f.min_exponent() - f.mantissa_bits());
}

double unit_roundoff(const Format& f) {
  if (f.is_complex()) return unit_roundoff(part_format(f));
  return f.is_float() ? std::ldexp(1.0, -f.precision) : 0.0;
}

double ulp_of(const Format& f, double value) {
  require_real(f);
  if (std::isnan(value)) return value;
  if (!f.is_float()) return 1;
  const double absolute = std::min(std::abs(value), max_finite(f));
  if (f.specials == Specials::kTapered) {
    // Takes the gap above the value, as for the other formats. The largest value takes the gap
    // below it.
    const auto& table = tapered_table();
    auto above = std::ranges::upper_bound(table, absolute, {}, &TaperedEntry::value);
    if (above == table.end()) --above;
    return above->value - (above - 1)->value;
  }
  if (absolute < min_normal(f)) return min_subnormal(f);
  return std::ldexp(1.0, std::ilogb(absolute) - f.mantissa_bits());
}

// Returns a float's value as a decimal number.
static std::string decimal_text(const Format& f, std::uint64_t bits) {
  const double value = decode(f, bits);
  // The number has the fewest digits that distinguish the value from its neighbours. Values of
  // float32 and of narrower formats are printed as float32.
  const bool in_float32 =
      f.precision <= 24 && max_finite(f) < 0x1p128 && min_subnormal(f) >= 0x1p-149;
  return in_float32 && !is_nan(f, bits) ? formatted("{}", static_cast<float>(value))
                                        : number_text(value);
}

std::string element_text(const Format& f, std::uint64_t bits) {
  require_real(f);
  if (!f.is_float()) {
    return f.is_signed() ? formatted("{}", sign_extend(bits, f.bits)) : formatted("{}", bits);
  }
  return formatted("{} (0x{:0{}x})", decimal_text(f, bits), bits, f.storage_bytes * 2);
}

std::string complex_text(const Format& f, std::uint64_t real, std::uint64_t imaginary) {
  const Format& part = part_format(f);
  const std::string of_imaginary = decimal_text(part, imaginary);
  return formatted("{}{}{}j (0x{:0{}x}, 0x{:0{}x})", decimal_text(part, real),
                   of_imaginary.starts_with('-') ? "" : "+", of_imaginary, real,
                   part.storage_bytes * 2, imaginary, part.storage_bytes * 2);
}

}  // namespace assay
