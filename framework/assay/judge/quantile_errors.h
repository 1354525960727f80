// Finds errors near a quantile in one pass over the elements. The pass keeps only the few errors
// between two bounds, and counts the errors below them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "assay/simd/error_bracket.h"

namespace assay::inline v0_2 {

// The errors at ranks n and n + 1. The smallest error has rank 0. Infinity if there is no such
// rank.
using TwoErrors = std::pair<double, double>;

// The position of a quantile among the errors, by linear interpolation. The quantile lies `part` of
// the way from the error at rank `below` to the next one.
struct QuantileRank {
  QuantileRank(double share, std::int64_t elements);
  double between(const TwoErrors& errors) const;

  std::int64_t below;
  double part;
};

// Collects the errors near the quantile of this share. An error is |actual - expected|, divided by
// |expected| if `relative` is true.
struct QuantileErrors {
  bool relative;
  double share;
  simd::ErrorBracket bracket;
  std::vector<double> between = {};

  // Adds at most simd::kMetricsBlock elements.
  void add(const float* actual, const float* expected, std::size_t n);
  void add(const double* actual, const double* expected, std::size_t n);
  // Adds the errors that `later` collected from the elements that follow.
  void merge(const QuantileErrors& later);
  // Returns the errors at ranks n and n + 1 of `elements` errors in all. Returns nothing if these
  // two do not lie within the bounds, or if too many errors do.
  std::optional<TwoErrors> at(std::int64_t n, std::int64_t elements) const;
};

}  // namespace assay
