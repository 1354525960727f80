#include "assay/abft/rounding_tail.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace assay::inline v0_2::abft {

RoundingTail rounding_tail(const Format& format, std::span<const double> values, double kappa,
                           bool coarse, double enough) {
  if (values.empty()) return {};
  // Reads the exponent field of float64 values. Subnormals and zeros of `format` count with the
  // exponent of its smallest normal number.
  const int least = std::ilogb(min_normal(format)) + 1023;
  const auto exponent = [least](double v) {
    return std::max(static_cast<int>((std::bit_cast<std::uint64_t>(v) >> 52) & 0x7ff), least);
  };
  int top = least, bottom = 2046;
  for (const double v : values) {
    top = std::max(top, exponent(v));
    bottom = std::min(bottom, exponent(v));
  }
  device::UlpCounts counts{};
  for (const double v : values) {
    const int octave = top - exponent(v);
    if (octave < device::kOctaves) ++counts.of[octave];
  }
  const int used = std::min(top - bottom + 1, device::kOctaves);
  const int unit = top - 1023 - format.mantissa_bits() - 1;
  return device::tail_of(counts, used, unit, kappa, coarse, enough,
                         [](double s, const device::UlpCounts& of, int sizes, bool is_coarse) {
                           return device::sum_at(s, of, sizes, is_coarse);
                         });
}

double least_rounding_tail(double deviation, double largest, double kappa, bool coarse) {
  return device::least_tail(deviation, largest, kappa, coarse);
}

}  // namespace assay::abft
