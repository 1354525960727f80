#include "assay/op/attention_errors.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/parallel.h"
#include "assay/format/convert.h"
#include "assay/machine/exact_matmul.h"
#include "assay/machine/function_error.h"
#include "assay/op/attention_case.h"
#include "assay/op/sum_bound.h"
#include "assay/simd/weighted_errors.h"

namespace assay::inline v0_2 {
namespace {

// The errors that chance makes in a row's weights, exp(scaled score - largest) / sum. They are
// relative errors. `mean` and `variance` are those of each weight's term, which the sum shares.
// `of_cast` is the mean square for the cast of each weight, and `of_sum` is the variance of the
// sum's own roundings.
struct ChanceWeights {
  std::vector<double> weight, mean, variance, of_cast;
  std::vector<double> depth;  // scaled score - largest
  // The weights as operand of the second product, and the number by which its result is divided
  // afterwards. This is the sum of weights if there is a running maximum, and 1 otherwise.
  std::vector<double> operand;
  double divisor = 1;
  double of_sum = 0;
};
// Returns the mean square of a number's relative error. A number that becomes 0 has a relative
// error of 1.
double relative_square(const Uncertain& x) {
  if (!(x.value > 0)) return 0;
  return x.value < 0x1p-500 ? 1 : (x.variance + x.mean * x.mean) / (x.value * x.value);
}
ChanceWeights chance_weights(const Attention& a, const ChanceUnit& unit, const double* scores,
                             const double* score_mean, const double* score_variance,
                             std::int64_t seen) {
  const RoundingStep step(format_named("float32")), cast(a.input);
  const auto scale = static_cast<double>(static_cast<float>(a.scale));
  ChanceWeights w;
  double most = -kInfinity;
  for (std::int64_t j = 0; j < seen; ++j) most = std::max(most, a.scale * scores[j]);
  const auto count = static_cast<std::size_t>(seen);
  std::vector<Uncertain> terms;
  terms.reserve(count);
  for (auto* values : {&w.weight, &w.mean, &w.variance, &w.of_cast, &w.depth, &w.operand}) {
    values->reserve(count);
  }
  // Without a machine the exponential may be computed with another base, and a running maximum may
  // rescale terms and sums.
  const double rounding = unit_roundoff(*unit.unit) * unit_roundoff(*unit.unit) / 3;
  const double of_exp = largest_function_error("exp", *unit.unit),
               chance_of_exp = unit.any_order ? of_exp * of_exp / 3 : 0;
  for (std::int64_t j = 0; j < seen; ++j) {
    if (a.scale * scores[j] == -kInfinity && std::isfinite(most)) {
      terms.emplace_back();  // exactly 0
      for (auto* values : {&w.mean, &w.variance, &w.depth}) values->push_back(0);
      continue;
    }
    Uncertain score = Uncertain::inexact(a.scale * scores[j]);
    score.mean = scale * score_mean[j] + (scale - a.scale) * scores[j];
    score.variance = scale * scale * score_variance[j];
    score.round(step);
    score.value -= most;
    score.round(step);
    w.depth.push_back(score.value);
    if (unit.any_order) {
      score.variance += 3 * rounding * score.value * score.value + chance_of_exp;
    }
    Uncertain term = Uncertain::inexact(std::exp(score.value));
    const double size = term.value;
    term.round(step);
    w.mean.push_back(score.mean);
    const double relative_variance = size < 0x1p-500 ? 0 : term.variance / (size * size);
    w.variance.push_back(score.variance + relative_variance);
    // w.variance counts what this term's error does to its weight and, by the sum of the terms, to
    // all weights. So the sum below gets the term without an error.
    term.variance = 0;
    terms.push_back(term);
  }
  const Uncertain sum = unit.sum(terms);
  w.of_sum = sum.variance / (sum.value * sum.value);
  if (unit.any_order) w.of_sum += chance_of_exp + 4 * rounding;
  const bool running = a.tile < a.keys;
  if (running) w.divisor = sum.value;
  for (const Uncertain& term : terms) {
    w.weight.push_back(term.value / sum.value);
    // The largest term is exactly 1, so it is rounded without error.
    Uncertain weight = running && term.value == 1
                           ? Uncertain::exact(1)
                           : Uncertain::inexact(running ? term.value : term.value / sum.value);
    if (!running) weight.round(step);
    if (a.input.precision < 24) weight.round(cast);
    w.operand.push_back(weight.value);
    w.of_cast.push_back(relative_square(weight));
    if (!unit.any_order || !(weight.value > 0)) continue;
    // A kernel may cast the terms, or the weights after the division. The larger error counts.
    Uncertain share = Uncertain::inexact(term.value / sum.value);
    share.round(step);
    if (a.input.precision < 24) share.round(cast);
    w.of_cast.back() = std::max(w.of_cast.back(), relative_square(share));
  }
  round_array(a.input, w.operand.data(), w.operand.size());
  return w;
}

// Raises the expected errors of one matrix of scores to those of kernels that multiply q or k by
// the scale, by its root, or by the scale and log2(e), before they multiply q and k. The operands
// are then rounded, so that sums of whole numbers are rounded, too.
void raise_to_scaled_operands(const Case& c, const Machine& machine, const DotModel& model,
                              const Attention& a, std::int64_t rows, std::vector<double> q,
                              std::vector<double> k, int threads, ExpectedErrors& scores) {
  const double factor = std::abs(a.scale) * std::numbers::log2e, root = std::sqrt(factor);
  if (!(root > 0) || !std::isfinite(root)) return;
  std::vector<double> scaled_q(q), scaled_k(k);
  for (std::vector<double>* values : {&scaled_q, &scaled_k}) {
    for (double& v : *values) v = round_to(format_named("float32"), v * root);
  }
  const ExpectedErrors sums = expected_sums(c, machine, model, format_named("float64"), rows,
                                            a.keys, a.depth, finite_or_zero(std::move(scaled_q)),
                                            finite_or_zero(std::move(scaled_k)), {}, threads);
  for (std::vector<double>* values : {&q, &k}) {
    for (double& v : *values) v *= v;
  }
  std::vector<double> squares(scores.variance.size(), 0.0);
  exact_matmul(rows, a.keys, a.depth, q.data(), k.data(), squares.data(), threads);
  // Variance of the rounding of two float32 operands, relative to the squared products.
  const double of_operands = 2 * 0x1p-48 / 3;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    scores.variance[i] = std::max(scores.variance[i],
                                  sums.variance[i] / (factor * factor) + of_operands * squares[i]);
    scores.drift[i] = std::max(scores.drift[i], sums.drift[i] / factor);
  }
}

// A matrix whose rows are padded with zeros to a multiple of simd::kAveragedColumns.
struct PaddedRows {
  std::int64_t width;
  std::vector<double> values;

  PaddedRows(std::int64_t rows, std::int64_t columns, const std::vector<double>& from)
      : width((columns + simd::kAveragedColumns - 1) / simd::kAveragedColumns *
              simd::kAveragedColumns),
        values(static_cast<std::size_t>(rows * width)) {
    for (std::int64_t i = 0; i < rows; ++i) {
      std::copy_n(from.begin() + i * columns, columns, values.begin() + i * width);
    }
  }
};

// One row's results, errors and factors, with one number for each column.
struct RowErrors {
  std::vector<double> out, mean, variance;
  // The effect on each column's average of the weights' `depth` and of their `drift`
  // (simd::WeightedAverage). Used only if no machine is named.
  std::vector<double> cooler, off;
  explicit RowErrors(std::size_t width)
      : out(width), mean(width), variance(width), cooler(width), off(width) {}
};

// Computes ExpectedErrors::pull of one row. The weight of a key has one error, which all columns of
// v share. So the columns are first added up, each with its `factor`, which has the sign of the
// result.
double row_pull(const ChanceWeights& w, const simd::WeightedAverage& row,
                const std::vector<double>& factor, const std::vector<double>& out) {
  double of_out = 0;
  for (std::size_t j = 0; j < factor.size(); ++j) of_out += factor[j] * out[j];
  std::vector<double> of_key(w.weight.size());
  simd::weighted_columns(row, factor.data(), of_key.data());
  double sum = of_out * of_out * w.of_sum;
  for (std::size_t key = 0; key < of_key.size(); ++key) {
    const double of_weight = w.weight[key] * (of_key[key] - of_out),
                 of_cast = w.weight[key] * of_key[key];
    sum += of_weight * of_weight * w.variance[key] + of_cast * of_cast * w.of_cast[key];
  }
  return sum;
}

}  // namespace

ExpectedErrors attention_errors(const Case& c, const Machine& machine, int threads) {
  const Format& output = output_format(c);
  const Attention a = attention_of(c, output);
  const ChanceUnit unit = [&] {
    ChanceUnit found = chance_unit(c, machine, a.input);
    found.unit = found.after = &format_named("float32");
    return found;
  }();
  const DotModel& model = dot_model(machine, a.input);
  const std::int64_t tiles = (a.keys + a.tile - 1) / a.tile;
  const Format& float32 = format_named("float32");
  ExpectedErrors errors;
  errors.resize(static_cast<std::size_t>(element_count(a.output)));
  errors.shared.resize(errors.mean.size());
  errors.line.resize(errors.mean.size());
  errors.pull.resize(static_cast<std::size_t>(a.batch * a.queries));
  for (std::int64_t part = 0; part < a.parts(); ++part) {
    const std::int64_t batch = part % a.batch, first = part / a.batch * Attention::kRows;
    const std::int64_t rows = std::min(Attention::kRows, a.queries - first);
    const auto q = matrix_rows(c.input("q"), batch, first, rows);
    const auto k = transposed(a.keys, a.depth, matrix_rows(c.input("k"), batch, 0, a.keys));
    const auto v = finite_or_zero(matrix_rows(c.input("v"), batch, 0, a.keys));
    std::vector<double> exact_scores(static_cast<std::size_t>(rows * a.keys), 0.0);
    exact_matmul(rows, a.keys, a.depth, q.data(), k.data(), exact_scores.data(), threads);
    ExpectedErrors scores =
        expected_sums(c, machine, model, format_named("float64"), rows, a.keys, a.depth,
                      finite_or_zero(q), finite_or_zero(k), {}, threads);
    if (unit.any_order) {
      raise_to_scaled_operands(c, machine, model, a, rows, finite_or_zero(q), finite_or_zero(k),
                               threads, scores);
    }
    std::vector<double> weights(static_cast<std::size_t>(rows * a.keys), 0.0);
    std::vector<ChanceWeights> by_row(static_cast<std::size_t>(rows));
    parallel_for(rows, threads, [&](std::int64_t i) {
      const std::int64_t at = i * a.keys;
      ChanceWeights& w = by_row[static_cast<std::size_t>(i)];
      w = chance_weights(a, unit, exact_scores.data() + at, scores.mean.data() + at,
                         scores.variance.data() + at, a.seen(batch, first + i));
      std::ranges::copy(w.operand, weights.begin() + at);
    });
    const ExpectedErrors sums =
        expected_sums(c, machine, model, tiles > 1 ? format_named("float64") : output, rows,
                      a.width, a.keys, finite_or_zero(std::move(weights)), v, {}, threads);
    errors.last = tiles > 1 ? &output : sums.last;
    errors.at_most = sums.at_most || unit.any_order;
    const PaddedRows padded(a.keys, a.width, v);
    parallel_for(rows, threads, [&](std::int64_t i) {
      const ChanceWeights& w = by_row[static_cast<std::size_t>(i)];
      RowErrors row(static_cast<std::size_t>(padded.width));
      const simd::WeightedAverage average = {
          .keys = std::ssize(w.weight),
          .columns = padded.width,
          .values = padded.values.data(),
          .weight = w.weight.data(),
          .mean = w.mean.data(),
          .variance = w.variance.data(),
          .of_cast = w.of_cast.data(),
          .depth = unit.any_order ? w.depth.data() : nullptr,
          .drift = unit.any_order ? scores.drift.data() + i * a.keys : nullptr};
      simd::weighted_errors(average, {.average = row.out.data(),
                                      .mean = row.mean.data(),
                                      .variance = row.variance.data(),
                                      .depth = row.cooler.data(),
                                      .drift = row.off.data()});
      std::vector<double> factors(row.out.size());
      for (std::int64_t j = 0; j < a.width; ++j) {
        const auto column = static_cast<std::size_t>(j);
        const double out = row.out[column];
        double mean = row.mean[column], variance = row.variance[column];
        variance += out * out * w.of_sum;
        const auto to = static_cast<std::size_t>((batch * a.queries + first + i) * a.width + j);
        const auto from = static_cast<std::size_t>(i * a.width + j);
        errors.shared[to] = variance;
        errors.line[to] = static_cast<std::int32_t>(batch * a.queries + first + i);
        errors.drift[to] = sums.drift[from] / w.divisor;
        if (unit.any_order) {
          // log2(e) and the scale are either both rounded or not rounded, and all scores share this
          // error. So it counts as drift.
          errors.drift[to] += std::abs(mean) + std::abs(a.scale) * row.off[column] +
                              std::abs(row.cooler[column]) * unit_roundoff(float32) / 2;
          mean = 0;
        }
        errors.mean[to] = mean + sums.mean[from] / w.divisor;
        variance += sums.variance[from] / (w.divisor * w.divisor);
        if (tiles > 1) {
          // Each later tile multiplies the output once and adds to it once. The division by the sum
          // is the last rounding in float32.
          Uncertain step = Uncertain::inexact(out);
          step.round(RoundingStep(float32));
          variance += static_cast<double>(2 * (tiles - 1)) * step.variance;
          if (&output != &float32) variance += step.variance;
        } else if (unit.any_order) {
          // A kernel may round a quotient, and may rescale the output for a running maximum.
          Uncertain step = Uncertain::inexact(out);
          step.round(RoundingStep(float32));
          variance += 4 * step.variance;
        }
        errors.variance[to] = variance;
        if (out == 0) continue;
        const double ulp = ulp_of(output, out);
        const double size = mean_square(errors, to, std::sqrt(variance), ulp);
        factors[column] = std::copysign(ulp / size, out);
      }
      errors.pull[static_cast<std::size_t>(batch * a.queries + first + i)] =
          row_pull(w, average, factors, row.out);
    });
  }
  return errors;
}

}  // namespace assay
