// The errors of averages with uncertain weights: the effect of errors in an attention's weights on
// its result.
#pragma once

#include <cstdint>

namespace assay::simd {

// The average sum_k w_k v_kj of each column j of `values`, row-major keys x columns, with
// non-negative weights whose sum is 1.
struct WeightedAverage {
  std::int64_t keys, columns;  // columns: a multiple of kAveragedColumns
  const double* values;
  const double* weight;  // w_k, this and the following arrays have one value for each key
  // Relative errors of each weight that also enter the sum of all weights. An average with a
  // heavier weight moves towards its value.
  const double* mean;
  const double* variance;
  // The mean square of a relative error that does not enter the sum of the weights.
  const double* of_cast;
  // A relative error that is unknown but is the same multiple of these for all weights.
  const double* depth;
  // The largest relative error that all weights may have in common, on both sides.
  const double* drift;
};
inline constexpr std::int64_t kAveragedColumns = 8;

// By column. With d = v_kj - average, sums over k of
struct AverageErrors {
  double* average;
  double* mean;      // w_k d mean_k
  double* variance;  // (w_k d)^2 variance_k + (w_k v_kj)^2 of_cast_k
  // Only if `depth` and `drift` are not null:
  double* depth;  // w_k d depth_k
  double* drift;  // |w_k d drift_k|
};

// Every SIMD target gives the same bits, because keys are added one after the other.
void weighted_errors(const WeightedAverage& of, const AverageErrors& to);

// Writes sum_j factor_j v_kj for each key, with sums in eight lanes.
void weighted_columns(const WeightedAverage& of, const double* factor, double* sums);

}  // namespace assay::simd
