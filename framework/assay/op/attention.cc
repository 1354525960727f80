#include "assay/op/attention.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/double_double.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/quad.h"
#include "assay/base/text.h"
#include "assay/cases/attention_shape.h"
#include "assay/machine/dot.h"
#include "assay/machine/exact_matmul.h"
#include "assay/machine/function_error.h"
#include "assay/op/along_axis.h"
#include "assay/op/attention_case.h"
#include "assay/op/attention_errors.h"
#include "assay/op/chance_unit.h"
#include "assay/op/generate.h"
#include "assay/op/order.h"
#include "assay/op/sum_bound.h"
#include "assay/simd/golden_norms.h"

namespace assay::inline v0_2 {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
bool holds_only_numbers(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
}

// Computes a block of rows of queries step by step, as a machine does.
class MachineRows {
 public:
  MachineRows(const Call& call, const Attention& a, const SumOrder& order, std::int64_t part)
      : call_(call),
        a_(a),
        model_(dot_model(call.machine, a.input)),
        order_(order),
        unit_(block_arithmetic(arithmetic_of(call, a.input))),
        batch_(part % a.batch),
        first_(part / a.batch * Attention::kRows),
        rows_(std::min(Attention::kRows, a.queries - first_)),
        q_(matrix_rows(call.test_case.input("q"), batch_, first_, rows_)),
        out_(static_cast<std::size_t>(rows_ * a.width), 0.0f),
        maxima_(static_cast<std::size_t>(rows_), kMinusInfinity),
        sums_(static_cast<std::size_t>(rows_), 0.0f) {}

  void run(Tensor& result) {
    // Skips the keys that none of these queries sees. Their weights are 0, so they change nothing.
    std::int64_t keys = 0;
    for (std::int64_t i = 0; i < rows_; ++i) keys = std::max(keys, a_.seen(batch_, first_ + i));
    const bool running = a_.tile < a_.keys;
    for (std::int64_t begin = 0; begin < keys; begin += a_.tile) {
      take(begin, std::min(a_.tile, keys - begin), running);
    }
    for (std::int64_t i = 0; running && i < rows_; ++i) {
      float* row = out_.data() + i * a_.width;
      vector_apply(unit_, VectorOp::kDiv, a_.width, row, {&sums_[at(i)], true}, row, row);
    }
    store_values(
        call_.test_case, call_.output, unit_.overflow, out_.data(), rows_ * a_.width,
        result.bytes() + (batch_ * a_.queries + first_) * a_.width * call_.output.storage_bytes);
  }

 private:
  // Processes the keys [begin, begin + n), and adds their part to the output.
  void take(std::int64_t begin, std::int64_t n, bool running) {
    const std::vector<double> k =
        transposed(n, a_.depth, matrix_rows(call_.test_case.input("k"), batch_, begin, n));
    std::vector<float> scores(at(rows_ * n), 0.0f), factors(at(rows_), 1.0f);
    dot_matmul(model_, rows_, n, a_.depth, q_.data(), k.data(), scores.data(), 1);
    std::vector<double> weights(scores.size());
    std::vector<float> scratch(at(n));
    std::vector<std::byte> codes(at(n * a_.input.storage_bytes));
    const auto scale = static_cast<float>(a_.scale);
    for (std::int64_t i = 0; i < rows_; ++i) {
      float* row = scores.data() + i * n;
      const std::int64_t seen = std::clamp<std::int64_t>(a_.seen(batch_, first_ + i) - begin, 0, n);
      vector_apply(unit_, VectorOp::kMul, seen, row, {&scale, true}, row, row);
      std::fill(row + seen, row + n, kMinusInfinity);
      if (running)
        factors[at(i)] = run_on(i, n, row, scratch.data());
      else
        softmax(n, row, scratch.data());
      // The weights of unseen keys are 0, also if a saturating unit replaced their score of
      // -infinity.
      std::fill(row + seen, row + n, 0.0f);
      encode_array(a_.input, row, at(n), codes.data());
      decode_array(a_.input, codes.data(), at(n), weights.data() + i * n);
    }
    std::vector<double> v = matrix_rows(call_.test_case.input("v"), batch_, begin, n);
    std::vector<float> product(out_.size(), 0.0f);
    if (a_.causal && !holds_only_numbers(v)) {
      multiply_what_is_seen(begin, n, weights, v, product);
    } else {
      dot_matmul(model_, rows_, a_.width, n, weights.data(), v.data(), product.data(), 1);
    }
    if (begin == 0) {
      out_ = product;
      return;
    }
    for (std::int64_t i = 0; i < rows_; ++i) {
      float* row = out_.data() + i * a_.width;
      vector_apply(unit_, VectorOp::kMul, a_.width, row, {&factors[at(i)], true}, row, row);
      vector_apply(unit_, VectorOp::kAdd, a_.width, row, product.data() + i * a_.width, row, row);
    }
  }

  // Multiplies weights and values. Each row leaves out the keys that it does not see, because 0
  // times an infinity or NaN would be NaN. A finite value of such a key has no influence either.
  void multiply_what_is_seen(std::int64_t begin, std::int64_t n, const std::vector<double>& weights,
                             std::vector<double>& v, std::vector<float>& product) const {
    const std::vector<double> all = v;
    for (std::int64_t i = 0; i < rows_; ++i) {
      const std::int64_t seen = std::clamp<std::int64_t>(a_.seen(batch_, first_ + i) - begin, 0, n);
      std::copy_n(all.begin(), seen * a_.width, v.begin());
      std::fill(v.begin() + seen * a_.width, v.end(), 0.0);
      dot_matmul(model_, 1, a_.width, n, weights.data() + i * n, v.data(),
                 product.data() + i * a_.width, 1);
    }
  }

  // Replaces x by exp(x - most), and returns the sum of these exponentials.
  float exponentials(std::int64_t n, float most, float* x, float* scratch) const {
    vector_apply(unit_, VectorOp::kSub, n, x, {&most, true}, x, x);
    vector_apply(unit_, VectorOp::kExp, n, x, x, x, x);
    std::copy_n(x, n, scratch);
    float sum;
    reduce_sum(unit_, order_.order, order_.chunk, n, 1, scratch, &sum);
    return sum;
  }

  void softmax(std::int64_t n, float* x, float* scratch) const {
    const float sum = exponentials(n, vector_maximum(n, x), x, scratch);
    vector_apply(unit_, VectorOp::kDiv, n, x, {&sum, true}, x, x);
  }

  // Updates the running maximum of row i, and turns the scores of a tile into weights relative to
  // it. Returns the factor by which the sums of earlier tiles must be multiplied.
  float run_on(std::int64_t i, std::int64_t n, float* x, float* scratch) {
    float &most = maxima_[at(i)], &total = sums_[at(i)];
    const float before = most, tile[] = {most, vector_maximum(n, x)};
    most = vector_maximum(2, tile);
    const float sum = exponentials(n, most, x, scratch);
    const auto by = [&](VectorOp op, float a, float b) {
      return static_cast<float>(
          vector_oracle(unit_, op, static_cast<double>(a), static_cast<double>(b)));
    };
    const float factor = by(VectorOp::kExp, by(VectorOp::kSub, before, most), 0);
    total = by(VectorOp::kAdd, by(VectorOp::kMul, total, factor), sum);
    return factor;
  }

  const Call& call_;
  const Attention& a_;
  const DotModel& model_;
  const SumOrder& order_;
  VectorArithmetic unit_;
  std::int64_t batch_, first_, rows_;
  std::vector<double> q_;
  std::vector<float> out_, maxima_, sums_;
};

// -- The reference --------------------------------------------------------------------------------

// Golden rows [first, first + rows): the products q k^T, the weights exp(scaled score - the row's
// largest), and the sums of the weights. The weights are not yet divided by their sum.
struct Weights {
  // The sum of a row's weights, from a quick way or from exponentials_of(). Both give the same
  // float64 after rounding. `error` bounds the relative error of `value`, which has more digits
  // than a float64, if the quick way computed it. It is 0 for exponentials_of().
  struct Sum {
    Quad value;
    double error;  // relative
  };
  std::vector<double> scores, weights;
  std::vector<Sum> sums;
};

// Writes exp(scaled score - the largest) to `weights`, and returns the sum of the weights. Uses
// double-double arithmetic if all of its arguments of exp are in range, and binary128 otherwise.
// `factor` times a score is exact in both.
Quad exponentials_of(std::int64_t n, const double* scores, double factor, double* weights) {
  double top = scores[0], least = scores[0] * factor;
  for (std::int64_t j = 1; j < n; ++j) {
    const bool above = factor < 0 ? scores[j] < top : scores[j] > top;
    top = above || std::isnan(scores[j]) ? scores[j] : top;
    least = std::min(least, scores[j] * factor);
  }
  const Quad most = Quad{top} * factor;
  const auto largest = static_cast<double>(most);
  if (std::abs(largest) < 0x1p900 && largest - least < 600) {
    const DoubleDouble high(largest, static_cast<double>(most - largest));
    DoubleDouble sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const DoubleDouble weight = exp(exact_product(scores[j], factor) - high);
      weights[j] = weight.high;
      sum = sum + weight;
    }
    return Quad{sum.high} + sum.low;
  }
  Quad sum = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const Quad weight = quad::exp(Quad{scores[j]} * factor - most);
    weights[j] = static_cast<double>(weight);
    sum += weight;
  }
  return sum;
}

Weights exact_weights(const Attention& a, std::int64_t batch, std::int64_t first,
                      std::int64_t rows) {
  const auto q = matrix_rows(a.test_case.input("q"), batch, first, rows);
  const auto k = transposed(a.keys, a.depth, matrix_rows(a.test_case.input("k"), batch, 0, a.keys));
  Weights w;
  w.scores.assign(static_cast<std::size_t>(rows * a.keys), 0.0);
  exact_matmul(rows, a.keys, a.depth, q.data(), k.data(), w.scores.data(), 1);
  w.weights.assign(w.scores.size(), 0.0);
  for (std::int64_t i = 0; i < rows; ++i) {
    const double* scores = w.scores.data() + i * a.keys;
    double* weights = w.weights.data() + i * a.keys;
    const std::int64_t seen = a.seen(batch, first + i);
    simd::GoldenSum sum;
    if (simd::golden_exponentials(static_cast<std::size_t>(seen), scores, a.scale, weights, sum) &&
        is_sure({sum.high, sum.low}, sum.error))
      w.sums.push_back({Quad{sum.high} + sum.low, sum.error});
    else
      w.sums.push_back({exponentials_of(seen, scores, a.scale, weights), 0});
  }
  return w;
}

// Divides x[0, n) by the sum of the row's weights and rounds the quotients. Calls `exact_sum()` if
// the error of a quick sum leaves the rounding in doubt.
template <typename ExactSum>
void divide_by_sum(std::int64_t n, const Weights::Sum& sum, const ExactSum& exact_sum, double* x) {
  const auto high = static_cast<double>(sum.value);
  const DoubleDouble inverse = 1 / DoubleDouble(high, static_cast<double>(sum.value - high));
  std::optional<Quad> exact;
  if (sum.error == 0) exact = sum.value;
  for (std::int64_t j = 0; j < n; ++j) {
    const double size = std::abs(x[j]);
    const DoubleDouble quick = x[j] * inverse;
    if (exact || size == 0 || !std::isfinite(x[j])) {
      x[j] = static_cast<double>(x[j] / exact.value_or(sum.value));
    } else if (size > 0x1p-900 && size < 0x1p900 && is_sure(quick, sum.error + 0x1p-98)) {
      x[j] = quick.high;
    } else {
      exact = exact_sum();
      x[j] = static_cast<double>(x[j] / *exact);
    }
  }
}

void reference_part(const ReferenceCall& call, const Attention& a, std::int64_t part,
                    Tensor& result) {
  const std::int64_t batch = part % a.batch, first = part / a.batch * Attention::kRows;
  const std::int64_t rows = std::min(Attention::kRows, a.queries - first);
  const Weights w = exact_weights(a, batch, first, rows);
  const auto v = matrix_rows(a.test_case.input("v"), batch, 0, a.keys);
  std::vector<double> out(static_cast<std::size_t>(rows * a.width), 0.0);
  if (!a.causal) exact_matmul(rows, a.width, a.keys, w.weights.data(), v.data(), out.data(), 1);
  for (std::int64_t i = 0; i < rows; ++i) {
    double* row = out.data() + i * a.width;
    // Leaves out keys that the query does not see, because 0 times infinity is NaN.
    if (a.causal) {
      exact_matmul(1, a.width, a.seen(batch, first + i), w.weights.data() + i * a.keys, v.data(),
                   row, 1);
    }
    const auto exact_sum = [&] {
      std::vector<double> again(static_cast<std::size_t>(a.keys));
      return exponentials_of(a.seen(batch, first + i), w.scores.data() + i * a.keys, a.scale,
                             again.data());
    };
    divide_by_sum(a.width, w.sums[static_cast<std::size_t>(i)], exact_sum, row);
  }
  store_values(call.test_case, call.output, overflow_of(call.test_case), out.data(), rows * a.width,
               result.bytes() + (batch * a.queries + first) * a.width * call.output.storage_bytes);
}

Tensor run_attention(const Call& call) {
  const Attention a = attention_of(call.test_case, call.output);
  const SumOrder order = sum_order(call, a.input);
  (void)dot_model(call.machine, a.input);  // throws before the threads start
  if (!fits_float32(block_arithmetic(arithmetic_of(call, a.input)))) {
    refuse_case(call.test_case.name, "attention computes in float32; q is {}", a.input.name);
  }
  Tensor result(call.output, a.output);
  parallel_for(a.parts(), call.threads,
               [&](std::int64_t part) { MachineRows(call, a, order, part).run(result); });
  return result;
}

Tensor attention_reference(const ReferenceCall& call) {
  const Attention a = attention_of(call.test_case, call.output);
  (void)asked_order(call.test_case);  // throws if the block size is invalid
  Tensor result(call.output, a.output);
  parallel_for(a.parts(), call.threads,
               [&](std::int64_t part) { reference_part(call, a, part, result); });
  return result;
}

// Says which subnormal numbers a machine's matrix unit replaces by 0, for operands of one dtype.
struct Flushing {
  bool inputs = false;  // subnormal operands
  bool sums = false;    // subnormal sums
};
Flushing flushing_of(const Format& input, const Machine& machine) {
  Flushing found;
  for (const DotModel& row : machine.dots) {
    if (row.input != input.name) continue;
    found.inputs = found.inputs || row.flush_inputs.value;
    found.sums = found.sums || row.flush_sums.value;
  }
  return found;
}

// Returns the sizes that are subnormal in the operand's dtype, and 0 in place of the others. These
// are what a unit loses if it flushes subnormal operands.
std::vector<double> subnormal_part(const Format& input, std::vector<double> sizes) {
  for (double& v : sizes) v = v < min_normal(input) ? v : 0;
  return sizes;
}

// The bounds of a result's elements. A bound is infinite if the element has no bound, and NaN if a
// NaN or infinity reaches the element.
struct AttentionBounds {
  std::vector<double> values;
  Unbounded unbounded;
};
AttentionBounds bounds_of_attention(const Case& c, const Machine& machine) {
  const Format& output = output_format(c);
  const Attention a = attention_of(c, output);
  const Flushing flushing = flushing_of(a.input, machine);
  const Format& float32 = format_named("float32");
  const RoundoffBounds roundoff = roundoff_bounds(c, float32, output);
  const double u = roundoff.unit, f = largest_function_error("exp", float32);
  // The relative error of a product's float32 sum in any order, with terms cut or rounded. It is
  // relative to sum |a b|.
  const auto product = [](std::int64_t n) { return static_cast<double>(n + 2) * 0x1p-23; };
  const std::int64_t tiles = (a.keys + a.tile - 1) / a.tile;
  // The absolute loss at each rounding of a product's sum, in addition to the relative error.
  const double tiny_sum = roundoff.tiny + (flushing.sums ? min_normal(float32) : 0);
  const SumRoundings of_tile = sum_roundings(c, a.tile, float32, roundoff);
  const double loss = of_tile.loss();
  // The relative error of the running sum of weights. Each later tile adds the error of exp in its
  // factor, and the roundings of a multiplication and an addition.
  const double running = static_cast<double>(tiles - 1) * (f + 3 * u);
  std::vector<double> bounds(at(element_count(a.output)));
  Unbounded unbounded;
  // Writes the bounds of row i of a block to `to`. `widest` is the largest |v|.
  const auto row_bounds = [&](std::int64_t i, std::int64_t seen, const Weights& w,
                              const std::vector<double>& sizes, const std::vector<double>& lost,
                              const std::vector<double>& mixed, const std::vector<double>& v,
                              double widest, double* to) {
    // `off` is the largest error of a score. `most` and `lowest` are the largest and the smallest
    // score. A key whose score is -infinity has no weight.
    double off = 0, most = -kInfinity, lowest = kInfinity;
    bool is_number = true;
    for (std::int64_t j = 0; j < seen; ++j) {
      const std::size_t key = at(i * a.keys + j);
      const double score = a.scale * w.scores[key];
      is_number = is_number && !std::isnan(score) && score < kInfinity;
      if (!std::isfinite(score)) continue;
      off = std::max(off, product(a.depth) * std::abs(a.scale) * sizes[key] +
                              3 * u * std::abs(score) + 2 * roundoff.tiny +
                              std::abs(a.scale) * lost[key] +
                              static_cast<double>(a.depth) * std::abs(a.scale) * tiny_sum);
      most = std::max(most, score), lowest = std::min(lowest, score);
      require_range(c, float32, "a score",
                    (1 + product(a.depth)) * sizes[key] * std::max(1.0, std::abs(a.scale)));
    }
    if (!is_number || !std::isfinite(most)) {  // the row's result is NaN
      std::fill_n(to, a.width, kNan);
      return;
    }
    // Weights below exp(-104) become 0 in float32, whatever their error is. So larger distances
    // from the largest score do not count.
    const double depth = std::min(most - lowest, 104.0);
    const double weight = (1 + f) * std::exp(2 * off + u * depth * static_cast<double>(tiles)) - 1;
    // The share of the sum of weights that may be lost. Weights are not negative.
    const double sum = std::min((1 + weight) * (1 + running) - 1, 1.0) + loss;
    if (!(sum < 1 - 0x1p-20)) {
      refuse_case(c.name,
                  "no tolerance can be derived, because the rounding errors of attention may be as "
                  "large as its result");
    }
    const double relative = (1 + weight) * (1 + 2 * u + running) * (1 + unit_roundoff(a.input)) *
                                (1 + product(a.tile)) / (1 - sum) -
                            1;
    const double total = static_cast<double>(w.sums[at(i)].value);
    // The rounding errors of subnormal weights, in float32 and in the operands' dtype, for all
    // keys.
    const double tiny = static_cast<double>(a.keys) * (min_subnormal(a.input) + roundoff.tiny);
    // The losses of the second product's sums and of its quotient.
    const double sums = (static_cast<double>(a.keys) / total + 2) * 2 * tiny_sum;
    // The terms of keys whose weight or whose v may be subnormal and replaced by 0. A weight is
    // cast either before or after it is divided by the sum.
    const double least = (1 + weight) * total / (1 - sum) * min_normal(a.input);
    std::vector<double> flushed(at(a.width), 0.0);
    for (std::int64_t key = 0; flushing.inputs && key < seen; ++key) {
      const double term = w.weights[at(i * a.keys + key)];
      for (std::int64_t j = 0; j < a.width; ++j) {
        const double value = v[at(key * a.width + j)];
        if (term < least || value < min_normal(a.input)) flushed[at(j)] += term * value;
      }
    }
    for (std::int64_t j = 0; j < a.width; ++j) {
      const double size = mixed[at(i * a.width + j)] / total;
      const double gone = (1 + relative) * flushed[at(j)] / total;
      to[j] = (relative * size + gone + tiny * widest + sums) * (1 + unit_roundoff(output));
    }
  };
  for (std::int64_t part = 0; part < a.parts(); ++part) {
    const std::int64_t batch = part % a.batch, first = part / a.batch * Attention::kRows;
    const std::int64_t rows = std::min(Attention::kRows, a.queries - first);
    const Weights w = exact_weights(a, batch, first, rows);
    auto q = matrix_rows(c.input("q"), batch, first, rows);
    auto k = transposed(a.keys, a.depth, matrix_rows(c.input("k"), batch, 0, a.keys));
    auto v = matrix_rows(c.input("v"), batch, 0, a.keys);
    // The scores show each NaN and infinity of q and k. `bad` lists those of v.
    std::vector<std::pair<std::int64_t, std::int64_t>> bad;  // key, column
    for (std::int64_t i = 0; i < std::ssize(v); ++i) {
      if (!std::isfinite(v[at(i)])) bad.emplace_back(i / a.width, i % a.width);
    }
    for (auto* values : {&q, &k, &v}) {
      for (double& value : *values) value = std::isfinite(value) ? std::abs(value) : 0;
    }
    const double widest = *std::ranges::max_element(v);
    std::vector<double> sizes(w.scores.size(), 0.0), mixed(at(rows * a.width));
    exact_matmul(rows, a.keys, a.depth, q.data(), k.data(), sizes.data(), 1);
    exact_matmul(rows, a.width, a.keys, w.weights.data(), v.data(), mixed.data(), 1);
    // The most that each score may lose because the unit flushes subnormal operands.
    std::vector<double> lost(w.scores.size(), 0.0);
    if (flushing.inputs) {
      const auto small_q = subnormal_part(a.input, q), small_k = subnormal_part(a.input, k);
      std::vector<double> by_k(lost.size(), 0.0);
      exact_matmul(rows, a.keys, a.depth, small_q.data(), k.data(), lost.data(), 1);
      exact_matmul(rows, a.keys, a.depth, q.data(), small_k.data(), by_k.data(), 1);
      for (std::size_t s = 0; s < lost.size(); ++s) lost[s] += by_k[s];
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t row = (batch * a.queries + first + i) * a.width;
      const std::int64_t seen = a.seen(batch, first + i);
      const bool holds = unbounded.holds(
          [&] { row_bounds(i, seen, w, sizes, lost, mixed, v, widest, bounds.data() + row); });
      if (!holds) std::fill_n(bounds.begin() + row, a.width, kInfinity);
      for (const auto& [key, column] : bad) {
        if (key < seen) bounds[at(row + column)] = kNan;
      }
    }
  }
  return {std::move(bounds), std::move(unbounded)};
}

Tensor attention_bounds(const Case& c, const Machine& machine) {
  AttentionBounds all = bounds_of_attention(c, machine);
  const VectorModel* unit = find_vector_model(machine);
  const bool reached = std::ranges::any_of(all.values, [](double v) { return std::isnan(v); });
  if (reached && unit != nullptr && overflow_of(c, machine) == Overflow::kSaturate) {
    // A unit that saturates turns an infinity of v into the largest number before the division by
    // the row's sum. The result may then be finite, so the element has no bound.
    const std::vector<double> exact = golden_result(c).view().values();
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (std::isinf(exact[i]) && std::isnan(all.values[i])) all.values[i] = kInfinity;
    }
  }
  return held_bounds(output_format(c), attention_of(c, output_format(c)).output,
                     std::move(all.values), all.unbounded);
}

DerivedTolerance attention_tolerance(const Case& c) {
  const RoundoffBounds roundoff = roundoff_bounds(c, format_named("float32"), output_format(c));
  const Machine* machine = machine_of(c);
  const AttentionBounds all = bounds_of_attention(c, machine != nullptr ? *machine : any_machine());
  all.unbounded.rethrow();
  const std::vector<double>& bounds = all.values;
  double largest = 0;
  for (const double v : bounds) largest = std::max(largest, std::isnan(v) ? 0 : v);
  const double rtol = roundoff.output;
  return {rtol, largest + roundoff.tiny,
          formatted("atol: the rounding of every step, at most {} of an element{}",
                    short_number(largest, 3),
                    rtol > 0 ? formatted("; rtol: rounding to {}", output_format(c).name) : "")};
}

// The recipe's sizes are the batch dimensions, then L, S and D, each at least 1. v has D columns,
// too. Positions are made if the recipe names them. They are drawn and taken modulo S, so that each
// is the place of a key.
void generate_attention(const Recipe& recipe, Case& c) {
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  check_sizes(recipe, c, 3, kAnyRank, "sizes L,S,D of at least 1, batch dimensions before them");
  const auto operand = [&](const char* name, std::int64_t rows) {
    Shape shape(sizes.begin(), sizes.end() - 3);
    shape.push_back(rows);
    shape.push_back(sizes.back());
    c.inputs[name] = recipe.draw_input(name, *recipe.dtype, shape);
  };
  operand("q", sizes[sizes.size() - 3]);
  operand("k", sizes[sizes.size() - 2]);
  operand("v", sizes[sizes.size() - 2]);
  if (!recipe.names("positions")) return;
  const Shape shape(sizes.begin(), sizes.end() - 2);
  const std::int64_t keys = std::max<std::int64_t>(sizes[sizes.size() - 2], 1);
  Tensor positions = recipe.draw_input("positions", format_named("int64"), shape);
  for (std::int64_t i = 0; i < positions.size(); ++i) {
    const auto drawn = static_cast<std::int64_t>(positions.bits_at(i));
    positions.set_bits(i, static_cast<std::uint64_t>((drawn % keys + keys) % keys));
  }
  c.inputs["positions"] = std::move(positions);
  describe_inputs(recipe, c, {{"positions", {true, "modulo S"}}});
}

}  // namespace

std::vector<Operator> attention_operators() {
  return {
      {.name = "attention",
       .summary = "softmax(scale q k^T) v",
       .inputs = {{.name = "q", .shape = "(..., L, D)"},
                  {.name = "k", .shape = "(..., S, D)"},
                  {.name = "v", .shape = "(..., S, E)"},
                  {.name = "positions",
                   .shape = "(..., L) or (L)",
                   .optional = true,
                   .words = "of queries among the keys, for causal",
                   .needs = "causal",
                   .drawn = "integers,low=0,high=65535"}},
       .parameters = unit_parameters(
           order_parameters(
               {flag_parameter("causal",
                               "whether query i sees only the keys 0 to i, or 0 to its position",
                               kTriedFlag),
                {.name = "scale",
                 .kind = ParameterKind::kNumber,
                 .words = "number by which scores are multiplied. If it is not given, it is 1 / "
                          "sqrt(D)",
                 .tried = {"0.125", "1"}},
                count_parameter("tile",
                                "number of keys that are taken at a time, with a running maximum "
                                "and sum. 0 means all keys at once")}),
           false),
       .output = "o",
       .sizes = "..., L, S, D",
       .run = run_attention,
       .reference = attention_reference,
       .output_format = computed_format,
       .element_bounds = [](const Case& c, const Machine& machine,
                            int) { return attention_bounds(c, machine); },
       .machine_free_bounds = true,
       .expected_errors = attention_errors,
       .tolerance = attention_tolerance,
       .generate = generate_attention,
       .attention = true}};
}

}  // namespace assay
