#include "assay/gate/square_moments.h"

#include <algorithm>
#include <cmath>

#include "assay/simd/square_moments_kernel.h"

namespace assay::inline v0_2 {

// By Poisson's summation formula, the values of a rounded normal number have the moments of the
// number and of the rounding, except for a part exp(-2 pi^2 (deviation / ulp)^2) < 1e-4. For
// formats of fewer than 7 mantissa bits, the ulp changes within that reach. For these formats, the
// sum covers each value up to a deviation of 4 ulps.
LastRounding::LastRounding(const Format& format)
    : NearestRounding(format), smooth_(format.mantissa_bits() < 7 ? 4 : 0.7) {}

std::optional<LastRounding> last_rounding(const ExpectedErrors& errors) {
  if (errors.last == nullptr) return std::nullopt;
  return LastRounding(*errors.last);
}

SquareMoments square_moments(const std::optional<LastRounding>& last, double e, double mean,
                             double deviation) {
  const double square = deviation * deviation;
  const auto normal = [&](double variance) {
    return SquareMoments{mean * mean + variance,
                         2 * variance * variance + 4 * mean * mean * variance, 0, mean};
  };
  if (!last) return normal(square);
  const double centre = e + mean, ulp = last->ulp(centre);
  if (deviation > last->smooth() * ulp) return normal(square + ulp * ulp * (1.0 / 12));
  const double low = last->rounded(centre - simd::kReach * deviation),
               high = last->rounded(centre + simd::kReach * deviation);
  if (!std::isfinite(low) || !std::isfinite(high)) return {};
  if (low == high) return {(low - e) * (low - e), 0, 0, low - e};
  const simd::NormalTable& normals = simd::normal_table();
  SquareMoments moments;
  const double scale = 1 / deviation;
  double fourth = 0, below = 0;
  const double first = last->rounded(centre - simd::kSummed * deviation),
               end = last->rounded(centre + simd::kSummed * deviation);
  for (double value = first; value <= end;) {
    const double next = value == end ? value : last->next(value);
    const double up_to = value == end ? 1 : normals.below(((value + next) / 2 - centre) * scale);
    const double error = (value - e) * (value - e);
    moments.mean += (up_to - below) * error;
    moments.mean_error += (up_to - below) * (value - e);
    fourth += (up_to - below) * error * error;
    below = up_to;
    if (value == end) break;
    value = next;
  }
  moments.variance = std::max(fourth - moments.mean * moments.mean, 0.0);
  moments.jump = 2 * std::min(simd::kReach * deviation, ulp) * ulp;
  return moments;
}

BlockMoments::BlockMoments(std::size_t most)
    : mean(most), variance(most), jump(most), mean_error(most) {}

void BlockMoments::compute(const std::optional<LastRounding>& last, std::size_t n, const double* e,
                           const double* means, const double* deviations) {
  const bool by_kernel = last && last->digits().most > 0;
  if (by_kernel) {
    simd::square_moments(last->digits(), last->smooth(), n, e, means, deviations,
                         {mean.data(), variance.data(), jump.data(), mean_error.data()});
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (by_kernel && !std::isnan(mean[i])) continue;
    const SquareMoments one = square_moments(last, e[i], means[i], deviations[i]);
    mean[i] = one.mean;
    variance[i] = one.variance;
    jump[i] = one.jump;
    mean_error[i] = one.mean_error;
  }
}

void BlockMoments::raise(const BlockMoments& other, std::size_t i) {
  mean[i] = std::max(mean[i], other.mean[i]);
  variance[i] = std::max(variance[i], other.variance[i]);
  jump[i] = std::max(jump[i], other.jump[i]);
}

}  // namespace assay
