#include "assay/abft/direction.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "assay/base/text.h"

namespace assay {
namespace {

constexpr double kFloat32Roundoff = 0x1p-24;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The accumulation term is the whole threshold of float32 results; elsewhere bounds will do.
bool exact_squares_for(const Format& output) { return output.precision >= 24; }

}  // namespace

std::int64_t Direction::width() const {
  const std::int64_t columns = std::max<std::int64_t>(n, 1);
  const int asked = options.spec.group_width();
  return asked == 0 ? columns : std::min<std::int64_t>(asked, columns);
}

std::int64_t Direction::groups() const {
  return (std::max<std::int64_t>(n, 1) + width() - 1) / width();
}

const Prepared& Direction::prepare(const Format& output) const {
  return prepare(exact_squares_for(output));
}

const Prepared& Direction::prepare(bool exact_squares) const {
  const std::lock_guard lock(mutex_);
  std::optional<Prepared>& slot = prepared_[exact_squares ? 1 : 0];
  if (slot) return *slot;
  Prepared p;
  const double chunk = options.model != nullptr ? options.model->chunk.value : 1;
  p.roundings = std::ceil(static_cast<double>(k) / chunk);
  if (from_golden)
    p.checksums = golden_checksums(golden, width(), options.threads);
  else
    p.checksums = operand_checksums(operands, width(), exact_squares, options.threads);
  switch (options.spec.threshold->rule) {
    case ThresholdRule::kRoundingVariance:
      break;
    case ThresholdRule::kVAbft:
      p.v_abft = v_abft_terms(operands, options.threads);
      break;
    case ThresholdRule::kAAbft:
      p.a_abft = a_abft_terms(operands, options.threads);
      break;
  }
  slot = std::move(p);
  return *slot;
}

const double* Direction::b_values() const {
  const std::lock_guard lock(mutex_);
  if (b_values_.empty()) {
    b_values_.resize(static_cast<std::size_t>(k * n));
    for (std::int64_t kk = 0; kk < k; ++kk) {
      operands.b.read(kk, 0, n, b_values_.data() + kk * n);
    }
  }
  return b_values_.data();
}

std::string Direction::why_not(const Format& output) const {
  const Threshold& t = *options.spec.threshold;
  if (from_golden && t.rule != ThresholdRule::kRoundingVariance) {
    return format("{} needs the operands, and only a golden result is there", t.name);
  }
  if (!output.is_float()) {
    return output.bits < 64 ? "" : format("sums of {} are beyond what float64 holds", output.name);
  }
  if (output.specials == Specials::kTapered || output.specials == Specials::kScale) {
    return format("the spacing of {} is no power of two of its exponent", output.name);
  }
  if (output.precision > 24) {
    return format("{} results would need checksums in more than float64", output.name);
  }
  if (t.rule == ThresholdRule::kRoundingVariance) {
    if (from_golden && output.precision >= 24) {
      return format(
          "a golden result alone does not bound the accumulation errors of {} results; "
          "give the operands",
          output.name);
    }
    if (options.model != nullptr && (options.model->rounding.value != Rounding::kNearestEven ||
                                     options.model->accumulator.value != "float32")) {
      return "rounding_variance needs a float32 accumulator rounded by nearest_even";
    }
  }
  if (t.rule == ThresholdRule::kVAbft) {
    try {
      (void)v_abft_constants(options.spec, output, k);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
  }
  return "";
}

RowForms::RowForms(const Direction& direction, const Format& output, double kappa)
    : d_(direction), p_(direction.prepare(output)), output_(output), kappa_(kappa) {
  if (d_.options.spec.threshold->rule == ThresholdRule::kVAbft && output.is_float()) {
    v_abft_ = v_abft_constants(d_.options.spec, output, d_.k);
  }
}

StatsUsed RowForms::used() const {
  const ThresholdRule rule = d_.options.spec.threshold->rule;
  return {.sizes = rule == ThresholdRule::kAAbft,
          .square = rule == ThresholdRule::kRoundingVariance &&
                    (d_.from_golden || exact_squares_for(output_))};
}

void RowForms::make(std::int64_t i, BoundForm* to) const {
  const std::int64_t groups = p_.checksums.groups;
  for (std::int64_t g = 0; g < groups; ++g) {
    to[g] = BoundForm{};
    if (!output_.is_float()) continue;  // integers: exactly
    switch (d_.options.spec.threshold->rule) {
      case ThresholdRule::kRoundingVariance:
        to[g] = rounding_variance(i, g);
        break;
      case ThresholdRule::kVAbft: {
        const VAbftTerms& t = p_.v_abft[at(i)];
        to[g].constant = v_abft_.e_max * (t.mean + v_abft_.c * (t.mixed + t.pure));
        break;
      }
      case ThresholdRule::kAAbft:
        to[g] = a_abft(i);
        break;
    }
  }
}

BoundForm RowForms::rounding_variance(std::int64_t i, std::int64_t g) const {
  BoundForm form;
  form.has_variance = true;
  form.kappa = form.deviations = kappa_;
  if (!exact_squares_for(output_)) {
    // A float32 result has no rounding of its own: its last accumulation is its rounding.
    form.ulp_weight = 1.0 / (d_.options.spec.coarse ? 8 : 12);
    form.half_ulps = 0.5;
  }
  if (d_.from_golden) {
    // Without operands: what float32 accumulation of some thousand terms leaves, 2^-16 of the
    // row's root mean square an element.
    form.per_square = 0x1p-32 / (kappa_ * kappa_);
    return form;
  }
  const double roundings = p_.roundings;
  const double operand_squares = p_.checksums.square(i, g, d_.m);
  const bool has_bias = !d_.operands.bias.empty() || !d_.operands.row_bias.empty();
  const std::int64_t first = g * d_.width(), end = std::min(d_.n, first + d_.width());
  double start = 0;  // a bias is where every partial sum starts
  for (std::int64_t j = first; j < end && has_bias; ++j) {
    const double bias = d_.operands.bias_at(i, j);
    start += bias * bias;
  }
  const double unit = kFloat32Roundoff * kFloat32Roundoff * roundings / 3;  // of a rounding
  form.accumulation = unit * (operand_squares / 6 + start);
  // Below the normal range a rounding errs by half of 2^-149, whatever the sum.
  if (operand_squares > 0 || has_bias) {
    form.accumulation += roundings * static_cast<double>(end - first) * 0x1p-298 / 12;
  }
  if (exact_squares_for(output_)) {
    form.per_square = unit / 3;
  } else {
    // |c| is below twice its power of two, which is its ulp times 2^mantissa_bits.
    form.per_ulp_square = std::ldexp(unit / 3, 2 * output_.mantissa_bits() + 2);
  }
  return form;
}

BoundForm RowForms::a_abft(std::int64_t i) const {
  constexpr double kEpsHigh = 0x1p-23;
  const double eps_low = unit_roundoff(output_);
  const auto squares = [](std::int64_t count) {  // 1 + 4 + ... + count^2
    const auto c = static_cast<double>(count);
    return c * (c + 1) * (2 * c + 1) / 6;
  };
  const AAbftTerms& t = p_.a_abft;
  const double row = std::sqrt(squares(d_.n) / 8);
  BoundForm form;
  form.per_largest = row * kEpsHigh + eps_low * std::sqrt(static_cast<double>(d_.n));
  form.constant = t.weighted[at(i)] * kEpsHigh * row +
                  kEpsHigh * std::sqrt(squares(d_.k) / 8 + static_cast<double>(d_.k) / 12) *
                      t.largest_b * t.largest_a[at(i)];
  return form;
}

}  // namespace assay
