// Operands that are hard for a matrix product. Each family targets one way of going wrong.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/format/format.h"

namespace assay::inputs {

struct Problem {
  std::int64_t m, n, k;
  std::vector<double> a, b;  // values of the input format
  std::vector<float> c;
};

// Draws the operands of one family in a format.
struct Source {
  const Format& format;
  Random& random;

  double rounded(double v) const { return round_to(format, v); }
  double normal(double scale = 1) { return rounded(scale * random.normal()); }
  // Returns a number with random significant bits and an exponent within `spread` binades of
  // `center`.
  double wide(int spread, int center = 0) {
    const auto span = static_cast<std::uint64_t>(2 * spread + 1);
    const int exponent = static_cast<int>(random.below(span)) - spread + center;
    const double v = rounded(std::ldexp(1 + random.uniform(), exponent));
    const double size = std::isfinite(v) ? v : 1.0;
    return random.below(2) != 0 ? size : -size;
  }
  double any_finite() {
    for (;;) {
      const std::uint64_t code = random.next64() >> (64 - format.bits);
      const double v = decode(format, code);
      if (std::isfinite(v)) return v;
    }
  }
  double subnormal() {
    const std::uint64_t codes = std::uint64_t{1} << format.mantissa_bits();
    const double v = decode(format, random.below(codes));
    return random.below(2) != 0 ? v : -v;
  }
  double one_of(const std::vector<double>& values) {
    return rounded(values[random.below(values.size())]);
  }
};

inline const std::vector<std::string>& families() {
  static const std::vector<std::string> names = {
      "normal",          "wide8",         "wide20",
      "wide40",          "any_bits",      "cancelling",
      "cancelling_wide", "subnormal",     "tiny_and_one",
      "signed_zeros",    "sparse",        "small_integers",
      "exact_ties",      "near_ties",     "large_c",
      "near_overflow",   "overflowing",   "specials",
      "special_c",       "powers_of_two", "zero_row_and_column"};
  return names;
}

// Returns the operands of a family. The same arguments give the same operands on every machine.
inline Problem make(const std::string& family, const Format& format, std::int64_t m, std::int64_t n,
                    std::int64_t k, std::uint64_t stream) {
  Random random(30, stream);
  Source draw{format, random};
  Problem p{m, n, k, {}, {}, {}};
  p.a.resize(static_cast<std::size_t>(m * k));
  p.b.resize(static_cast<std::size_t>(k * n));
  p.c.assign(static_cast<std::size_t>(m * n), 0.0f);
  const auto fill = [&](auto each) {
    for (double& v : p.a) v = each();
    for (double& v : p.b) v = each();
  };
  const auto fill_c = [&](auto each) {
    for (float& v : p.c) v = static_cast<float>(each());
  };
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  // The largest size of a factor. Its square is far inside float32's range.
  const double large = std::min(max_finite(format), 0x1p62);
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();

  fill([&] { return draw.normal(); });
  fill_c([&] { return random.normal(); });
  if (family == "wide8") fill([&] { return draw.wide(8); });
  if (family == "wide20") fill([&] { return draw.wide(20); });
  if (family == "wide40") fill([&] { return draw.wide(40); });
  if (family == "any_bits") fill([&] { return draw.any_finite(); });
  if (family == "cancelling" || family == "cancelling_wide") {
    const bool wide = family == "cancelling_wide";
    if (wide) fill([&] { return draw.wide(12); });
    // Every second product cancels the one before it, except for the last bit in some cases.
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t kk = 1; kk < k; kk += 2) {
        p.a[at(i * k + kk)] = -p.a[at(i * k + kk - 1)];
        if (random.below(4) == 0) {
          p.a[at(i * k + kk)] =
              decode(format, next_up(format, encode(format, p.a[at(i * k + kk)])));
        }
      }
    }
    for (std::int64_t kk = 1; kk < k; kk += 2) {
      for (std::int64_t j = 0; j < n; ++j) p.b[at(kk * n + j)] = p.b[at((kk - 1) * n + j)];
    }
    fill_c([&] { return random.below(2) != 0 ? 0.0 : random.normal() * 0x1p-20; });
  }
  if (family == "subnormal") {
    fill([&] {
      return random.below(3) != 0 ? draw.subnormal() : draw.wide(3, format.min_exponent());
    });
    fill_c([&] { return random.normal() * 0x1p-140; });
  }
  // Results lie on both sides of float32's underflow.
  if (family == "tiny_and_one") {
    const int low = std::max(format.min_exponent(), -80);
    fill([&] { return random.below(2) != 0 ? draw.wide(4, low) : draw.wide(1); });
    fill_c([&] { return random.below(2) != 0 ? 0.0 : random.normal() * 0x1p-149; });
  }
  if (family == "signed_zeros") {
    fill([&] { return draw.one_of({0.0, -0.0, 0.0, -0.0, 1.0, -1.0}); });
    fill_c([&] { return random.below(2) != 0 ? 0.0 : -0.0; });
    for (std::int64_t kk = 0; kk < k; ++kk) {  // the products of the first row are all -0
      p.a[at(kk)] = -0.0;
      for (std::int64_t j = 0; j < n; j += 2) p.b[at(kk * n + j)] = 1.0;
    }
  }
  if (family == "sparse") {
    fill([&] { return random.below(10) == 0 ? draw.wide(15) : 0.0; });
    fill_c([] { return 0.0; });
  }
  if (family == "small_integers") {
    fill([&] { return static_cast<double>(random.below(17)) - 8; });
    fill_c([&] { return static_cast<double>(random.below(33554432)) - 16777216; });
  }
  if (family == "exact_ties" || family == "near_ties") {
    // The last bit of C is 1. Products are halves, and near a tie there is a tiny term far below
    // it.
    const std::vector<double> halves = {0.5, -0.5, 1.5, -1.5};
    const std::vector<double> dusty = {0.5, -0.5, 0x1p-13, -0x1p-14, 1.0};
    for (double& v : p.b) v = draw.one_of(family == "near_ties" ? dusty : halves);
    for (double& v : p.a) v = draw.one_of(family == "near_ties" ? dusty : std::vector<double>{1});
    fill_c([&] {
      const double v = 8388608.0 + static_cast<double>(random.below(8388608));
      return random.below(2) != 0 ? v : -v;
    });
  }
  if (family == "large_c") fill_c([&] { return random.normal() * 0x1p100; });
  if (family == "near_overflow") {
    fill([&] {
      return draw.rounded(large * (0.5 + random.uniform() / 2) * (random.below(2) != 0 ? 1 : -1));
    });
    fill_c([&] { return (random.uniform() - 0.5) * 0x1.fffffep128; });
  }
  // Some sums leave the range of float32 on the way, and some of these come back too late.
  if (family == "overflowing") {
    const double size = std::min(max_finite(format), 0x1p64);
    fill([&] { return random.below(3) == 0 ? draw.one_of({size, -size}) : draw.normal(); });
    fill_c([&] { return random.below(4) == 0 ? 0x1.fffffep127 : 0.0; });
  }
  if (family == "specials") {
    const bool has_infinity = format.has_infinity();
    for (auto* operand : {&p.a, &p.b}) {
      for (double& v : *operand) {
        const std::uint64_t dice = random.below(60);
        if (dice == 0) v = nan;
        if (dice == 1 && has_infinity) v = infinity;
        if (dice == 2 && has_infinity) v = -infinity;
        if (dice < 8 && dice > 2) v = dice % 2 != 0 ? 0.0 : -0.0;  // infinity times zero
      }
    }
  }
  if (family == "special_c") {
    for (float& v : p.c) {
      const std::uint64_t dice = random.below(6);
      if (dice == 0) v = std::numeric_limits<float>::quiet_NaN();
      if (dice == 1) v = std::numeric_limits<float>::infinity();
      if (dice == 2) v = -std::numeric_limits<float>::infinity();
      if (dice == 3) v = -0.0f;
    }
  }
  if (family == "powers_of_two") {
    fill([&] { return std::copysign(std::exp2(std::ilogb(draw.wide(10))), random.normal()); });
    fill_c([&] {
      return std::copysign(std::exp2(static_cast<int>(random.below(40)) - 20), random.normal());
    });
  }
  if (family == "zero_row_and_column") {
    for (std::int64_t kk = 0; kk < k; ++kk) {
      p.a[at((m - 1) * k + kk)] = 0;
      p.b[at(kk * n + n - 1)] = 0;
    }
  }
  return p;
}

// Returns the bits of a float32 number. All NaNs have the same bits.
inline std::uint32_t bits(float v) {
  return std::isnan(v) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(v);
}

}  // namespace assay::inputs
