#include "assay/simd/weighted_errors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/weighted_errors.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "assay/simd/eight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

using AveragedEight = Eight<double>;
static_assert(AveragedEight::kLanes == kAveragedColumns);

HWY_INLINE void store_eight(const AveragedEight& x, double* to) {
  ASSAY_UNROLL_PARTS
  for (std::size_t i = 0; i < AveragedEight::kParts; ++i) {
    hn::StoreU(x.part[i], AveragedEight::Tag(), to + i * AveragedEight::kPart);
  }
}

// Computes the errors of kAveragedColumns columns. With kWithDepth, also computes
// AverageErrors::depth and drift.
template <bool kWithDepth>
HWY_INLINE void column_errors(const WeightedAverage& of, std::int64_t column,
                              const AverageErrors& to) {
  const AveragedEight::Tag d;
  AveragedEight average = AveragedEight::set(0), mean = average, variance = average,
                depth = average, drift = average;
  for (std::int64_t k = 0; k < of.keys; ++k) {
    const auto weight = hn::Set(d, of.weight[k]);
    ASSAY_UNROLL_PARTS
    for (std::size_t i = 0; i < AveragedEight::kParts; ++i) {
      const auto v = hn::LoadU(d, of.values + k * of.columns + column + i * AveragedEight::kPart);
      average.part[i] = hn::Add(average.part[i], hn::Mul(weight, v));
    }
  }
  for (std::int64_t k = 0; k < of.keys; ++k) {
    const double w = of.weight[k];
    const auto weight = hn::Set(d, w), of_mean = hn::Set(d, w * of.mean[k]),
               of_variance = hn::Set(d, w * w * of.variance[k]),
               of_cast = hn::Set(d, w * w * of.of_cast[k]);
    ASSAY_UNROLL_PARTS
    for (std::size_t i = 0; i < AveragedEight::kParts; ++i) {
      const auto v = hn::LoadU(d, of.values + k * of.columns + column + i * AveragedEight::kPart);
      const auto beside = hn::Sub(v, average.part[i]);
      mean.part[i] = hn::Add(mean.part[i], hn::Mul(beside, of_mean));
      const auto shared = hn::Mul(hn::Mul(beside, beside), of_variance);
      const auto own = hn::Mul(hn::Mul(v, v), of_cast);
      variance.part[i] = hn::Add(variance.part[i], hn::Add(shared, own));
      if constexpr (kWithDepth) {
        const auto part = hn::Mul(weight, beside);
        depth.part[i] = hn::Add(depth.part[i], hn::Mul(part, hn::Set(d, of.depth[k])));
        drift.part[i] = hn::Add(drift.part[i], hn::Abs(hn::Mul(part, hn::Set(d, of.drift[k]))));
      }
    }
  }
  store_eight(average, to.average + column);
  store_eight(mean, to.mean + column);
  store_eight(variance, to.variance + column);
  if constexpr (kWithDepth) {
    store_eight(depth, to.depth + column);
    store_eight(drift, to.drift + column);
  }
}

void weighted_errors_impl(const WeightedAverage& of, const AverageErrors& to) {
  for (std::int64_t column = 0; column < of.columns; column += kAveragedColumns) {
    of.depth != nullptr ? column_errors<true>(of, column, to)
                        : column_errors<false>(of, column, to);
  }
}

void weighted_columns_impl(const WeightedAverage& of, const double* factor, double* sums) {
  for (std::int64_t k = 0; k < of.keys; ++k) {
    AveragedEight sum = AveragedEight::set(0);
    for (std::int64_t j = 0; j < of.columns; j += kAveragedColumns) {
      sum = add(sum, multiply(AveragedEight::load(factor + j),
                              AveragedEight::load(of.values + k * of.columns + j)));
    }
    sums[k] = sum_of(sum);
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(weighted_errors_impl);
HWY_EXPORT(weighted_columns_impl);

void weighted_errors(const WeightedAverage& of, const AverageErrors& to) {
  HWY_DYNAMIC_DISPATCH(weighted_errors_impl)(of, to);
}

void weighted_columns(const WeightedAverage& of, const double* factor, double* sums) {
  HWY_DYNAMIC_DISPATCH(weighted_columns_impl)(of, factor, sums);
}

}  // namespace assay::simd
#endif
