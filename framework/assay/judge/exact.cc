#include "assay/judge/exact.h"

#include <cmath>

#include "assay/base/constants.h"

namespace assay {

double ratio_of(const Miss& miss) {
  return std::isfinite(miss.error) && miss.bound > 0 ? miss.error / miss.bound : kInfinity;
}

bool worse_miss(const Miss& a, const Miss& b) {
  const double ra = ratio_of(a), rb = ratio_of(b);
  if (ra != rb) return ra > rb;
  const auto size = [](const Miss& m) { return std::isfinite(m.error) ? m.error : kInfinity; };
  if (size(a) != size(b)) return size(a) > size(b);
  return a.linear < b.linear;
}

__int128 integer_at(const TensorView& view, std::int64_t position) {
  const std::uint64_t bits = view.bits_at(position);
  return view.format->is_signed() ? *ordinal(*view.format, bits) : static_cast<__int128>(bits);
}

std::optional<__int128> expected_integer(const Format& output, const TensorView& expected,
                                         std::int64_t position, double e) {
  if (output.is_float()) return std::nullopt;
  if (!expected.format->is_float()) return integer_at(expected, position);
  if (std::isfinite(e) && output.kind == Kind::kBool) return e != 0 ? 1 : 0;
  if (!(std::abs(e) < 0x1p120)) return std::nullopt;
  return static_cast<__int128>(std::nearbyint(e));
}

bool exact_errors(const TensorView& actual, const TensorView& expected, std::int64_t first,
                  std::size_t n, double* errors) {
  const Format& output = *actual.format;
  if (output.is_float() || output.bits < 64) return false;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t position = first + static_cast<std::int64_t>(i);
    const auto e = expected_integer(output, expected, position, expected.value_at(position));
    if (!e) return false;
    errors[i] = static_cast<double>(integer_at(actual, position) - *e);
  }
  return true;
}

std::uint64_t expected_bits(const Format& output, const TensorView& expected, std::int64_t position,
                            double e) {
  if (expected.format == &output) return expected.bits_at(position);
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
