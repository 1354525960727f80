#include "assay/simd/sum_errors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/sum_errors.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "assay/simd/uncertain-inl.h"
#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace factors {

// Carries kStreams vectors of sums, with the statistics of their errors, through the roundings of
// the unit.
class Chains {
 public:
  HWY_INLINE Chains(const SumUnit& unit, const Products& product)
      : unit_(unit), product_(product), flushed_(none()) {}

  HWY_INLINE M flushed() const { return flushed_; }

  // Adds k products to `sums`, which hold the start values before.
  void run(std::int64_t k, bool has_start, Numbers* sums) {
    const bool added_last = has_start && unit_.start_is_added_last;
    const bool leave = unit_.without_last && !added_last;
    Numbers starts[kStreams];
    for (std::size_t s = 0; s < kStreams; ++s) {
      starts[s] = sums[s];
      if (added_last) sums[s] = Numbers::zero();
    }
    const std::int64_t interval = unit_.promotion_interval;
    if (interval == 0) part(0, k, leave, sums);
    for (std::int64_t first = 0; interval > 0 && first < k; first += interval) {
      const std::int64_t last = std::min(k, first + interval);
      Numbers parts[kStreams];
      for (Numbers& sum : parts) sum = Numbers::zero();
      part(first, last, false, parts);
      for (std::size_t s = 0; s < kStreams; ++s) {
        add(sums[s], parts[s]);
        rounded(sums[s], unit_.promoted, leave && last == k);
      }
    }
    if (!added_last) return;
    for (std::size_t s = 0; s < kStreams; ++s) {
      add(sums[s], starts[s]);
      rounded(sums[s], unit_.promoted, unit_.without_last);
    }
  }

 private:
  HWY_INLINE Numbers number(std::size_t s, std::int64_t k) const {
    return Numbers::exact(product_.value(s, k), product_.lowest_bit(s, k));
  }

  // Notes if the unit flushes a sum. Rounds the sums, unless `leave` is true.
  HWY_INLINE void rounded(Numbers& sum, const RoundingToFormat& to, bool leave) {
    if (unit_.flush_below > 0) {
      const M small = hn::Lt(hn::Abs(sum.value), all(unit_.flush_below));
      flushed_ = hn::Or(flushed_, hn::And(small, hn::Ne(sum.value, zeros())));
    }
    if (!leave) round(sum, to);
  }

  HWY_NOINLINE void part(std::int64_t begin, std::int64_t end, bool without_last, Numbers* sums) {
    const bool is_aligned = unit_.kept > 0;
    const bool fused = !is_aligned && unit_.order == SumOrder::kFused;
    if (fused && !unit_.rounds_products && unit_.chunk == 1) {
      return chain(begin, end, without_last, sums);
    }
    for (std::int64_t first = begin; first < end; first += unit_.chunk) {
      const std::int64_t last = std::min(end, first + unit_.chunk);
      if (is_aligned) {
        unit_.sum_kept > 0 ? add_joined(first, last, sums) : add_aligned(first, last, sums);
      } else {
        Numbers chunks[kStreams];
        if (!fused) {
          for (std::size_t s = 0; s < kStreams; ++s) chunks[s] = sum_in_order(s, first, last);
        } else if (unit_.rounds_products) {
          for (std::size_t s = 0; s < kStreams; ++s) chunks[s] = rounded_sum(s, first, last);
        } else {
          exact_sums(first, last, chunks);
        }
        for (std::size_t s = 0; s < kStreams; ++s) add(sums[s], chunks[s]);
      }
      for (std::size_t s = 0; s < kStreams; ++s) {
        rounded(sums[s], unit_.accumulator, without_last && last == end);
      }
    }
  }

  // Adds one product after the other, and rounds the sum after each.
  HWY_INLINE void chain(std::int64_t begin, std::int64_t end, bool without_last, Numbers* sums) {
    const RoundingToFormat& to = unit_.accumulator;
    const bool is_usual = to.moments.is_to_nearest_even() && unit_.flush_below == 0;
    for (std::int64_t k = begin; k < end; ++k) {
      const bool leave = without_last && k + 1 == end;
      M known = none();
      for (std::size_t s = 0; s < kStreams; ++s) {
        add(sums[s], number(s, k));
        rounded(sums[s], to, leave);
        known = hn::Or(known, sums[s].known);
      }
      if (is_usual && !any_of(known))
        k = rounded_chain(k + 1, without_last ? end - 1 : end, sums) - 1;
    }
  }

  // Does the same as chain() for sums that have been rounded before, with rounding to nearest even.
  // Stops at the first step that gives a subnormal sum. Returns the index of that step, or `end`.
  HWY_NOINLINE std::int64_t rounded_chain(std::int64_t begin, std::int64_t end, Numbers* sums) {
    const RoundingToFormat& to = unit_.accumulator;
    const V normal = all(to.least / to.epsilon), epsilon = all(to.epsilon);
    const V any = all(to.moments.grid_variance.any), odd = all(to.moments.grid_variance.odd),
            of_tie = all(to.moments.grid_variance.tie);
    const Products product = product_;
    V value[kStreams], grid[kStreams], variance[kStreams];
    M is_odd[kStreams];
    ASSAY_UNROLL
    for (std::size_t s = 0; s < kStreams; ++s) {
      value[s] = sums[s].value;
      grid[s] = sums[s].grid;
      variance[s] = sums[s].variance;
      is_odd[s] = sums[s].odd;
    }
    std::int64_t k = begin;
    for (; k < end; ++k) {
      V next[kStreams], leading[kStreams];
      M small = none();
      ASSAY_UNROLL
      for (std::size_t s = 0; s < kStreams; ++s) {
        // Products are exact, so a fused multiply-add has the same bits.
        next[s] = hn::MulAdd(product.a_value(s, k), product.b_value(s, k), value[s]);
        leading[s] = leading_bit(next[s]);
        small = hn::Or(small, hn::Lt(leading[s], normal));
      }
      if (any_of(small)) break;
      ASSAY_UNROLL
      for (std::size_t s = 0; s < kStreams; ++s) {
        const V of_product = product.lowest_bit(s, k), low = hn::Min(grid[s], of_product);
        const M odd_sum =
            hn::Or(hn::Lt(of_product, grid[s]), hn::And(is_odd[s], hn::Lt(grid[s], of_product)));
        const V ulp = hn::Mul(leading[s], epsilon);
        const M cut = hn::Lt(low, ulp);
        const V of_odd = hn::IfThenElse(hn::Eq(hn::Add(low, low), ulp), of_tie, odd);
        const V square =
            hn::MulAdd(hn::IfThenElse(odd_sum, of_odd, any), hn::Mul(low, low), hn::Mul(ulp, ulp));
        value[s] = next[s];
        variance[s] = hn::Add(variance[s], hn::IfThenElseZero(cut, square));
        grid[s] = hn::Max(low, ulp);
        is_odd[s] = hn::AndNot(cut, odd_sum);
      }
    }
    ASSAY_UNROLL
    for (std::size_t s = 0; s < kStreams; ++s) {
      sums[s].value = value[s];
      sums[s].grid = grid[s];
      sums[s].variance = variance[s];
      sums[s].odd = is_odd[s];
    }
    return k;
  }

  // Computes the exact sums of a chunk's products. `known` is true for a sum if float64 holds every
  // partial sum.
  HWY_INLINE void exact_sums(std::int64_t first, std::int64_t last, Numbers* sums) {
    V value[kStreams], size[kStreams], low[kStreams];
    ASSAY_UNROLL
    for (std::size_t s = 0; s < kStreams; ++s) {
      value[s] = size[s] = zeros();
      low[s] = infinities();
    }
    for (std::int64_t k = first; k < last; ++k) {
      ASSAY_UNROLL
      for (std::size_t s = 0; s < kStreams; ++s) {
        const V product = product_.value(s, k);
        value[s] = hn::Add(value[s], product);
        size[s] = hn::Add(size[s], hn::Abs(product));
        low[s] = hn::Min(low[s], product_.lowest_bit(s, k));
      }
    }
    for (std::size_t s = 0; s < kStreams; ++s) {
      Numbers& sum = sums[s];
      sum.value = value[s];
      sum.mean = sum.variance = zeros();
      sum.known = holds_digits(leading_bit(size[s]), low[s]);
      sum.grid = hn::IfThenElse(sum.known, lowest_bit(value[s]), low[s]);
      sum.odd = hn::And(sum.known, hn::Ne(value[s], zeros()));
    }
  }

  // Computes the largest exponent of the products first, first + step, ...
  HWY_INLINE void largest_exponents(std::int64_t first, std::int64_t last, std::int64_t step,
                                    V* largest) const {
    ASSAY_UNROLL
    for (std::size_t s = 0; s < kStreams; ++s) largest[s] = all(unit_.emax_floor);
    for (std::int64_t k = first; k < last; k += step) {
      ASSAY_UNROLL
      for (std::size_t s = 0; s < kStreams; ++s) {
        largest[s] = hn::Max(largest[s], product_.leading_bit(s, k));
      }
    }
  }

  // Sums the products first, first + step, ..., each rounded to a multiple of `unit`. A unit lies
  // so few digits below the products that float64 holds sums of its multiples.
  HWY_INLINE void aligned_sums(std::int64_t first, std::int64_t last, std::int64_t step,
                               const V* unit, Numbers* sums) {
    if (!unit_.alignment.is_toward_zero()) {
      for (std::size_t s = 0; s < kStreams; ++s) {
        sums[s] = Numbers::zero();
        for (std::int64_t k = first; k < last; k += step) {
          Numbers product = number(s, k);
          round_to_grid(product, unit[s], unit_.alignment);
          add(sums[s], product);
        }
      }
      return;
    }
    V value[kStreams], mean[kStreams], variance[kStreams], half[kStreams], square[kStreams];
    M cuts[kStreams];
    ASSAY_UNROLL
    for (std::size_t s = 0; s < kStreams; ++s) {
      value[s] = mean[s] = variance[s] = zeros();
      half[s] = hn::Mul(unit[s], all(0.5));
      square[s] = hn::Mul(unit[s], unit[s]);
      cuts[s] = none();
    }
    const V four = all(4);
    for (std::int64_t k = first; k < last; k += step) {
      ASSAY_UNROLL
      for (std::size_t s = 0; s < kStreams; ++s) {
        // A product is an odd multiple of its lowest bit, which decides the variance of cutting it.
        const V product = product_.value(s, k), low = product_.lowest_bit(s, k);
        const M cut = hn::Lt(low, unit[s]), lost = hn::Lt(hn::Abs(product), unit[s]);
        value[s] = hn::Add(value[s], product);
        const V error = hn::IfThenElse(lost, product, hn::CopySign(half[s], product));
        mean[s] = hn::Sub(mean[s], hn::IfThenElseZero(cut, error));
        const V chance = hn::NegMulAdd(hn::Mul(four, low), low, square[s]);
        variance[s] = hn::Add(variance[s], hn::IfThenElseZero(hn::AndNot(lost, cut), chance));
        cuts[s] = hn::Or(cuts[s], cut);
      }
    }
    for (std::size_t s = 0; s < kStreams; ++s) {
      Numbers& sum = sums[s];
      sum.value = value[s];
      sum.mean = mean[s];
      sum.variance = variance[s];
      sum.grid = hn::IfThenElse(cuts[s], unit[s], lowest_bit(value[s]));
      sum.known = hn::AndNot(cuts[s], every());
      sum.odd = hn::AndNot(cuts[s], hn::Ne(value[s], zeros()));
    }
  }

  // Returns the exponent of an accumulator, or emax_floor if it is 0.
  HWY_INLINE V exponent_of(const Numbers& sum) const {
    const V exponent = hn::Max(leading_bit(sum.value), all(unit_.least_exponent));
    return hn::IfThenElse(hn::Eq(sum.value, zeros()), all(unit_.emax_floor), exponent);
  }

  HWY_INLINE void add_aligned(std::int64_t first, std::int64_t last, Numbers* sums) {
    V unit[kStreams];
    largest_exponents(first, last, 1, unit);
    for (std::size_t s = 0; s < kStreams; ++s) {
      unit[s] = hn::Mul(hn::Max(unit[s], exponent_of(sums[s])), all(unit_.kept));
      round_to_grid(sums[s], unit[s], unit_.alignment);
    }
    Numbers products[kStreams];
    aligned_sums(first, last, 1, unit, products);
    for (std::size_t s = 0; s < kStreams; ++s) add(sums[s], products[s]);
  }

  // Adds a chunk for units whose accumulator is added to the finished sum of the products
  // (DotModel::sum_bits).
  HWY_INLINE void add_joined(std::int64_t first, std::int64_t last, Numbers* sums) {
    const std::int64_t lanes = unit_.interleave;
    V largest[kStreams], emax[kStreams];
    largest_exponents(first, last, 1, largest);
    Numbers products[kStreams];
    for (Numbers& sum : products) sum = Numbers::zero();
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      largest_exponents(first + lane, last, lanes, emax);
      for (V& exponent : emax) exponent = hn::Mul(exponent, all(unit_.kept));
      Numbers of_lane[kStreams];
      aligned_sums(first + lane, last, lanes, emax, of_lane);
      for (std::size_t s = 0; s < kStreams; ++s) {
        if (lanes > 1) {
          round_to_grid(of_lane[s], hn::Mul(largest[s], all(unit_.kept)), kDownMoments);
        }
        add(products[s], of_lane[s]);
      }
    }
    for (std::size_t s = 0; s < kStreams; ++s) {
      Numbers& sum = sums[s];
      const V of_sum = exponent_of(sum), joined = hn::Max(largest[s], of_sum);
      round_to_grid(products[s], hn::Mul(joined, all(unit_.sum_kept)), kDownMoments);
      V unit = hn::Mul(joined, all(unit_.kept));
      if (unit_.reach > 0) {
        const M far =
            hn::And(hn::Ne(sum.value, zeros()), hn::Lt(of_sum, hn::Mul(joined, all(unit_.reach))));
        // An accumulator that is out of reach is lost as a whole.
        round_to_grid(sum, hn::IfThenElseZero(far, hn::Add(joined, joined)), kTowardZeroMoments);
        unit = hn::IfThenElse(far, zeros(), unit);
      }
      round_to_grid(sum, unit, kDownMoments);
      add(sum, products[s]);
    }
  }

  // Returns the sum of a chunk's products, which are rounded one by one before they are added.
  HWY_INLINE Numbers rounded_sum(std::size_t s, std::int64_t first, std::int64_t last) {
    Numbers sum = Numbers::zero();
    for (std::int64_t k = first; k < last; ++k) {
      Numbers product = number(s, k);
      round(product, unit_.accumulator);
      add(sum, product);
    }
    return sum;
  }

  // Returns the sum of a chunk's products, which are added to each other before the accumulator.
  HWY_INLINE Numbers sum_in_order(std::size_t s, std::int64_t first, std::int64_t last) {
    if (unit_.order == SumOrder::kPairwise) return sum_of_pairs(s, first, last);
    Numbers sum = Numbers::zero();
    for (std::int64_t k = first; k < last; ++k) {
      Numbers product = number(s, k);
      if (unit_.rounds_products) round(product, unit_.accumulator);
      add(sum, product);
      if (!unit_.rounds_products || k > first) rounded(sum, unit_.accumulator, false);
    }
    return sum;
  }

  // Returns the sum of a chunk's products by the tree of adjacent pairs. The sums of complete trees
  // wait for their neighbours.
  HWY_INLINE Numbers sum_of_pairs(std::size_t s, std::int64_t first, std::int64_t last) {
    constexpr std::size_t kMostLevels = 64;
    Numbers waiting[kMostLevels];
    std::size_t count = 0;
    const auto join = [&]() HWY_ATTR {
      --count;
      add(waiting[count - 1], waiting[count]);
      rounded(waiting[count - 1], unit_.accumulator, false);
    };
    for (std::int64_t k = first; k < last; ++k) {
      waiting[count] = number(s, k);
      round(waiting[count], unit_.accumulator);
      ++count;
      for (std::int64_t pairs = k - first + 1; pairs % 2 == 0; pairs /= 2) join();
    }
    while (count > 1) join();
    return waiting[0];
  }

  const SumUnit& unit_;
  const Products& product_;
  M flushed_;
};

HWY_INLINE Numbers numbers_of(const SumStarts& starts, std::size_t from) {
  const D d;
  Numbers x;
  x.value = hn::LoadU(d, starts.value + from);
  x.grid = hn::LoadU(d, starts.grid + from);
  x.mean = hn::LoadU(d, starts.mean + from);
  x.variance = hn::Mul(hn::LoadU(d, starts.variance + from), all(12));
  x.known = hn::Gt(hn::LoadU(d, starts.known + from), zeros());
  x.odd = hn::Gt(hn::LoadU(d, starts.odd + from), zeros());
  return x;
}

bool sum_errors_impl(const SumUnit& unit, std::int64_t rows, std::int64_t k, const SumFactors& a,
                     const SumFactors& b, const SumStarts* starts, double* mean, double* variance) {
  const D d;
  M flushed = none();
  const std::int64_t all_vectors = rows * static_cast<std::int64_t>(kParts);
  for (std::int64_t vector = 0; vector < all_vectors; vector += kStreams) {
    Products products;
    Numbers sums[kStreams];
    std::size_t to[kStreams];
    for (std::size_t s = 0; s < kStreams; ++s) {
      // If the number of vectors is odd, the last one is computed twice.
      const std::int64_t at = std::min(vector + static_cast<std::int64_t>(s), all_vectors - 1);
      const std::size_t column = products.take(s, at, k, a, b);
      to[s] = static_cast<std::size_t>(at) * kLanes;
      sums[s] = starts != nullptr ? numbers_of(*starts, column) : Numbers::zero();
    }
    Chains chains(unit, products);
    chains.run(k, starts != nullptr, sums);
    flushed = hn::Or(flushed, chains.flushed());
    for (std::size_t s = 0; s < kStreams; ++s) {
      hn::StoreU(sums[s].mean, d, mean + to[s]);
      hn::StoreU(hn::Div(sums[s].variance, all(12)), d, variance + to[s]);
    }
  }
  return any_of(flushed);
}

}  // namespace factors

bool sum_errors_impl(const SumUnit& unit, std::int64_t rows, std::int64_t k, const SumFactors& a,
                     const SumFactors& b, const SumStarts* starts, double* mean, double* variance) {
  return factors::sum_errors_impl(unit, rows, k, a, b, starts, mean, variance);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(sum_errors_impl);

bool sum_errors(const SumUnit& unit, std::int64_t rows, std::int64_t k, const SumFactors& a,
                const SumFactors& b, const SumStarts* starts, double* mean, double* variance) {
  return HWY_DYNAMIC_DISPATCH(sum_errors_impl)(unit, rows, k, a, b, starts, mean, variance);
}

}  // namespace assay::simd
#endif
