#include "assay/abft/direction.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "assay/abft/arithmetic.h"
#include "assay/base/text.h"

namespace assay {
namespace {

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

bool Direction::by_variance() const {
  return rule() == ThresholdRule::kRoundingVariance ||
         rule() == ThresholdRule::kResidualCompensated;
}

bool Direction::integer_product(const Format& output) const {
  if (from_golden || output.is_float() || input_a->is_float() || input_b->is_float()) return false;
  const auto whole = [](double v) { return v == std::trunc(v) && std::abs(v) < 0x1p62; };
  return std::all_of(operands.bias.begin(), operands.bias.end(), whole) &&
         std::all_of(operands.row_bias.begin(), operands.row_bias.end(), whole);
}

const Prepared& Direction::prepare(const Format& output) const {
  const std::lock_guard lock(mutex_);
  for (const Slot& slot : prepared_) {
    if (slot.format == &output) return *slot.prepared;
  }
  const Prepared* other = nullptr;  // of the same checksums
  for (const Slot& slot : prepared_) {
    if (exact_squares_for(*slot.format) == exact_squares_for(output)) other = slot.prepared.get();
  }
  prepared_.push_back({&output, std::make_unique<Prepared>(make(output, other))});
  return *prepared_.back().prepared;
}

Prepared Direction::make(const Format& output, const Prepared* other) const {
  const ThresholdSpec& spec = options.spec;
  const int threads = options.threads;
  Prepared p;
  if (other != nullptr) {
    p.checksums = other->checksums;
  } else if (from_golden) {
    p.checksums = golden_checksums(golden, width(), threads);
  } else {
    p.checksums =
        operand_checksums(operands, width(), by_variance() && exact_squares_for(output), threads);
  }
  if (integer_product(output)) {
    p.integers = integer_checksums(operands, width(), threads);
    return p;
  }
  if (from_golden || !output.is_float()) return p;
  if (rounds_sums(spec.arithmetic)) {
    p.rounded = checksums_in(spec.arithmetic, options.model, operands, width(), output, threads);
  }
  p.biases = absolute_biases(operands, width());
  const std::int64_t group_count = groups();
  const auto depth = static_cast<double>(k), columns = static_cast<double>(n);
  const double u = unit_roundoff(output);
  p.constants.assign(at(m * group_count), 0.0);
  switch (spec.threshold->rule) {
    case ThresholdRule::kRoundingVariance:
    case ThresholdRule::kResidualCompensated: {
      const Accumulation accumulation(options.model, k);
      if (!accumulation.truncates()) break;
      const auto by_groups = [&](bool signs) {
        return grouped_products(
            operands.a, group_count, signs,
            [&](std::int64_t kk, double* to) {
              std::vector<double> row(at(n));
              operands.b.read(kk, 0, n, row.data());
              std::fill(to, to + group_count, 0.0);
              const double weight = signs ? 1 : accumulation.roundings_after(kk);
              for (std::int64_t j = 0; j < n; ++j) {
                const double b = row[at(j)];
                to[j / width()] += signs ? static_cast<double>((b > 0) - (b < 0)) : weight * b;
              }
            },
            threads);
      };
      p.prefixes = by_groups(false);
      if (accumulation.aligns()) p.signs = by_groups(true);
      break;
    }
    case ThresholdRule::kVAbft: {
      const VAbftConstants constants = v_abft_constants(spec, output, k, input_a);
      const auto thresholds_of = [&](const VAbftHow& how) {
        std::vector<double> t;
        for (const VAbftTerms& x : v_abft_terms(operands, how, threads)) {
          t.push_back(constants.e_max * (x.mean + constants.c * (x.mixed + x.pure)));
        }
        return t;
      };
      p.constants = thresholds_of({width(), spec.sigma, spec.sample_a, spec.sample_b});
      for (double& t : p.constants) t *= spec.raise;
      if (spec.recheck && spec.sampled()) {
        // Flagged only by both: above the larger one.
        const std::vector<double> full = thresholds_of({width(), spec.sigma, {}, {}});
        for (std::size_t i = 0; i < full.size(); ++i) {
          p.constants[i] = std::max(p.constants[i], full[i]);
        }
      }
      for (std::size_t i = 0; i < p.biases.size(); ++i)
        p.constants[i] += constants.e_max * p.biases[i];
      break;
    }
    case ThresholdRule::kAAbft:
      p.a_abft = a_abft_terms(operands, threads);
      break;
    case ThresholdRule::kAAbftOriginal: {
      const std::vector<double> y =
          product_bounds(operands, spec.top, spec.variant == "matrix", threads);
      const double growth = std::sqrt((depth * (depth + 1) * (depth + 0.5) + 2 * depth) / 24);
      for (std::int64_t i = 0; i < m; ++i) p.constants[at(i)] = 3 * growth * 2 * u * y[at(i)];
      break;
    }
    case ThresholdRule::kSeaAbft: {
      const Norms x = norms(operands, threads);
      for (std::int64_t i = 0; i < m; ++i) {
        p.constants[at(i)] =
            ((depth + 2 * columns - 2) * x.columns_of_b + depth * x.row_sums_of_b) *
            x.rows_of_a[at(i)] * 2 * u;
        if (!p.biases.empty()) p.constants[at(i)] += 2 * u * p.biases[at(i)];
      }
      break;
    }
    case ThresholdRule::kAnalytic: {
      double gamma =
          depth * u < 1 ? depth * u / (1 - depth * u) : std::numeric_limits<double>::infinity();
      if (spec.lambda) {
        gamma = std::expm1(*spec.lambda * std::sqrt(depth) * u + depth * u * u / (1 - u));
      }
      p.constants = absolute_products(operands, threads);
      for (double& t : p.constants) t *= gamma;
      break;
    }
    case ThresholdRule::kMeanOrMax:
      break;
  }
  return p;
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
  const Arithmetic arithmetic = options.spec.arithmetic;
  if (from_golden && t.rule != ThresholdRule::kRoundingVariance) {
    return format("{} needs the operands, and only a golden result is there", t.name);
  }
  if (!output.is_float()) {
    const bool wide =
        output.bits > 32 || (!from_golden && (input_a->bits > 32 || input_b->bits > 32));
    if (!integer_product(output)) {
      return output.bits < 64 ? ""
                              : format("sums of {} are beyond what float64 holds", output.name);
    }
    return wide ? format("products of {} and {} into {}: integers are checked up to 32 bits",
                         input_a->name, input_b->name, output.name)
                : "";
  }
  if (output.specials == Specials::kTapered || output.specials == Specials::kScale) {
    return format("the spacing of {} is no power of two of its exponent", output.name);
  }
  if (output.precision > 24) {
    return format("{} results would need checksums in more than float64", output.name);
  }
  if (from_golden && rounds_sums(arithmetic)) {
    return format("arithmetic={} needs the operands, and only a golden result is there",
                  arithmetic_name(arithmetic));
  }
  if (arithmetic == Arithmetic::kMachine) {
    if (options.model == nullptr) return "arithmetic=machine needs to know the machine";
    if (input_a->name != options.model->input || input_b->name != options.model->b_input() ||
        options.model->b_input() != output.name) {
      return format(
          "arithmetic=machine sums by the matrix unit, which reads {}: operands are {} "
          "and {}, the output is {}",
          options.model->input, input_a->name, input_b->name, output.name);
    }
  }
  if (by_variance()) {
    if (from_golden && output.precision >= 24) {
      return format(
          "a golden result alone does not bound the accumulation errors of {} results; "
          "give the operands",
          output.name);
    }
    if (arithmetic == Arithmetic::kMachine) {
      return "rounding_variance does not know the errors of the machine's own sums: use "
             "arithmetic=float64";
    }
    return Accumulation::why_not(options.model);
  }
  const double growth = static_cast<double>(k) * unit_roundoff(output);
  if (t.rule == ThresholdRule::kAnalytic && !options.spec.lambda && growth >= 1) {
    return format("analytic has no bound where K u is 1 or more: K {}, u {}; give lambda", k,
                  unit_roundoff(output));
  }
  if (t.rule == ThresholdRule::kVAbft) {
    try {
      (void)v_abft_constants(options.spec, output, k, input_a);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
  }
  return "";
}

RowForms::RowForms(const Direction& direction, const Format& output, double kappa)
    : d_(direction),
      p_(direction.prepare(output)),
      output_(output),
      kappa_(kappa),
      accumulation_(direction.options.model, direction.k) {}

StatsUsed RowForms::used() const {
  const ThresholdRule rule = d_.rule();
  return {.sizes = rule == ThresholdRule::kAAbft || rule == ThresholdRule::kMeanOrMax,
          .square = d_.by_variance() && (d_.from_golden || exact_squares_for(output_))};
}

std::int64_t RowForms::columns_of(std::int64_t g) const {
  return std::min(d_.n, (g + 1) * d_.width()) - g * d_.width();
}

ProductStats RowForms::product_stats(std::int64_t i, std::int64_t g) const {
  ProductStats p;
  const std::size_t check = at(i * p_.checksums.groups + g);
  p.columns = static_cast<double>(columns_of(g));
  p.square = p_.checksums.square(i, g, d_.m);
  p.expected = p_.checksums.sums[check];
  if (!p_.biases.empty()) {
    for (std::int64_t j = g * d_.width(); j < g * d_.width() + columns_of(g); ++j) {
      const double bias = d_.operands.bias_at(i, j);
      p.start += bias * bias;
      p.expected -= bias;
    }
  }
  if (!p_.prefixes.empty()) p.prefixes = p_.prefixes[check];
  if (!p_.signs.empty()) {
    p.sign = p_.signs[check] / (static_cast<double>(std::max<std::int64_t>(d_.k, 1)) * p.columns);
  }
  return p;
}

double RowForms::bias_of(std::int64_t i, std::int64_t g) const {
  return p_.prefixes.empty() ? 0 : accumulation_.bias(product_stats(i, g));
}

void RowForms::make(std::int64_t i, BoundForm* to) const {
  const std::int64_t groups = p_.checksums.groups;
  for (std::int64_t g = 0; g < groups; ++g) {
    BoundForm form;
    if (output_.is_float()) {  // integers: exactly
      switch (d_.rule()) {
        case ThresholdRule::kRoundingVariance:
        case ThresholdRule::kResidualCompensated:
          form = rounding_variance(i, g);
          break;
        case ThresholdRule::kAAbft:
          form = a_abft(i);
          break;
        case ThresholdRule::kMeanOrMax:
          form = mean_or_max();
          break;
        default:
          form.constant = p_.constants[at(i * groups + g)];
      }
    }
    form.checkable = std::isfinite(p_.checksums.sums[at(i * groups + g)]);
    to[g] = form;
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
  const ProductStats p = product_stats(i, g);
  form.per_square = accumulation_.fill(form, p, kappa_);
  add_own_sums(form, p);
  if (!exact_squares_for(output_)) {
    // |c| is below twice its power of two, which is its ulp times 2^mantissa_bits.
    form.per_ulp_square = std::ldexp(form.per_square, 2 * output_.mantissa_bits() + 2);
    form.per_square = 0;
  }
  return form;
}

// The errors of the check's own float32 sums (docs/abft.md): of B e and of the row by trees, of the
// chain over k; and what a pair of bfloat16 leaves of B e.
void RowForms::add_own_sums(BoundForm& form, const ProductStats& p) const {
  const Arithmetic arithmetic = d_.options.spec.arithmetic;
  if (arithmetic != Arithmetic::kFloat32 && arithmetic != Arithmetic::kHiLo) return;
  constexpr double kSquare = 0x1p-48 / 3;
  const auto depth = static_cast<double>(d_.k);
  const double chains = arithmetic == Arithmetic::kHiLo ? 2 : 1;
  form.accumulation +=
      kSquare * (2 * p.columns * p.square +
                 chains * depth * (p.expected * p.expected / 3 + p.columns * p.square / 6));
  form.per_square += kSquare * 2 * p.columns;
  if (arithmetic == Arithmetic::kHiLo) form.accumulation += 0x1p-34 / 3 * p.columns * p.square;
}

BoundForm RowForms::a_abft(std::int64_t i) const {
  const auto squares = [](std::int64_t count) {  // 1 + 4 + ... + count^2
    const auto c = static_cast<double>(count);
    return c * (c + 1) * (2 * c + 1) / 6;
  };
  const AAbftTerms& t = p_.a_abft;
  const double row = std::sqrt(squares(d_.n) / 8);
  const double depth = std::sqrt(squares(d_.k) / 8 + static_cast<double>(d_.k) / 12);
  BoundForm form;
  if (d_.options.spec.variant == "components") {
    const double eps = 2 * unit_roundoff(output_);
    form.per_largest = eps * row + 0x1p-23 * std::sqrt(squares(d_.n));
    form.constant = t.weighted[at(i)] * eps * row + eps * depth * t.largest_product[at(i)];
    return form;
  }
  // The document's eps_low, 2^-8, is the unit roundoff of its bfloat16 outputs.
  constexpr double kEpsHigh = 0x1p-23;
  form.per_largest = row * kEpsHigh + unit_roundoff(output_) * std::sqrt(static_cast<double>(d_.n));
  form.constant =
      t.weighted[at(i)] * kEpsHigh * row + kEpsHigh * depth * t.largest_b * t.largest_a[at(i)];
  return form;
}

BoundForm RowForms::mean_or_max() const {
  const double times = d_.options.spec.threshold->times;
  const auto columns = static_cast<double>(d_.n);
  BoundForm form;
  form.constant = times * 1e-20;
  form.per_largest = times * 0x1p-8 * std::sqrt(columns);
  form.per_absolute = times * 0x1p-8;  // of the mean N times
  form.branch = 5;
  form.columns = columns;
  return form;
}

}  // namespace assay
