// Golden results and outputs to judge. They are drawn the same way every time, with roundings,
// larger errors, NaN, infinities and zeros among them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/base/constants.h"
#include "oracle.h"

namespace assay::drawn {

// Returns a size that the format holds well.
inline double size_in(const Format& f, oracle::Dice& dice) {
  const double u = dice.uniform();
  if (!f.is_float()) {
    const double most = std::min(f.kind == Kind::kBool ? 1.0 : max_finite(f), 1e6);
    return std::nearbyint(u * most);
  }
  // Only exact functions are used here. The last bit of others may differ on another host.
  const int most = std::ilogb(max_finite(f)), least = std::ilogb(min_subnormal(f));
  const int exponent = static_cast<int>(dice.below(16)) - 12;
  return std::ldexp(1 + u, std::clamp(exponent, least, most - 1));
}

// Returns values that a float64 golden result may hold if the output has the format `f`.
inline std::vector<double> golden_values(const Format& f, std::int64_t n, std::uint64_t seed,
                                         bool specials) {
  oracle::Dice dice(seed);
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& v : values) {
    v = size_in(f, dice);
    if (f.is_signed() && dice.below(2) == 1) v = -v;
    const std::uint64_t kind = dice.below(100);
    if (kind < 4) v = 0;
    if (!f.is_float() || !specials) continue;
    if (kind == 4) v = kNan;
    if (kind == 5) v = kInfinity;
    if (kind == 6) v = -kInfinity;
  }
  return values;
}

// Returns an output for a golden result: most elements are rounded, some are a little off, and a
// few are far off or special.
inline std::vector<double> output_values(const Format& f, const std::vector<double>& golden,
                                         std::uint64_t seed, bool specials, double off = 0x1p-9) {
  oracle::Dice dice(seed);
  std::vector<double> values = golden;
  for (double& v : values) {
    const std::uint64_t kind = dice.below(100);
    const double u = 2 * dice.uniform() - 1;
    if (f.is_float()) {
      if (kind < 40) v *= 1 + off * u;
      if (kind == 40) v *= 1 + 64 * off * u;
      if (kind == 41) v += off * off * u;
    } else if (kind < 10) {
      v += std::nearbyint(3 * u);
    }
    if (kind == 42) v = 0;
    if (!f.is_float() || !specials) continue;
    if (kind == 43) v = kNan;
    if (kind == 44) v = kInfinity;
    if (kind == 45) v = max_finite(f);
  }
  return values;
}

// Returns a tensor of values. Values that the format does not hold are first replaced by values
// that it holds.
inline Tensor stored(const Format& f, const Shape& shape, std::vector<double> values) {
  for (double& v : values) {
    if (f.is_float()) {
      if (std::isnan(v) && f.specials == Specials::kFinite) v = 0;
      continue;
    }
    const double least = f.is_signed() ? -max_finite(f) : 0;
    v = std::clamp(std::nearbyint(v), least, max_finite(f));
  }
  return Tensor::from_values(f, shape, values);
}

}  // namespace assay::drawn
