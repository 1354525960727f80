// The errors of averages with uncertain weights: the effect of errors in an attention's weights on
// its result.
#pragma once

#include <cstdint>

namespace assay::inline v0_2::simd {

// Describes the average sum_k w_k v_kj of each column j of `values`, a row-major keys x columns
// matrix. The weights w_k are not negative, and their sum is 1.
struct WeightedAverage {
  std::int64_t keys, columns;  // `columns` must be a multiple of kAveragedColumns
  const double* values;
  // The weights w_k. This and the following arrays have one value for each key.
  const double* weight;
  // Mean and variance of the relative error of each weight that also enters the sum of all weights.
  // An average moves towards the value of a weight that becomes heavier.
  const double* mean;
  const double* variance;
  // Mean square of the relative error of each weight that does not enter the sum of the weights.
  const double* of_cast;
  // A relative error of each weight that is an unknown multiple of its `depth`. The multiple is the
  // same for all weights.
  const double* depth;
  // The largest size of a relative error of each weight. These errors may have the same sign for
  // all weights.
  const double* drift;
};
inline constexpr std::int64_t kAveragedColumns = 8;

// The errors of each column's average. With d = v_kj - average, they are sums over k of the terms
// below.
struct AverageErrors {
  double* average;
  double* mean;      // sum of w_k d mean_k
  double* variance;  // sum of (w_k d)^2 variance_k + (w_k v_kj)^2 of_cast_k
  // These two are only set if `depth` and `drift` are not null.
  double* depth;  // sum of w_k d depth_k
  double* drift;  // sum of |w_k d drift_k|
};

// Writes the averages and their errors. Every SIMD target gives the same bits, because keys are
// added one after the other.
void weighted_errors(const WeightedAverage& of, const AverageErrors& to);

// Writes sum_j factor_j v_kj for each key, with sums in eight lanes.
void weighted_columns(const WeightedAverage& of, const double* factor, double* sums);

}  // namespace assay::simd
