#include "assay/judge/metrics.h"

#include <cmath>

#include "assay/base/constants.h"

namespace assay::inline v0_2 {
std::int64_t Histogram::total() const {
  std::int64_t sum = below + above;
  for (const auto& [bin, count] : bins) sum += count;
  return sum;
}

double Histogram::low(int bin) const {
  const int octave = bin >= 0 ? bin / per_octave : -((per_octave - 1 - bin) / per_octave);
  const int within = bin - octave * per_octave;
  return std::ldexp(1 + static_cast<double>(within) / per_octave, octave);
}
double Histogram::high(int bin) const { return low(bin + 1); }

double Histogram::quantile(double q) const {
  const std::int64_t n = total();
  if (n == 0) return kNan;
  const auto rank = static_cast<std::int64_t>(std::ceil(q * static_cast<double>(n)));
  std::int64_t seen = below;
  if (rank <= seen) return 0;
  for (const auto& [bin, count] : bins) {
    seen += count;
    if (rank <= seen) return (low(bin) + high(bin)) / 2;
  }
  return kInfinity;
}

Histogram::Bin Histogram::bin_of(std::int64_t rank) const {
  std::int64_t before = below;
  if (rank < before) return {0, 0x1p-160, 0, below};
  for (const auto& [bin, count] : bins) {
    if (rank < before + count) return {low(bin), high(bin), before, count};
    before += count;
  }
  return {0x1p160, kInfinity, before, above};
}

std::pair<std::int64_t, std::int64_t> Histogram::at_least(double size) const {
  if (!(size > 0)) return {total(), total()};
  // If `size` is outside the bins, the elements outside the bins may be smaller or larger than
  // `size`. Only up to 2^52 is it known that all elements above the bins are larger.
  std::int64_t fewest = size <= 0x1p52 ? above : 0, most = above + below;
  for (const auto& [bin, count] : bins) {
    if (low(bin) >= size) fewest += count;
    if (high(bin) > size) most += count;
  }
  const double lowest = bins.empty() ? kInfinity : low(bins.front().first);
  if (size >= lowest) most -= below;
  return {fewest, most};
}

}  // namespace assay
