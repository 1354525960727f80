// The specification of every float format, written by hand from its text and independent of the
// table under test. Also rounding by MPFR.
#pragma once

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/format/format.h"

namespace assay::oracle {

constexpr Rounding kRoundings[] = {Rounding::kNearestEven, Rounding::kNearestAway,
                                   Rounding::kTowardZero,  Rounding::kUp,
                                   Rounding::kDown,        Rounding::kToOdd};
constexpr Overflow kOverflows[] = {Overflow::kIeee, Overflow::kSaturate};

// A row of the specification's table of float formats.
struct Spec {
  const char* name;
  int storage_bits, bits, padding;  // codes are 0 .. 2^bits - 1, shifted left by padding
  int precision, min_exponent;      // bits of the significand; exponent of min_normal
  double max, min_normal, min_subnormal;
  bool infinity, nan, negative_zero;
  std::uint64_t nan_code, negative_nan_code;  // the canonical ones
};

inline const std::vector<Spec>& specs() {
  static const std::vector<Spec> rows = {
      {"float64", 64, 64, 0, 53, -1022, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074, true, true,
       true, 0x7ff8000000000000u, 0xfff8000000000000u},
      {"float32", 32, 32, 0, 24, -126, 0x1.fffffep127, 0x1p-126, 0x1p-149, true, true, true,
       0x7fc00000u, 0xffc00000u},
      {"float16", 16, 16, 0, 11, -14, 65504, 0x1p-14, 0x1p-24, true, true, true, 0x7e00, 0xfe00},
      {"bfloat16", 16, 16, 0, 8, -126, 0x1.fep127, 0x1p-126, 0x1p-133, true, true, true, 0x7fc0,
       0xffc0},
      {"tfloat32", 32, 19, 13, 11, -126, 0x1.ffcp127, 0x1p-126, 0x1p-136, true, true, true,
       0x7fc00000u, 0xffc00000u},
      {"hfloat32", 32, 20, 12, 12, -126, 0x1.ffep127, 0x1p-126, 0x1p-137, true, true, true,
       0x7fc00000u, 0xffc00000u},
      {"float8_e4m3fn", 8, 8, 0, 4, -6, 448, 0x1p-6, 0x1p-9, false, true, true, 0x7f, 0xff},
      {"float8_e5m2", 8, 8, 0, 3, -14, 57344, 0x1p-14, 0x1p-16, true, true, true, 0x7e, 0xfe},
      {"float8_e4m3fnuz", 8, 8, 0, 4, -7, 240, 0x1p-7, 0x1p-10, false, true, false, 0x80, 0x80},
      {"float8_e5m2fnuz", 8, 8, 0, 3, -15, 57344, 0x1p-15, 0x1p-17, false, true, false, 0x80, 0x80},
      {"float8_e8m0fnu", 8, 8, 0, 1, -127, 0x1p127, 0x1p-127, 0x1p-127, false, true, false, 0xff,
       0xff},
      {"float6_e2m3fn", 8, 6, 0, 4, 0, 7.5, 1, 0.125, false, false, true, 0, 0},
      {"float6_e3m2fn", 8, 6, 0, 3, -2, 28, 0.25, 0.0625, false, false, true, 0, 0},
      {"float4_e2m1fn", 8, 4, 0, 2, 0, 6, 1, 0.5, false, false, true, 0, 0},
      {"float4_e1m2fn", 8, 4, 0, 3, 0, 1.75, 1, 0.25, false, false, true, 0, 0},
      {"float_e5m6", 16, 12, 0, 7, -14, 65024, 0x1p-14, 0x1p-20, true, true, true, 0x7e0, 0xfe0},
      {"hifloat8", 8, 8, 0, 4, -15, 0x1p15, 0x1p-15, 0x1p-22, true, true, false, 0x80, 0x80},
  };
  return rows;
}

inline const Spec& spec(std::string_view name) {
  return *std::find_if(specs().begin(), specs().end(),
                       [&](const Spec& row) { return row.name == name; });
}

// Returns the names of the float formats of at most this many bits.
inline std::vector<std::string> names(int at_most_bits = 64) {
  std::vector<std::string> result;
  for (const Spec& row : specs()) {
    if (row.bits <= at_most_bits) result.emplace_back(row.name);
  }
  return result;
}

// Returns the name of a test whose parameter is a string.
inline std::string name_of(const testing::TestParamInfo<std::string>& info) { return info.param; }

// Returns the value of a code of sign, exponent and mantissa, in which no exponent stands for
// infinity or NaN.
inline double minifloat(std::uint64_t code, int exponent_bits, int mantissa_bits, int bias) {
  const std::uint64_t mantissa = code % (std::uint64_t{1} << mantissa_bits);
  const auto exponent =
      static_cast<int>((code >> mantissa_bits) % (std::uint64_t{1} << exponent_bits));
  const bool minus = (code >> (mantissa_bits + exponent_bits)) % 2 != 0;
  const double fraction = std::ldexp(static_cast<double>(mantissa), -mantissa_bits);
  const double size =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return minus ? -size : size;
}

// Returns the value of a hifloat8 code, bit by bit as its definition reads.
inline double hifloat8_value(std::uint64_t code) {
  if (code == 0x80) return kNan;
  if (code == 0x6f) return kInfinity;
  if (code == 0xef) return -kInfinity;
  std::string bits;
  for (int i = 6; i >= 0; --i) bits += (code >> i) % 2 != 0 ? '1' : '0';
  const double sign = code >= 0x80 ? -1 : 1;
  const auto number = [](const std::string& digits) {
    return digits.empty() ? 0 : std::stoi(digits, nullptr, 2);
  };
  if (bits.starts_with("0000")) {
    const int m = number(bits.substr(4));
    return m == 0 ? 0.0 : sign * std::exp2(m - 23);
  }
  const std::pair<const char*, int> prefixes[] = {
      {"11", 4}, {"10", 3}, {"01", 2}, {"001", 1}, {"0001", 0}};
  for (const auto& [prefix, width] : prefixes) {
    if (!bits.starts_with(prefix)) continue;
    bits.erase(0, std::string_view(prefix).size());
    int exponent = 0;
    // The exponent has a sign, and then the bits after an implicit leading one.
    if (width > 0) {
      std::string size = bits.substr(0, static_cast<std::size_t>(width));
      size[0] = '1';
      exponent = number(size);
      if (bits[0] == '1') exponent = -exponent;
    }
    const std::string mantissa = bits.substr(static_cast<std::size_t>(width));
    return sign * std::exp2(exponent) * (1 + number(mantissa) / std::exp2(mantissa.size()));
  }
  return kNan;
}

// Returns the value of a stored code, by the text of the format's specification.
inline double value(std::string_view name, std::uint64_t code) {
  const auto ieee = [&](int e, int m, int bias) {
    const std::uint64_t mantissa = code % (std::uint64_t{1} << m);
    const std::uint64_t exponent = (code >> m) % (std::uint64_t{1} << e);
    const double sign = (code >> (e + m)) % 2 != 0 ? -1 : 1;
    if (exponent + 1 != std::uint64_t{1} << e) return minifloat(code, e, m, bias);
    return std::copysign(mantissa == 0 ? kInfinity : kNan, sign);
  };
  if (name == "float64") return std::bit_cast<double>(code);
  if (name == "float32" || name == "tfloat32" || name == "hfloat32") {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(code)));
  }
  if (name == "bfloat16") {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(code << 16)));
  }
  if (name == "float16") return ieee(5, 10, 15);
  if (name == "float_e5m6") return ieee(5, 6, 15);
  if (name == "float8_e5m2") return ieee(5, 2, 15);
  if (name == "float8_e4m3fn") {
    if (code % 128 == 127) return std::copysign(kNan, code >= 128 ? -1 : 1);
    return minifloat(code, 4, 3, 7);
  }
  if (name == "float8_e4m3fnuz") return code == 128 ? kNan : minifloat(code, 4, 3, 8);
  if (name == "float8_e5m2fnuz") return code == 128 ? kNan : minifloat(code, 5, 2, 16);
  if (name == "float8_e8m0fnu") {
    return code == 255 ? kNan : std::exp2(static_cast<double>(code) - 127);
  }
  if (name == "float6_e2m3fn") return minifloat(code, 2, 3, 1);
  if (name == "float6_e3m2fn") return minifloat(code, 3, 2, 3);
  if (name == "float4_e2m1fn") return minifloat(code, 2, 1, 1);
  if (name == "float4_e1m2fn") return minifloat(code, 1, 2, 1);
  return hifloat8_value(code);
}

struct Point {
  double value;
  std::uint64_t code;
};
// Returns every finite value that is not negative, in ascending order, with its code. The format
// has at most 20 bits.
inline std::vector<Point> points(const Spec& row) {
  std::vector<Point> all;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << row.bits; ++i) {
    const std::uint64_t code = i << row.padding;
    const double v = value(row.name, code);
    if (std::isfinite(v) && !std::signbit(v)) all.push_back({v, code});
  }
  std::sort(all.begin(), all.end(), [](Point a, Point b) { return a.value < b.value; });
  return all;
}

// True if two float64 are the same number: the sign of zero counts, and NaN equals NaN.
inline bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

class Mpfr {
 public:
  explicit Mpfr(mpfr_prec_t precision = 64) { mpfr_init2(x_, precision); }
  ~Mpfr() { mpfr_clear(x_); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
  operator mpfr_ptr() { return x_; }  // NOLINT: taken by MPFR's functions

 private:
  mpfr_t x_;
};

// Returns v rounded by MPFR to an integer.
inline double mpfr_integer(double v, Rounding mode) {
  thread_local Mpfr t, r;
  mpfr_set_d(t, v, MPFR_RNDN);
  switch (mode) {
    case Rounding::kNearestEven:
      mpfr_roundeven(r, t);
      break;
    case Rounding::kNearestAway:
      mpfr_round(r, t);
      break;
    case Rounding::kTowardZero:
      mpfr_trunc(r, t);
      break;
    case Rounding::kUp:
      mpfr_ceil(r, t);
      break;
    case Rounding::kDown:
      mpfr_floor(r, t);
      break;
    case Rounding::kToOdd:
      mpfr_trunc(r, t);
      if (!mpfr_equal_p(r, t)) {
        thread_local Mpfr half;
        mpfr_div_2ui(half, r, 1, MPFR_RNDN);
        if (mpfr_integer_p(half)) mpfr_add_si(r, r, v < 0 ? -1 : 1, MPFR_RNDN);
      }
      break;
    case Rounding::kStochastic:
      ADD_FAILURE() << "this oracle draws no random bits";
      break;
  }
  return mpfr_get_d(r, MPFR_RNDN);
}

// Returns v (finite, not zero) rounded by MPFR to `precision` bits or to a multiple of the smallest
// subnormal, whichever is coarser. There is no largest value, so that an overflow shows.
inline double mpfr_rounded(const Spec& row, double v, Rounding mode) {
  thread_local Mpfr t;
  mpfr_set_d(t, v, MPFR_RNDN);
  const auto top = static_cast<int>(mpfr_get_exp(t)) - 1;
  const int quantum = std::max(top, row.min_exponent) - (row.precision - 1);
  mpfr_mul_2si(t, t, -quantum, MPFR_RNDN);
  mpfr_set_d(t, mpfr_integer(mpfr_get_d(t, MPFR_RNDN), mode), MPFR_RNDN);
  mpfr_mul_2si(t, t, quantum, MPFR_RNDN);
  return std::copysign(mpfr_get_d(t, MPFR_RNDN), v);
}

// Does the same as mpfr_rounded() for formats whose precision is not fixed (hifloat8) and for
// scales. It rounds between two neighbours of the table. `beyond` is the value that would follow
// the largest one.
inline double table_rounded(const std::vector<Point>& table, double beyond, double v,
                            Rounding mode) {
  const double size = std::abs(v);
  std::size_t i = 0;
  while (i + 1 < table.size() && table[i + 1].value <= size) ++i;
  const Point low = table[i];
  if (size <= low.value) return std::copysign(low.value, v);
  const double high = i + 1 < table.size() ? table[i + 1].value : beyond;
  const double middle = (low.value + high) / 2;
  const bool even = low.code % 2 == 0;
  bool away = false;
  if (mode == Rounding::kNearestEven) away = size > middle || (size == middle && !even);
  if (mode == Rounding::kNearestAway) away = size >= middle;
  if (mode == Rounding::kUp) away = v > 0;
  if (mode == Rounding::kDown) away = v < 0;
  if (mode == Rounding::kToOdd) away = even;
  return std::copysign(away ? high : low.value, v);
}

// Returns the value that encoding `v` must stand for. `unbounded` is v rounded without a largest
// value.
inline double bounded(const Spec& row, double v, double unbounded, Rounding mode,
                      Overflow overflow) {
  const double sign = std::signbit(v) ? -1 : 1;
  double result = unbounded;
  if (std::abs(unbounded) > row.max) {
    const bool inward = std::isfinite(v) &&
                        (mode == Rounding::kTowardZero || mode == Rounding::kToOdd ||
                         (mode == Rounding::kUp && v < 0) || (mode == Rounding::kDown && v > 0));
    if (inward || overflow == Overflow::kSaturate || (!row.infinity && !row.nan)) {
      result = sign * row.max;
    } else {
      result = row.infinity ? sign * kInfinity : kNan;
    }
  }
  return result == 0 && !row.negative_zero ? 0.0 : result;
}

// Rounds to a format by the functions above: by the format's row, or by the table of its values if
// its steps need that.
class Reference {
 public:
  explicit Reference(std::string_view name)
      : row(spec(name)), tapered_(name == "hifloat8"), scale_(name == "float8_e8m0fnu") {
    if (tapered_ || scale_) table_ = points(row);
  }

  // Returns v, which is finite, rounded to the format with an unbounded exponent range.
  double unbounded(double v, Rounding mode) const {
    if (scale_) {
      // Ties of scales go to the larger power.
      if (mode == Rounding::kNearestEven) mode = Rounding::kNearestAway;
      return v < row.max * 2 ? table_rounded(table_, row.max * 2, std::max(v, row.min_normal), mode)
                             : v;
    }
    if (tapered_) {
      return std::abs(v) < row.max * 1.5 ? table_rounded(table_, row.max * 1.5, v, mode) : v;
    }
    return v != 0 ? mpfr_rounded(row, v, mode) : v;
  }
  // Returns the value that encoding v, finite or not, must stand for.
  double rounded(double v, Rounding mode, Overflow overflow) const {
    const bool saturate = overflow == Overflow::kSaturate;
    if (std::isnan(v)) return saturate ? value(row.name, 0) : v;
    if (scale_ && v < 0) return saturate ? row.min_normal : kNan;
    return bounded(row, v, std::isinf(v) ? v : unbounded(v, mode), mode, overflow);
  }

  const Spec& row;

 private:
  bool tapered_, scale_;
  std::vector<Point> table_;
};

}  // namespace assay::oracle
