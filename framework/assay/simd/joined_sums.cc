#include "assay/simd/joined_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/joined_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "assay/simd/factors-inl.h"
#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace factors {

// Returns 1 / x for a power of two x from 2^-1022 to 2^1022.
HWY_INLINE V inverse_of_power(V x) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(D(), hn::Sub(hn::Set(du, std::uint64_t{2046} << 52), hn::BitCast(du, x)));
}

HWY_INLINE V rounded_to_float32(V x) {
  const hn::Rebind<float, D> df;
  return hn::PromoteTo(D(), hn::DemoteTo(df, x));
}

// Computes the largest exponent of the vectors of products first, first + step, ..., and the sum of
// these products, with each product cut to an integer. The sum is in units of 2^-kept_bits times
// that exponent, which is a power of two.
struct AlignedSums {
  V largest[kStreams], sum[kStreams];

  HWY_INLINE AlignedSums(const JoinedUnit& unit, const Products& product, std::int64_t first,
                         std::int64_t last, std::int64_t step) {
    V scale[kStreams];
    ASSAY_UNROLL
    for (std::size_t s = 0; s < kStreams; ++s) {
      largest[s] = all(unit.emax_floor);
      sum[s] = zeros();
    }
    for (std::int64_t k = first; k < last; k += step) {
      ASSAY_UNROLL
      for (std::size_t s = 0; s < kStreams; ++s) {
        largest[s] = hn::Max(largest[s], product.leading_bit(s, k));
      }
    }
    ASSAY_UNROLL
    for (std::size_t s = 0; s < kStreams; ++s) {
      // If all products are 0, any scale gives the sum 0.
      const V power = hn::IfThenElse(hn::Gt(largest[s], zeros()), largest[s], all(1));
      scale[s] = inverse_of_power(hn::Mul(power, all(unit.kept)));
    }
    for (std::int64_t k = first; k < last; k += step) {
      ASSAY_UNROLL
      for (std::size_t s = 0; s < kStreams; ++s) {
        sum[s] = hn::Add(sum[s], hn::Trunc(hn::Mul(product.value(s, k), scale[s])));
      }
    }
  }
};

HWY_INLINE void add_chunk(const JoinedUnit& unit, const Products& product, std::int64_t first,
                          std::int64_t last, V* sums) {
  // The sums `products` are in units of 2^-kept_bits times `largest`.
  V largest[kStreams], products[kStreams];
  if (unit.interleave == 1) {
    const AlignedSums aligned(unit, product, first, last, 1);
    for (std::size_t s = 0; s < kStreams; ++s) {
      largest[s] = aligned.largest[s];
      products[s] = aligned.sum[s];
    }
  } else {
    const std::int64_t end = std::min(last, first + unit.interleave);
    for (std::size_t s = 0; s < kStreams; ++s) {
      largest[s] = all(unit.emax_floor);
      products[s] = zeros();
      for (std::int64_t k = first; k < last; ++k) {
        largest[s] = hn::Max(largest[s], product.leading_bit(s, k));
      }
    }
    for (std::int64_t lane = first; lane < end; ++lane) {
      const AlignedSums aligned(unit, product, lane, last, unit.interleave);
      for (std::size_t s = 0; s < kStreams; ++s) {
        const V power = hn::IfThenElse(hn::Gt(largest[s], zeros()), largest[s], all(1));
        const V ratio = hn::Mul(aligned.largest[s], inverse_of_power(power));
        products[s] = hn::Add(products[s], hn::Floor(hn::Mul(aligned.sum[s], ratio)));
      }
    }
  }
  for (std::size_t s = 0; s < kStreams; ++s) {
    // An accumulator is a float32. If it is not 0, its exponent is at least that of the smallest
    // normal number.
    const V of_sum = hn::IfThenElse(hn::Eq(sums[s], zeros()), zeros(),
                                    hn::Max(leading_bit(sums[s]), all(0x1p-126)));
    const V joined = hn::Max(largest[s], of_sum);
    const V power = hn::IfThenElse(hn::Gt(joined, zeros()), joined, all(1));
    const V inverse = inverse_of_power(power);
    const V of_products = hn::Mul(power, all(unit.sum_kept)),
            of_start = hn::Mul(power, all(unit.kept));
    const V shift = hn::Mul(hn::Mul(largest[s], inverse), all(unit.kept / unit.sum_kept));
    const V met = hn::Floor(hn::Mul(products[s], shift));
    V start = hn::Floor(hn::Mul(sums[s], hn::Mul(inverse, all(1 / unit.kept))));
    if (unit.reach > 0) {
      start = hn::IfThenElseZero(hn::Ge(of_sum, hn::Mul(joined, all(unit.reach))), start);
    }
    const V sum = hn::Add(hn::Mul(met, of_products), hn::Mul(start, of_start));
    // Sums that may overflow, and NaN, become NaN, so that the caller computes them. Adding +0
    // removes the sign of a zero.
    const M is_small =
        hn::And(hn::Lt(hn::Abs(sum), all(0x1p127)), hn::Lt(largest[s], all(0x1p126)));
    const M is_held = hn::And(is_small, hn::Lt(hn::Abs(sums[s]), all(0x1p127)));
    sums[s] = hn::IfThenElse(is_held, hn::Add(rounded_to_float32(sum), zeros()),
                             all(std::numeric_limits<double>::quiet_NaN()));
  }
}

void joined_sums_impl(const JoinedUnit& unit, std::int64_t rows, std::int64_t k,
                      const SumFactors& a, const SumFactors& b, double* sums) {
  const D d;
  const std::int64_t all_vectors = rows * static_cast<std::int64_t>(kParts);
  for (std::int64_t vector = 0; vector < all_vectors; vector += kStreams) {
    Products products;
    V of_vector[kStreams];
    std::size_t to[kStreams];
    for (std::size_t s = 0; s < kStreams; ++s) {
      // If the number of vectors is odd, the last one is computed twice.
      const std::int64_t at = std::min(vector + static_cast<std::int64_t>(s), all_vectors - 1);
      products.take(s, at, k, a, b);
      to[s] = static_cast<std::size_t>(at) * kLanes;
      of_vector[s] = hn::LoadU(d, sums + to[s]);
    }
    for (std::int64_t first = 0; first < k; first += unit.chunk) {
      add_chunk(unit, products, first, std::min(k, first + unit.chunk), of_vector);
    }
    for (std::size_t s = 0; s < kStreams; ++s) hn::StoreU(of_vector[s], d, sums + to[s]);
  }
}

}  // namespace factors

void joined_sums_impl(const JoinedUnit& unit, std::int64_t rows, std::int64_t k,
                      const SumFactors& a, const SumFactors& b, double* sums) {
  factors::joined_sums_impl(unit, rows, k, a, b, sums);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(joined_sums_impl);

void joined_sums(const JoinedUnit& unit, std::int64_t rows, std::int64_t k, const SumFactors& a,
                 const SumFactors& b, double* sums) {
  HWY_DYNAMIC_DISPATCH(joined_sums_impl)(unit, rows, k, a, b, sums);
}

}  // namespace assay::simd
#endif
