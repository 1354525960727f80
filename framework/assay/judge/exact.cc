#include "assay/judge/exact.h"

#include <algorithm>
#include <cmath>

#include "assay/base/constants.h"
#include "assay/base/int128.h"
#include "assay/format/convert.h"

namespace assay::inline v0_2 {

double ratio_of(const Mismatch& mismatch) {
  return std::isfinite(mismatch.error) && mismatch.bound > 0 ? mismatch.error / mismatch.bound
                                                             : kInfinity;
}

bool worse_mismatch(const Mismatch& a, const Mismatch& b) {
  const double ra = ratio_of(a), rb = ratio_of(b);
  if (ra != rb) return ra > rb;
  const auto size = [](const Mismatch& m) { return std::isfinite(m.error) ? m.error : kInfinity; };
  if (size(a) != size(b)) return size(a) > size(b);
  return a.linear < b.linear;
}

Int128 integer_at(const TensorView& view, std::int64_t position) {
  const std::uint64_t bits = view.bits_at(position);
  return view.format->is_signed() ? *ordinal(*view.format, bits) : static_cast<Int128>(bits);
}

std::optional<Int128> expected_integer(const Format& output, const TensorView& expected,
                                       std::int64_t position, double e) {
  if (output.is_float()) return std::nullopt;
  if (!expected.format->is_float()) return integer_at(expected, position);
  if (std::isfinite(e) && output.kind == Kind::kBool) return e != 0 ? 1 : 0;
  if (!(std::abs(e) < 0x1p120)) return std::nullopt;
  return static_cast<Int128>(std::nearbyint(e));
}

void round_expected(const Format& output, double* values, std::size_t n) {
  if (output.is_float() || output.is_complex()) return round_array(output, values, n);
  const bool is_bool = output.kind == Kind::kBool;
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(values[i])) continue;
    values[i] = is_bool ? (values[i] != 0 ? 1 : 0) : std::nearbyint(values[i]) + 0.0;  // no -0
  }
}

bool exact_errors(const TensorView& actual, const TensorView& expected, std::int64_t first,
                  std::size_t n, IntegerErrors& found) {
  const Format& output = *actual.format;
  if (output.kind != Kind::kSigned && output.kind != Kind::kUnsigned) return false;
  if (output.bits < 64) {
    // A difference from a golden number below 2^52 has at most 53 bits, so float64 computes it
    // exactly.
    constexpr double kExact = 0x1p52;
    if (max_finite(*expected.format) < kExact) return false;
    double values[kMetricsBlock];
    expected.read(first, static_cast<std::int64_t>(n), values);
    if (std::none_of(values, values + n, [](double x) { return std::abs(x) >= kExact; })) {
      return false;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t position = first + static_cast<std::int64_t>(i);
    const double value = expected.value_at(position);
    const Int128 a = integer_at(actual, position);
    if (const auto e = expected_integer(output, expected, position, value)) {
      found.errors[i] = static_cast<double>(a - *e);
      // A float golden result is compared as it is stored, not rounded.
      if (expected.format->is_float()) found.errors[i] -= value - std::nearbyint(value);
      found.ulps[i] = integer_distance(a, *e);
    } else {  // the golden element is NaN, infinite, or far from every integer
      found.errors[i] = static_cast<double>(a) - value;
      found.ulps[i] = ~std::uint64_t{0};
    }
  }
  return true;
}

std::uint64_t integer_distance(Int128 actual, Int128 expected) {
  const Int128 distance = actual > expected ? actual - expected : expected - actual;
  return static_cast<std::uint64_t>(std::min<Int128>(distance, ~std::uint64_t{0}));
}

double not_below(std::uint64_t count) {
  const auto nearest = static_cast<double>(count);
  const bool is_below = nearest < 0x1p64 && static_cast<std::uint64_t>(nearest) < count;
  return is_below ? std::nextafter(nearest, kInfinity) : nearest;
}

bool holds_integer(const Format& format, Int128 value) {
  const Int128 end = Int128{1} << format.precision;
  return value < end && value >= (format.is_signed() ? -end : 0);
}

std::uint64_t expected_bits(const Format& output, const TensorView& expected, std::int64_t position,
                            double e) {
  if (expected.format == &output) return expected.bits_at(position);
  if (!output.is_float() && !expected.format->is_float()) {
    const Int128 value = integer_at(expected, position);
    if (!holds_integer(output, value)) return encode(output, value < 0 ? -kInfinity : kInfinity);
    const std::uint64_t unused = 64 - static_cast<std::uint64_t>(output.bits);
    return static_cast<std::uint64_t>(value) << unused >> unused;
  }
  if (std::isnan(e) && output.specials == Specials::kFinite) return 0;
  return encode(output, e);
}

void compare_nan_bits(MetricsPass& metrics, const TensorView& actual, const TensorView& expected,
                      std::int64_t first, std::size_t n, const double* a, const double* e) {
  if (!metrics.nan_met_nan()) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isnan(a[i]) || !std::isnan(e[i])) continue;
    const std::int64_t position = first + static_cast<std::int64_t>(i);
    if (actual.bits_at(position) != expected_bits(*actual.format, expected, position, e[i])) {
      metrics.bits_differ();
    }
  }
}

}  // namespace assay
