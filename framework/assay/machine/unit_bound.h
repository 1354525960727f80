// The errors that a matrix unit's accumulator makes in a sum of products: bounds that hold for all
// data, and their mean and variance. Everything here follows from the unit's DotModel, and is
// tested against the scalar oracle of the same model (machine/dot.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/machine/accumulation_terms.h"
#include "assay/machine/machine.h"
#include "assay/simd/elements_kernel.h"

namespace assay::inline v0_2 {

// The number of roundings of the accumulator while it sums k products.
struct RoundingCounts {
  double path = 0;  // the most roundings that a product goes through until its sum is complete
  // The roundings of `path` that happen before a chunk is added to the accumulator.
  double inside = 0;
  double promotions = 0;  // float32 additions of partial sums that are promoted
  // All roundings of a sum. Each of them flushes if the unit flushes sums.
  double all = 0;
  double inexact = 0;  // roundings of `all` that may lose bits below the normal range
};
RoundingCounts rounding_counts(const DotModel& model, std::int64_t k);

// Bounds of m x n sums of k products.
struct SumBounds {
  std::vector<double> size;   // |start| + sum_k |a_k b_k| of each sum
  std::vector<double> error;  // upper bound of |accumulated - exact| of each sum
};

// Explains why the unit's sums of k products have no bound. Empty if they have one. `starts` is
// true if the sums do not start at 0.
std::string why_no_sum_bounds(const DotModel& model, std::int64_t k, bool starts);

// Returns the bounds of m x n sums of k products, for row-major a (m x k) and b (k x n) of finite
// values of the model's input formats. Each sum starts at the `start` of its column, or at 0 if
// `start` has no values. With S = |start| + sum_k |a_k b_k|, the bound is, to first order,
//
//   n u S        for n roundings between a product and the sum (RoundingCounts::path). u is the
//                accumulator's unit roundoff, doubled if it rounds to one side (Higham, Accuracy
//                and Stability of Numerical Algorithms, 2nd ed., equation 3.5).
//   + (L + 1) 2^-F t   for each chunk, if its L aligned terms and the accumulator keep F bits below
//                the largest of them. t is the larger of the chunk's largest |a_k b_k| and the
//                accumulator, which is at most the sizes added since its last promotion. Each
//                factor and the accumulator count as their format's smallest normal number if they
//                are below it.
//
// and the higher orders of the first term, n u / (1 - n u). Below the normal range it adds
//
//   s            for each rounding that loses bits there. s is the smallest subnormal number of the
//                accumulator.
//   f            for each rounding (RoundingCounts::all) if the unit flushes sums. f is the
//                smallest normal number of the accumulator. All flushed sums together are at most
//                S, because every number that is dropped has been added before.
//   |a_k b_k|    for each product with a subnormal factor, if the unit flushes inputs
//
// why_no_sum_bounds() must be empty. The result does not depend on `threads`.
SumBounds sum_bounds(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                     std::span<const double> a, std::span<const double> b,
                     const std::vector<double>& start, int threads = 0);

// Bounds a whole row of a product: the sum of SumBounds::error over its n columns. It sums over
// each row of b once, so it costs m k + k n and not the m k n of the product. The bound is larger
// than the sum of the single bounds only if terms are aligned or the unit flushes sums.
class RowSumBounds {
 public:
  // `starts` is true if the sums do not start at 0. why_no_sum_bounds() must be empty.
  RowSumBounds(const DotModel& model, std::int64_t n, std::int64_t k, bool starts);

  // Adds row kk of b, which has n values. Each row must be added once. Several threads may add
  // different rows at the same time.
  void take(std::int64_t kk, std::span<const double> row);

  struct Row {
    // All three numbers are 0 if all products and the start are 0.
    double size = 0;      // sum over the columns of SumBounds::size
    double error = 0;     // a bound of the sum over the columns of |accumulated - exact|
    double absolute = 0;  // the part of `error` that comes from below the normal range
  };
  // Returns the bound of a row. `a` has k values, and `start` is the sum of |start| over the
  // columns. All rows of b must have been added.
  Row of(std::span<const double> a, double start) const;

 private:
  DotModel model_;
  std::int64_t n_, k_;
  bool starts_;
  std::vector<double> size_, aligned_, flushed_;
};

// The largest error of the accumulation of one element.
struct ElementError {
  // The largest error that chance explains if roundings are to nearest: 16 standard deviations of
  // independent errors. It equals `worst` if `worst` is smaller, or if the accumulator truncates.
  double chance = 0;
  // The largest error for any data, in which all errors have one sign.
  double worst = 0;
};

// Errors of sums of k products in a float accumulator (docs/abft.md derives mean and variance).
class Accumulation {
 public:
  // If model is null, the accumulator is float32, rounded to nearest even after each product.
  Accumulation(const DotModel* model, std::int64_t k);

  // True if sums are not rounded to nearest, or if terms are aligned.
  bool truncates() const { return terms_.truncates; }
  bool aligns() const { return terms_.aligned; }
  bool flushes_inputs() const { return flushes_inputs_; }
  // Returns the number of roundings for each element, one for each chunk.
  double roundings() const { return terms_.roundings; }

  // Returns the number of roundings of the accumulator that product k goes through. These are the
  // weights of `prefixes`.
  double roundings_after(std::int64_t k) const { return device::roundings_after(terms_, k); }

  // Returns the mean of the error, which is 0 unless the accumulator truncates.
  double bias(const ProductStats& p) const { return device::bias_of(terms_, p); }
  AccumulationNoise noise(const ProductStats& p, double kappa) const {
    return device::noise_of(terms_, p, kappa);
  }
  const device::AccumulationTerms& terms() const { return terms_; }

  // Returns the largest error of the accumulation of one element's k products a_k b_k, in their
  // order and starting from `bias`.
  ElementError element_bound(double bias, double reference, const double* a, const double* b) const;
  // If is_chain() is true, chain_bound() returns element_bound() from sums over chunks of chunk()
  // products.
  bool is_chain() const { return !terms_.truncates && !flushes_inputs_ && terms_.segment >= k_; }
  ElementError chain_bound(const simd::ElementSums& sums) const;
  std::int64_t chunk() const { return terms_.chunk; }
  // Returns a bound of element_bound() for all elements whose sizes have a scalar product of at
  // most `size`. The sizes are |a_k| and |b_k|, each at least its own aligned_size(), and |bias|.
  double largest_element_bound(double size) const;

  // Returns |value| as it counts if terms are aligned. A subnormal factor counts as its format's
  // smallest normal number, or as 0 if the unit flushes it.
  double aligned_size_a(double value) const { return aligned_size(value, least_a_); }
  double aligned_size_b(double value) const { return aligned_size(value, least_b_); }

 private:
  double aligned_size(double value, double least) const;

  device::AccumulationTerms terms_;
  std::int64_t k_;    // the number of products
  double worst_ = 0;  // number of roundings that a bound for all data counts
  RoundingCounts counts_;
  bool flushes_inputs_ = false;
  double least_normal_ = 0x1p-126;    // of the accumulator
  double least_a_ = 0, least_b_ = 0;  // smallest normals of the factors
  double floor_ = 0;                  // smallest size to which terms are aligned
  // Largest loss of a chunk by alignment, in units of 2^(emax - kept), if terms are aligned.
  double lost_units_ = 0;
  // Parts of chain_square and chain_products that come from the roundings inside a chunk.
  double inner_square_ = 0, inner_products_ = 0;
};

}  // namespace assay
