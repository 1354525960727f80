// Errors about a quantile: in one pass over the elements the few that lie between two bounds are
// kept, and how many lie before them is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "assay/simd/error_bracket.h"

namespace assay {

// The errors at two ranks, the smallest being the 0th: n and n + 1, infinity where there is none.
using TwoErrors = std::pair<double, double>;

// Where the quantile of a share of so many errors lies: by linear interpolation `part` of the way
// from the error at rank `below` to the next one.
struct QuantileRank {
  QuantileRank(double share, std::int64_t elements);
  double between(const TwoErrors& errors) const;

  std::int64_t below;
  double part;
};

// Of |actual - expected|, or of that over |expected|, the errors about the quantile of this share.
struct QuantileErrors {
  bool relative;
  double share;
  simd::ErrorBracket bracket;
  std::vector<double> between = {};

  // At most simd::kMetricsBlock elements.
  void add(const float* actual, const float* expected, std::size_t n);
  void add(const double* actual, const double* expected, std::size_t n);
  // Of the elements that follow these.
  void merge(const QuantileErrors& later);
  // Of `elements` errors in all. Empty where the two do not lie within the bounds, or too many do.
  std::optional<TwoErrors> at(std::int64_t n, std::int64_t elements) const;
};

}  // namespace assay
