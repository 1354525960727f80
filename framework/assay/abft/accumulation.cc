#include "assay/abft/accumulation.h"

#include <algorithm>
#include <cmath>

#include "assay/base/text.h"

namespace assay {
namespace {

constexpr double kFloat32Roundoff = 0x1p-24;

// Mean of 2^e / |s| over mantissas s / 2^e in [1, 2): 0.693 where the mantissa is uniform, 0.721
// where its logarithm is.
constexpr double kMeanPower = 0.7;
// Of one path of partial sums the same mean varies by this much (measured, docs/abft.md).
constexpr double kPathDeviation = 0.031;
// What a common path of all columns leaves of the estimated bias.
constexpr double kBiasDeviation = 0.05;
// Products of eight bits each leave little to cut in a sum that is not long: the bias lies
// anywhere from 0 to its whole.
constexpr double kCoarseMeanPower = 0.56, kCoarseDeviation = 0.065;
// How many bits products lose beyond what their root mean square would.
constexpr double kSpreadOfProducts = 2.5;
// Mean of (ulp/2)^2 / 3 over s^2 u^2, fitted: 3 is the rigorous side, 6.5 what mantissas with
// uniform logarithms give, 5 what rms z of 0.82 to 1.05 asks for.
constexpr double kFitted = 5, kRigorous = 3;

}  // namespace

Accumulation::Accumulation(const DotModel* model, std::int64_t k)
    : k_(k),
      chunk_(model != nullptr ? model->chunk.value : 1),
      segment_(std::max<std::int64_t>(k, 1)) {
  roundings_ = std::ceil(static_cast<double>(k) / static_cast<double>(chunk_));
  double inner_products = 0, inner_square = 0;
  if (model != nullptr) {
    cuts_sums_ = model->rounding.value == Rounding::kTowardZero;
    aligned_ = model->kept_bits.value > 0;
    cuts_terms_ = aligned_ && model->alignment.value == Rounding::kTowardZero;
    truncates_ = cuts_sums_ || aligned_;
    kept_ = model->kept_bits.value;
    if (model->mantissa_bits.value > 0) mantissa_ = std::min(23, model->mantissa_bits.value);
    unit_ = std::ldexp(1.0, -mantissa_ - 1);
    const int bits =
        format_named(model->input).precision + format_named(model->b_input()).precision;
    product_bits_ = bits;
    coarse_ = bits <= 16;
    if (model->promotion_interval.value > 0)
      segment_ = std::min<std::int64_t>(segment_, model->promotion_interval.value);
    // Roundings inside a chunk, of sums that start at 0 there.
    const auto length = static_cast<double>(chunk_);
    if (model->order.value == ChunkOrder::kSequential) inner_products = length / 2;
    if (model->order.value == ChunkOrder::kPairwise) inner_products = std::log2(length);
    if (inner_products > 0)
      inner_square = length * length / (3 * static_cast<double>(std::max<std::int64_t>(k, 1)));
    if (model->round_products.value) inner_products += 1;
  }
  segments_ =
      std::ceil(static_cast<double>(std::max<std::int64_t>(k, 1)) / static_cast<double>(segment_));
  if (segments_ > 1) {
    // Each segment's sums start at 0: of exchangeable products its total has the square
    // V / segments + S / segments^2.
    chain_products_ = roundings_ / (2 * segments_);
    chain_square_ = roundings_ / (3 * segments_ * segments_);
    promote_products_ = segments_ / 6;
    promote_square_ = segments_ / 3;
  } else {
    chain_products_ = roundings_ / 6;
    chain_square_ = roundings_ / 3;
  }
  chain_products_ += inner_products;
  chain_square_ += inner_square;
}

std::string Accumulation::why_not(const DotModel* model) {
  if (model == nullptr) return "";
  const Rounding rounding = model->rounding.value;
  if (model->accumulator.value != "float32" ||
      (rounding != Rounding::kNearestEven && rounding != Rounding::kTowardZero)) {
    return format(
        "rounding_variance needs a float32 accumulator rounded by nearest_even or "
        "toward_zero, not {} by {}",
        model->accumulator.value, rounding_name(rounding));
  }
  const int bits = model->mantissa_bits.value;
  if (bits > 0 && bits < 23 && model->promotion_interval.value == 0) {
    return format(
        "rounding_variance does not hold for an accumulator of {} mantissa bits that is "
        "never promoted: its errors reach those of the outputs, with their sign",
        bits);
  }
  return "";
}

double Accumulation::roundings_after(std::int64_t k) const {
  const std::int64_t end = std::min(k_, (k / segment_ + 1) * segment_),
                     begin = k / segment_ * segment_;
  const std::int64_t all = (end - begin + chunk_ - 1) / chunk_;
  return static_cast<double>(all - (k - begin) / chunk_);
}

// The share of products that lose bits when they are aligned to a partial sum, from typical sizes.
double Accumulation::cut_products(const ProductStats& p) const {
  if (!aligned_ || !(p.square > 0)) return 0;
  const double total = p.expected * p.expected / p.columns + p.square;  // S where C is as expected
  const double sum = (chain_square_ * total + chain_products_ * p.square) / roundings_;
  const double product = p.square / static_cast<double>(k_);
  // Products spread over octaves below their root mean square.
  const double bits =
      std::log2(sum / product) / 2 - kept_ + (product_bits_ - 2) + kSpreadOfProducts;
  return bits > 0 ? 1 - std::exp2(-bits) / 2 : std::exp2(bits) / 2;
}

// Mean error of a rounding, as a multiple of u times the power of two of the partial sum.
double Accumulation::truncation(const ProductStats& p) const {
  // Of terms cut to F bits only the F - mantissa lowest bits of their sum are left to truncate.
  const double own = !cuts_sums_ ? 0 : aligned_ ? 1 - std::exp2(std::min(0, mantissa_ - kept_)) : 1;
  if (!cuts_terms_) return own;
  const double cut = static_cast<double>(chunk_) * cut_products(p) * std::abs(p.sign);
  return own + cut * std::exp2(mantissa_ - kept_);
}

double Accumulation::bias(const ProductStats& p) const {
  if (!truncates_) return 0;
  const double power = coarse_ ? kCoarseMeanPower : kMeanPower;
  return -power * unit_ * truncation(p) * p.prefixes;
}

double Accumulation::fill(BoundForm& form, const ProductStats& p, double kappa) const {
  const double u = unit_ * unit_;
  double per_square = 0;
  if (!truncates_) {
    form.accumulation = u / kFitted * (chain_products_ * p.square + roundings_ * p.start);
    per_square = u / kFitted * chain_square_;
    form.deviations = kappa * std::sqrt(kFitted / kRigorous);
  } else {
    const double whole = truncation(p),
                 path = (coarse_ ? kCoarseDeviation : kPathDeviation) * whole;
    double weight = 1 / kFitted;  // of one rounding, u^2 s^2
    if (aligned_) {
      // The sum's own bits, and each product that is cut by less than a unit 2^(e - F), of either
      // sign: unit^2 / 3.
      weight = (1 - std::exp2(2 * std::min(0, mantissa_ - kept_))) / kFitted +
               static_cast<double>(chunk_) * cut_products(p) *
                   std::exp2(2 * (mantissa_ + 1 - kept_)) / 6;
    }
    weight += path * path * roundings_ / segments_;
    const double bias_error = kBiasDeviation * bias(p);
    // Largest possible squares of partial sums and terms, for alignment follows the largest term.
    const double products = chain_products_ + (aligned_ ? 1 : 0);
    form.accumulation =
        u * weight * (products * p.square + roundings_ * p.start) + bias_error * bias_error;
    per_square = u * weight * chain_square_;
    // How far the mean error of a rounding may be from the estimate: 2^e / |s| lies in (1/2, 1].
    const double radius = coarse_ ? kCoarseMeanPower : 1 - kMeanPower;
    form.deviations = kappa * std::sqrt(kFitted / kRigorous) +
                      radius * whole * std::sqrt(p.columns * roundings_ / std::max(weight, 1e-30));
  }
  if (segments_ > 1) {
    constexpr double kSquare = kFloat32Roundoff * kFloat32Roundoff / kFitted;
    form.accumulation += kSquare * promote_products_ * p.square;
    per_square += kSquare * promote_square_;
  }
  // Below the normal range a rounding errs by half of 2^-149, whatever the sum.
  if (p.square > 0 || p.start > 0) form.accumulation += roundings_ * p.columns * 0x1p-298 / 12;
  return per_square;
}

double Accumulation::element_bound(std::int64_t k, double bias, double reference,
                                   const double* products) const {
  double absolute = std::abs(bias), squares = bias * bias, prefix = bias, prefix_squares = 0;
  double cut = 0, largest = 0, sums = 0, total = 0, segment = 0;
  for (std::int64_t kk = 0; kk < k; ++kk) {
    const double product = products[kk];
    absolute += std::abs(product);
    squares += product * product;
    prefix += product;
    segment += product;
    largest = std::max(largest, std::abs(product));
    if ((kk + 1) % chunk_ != 0 && kk + 1 != k && (kk + 1) % segment_ != 0) continue;
    prefix_squares += prefix * prefix;
    // Truncated: an ulp of the sum, and of each term a unit of the largest.
    sums += std::abs(segment);
    cut += std::max(largest, std::abs(segment));
    largest = std::abs(segment);
    if ((kk + 1) % segment_ == 0) {
      total += std::abs(prefix);
      segment = largest = 0;
    }
  }
  if (truncates_) {
    const double floor = absolute > 0 ? roundings_ * 0x1p-149 : 0;
    return 2 * unit_ * sums + 2 * kFloat32Roundoff * (total + std::abs(bias)) + floor +
           (aligned_ ? static_cast<double>(chunk_ + 1) * std::exp2(-kept_) * cut : 0);
  }
  return chain_bound({reference, absolute, squares, prefix_squares});
}

double Accumulation::chain_bound(const simd::ElementSums& s) const {
  // What the roundings can add at worst would hide whole products of less precision; what they add
  // at kDeviations is far beyond chance, whether k is summed in order or in any other.
  constexpr double kDeviations = 16;
  const double any_order = roundings_ * (s.reference * s.reference / 3 + s.squares / 6);
  const double variance = std::max(s.prefix_squares, any_order) / 3;
  return kFloat32Roundoff * std::min(roundings_ * s.absolute, kDeviations * std::sqrt(variance)) +
         (s.absolute > 0 ? roundings_ * 0x1p-150 : 0);
}

}  // namespace assay
