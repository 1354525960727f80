#include "assay/judge/quantile_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/simd/metrics_kernel.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 22;  // the most errors that are kept

template <typename T>
void add_errors(QuantileErrors& to, const T* actual, const T* expected, std::size_t n) {
  double found[simd::kMetricsBlock];
  const std::size_t count =
      simd::bracket_errors(to.relative, n, actual, expected, found, to.bracket);
  if (to.between.size() < kMost) to.between.insert(to.between.end(), found, found + count);
}

}  // namespace

QuantileRank::QuantileRank(double share, std::int64_t elements) {
  const double rank = share * static_cast<double>(elements - 1);
  below = static_cast<std::int64_t>(std::floor(rank));
  part = rank - static_cast<double>(below);
}

double QuantileRank::between(const TwoErrors& errors) const {
  const auto [low, high] = errors;
  return part == 0 || high == low ? low : low + part * (high - low);
}

void QuantileErrors::add(const float* actual, const float* expected, std::size_t n) {
  add_errors(*this, actual, expected, n);
}

void QuantileErrors::add(const double* actual, const double* expected, std::size_t n) {
  add_errors(*this, actual, expected, n);
}

void QuantileErrors::merge(const QuantileErrors& later) {
  bracket.below += later.bracket.below;
  bracket.at_low += later.bracket.at_low;
  bracket.between += later.bracket.between;
  bracket.at_high += later.bracket.at_high;
  if (between.size() < kMost) {
    between.insert(between.end(), later.between.begin(), later.between.end());
  }
}

std::optional<TwoErrors> QuantileErrors::at(std::int64_t n, std::int64_t elements) const {
  if (static_cast<std::int64_t>(between.size()) != bracket.between) return {};
  const std::int64_t last = bracket.below + bracket.at_low + bracket.between + bracket.at_high - 1;
  if (n < bracket.below || n > last || (n == last && last != elements - 1)) return {};
  std::vector<double> errors = between;
  const auto error_at = [&](std::int64_t rank) {
    if (rank > last) return std::numeric_limits<double>::infinity();
    rank -= bracket.below + bracket.at_low;
    if (rank < 0) return bracket.low;
    if (rank >= bracket.between) return bracket.high;
    const auto place = errors.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(errors.begin(), place, errors.end());
    return *place;
  };
  return TwoErrors{error_at(n), error_at(n + 1)};
}

}  // namespace assay
