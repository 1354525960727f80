// What a matrix unit's accumulator does to a sum of products: bounds of its errors that hold for
// all data, and their mean and variance. Everything here follows from the unit's DotModel, and is
// held to the scalar oracle of the same model (machine/dot.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/machine/machine.h"
#include "assay/simd/elements_kernel.h"

namespace assay {

// How often the accumulator rounds while it sums k products.
struct RoundingCounts {
  double path = 0;        // at most so many between a product and the sum that it ends up in
  double inside = 0;      // those of them that happen before a chunk meets the accumulator
  double promotions = 0;  // float32 additions of partial sums that are promoted
  double all = 0;         // of the whole sum: each flushes where the unit flushes sums
  double inexact = 0;     // those of `all` that may lose bits below the normal range
};
RoundingCounts rounding_counts(const DotModel& model, std::int64_t k);

// Bounds of m x n sums of k products.
struct SumBounds {
  std::vector<double> size;   // |start| + sum_k |a_k b_k|
  std::vector<double> error;  // |accumulated - exact| is at most this
};

// Why such sums of k products have no bound; empty where they have one. `starts`: they do not start
// at 0.
std::string why_no_sum_bounds(const DotModel& model, std::int64_t k, bool starts);

// The bounds of m x n sums of k products, for row-major a (m x k) and b (k x n) of finite values of
// the model's input formats, each sum from `start` of its column (empty: from 0). With S = |start|
// + sum_k |a_k b_k|, to first order
//
//   n u S        n roundings between a product and the sum (RoundingCounts::path); u is the
//                accumulator's unit roundoff, doubled where it rounds to one side (Higham, Accuracy
//                and Stability of Numerical Algorithms, 2nd ed., equation 3.5)
//   + (L + 1) 2^-F t   a chunk where L aligned terms and the accumulator keep F bits below the
//                largest of them; t is the largest |a_k b_k| of the chunk, or the accumulator where
//                that is larger (at most the sizes added since its last promotion), each factor and
//                the accumulator counting as its format's smallest normal where it is below
//
// and the higher orders of the first, n u / (1 - n u). Below the normal range come
//
//   s            a rounding that loses bits there, s the accumulator's smallest subnormal
//   f            a rounding (RoundingCounts::all) where the unit flushes sums, f the accumulator's
//                smallest normal; flushed sums come to no more than S all together, for what is
//                dropped has been added before
//   |a_k b_k|    a product with a subnormal factor, where the unit flushes inputs
//
// why_no_sum_bounds() must be empty. The result does not depend on `threads`.
SumBounds sum_bounds(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                     std::span<const double> a, std::span<const double> b,
                     const std::vector<double>& start, int threads = 0);

// Bounds a whole row of a product: the sum over its n columns of SumBounds::error, without the work
// of a product. It takes sums over each row of b first, so it costs m k + k n, and is larger than
// the sum of the bounds only where terms are aligned.
class RowSumBounds {
 public:
  // `starts`: the sums do not start at 0. why_no_sum_bounds() must be empty.
  RowSumBounds(const DotModel& model, std::int64_t n, std::int64_t k, bool starts);

  // Takes row kk of b: n values. Each row is taken once, and different rows may be taken on
  // different threads.
  void take(std::int64_t kk, std::span<const double> row);

  struct Row {
    // All are 0 if all products are 0.
    double size = 0;      // sum over the columns of SumBounds::size
    double error = 0;     // a bound of the sum over the columns of |accumulated - exact|
    double absolute = 0;  // the part of `error` that comes from below the normal range
  };
  // `a` has k values; `start` is the sum of |start| over the columns. All rows of b are taken.
  Row of(std::span<const double> a, double start) const;

 private:
  DotModel model_;
  std::int64_t n_, k_;
  bool starts_;
  std::vector<double> size_, aligned_, flushed_;
};

// What the operands say of the products of some sums together: p_t are the products a_ik b_kj.
struct ProductStats {
  double expected = 0;  // sum over columns and k of the products, without bias
  double square = 0;    // V: sum of their squares
  double start = 0;     // sum over columns of bias^2, where every partial sum starts
  double prefixes = 0;  // sum over the accumulator's roundings and the columns of partial sums
  double sign = 0;      // mean sign of the products, -1 to 1
  double columns = 1;
};

// The error of such sums together has a variance of `variance` + `per_square` sum c^2, and stays
// within `deviations` times the root of that; what the unit may flush beside it is `flushed`.
struct AccumulationNoise {
  double deviations = 0, variance = 0, per_square = 0;
  double flushed = 0;
};

// How far the accumulation of one element may go.
struct ElementError {
  // What chance explains of roundings to nearest: 16 deviations of errors that know nothing of each
  // other. `worst` where it is smaller, and of accumulators that truncate.
  double chance = 0;
  // What any data allow: errors that all have one sign.
  double worst = 0;
};

// Errors of sums of k products in a float accumulator (docs/abft.md derives mean and variance).
class Accumulation {
 public:
  // model null: float32, rounded to nearest even, one rounding a product.
  Accumulation(const DotModel* model, std::int64_t k);

  // Whether any rounding errs to one side: of sums, or of terms where they are aligned.
  bool truncates() const { return truncates_; }
  bool aligns() const { return aligned_; }
  bool flushes_inputs() const { return flushes_inputs_; }
  double roundings() const { return roundings_; }  // of an element, a chunk each

  // How many roundings of the accumulator product k (of so many) goes through: the weights of
  // `prefixes`.
  double roundings_after(std::int64_t k) const;

  // Mean of the error: not 0 where the accumulator truncates.
  double bias(const ProductStats& p) const;
  AccumulationNoise noise(const ProductStats& p, double kappa) const;

  // How far the accumulation of one element's k products a_k b_k, in their order and from `bias`,
  // may go.
  ElementError element_bound(double bias, double reference, const double* a, const double* b) const;
  // Where is_chain(), the same from sums over chunks of chunk() products.
  bool is_chain() const { return !truncates_ && !flushes_inputs_ && segment_ >= k_; }
  ElementError chain_bound(const simd::ElementSums& sums) const;
  std::int64_t chunk() const { return chunk_; }
  // No element_bound() is above this where the sizes |a_k| and |b_k|, each at least aligned_size()
  // of itself, and |bias| have a scalar product of at most `size`.
  double largest_element_bound(double size) const;

  // |value| as it counts where terms are aligned: of a subnormal factor its format's smallest
  // normal; 0 where the unit takes it as 0.
  double aligned_size_a(double value) const { return aligned_size(value, least_a_); }
  double aligned_size_b(double value) const { return aligned_size(value, least_b_); }

 private:
  double aligned_size(double value, double least) const;
  double cut_products(const ProductStats& p) const;
  double truncation(const ProductStats& p) const;
  double flushed() const { return flushes_sums_ ? counts_.all * least_normal_ : 0; }

  std::int64_t k_, chunk_, segment_;  // products; of a rounding; between promotions
  double roundings_, segments_;
  double worst_ = 0;  // roundings that a bound for all data counts
  RoundingCounts counts_;
  bool truncates_ = false;
  bool cuts_sums_ = false, cuts_terms_ = false, aligned_ = false, coarse_ = false;
  bool flushes_inputs_ = false, flushes_sums_ = false;
  double unit_ = 0x1p-24;             // roundoff of the accumulator
  double least_normal_ = 0x1p-126;    // of the accumulator
  double least_a_ = 0, least_b_ = 0;  // smallest normals of the factors
  double floor_ = 0;                  // terms are aligned to no less than this
  int kept_ = 0, mantissa_ = 23, product_bits_ = 48;
  double lost_units_ = 0;  // 2^(emax - kept) a chunk, where terms are aligned
  double inner_square_ = 0, inner_products_ = 0;  // roundings inside a chunk
  double chain_square_, chain_products_;          // Q = chain_square_ S + chain_products_ V
  double promote_square_ = 0, promote_products_ = 0;
};

}  // namespace assay
