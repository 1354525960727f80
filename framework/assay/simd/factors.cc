#include "assay/simd/factors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/factors.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "assay/simd/factors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace factors {

bool read_factors_impl(const FactorsRead& read, double* value, double* lowest, double* leading) {
  const D d;
  M flushed = none();
  const V flush = all(read.flush_below), least = all(read.least_exponent);
  const auto lanes = static_cast<std::int64_t>(kLanes);
  for (std::int64_t row = 0; row < read.rows; ++row) {
    const double* from = read.from + row * read.stride;
    for (std::int64_t i = 0; i < read.width; i += lanes) {
      double rest[kLanes];
      const double* at = from + i;
      if (i + lanes > read.count) {
        for (std::int64_t l = 0; l < lanes; ++l) rest[l] = from[std::min(i + l, read.count - 1)];
        at = rest;
      }
      V x = hn::LoadU(d, at);
      const M small = hn::Lt(hn::Abs(x), flush);
      flushed = hn::Or(flushed, hn::And(small, hn::Ne(x, zeros())));
      x = hn::IfThenElse(small, zeros(), x);
      const M is_zero = hn::Eq(x, zeros());
      const V highest = hn::IfThenElse(is_zero, zeros(), hn::Max(leading_bit(x), least));
      const std::int64_t to = row * read.width + i;
      const std::int64_t left = read.width - i;
      if (left >= lanes) {
        hn::StoreU(x, d, value + to);
        hn::StoreU(lowest_bit(x), d, lowest + to);
        hn::StoreU(highest, d, leading + to);
        continue;
      }
      double values[3][kLanes];
      hn::StoreU(x, d, values[0]);
      hn::StoreU(lowest_bit(x), d, values[1]);
      hn::StoreU(highest, d, values[2]);
      std::copy_n(values[0], left, value + to);
      std::copy_n(values[1], left, lowest + to);
      std::copy_n(values[2], left, leading + to);
    }
  }
  return any_of(flushed);
}

}  // namespace factors

bool read_factors_impl(const FactorsRead& read, double* value, double* lowest, double* leading) {
  return factors::read_factors_impl(read, value, lowest, leading);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(read_factors_impl);

bool read_factors(const FactorsRead& read, double* value, double* lowest_bit, double* leading_bit) {
  return HWY_DYNAMIC_DISPATCH(read_factors_impl)(read, value, lowest_bit, leading_bit);
}

}  // namespace assay::simd
#endif
