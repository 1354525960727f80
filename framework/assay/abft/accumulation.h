// What a product's accumulator adds to the difference of a check: a bias where it truncates, and a
// variance (docs/abft.md derives both).
#pragma once

#include <cstdint>
#include <string>

#include "assay/abft/bound_form.h"
#include "assay/machine/machine.h"
#include "assay/simd/elements.h"

namespace assay {

// What the operands say of the products of one check's columns: p_t are the products a_ik b_kj.
struct ProductStats {
  double expected = 0;  // sum over columns and k of the products, without bias
  double square = 0;    // V: sum of their squares
  double start = 0;     // sum over columns of bias^2, where every partial sum starts
  double prefixes = 0;  // sum over the accumulator's roundings and the columns of partial sums
  double sign = 0;      // mean sign of the products, -1 to 1
  double columns = 1;
};

class Accumulation {
 public:
  // model null: float32, rounded to nearest even, one rounding a product.
  Accumulation(const DotModel* model, std::int64_t k);

  // Why rounding_variance does not hold on this accumulator; empty where it does.
  static std::string why_not(const DotModel* model);

  bool truncates() const { return truncates_; }
  bool aligns() const { return aligned_; }
  double roundings() const { return roundings_; }  // of an element

  // How many roundings of the accumulator product k (of so many) goes through: the weights of
  // `prefixes`.
  double roundings_after(std::int64_t k) const;

  // Mean of the difference row sum - checksum.
  double bias(const ProductStats& p) const;

  // Fills deviations, accumulation and the factor of sum c^2, which is returned, for the caller to
  // put on square or ulp_square.
  double fill(BoundForm& form, const ProductStats& p, double kappa) const;

  // How far the accumulation of one element's k products, in their order, may go: what no chance
  // explains of nearest roundings, the worst case of truncated ones.
  // Of nearest roundings without promotion the same from sums over chunks of chunk() products.
  bool is_chain() const { return !truncates_ && segment_ >= k_; }
  double chain_bound(const simd::ElementSums& sums) const;
  std::int64_t chunk() const { return chunk_; }
  double element_bound(std::int64_t k, double bias, double reference, const double* products) const;

 private:
  double cut_products(const ProductStats& p) const;
  double truncation(const ProductStats& p) const;

  std::int64_t k_, chunk_, segment_;  // products; of a rounding; between promotions
  double roundings_, segments_;
  bool truncates_ = false;  // anything: sums, or terms where they are aligned
  bool cuts_sums_ = false, cuts_terms_ = false, aligned_ = false, coarse_ = false;
  double unit_ = 0x1p-24;  // roundoff of the accumulator
  int kept_ = 0, mantissa_ = 23, product_bits_ = 48;
  double chain_square_, chain_products_;  // Q = chain_square_ S + chain_products_ V
  double promote_square_ = 0, promote_products_ = 0;
};

}  // namespace assay
