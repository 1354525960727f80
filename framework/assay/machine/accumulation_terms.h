// The errors of sums of products in an accumulator: their mean and variance (docs/abft.md). The
// numbers of an accumulator are made by class Accumulation (unit_bound.h).
#pragma once

#include "assay/base/kernel_code.h"

namespace assay {
inline namespace v0_2 {

// Statistics of the products p_t = a_ik b_kj of several sums, which are added to one checksum.
struct ProductStats {
  double expected = 0;  // sum of the products over columns and k, without bias
  double square = 0;    // V: sum of the squares of these products
  double start = 0;     // sum of bias^2 over the columns, whose partial sums start at the bias
  // Sum of the partial sums, over the accumulator's roundings and over the columns.
  double prefixes = 0;
  double sign = 0;  // mean sign of the products, -1 to 1
  double columns = 1;
};

// The error of several sums together, whose results are c. Its variance is `variance` +
// `per_square` sum c^2, and it stays within `deviations` standard deviations. In addition, the unit
// may flush numbers to 0 that add up to at most `flushed`.
struct AccumulationNoise {
  double deviations = 0, variance = 0, per_square = 0;
  double flushed = 0;
};

namespace device {

// The numbers of an accumulator.
struct AccumulationTerms {
  // The numbers of all products, of products for each rounding, and of products between promotions.
  I64 k, chunk, segment;
  double roundings, segments;  // for each element, one rounding for each chunk
  bool truncates = false, cuts_sums = false, cuts_terms = false, aligned = false, coarse = false;
  double unit = 0x1p-24;  // unit roundoff of the accumulator
  double flushed = 0;     // what the flushes of one sum add up to at most
  int kept = 0, mantissa = 23, product_bits = 48;
  // The sum of the squared partial sums is chain_square S + chain_products V, with the sum S of the
  // squared results and the sum V of the squared products.
  double chain_square, chain_products;
  double promote_square = 0, promote_products = 0;
};

// Mean of 2^e / |s| over partial sums s whose mantissa s / 2^e is in [1, 2). It is 0.693 if the
// mantissa is uniform, and 0.721 if its logarithm is uniform.
constexpr double kMeanPower = 0.7;
// Standard deviation of this mean over the partial sums of one path (measured, docs/abft.md).
constexpr double kPathDeviation = 0.031;
// Standard deviation of the bias that remains if all columns have the same path of partial sums, as
// a share of the estimated bias.
constexpr double kBiasDeviation = 0.05;
// Replace kMeanPower and kPathDeviation if the significands of the two factors of a product have at
// most 16 bits together. Such products leave little to truncate in a short sum, so the bias lies
// anywhere between 0 and its full value.
constexpr double kCoarseMeanPower = 0.56, kCoarseDeviation = 0.065;
// Products spread over several octaves below their root mean square. They lose 2.5 bits more than
// products of that size.
constexpr double kSpreadOfProducts = 0x1.6a09e667f3bcdp-3;  // 2^-2.5
// Rounding a partial sum s has an error of variance s^2 u^2 / f. f = 3 is the rigorous value. f = 5
// is fitted: measured checks need it for an rms z of 0.82 to 1.05, where z is the difference of a
// checksum over its standard deviation. Mantissas with uniform logarithms give 6.5.
constexpr double kFitted = 5, kRigorous = 3;

constexpr double kFloat32Roundoff = 0x1p-24;

// Returns the number of roundings of the accumulator that product k goes through.
ASSAY_HERE double roundings_after(const AccumulationTerms& t, I64 k) {
  const I64 begin = k / t.segment * t.segment, behind = begin + t.segment;
  const I64 end = behind < t.k ? behind : t.k;
  const I64 all = (end - begin + t.chunk - 1) / t.chunk;
  return static_cast<double>(all - (k - begin) / t.chunk);
}

ASSAY_HERE int kept_below_mantissa(const AccumulationTerms& t) {
  return t.mantissa < t.kept ? t.mantissa - t.kept : 0;
}

// Returns the share of products that lose bits when they are aligned to a partial sum, estimated
// from typical sizes.
ASSAY_HERE double cut_products(const AccumulationTerms& t, const ProductStats& p) {
  if (!t.aligned || !(p.square > 0)) return 0;
  // Expected sum of the squared results, if C has its expected values.
  const double total = p.expected * p.expected / p.columns + p.square;
  const double sum = (t.chain_square * total + t.chain_products * p.square) / t.roundings;
  const double product = p.square / static_cast<double>(t.k);
  // 2^-b, where b is the number of bits that a typical product loses when it is aligned to a
  // partial sum. It is computed without a logarithm, because the last bit of a logarithm differs
  // between C libraries.
  const double size =
      root_of(product / sum) * scaled(kSpreadOfProducts, t.kept - (t.product_bits - 2));
  return size < 1 ? 1 - size / 2 : 1 / (2 * size);
}

// Returns the mean error of a rounding, as a multiple of u times the power of two of the partial
// sum.
ASSAY_HERE double truncation(const AccumulationTerms& t, const ProductStats& p) {
  // If terms are cut to F bits, only the F - mantissa lowest bits of their sum are left to
  // truncate.
  const double own = !t.cuts_sums ? 0 : t.aligned ? 1 - scaled(1.0, kept_below_mantissa(t)) : 1;
  if (!t.cuts_terms) return own;
  const double cut = static_cast<double>(t.chunk) * cut_products(t, p) * size_of(p.sign);
  return own + scaled(cut, t.mantissa - t.kept);
}

ASSAY_HERE double bias_of(const AccumulationTerms& t, const ProductStats& p) {
  if (!t.truncates) return 0;
  const double power = t.coarse ? kCoarseMeanPower : kMeanPower;
  return -power * t.unit * truncation(t, p) * p.prefixes;
}

ASSAY_HERE AccumulationNoise noise_of(const AccumulationTerms& t, const ProductStats& p,
                                      double kappa) {
  AccumulationNoise noise;
  const double u = t.unit * t.unit;
  if (!t.truncates) {
    noise.variance = u / kFitted * (t.chain_products * p.square + t.roundings * p.start);
    noise.per_square = u / kFitted * t.chain_square;
    noise.deviations = kappa * root_of(kFitted / kRigorous);
  } else {
    const double whole = truncation(t, p),
                 path = (t.coarse ? kCoarseDeviation : kPathDeviation) * whole;
    double weight = 1 / kFitted;  // variance of one rounding, in units of u^2 s^2
    if (t.aligned) {
      // The unit cuts bits of the sum itself and of some products. Cutting a product loses less
      // than a unit 2^(e - F), with either sign, so its mean square is unit^2 / 3.
      weight = (1 - scaled(1.0, 2 * kept_below_mantissa(t))) / kFitted +
               static_cast<double>(t.chunk) * cut_products(t, p) *
                   scaled(1.0, 2 * (t.mantissa + 1 - t.kept)) / 6;
    }
    weight += path * path * t.roundings / t.segments;
    const double bias_error = kBiasDeviation * bias_of(t, p);
    // If terms are aligned, the largest term decides the alignment. The squares of the products are
    // therefore counted once more.
    const double products = t.chain_products + (t.aligned ? 1 : 0);
    noise.variance =
        u * weight * (products * p.square + t.roundings * p.start) + bias_error * bias_error;
    noise.per_square = u * weight * t.chain_square;
    // The largest distance between the true mean error of a rounding and the estimate of bias_of(),
    // as a share of `whole`. bias_of() takes kMeanPower for the mean of 2^e / |s|, where s is a
    // partial sum and 2^e is its power of two. The true mean lies in (1/2, 1], so the distance is
    // at most 1 - kMeanPower. If t.coarse is set, the mean error may also be 0, which is
    // kCoarseMeanPower below the estimate.
    const double radius = t.coarse ? kCoarseMeanPower : 1 - kMeanPower;
    noise.deviations = kappa * root_of(kFitted / kRigorous) +
                       radius * whole * root_of(p.columns * t.roundings / greater(weight, 1e-30));
  }
  if (t.segments > 1) {
    constexpr double kSquare = kFloat32Roundoff * kFloat32Roundoff / kFitted;
    noise.variance += kSquare * t.promote_products * p.square;
    noise.per_square += kSquare * t.promote_square;
  }
  if (p.square > 0 || p.start > 0) {
    // Below the normal range the error of a rounding is up to half of 2^-149, whatever the sum.
    noise.variance += t.roundings * p.columns * 0x1p-298 / 12;
    noise.flushed = p.columns * t.flushed;
  }
  return noise;
}

}  // namespace device
}  // namespace v0_2
}  // namespace assay
