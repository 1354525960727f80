#include "assay/simd/chunk_errors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/chunk_errors.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "assay/simd/eight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using E = Eight<double>;
constexpr std::int64_t kEight = 8;

double largest_leading_bit_impl(std::int64_t n, const ChunkFactors& a, const ChunkFactors& b) {
  E largest = E::set(0);
  std::int64_t i = 0;
  for (; i + kEight <= n; i += kEight) {
    largest = greatest(largest, multiply(E::load(a.leading_bit + i), E::load(b.leading_bit + i)));
  }
  double most = greatest_of(largest);
  for (; i < n; ++i) most = std::max(most, a.leading_bit[i] * b.leading_bit[i]);
  return most;
}

// Eight running sums of what a chunk's products give.
struct Lanes {
  E sum, size, mean, variance, lowest;
  hn::Vec<E::Tag> any;  // more than 0 where a product was cut

  // Not the implicit one, which is compiled for no target.
  HWY_INLINE Lanes()
      : sum(E::set(0)),
        size(E::set(0)),
        mean(E::set(0)),
        variance(E::set(0)),
        lowest(E::set(std::numeric_limits<double>::infinity())),
        any(hn::Zero(E::Tag())) {}

  HWY_INLINE void add(const E& a, const E& b, const E& low_a, const E& low_b, double unit,
                      double inverse) {
    const E::Tag d;
    const auto one = hn::Set(d, 1.0), four = hn::Set(d, 4.0), whole = hn::Set(d, unit),
               half = hn::Set(d, unit / 2), square = hn::Set(d, unit * unit / 12),
               scale = hn::Set(d, inverse);
    ASSAY_UNROLL_PARTS
    for (std::size_t i = 0; i < E::kParts; ++i) {
      const auto value = hn::Mul(a.part[i], b.part[i]), absolute = hn::Abs(value);
      const auto low = hn::Mul(low_a.part[i], low_b.part[i]);
      const auto cut = hn::Lt(low, whole);
      const auto lost = hn::Lt(absolute, whole);  // all of it
      sum.part[i] = hn::Add(sum.part[i], value);
      size.part[i] = hn::Add(size.part[i], absolute);
      const auto error = hn::IfThenElse(lost, value, hn::CopySign(half, value));
      mean.part[i] = hn::Sub(mean.part[i], hn::IfThenElseZero(cut, error));
      const auto ratio = hn::Mul(low, scale);
      const auto chance = hn::Mul(square, hn::Sub(one, hn::Mul(four, hn::Mul(ratio, ratio))));
      const auto spreads = hn::AndNot(lost, cut);
      variance.part[i] = hn::Add(variance.part[i], hn::IfThenElseZero(spreads, chance));
      lowest.part[i] = hn::Min(lowest.part[i], hn::IfThenElse(cut, whole, low));
      any = hn::Or(any, hn::IfThenElseZero(cut, one));
    }
  }
};

ChunkErrors chunk_errors_impl(std::int64_t n, const ChunkFactors& a, const ChunkFactors& b,
                              double unit) {
  const double inverse = unit > 0 ? 1 / unit : 0;
  Lanes lanes;
  std::int64_t i = 0;
  for (; i + kEight <= n; i += kEight) {
    lanes.add(E::load(a.value + i), E::load(b.value + i), E::load(a.lowest_bit + i),
              E::load(b.lowest_bit + i), unit, inverse);
  }
  if (i < n) {
    double rest[4][kEight];
    for (std::int64_t k = 0; k < kEight; ++k) {
      const bool is_there = i + k < n;
      rest[0][k] = is_there ? a.value[i + k] : 0;
      rest[1][k] = is_there ? b.value[i + k] : 0;
      rest[2][k] = is_there ? a.lowest_bit[i + k] : std::numeric_limits<double>::infinity();
      rest[3][k] = is_there ? b.lowest_bit[i + k] : std::numeric_limits<double>::infinity();
    }
    lanes.add(E::load(rest[0]), E::load(rest[1]), E::load(rest[2]), E::load(rest[3]), unit,
              inverse);
  }
  return {sum_of(lanes.sum),      sum_of(lanes.size),
          sum_of(lanes.mean),     sum_of(lanes.variance),
          least_of(lanes.lowest), hn::GetLane(hn::MaxOfLanes(E::Tag(), lanes.any)) > 0};
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {

HWY_EXPORT(largest_leading_bit_impl);
HWY_EXPORT(chunk_errors_impl);

double largest_leading_bit(std::int64_t n, const ChunkFactors& a, const ChunkFactors& b) {
  return HWY_DYNAMIC_DISPATCH(largest_leading_bit_impl)(n, a, b);
}

ChunkErrors chunk_errors(std::int64_t n, const ChunkFactors& a, const ChunkFactors& b,
                         double unit) {
  return HWY_DYNAMIC_DISPATCH(chunk_errors_impl)(n, a, b, unit);
}

}  // namespace assay::simd
#endif
