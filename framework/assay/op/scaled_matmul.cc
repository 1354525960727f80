#include "assay/op/scaled_matmul.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/machine/exact_matmul.h"
#include "assay/op/chance_unit.h"
#include "assay/op/dot_operator.h"
#include "assay/op/scaled_inputs.h"
#include "assay/op/scales.h"
#include "assay/op/sum_bound.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2 {
namespace {

// An operand's scales, found by the indices of the product.
struct Scales {
  ScaleGrid grid;
  std::vector<double> values;
  bool across;   // true if K is the last dimension but one of the grid
  bool batched;  // false if all batches share one matrix of scales

  // Returns the scale of row i of a (column i of b) at k.
  double at(std::int64_t batch, std::int64_t i, std::int64_t k) const {
    return values[static_cast<std::size_t>(
        grid.at(batched ? batch : 0, across ? k : i, across ? i : k))];
  }
  // Returns the number of consecutive k that share a scale, or 0 if all k of a row do.
  std::int64_t depth() const {
    if (grid.one) return 0;
    const std::int64_t block = across ? grid.block_rows : grid.block_columns;
    return block >= (across ? grid.rows : grid.columns) ? 0 : block;
  }
};

Scales scales_of(const Case& c, const std::string& operand) {
  const Shape& shape = c.input(operand).shape();
  const bool across = (operand == "b") != flag_of(c, "transpose_" + operand);
  const std::string attribute = operand + "_scaling";
  const ScaleGrid grid = scale_grid(c, attribute, word_of(c, attribute), shape, across);
  return {grid, scale_values(c, "scale_" + operand, grid), across, shape.size() > 2};
}

struct ScaledProduct {
  MatmulShape shape;
  Scales a, b;
  bool integers;
  ScaleOrder order;
  // Stretches of K with one scale: [cuts[i], cuts[i + 1]).
  std::vector<std::int64_t> cuts;

  bool scales_change() const { return a.depth() > 0 || b.depth() > 0; }
};

// Cuts K into stretches where a scale changes. If scales change along K, a stretch also ends after
// `interval` terms. If `interval` is 0, there is no such limit.
void cut(ScaledProduct& p, std::int64_t interval) {
  p.cuts = {0};
  std::int64_t since = 0;
  for (std::int64_t k = 1; k < p.shape.k; ++k) {
    const bool change =
        (p.a.depth() > 0 && k % p.a.depth() == 0) || (p.b.depth() > 0 && k % p.b.depth() == 0);
    if (change || (interval > 0 && p.scales_change() && k - since == interval)) {
      p.cuts.push_back(k);
      since = k;
    }
  }
  if (p.shape.k > 0) p.cuts.push_back(p.shape.k);
}

ScaledProduct product_of(const Case& c) {
  const Format &a = c.input("a").format(), &b = c.input("b").format();
  const bool integers = a.name == "int8" && b.name == "int8";
  if (!integers && !(a.is_float() && b.is_float())) {
    refuse_case(c.name,
                "a is {} and b is {}; scaled_matmul takes two float operands, or two of int8",
                a.name, b.name);
  }
  if (!output_format(c).is_float()) {
    refuse_case(c.name, "output_dtype is {}, but the result of scaled_matmul is of a float dtype",
                output_format(c).name);
  }
  for (const Format* f : {&a, &b}) {
    if (!holds_format(format_named("float32"), *f)) {
      refuse_case(c.name, "scaled_matmul takes operands whose values float32 holds, not {}",
                  f->name);
    }
  }
  const std::string word = word_of(c, "scale_order");
  const auto order = static_cast<ScaleOrder>(
      std::find(std::begin(kScaleOrderWords), std::end(kScaleOrderWords), word) -
      std::begin(kScaleOrderWords));
  ScaledProduct p{matmul_shape(c), scales_of(c, "a"), scales_of(c, "b"), integers, order, {}};
  if (p.integers && p.shape.k > (std::int64_t{1} << 31) / (std::int64_t{128} * 128) - 1) {
    refuse_case(c.name, "K is {}; sums of more than 131071 products of int8 may leave int32",
                p.shape.k);
  }
  return p;
}

// Returns how a machine's matrix unit computes with the operands.
DotModel unit_model(const Case& c, const Machine& machine) {
  const Format &a = c.input("a").format(), &b = c.input("b").format();
  const auto word = c.text("compute_dtype");
  if (!word) {
    try {
      DotModel model = dot_model(machine, a);
      if (&a != &b) model.other_input = dot_model(machine, b).input;
      return model;
    } catch (const Refusal& error) {
      refuse_case(c.name, "{}; compute_dtype converts operands first", error.what());
    }
  }
  const Format& compute = format_named(*word);
  for (const Format* f : {&a, &b}) {
    if (!compute.is_float() || !holds_format(compute, *f)) {
      refuse_case(c.name, "compute_dtype {} does not hold all values of {}", compute.name, f->name);
    }
  }
  return dot_model(machine, compute);
}

// Returns the model by which the unit computes each stretch of K, and cuts K into stretches.
DotModel stretched_model(const Case& c, const Machine& machine, ScaledProduct& p) {
  DotModel model = unit_model(c, machine);
  std::int64_t interval = integer_of(c, "promotion_interval");
  if (interval == 0) interval = model.promotion_interval.value;
  model.promotion_interval.value = p.scales_change() ? 0 : static_cast<int>(interval);
  cut(p, interval);
  return model;
}

// Returns the scale factors for the sum of the stretch of K that k lies in, for output element (i,
// j).
ScaleFactors factors_of(const ScaledProduct& p, std::int64_t batch, std::int64_t i, std::int64_t j,
                        std::int64_t k) {
  return scale_factors(p.order, static_cast<float>(p.a.at(batch, i, k)),
                       static_cast<float>(p.b.at(batch, j, k)));
}

// Returns an operand's values times their scales. Values and scales have at most 24 bits each, so
// the products are exact in float64.
std::vector<double> dequantised(const Case& c, const ScaledProduct& p, const std::string& operand,
                                std::int64_t batch) {
  std::vector<double> values = matmul_matrix(c, operand, batch).values();
  const bool is_a = operand == "a";
  const std::int64_t width = is_a ? p.shape.k : p.shape.n;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / width,
                       column = static_cast<std::int64_t>(i) % width;
    values[i] *= is_a ? p.a.at(batch, row, column) : p.b.at(batch, column, row);
  }
  return values;
}

double largest_size(const Tensor& x) {
  double most = 0;
  for (const double v : x.view().values()) {
    if (std::isfinite(v)) most = std::max(most, std::abs(v));
  }
  return most;
}

// Returns the product in the format `output`. multiply(batch, count) returns the M x N values of
// one matrix of the batch.
template <typename Multiply>
Tensor multiplied(const MatmulShape& s, const Format& output, const Multiply& multiply) {
  const auto count = static_cast<std::size_t>(s.m * s.n);
  Tensor result(output, s.output);
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const std::vector<double> values = multiply(batch, count);
    encode_array(output, values.data(), count,
                 result.bytes() + static_cast<std::size_t>(batch) * count *
                                      static_cast<std::size_t>(output.storage_bytes));
  }
  return result;
}

Tensor run_scaled_matmul(const Call& call) {
  const Case& c = call.test_case;
  ScaledProduct p = product_of(c);
  const DotModel model = stretched_model(c, call.machine, p);
  const bool integers = model.accumulator.value == "int32";
  const bool fused = fused_of(c, call.machine);
  const MatmulShape& s = p.shape;
  return multiplied(s, call.output, [&](std::int64_t batch, std::size_t count) {
    const std::vector<double> a = matmul_matrix(c, "a", batch).values(),
                              b = matmul_matrix(c, "b", batch).values();
    std::vector<float> sums(count, 0.0f);
    for (std::size_t part = 0; part + 1 < p.cuts.size(); ++part) {
      const std::int64_t first = p.cuts[part], last = p.cuts[part + 1];
      const std::vector<double> rows = columns_of(a, s.m, s.k, first, last);
      const double* columns = b.data() + first * s.n;
      std::vector<float> partial(count, 0.0f);
      if (integers) {
        std::vector<double> wide(count, 0.0);
        exact_matmul(s.m, s.n, last - first, rows.data(), columns, wide.data(), call.threads);
        for (std::size_t i = 0; i < count; ++i) partial[i] = static_cast<float>(wide[i]);
      } else {
        dot_matmul(model, s.m, s.n, last - first, rows.data(), columns, partial.data(),
                   call.threads);
      }
      for (std::size_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const ScaleFactors scale = factors_of(p, batch, at / s.n, at % s.n, first);
        const float scaled = partial[i] * scale.before;
        sums[i] = fused ? std::fma(scaled, scale.last, sums[i]) : sums[i] + scaled * scale.last;
      }
    }
    return std::vector<double>(sums.begin(), sums.end());
  });
}

Tensor scaled_matmul_reference(const ReferenceCall& call) {
  const Case& c = call.test_case;
  const ScaledProduct p = product_of(c);
  const MatmulShape& s = p.shape;
  return multiplied(s, call.output, [&](std::int64_t batch, std::size_t count) {
    const std::vector<double> a = dequantised(c, p, "a", batch), b = dequantised(c, p, "b", batch);
    std::vector<double> values(count, 0.0);
    exact_matmul(s.m, s.n, s.k, a.data(), b.data(), values.data(), call.threads);
    return values;
  });
}

Tensor scaled_matmul_bounds(const Case& c, const Machine& machine, int threads) {
  require_matrix_unit(c, machine);
  ScaledProduct p = product_of(c);
  const DotModel model = stretched_model(c, machine, p);
  const MatmulShape& s = p.shape;
  const auto count = static_cast<std::size_t>(s.m * s.n);
  // The roundings are that of a stretch's sum P to float32 (for int32 sums), those of the two
  // products with scales, and that of the sum with the stretches after it.
  const auto stretches = static_cast<double>(p.cuts.size() - 1);
  const double n = (stretches + 3) * 0x1p-24, roundings = n / (1 - n);
  // If no machine is named, a kernel may also apply the scales to the operands before it
  // multiplies.
  const bool any = is_any_machine(machine);
  const double first_n = (static_cast<double>(s.k) + stretches + 4) * 0x1p-24;
  std::vector<double> bounds;
  Unbounded unbounded;
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const std::vector<double> a = matmul_matrix(c, "a", batch).values(),
                              b = matmul_matrix(c, "b", batch).values();
    std::vector<double> bound(count, 0.0), size(count, 0.0);
    for (std::size_t part = 0; part + 1 < p.cuts.size(); ++part) {
      const std::int64_t first = p.cuts[part], last = p.cuts[part + 1];
      const std::vector<double> rows = columns_of(a, s.m, s.k, first, last);
      const std::vector<double> columns(b.begin() + first * s.n, b.begin() + last * s.n);
      const SumBounds sums = sum_bounds(c, machine, model, s.m, s.n, last - first, rows, columns,
                                        {}, unbounded, threads);
      for (std::size_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const double scale = std::abs(static_cast<double>(p.a.at(batch, at / s.n, first)) *
                                      p.b.at(batch, at % s.n, first));
        // The product of P and the first scale may lose bits below the normal range. This loss is
        // multiplied by the second scale.
        const ScaleFactors factors = factors_of(p, batch, at / s.n, at % s.n, first);
        const double second = std::max(1.0, static_cast<double>(std::abs(factors.last)));
        if (std::isinf(sums.error[i])) {
          bound[i] = sums.error[i];  // an infinite error stays infinite, also if the scale is 0
          continue;
        }
        bound[i] += scale * (sums.error[i] + roundings * (sums.size[i] + sums.error[i])) +
                    (factors.before == 1 ? 3 : 3 * second) * 0x1p-149;
        size[i] += scale * sums.size[i];
      }
    }
    for (std::size_t i = 0; any && i < count; ++i) {
      bound[i] = std::max(bound[i], first_n / (1 - first_n) * size[i] + first_n * 0x1p-126);
    }
    for (const double v : bound) bounds.push_back(v * (1 + unit_roundoff(output_format(c))));
  }
  return held_bounds(output_format(c), s.output, std::move(bounds), unbounded);
}

// Raises the expected errors of one matrix to those of kernels that apply the scales to the
// operands first, or to parts of a stretch. Such kernels sum float32 operands, which are themselves
// rounded, in any order.
void raise_to_scaled_operands(const Case& c, const ScaledProduct& p, std::int64_t batch,
                              int threads, ExpectedErrors& errors) {
  const MatmulShape& s = p.shape;
  const Format& float32 = format_named("float32");
  std::vector<double> a = finite_or_zero(dequantised(c, p, "a", batch)),
                      b = finite_or_zero(dequantised(c, p, "b", batch));
  const Machine& any = any_float32_machine();
  const ExpectedErrors sums = expected_sums(
      c, any, dot_model(any, float32), format_named("float64"), s.m, s.n, s.k, a, b, {}, threads);
  for (std::vector<double>* values : {&a, &b}) {
    for (double& v : *values) v *= v;
  }
  std::vector<double> squares(errors.mean.size(), 0.0);
  exact_matmul(s.m, s.n, s.k, a.data(), b.data(), squares.data(), threads);
  // Variance of the rounding of two float32 operands, relative to the squared products.
  const double of_operands = 2 * 0x1p-48 / 3;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    errors.variance[i] = std::max(errors.variance[i], sums.variance[i] + of_operands * squares[i]);
    errors.drift[i] = std::max(errors.drift[i], sums.drift[i]);
  }
}

// The expected errors are those of each stretch's sum by the unit, times its scale, and of the
// float32 sum of the stretches.
ExpectedErrors scaled_matmul_errors(const Case& c, const Machine& machine, int threads) {
  require_matrix_unit(c, machine);
  ScaledProduct p = product_of(c);
  const DotModel model = stretched_model(c, machine, p);
  const MatmulShape& s = p.shape;
  const Format &output = output_format(c), &float32 = format_named("float32");
  const RoundingStep step(float32);
  const bool fused = fused_of(c, machine), any = is_any_machine(machine);
  const auto count = static_cast<std::size_t>(s.m * s.n);
  ExpectedErrors all{.last = &output};
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const std::vector<double> a = finite_or_zero(matmul_matrix(c, "a", batch).values()),
                              b = finite_or_zero(matmul_matrix(c, "b", batch).values());
    std::vector<Uncertain> sums(count);
    ExpectedErrors errors;
    errors.resize(count);
    errors.last = &output;
    errors.at_most = any;
    for (std::size_t part = 0; part + 1 < p.cuts.size(); ++part) {
      const std::int64_t first = p.cuts[part], last = p.cuts[part + 1];
      const std::vector<double> rows = columns_of(a, s.m, s.k, first, last);
      const std::vector<double> columns(b.begin() + first * s.n, b.begin() + last * s.n);
      std::vector<double> exact(count, 0.0);
      exact_matmul(s.m, s.n, last - first, rows.data(), columns.data(), exact.data(), threads);
      ExpectedErrors partial;
      partial.resize(count);
      if (!p.integers) {
        partial = expected_sums(c, machine, model, format_named("float64"), s.m, s.n, last - first,
                                rows, columns, {}, threads);
      }
      for (std::size_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const ScaleFactors factors = factors_of(p, batch, at / s.n, at % s.n, first);
        const auto scale = static_cast<double>(factors.before) * static_cast<double>(factors.last);
        const double exact_scale = p.a.at(batch, at / s.n, first) * p.b.at(batch, at % s.n, first);
        Uncertain term = Uncertain::exact(exact[i]);
        term.round(step);  // rounds int32 sums; others are float32 already
        if (!p.integers) term.variance = 0;
        term.mean += partial.mean[i];
        term.variance += partial.variance[i];
        if (p.order == ScaleOrder::kTogether) {
          term.divide_by(1 / exact_scale);
          term.mean += (scale - exact_scale) * exact[i];
        } else {
          term.divide_by(1 / static_cast<double>(factors.before));
          term.round(step);
          term.divide_by(1 / static_cast<double>(factors.last));
        }
        if (!fused || any) term.round(step);
        errors.drift[i] += std::abs(scale) * partial.drift[i];
        sums[i].add(term);
        if (part + 2 < p.cuts.size() || &output != &float32) sums[i].round(step);
      }
    }
    for (std::size_t i = 0; i < count; ++i) set_error(errors, i, sums[i]);
    if (any) raise_to_scaled_operands(c, p, batch, threads, errors);
    all.append(errors);
  }
  return all;
}

DerivedTolerance scaled_matmul_tolerance(const Case& c) {
  const Format& output = output_format(c);
  ScaledProduct p = product_of(c);
  const double rtol = unit_roundoff(output);
  if (largest_size(c.input("a")) * largest_size(c.input("b")) * static_cast<double>(p.shape.k) >=
      0x1p127) {
    refuse_case(c.name,
                "no tolerance can be derived: sums of codes, which come before their scales, may "
                "overflow float32");
  }
  if (const Machine* machine = machine_of(c)) {
    return accumulation_tolerance(c, *machine,
                                  scaled_matmul_bounds(c, *machine, 0).view().values());
  }
  if (!c.text("compute_dtype")) require_machine(c);
  cut(p, integer_of(c, "promotion_interval"));
  const MatmulShape& s = p.shape;
  const auto count = static_cast<std::size_t>(s.m * s.n);
  double largest = 0;
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    std::vector<double> a = dequantised(c, p, "a", batch), b = dequantised(c, p, "b", batch);
    for (double& v : a) v = std::abs(v);
    for (double& v : b) v = std::abs(v);
    std::vector<double> sums(count, 0.0);
    exact_matmul(s.m, s.n, s.k, a.data(), b.data(), sums.data());
    for (const double v : sums) largest = std::max(largest, reached_size(c, "a", v));
  }
  const std::int64_t stretches = static_cast<std::int64_t>(p.cuts.size()) - 1;
  const double n = static_cast<double>(s.k + stretches + 2) * 0x1p-24;
  if (n >= 0.5) no_tolerance(c);
  return {rtol, (1 + rtol) * (n / (1 - n) * largest + n * 0x1p-126) + min_subnormal(output) / 2,
          formatted(
              "rtol: half a {} ulp; atol: n 2^-24 / (1 - n 2^-24) max sum_k |a_ik b_kj| with their "
              "scales, n = K + {} stretches + 2 roundings of float32 (K = {}, sum at most {})",
              output.name, stretches, s.k, short_number(largest, 4))};
}

}  // namespace

std::vector<Operator> scaled_matmul_operators() {
  return {
      {.name = "scaled_matmul",
       .summary = "(a scale_a) (b scale_b), with scales that rows, columns or blocks share",
       .inputs = {{.name = "a", .shape = "(..., M, K)"},
                  {.name = "b", .shape = "(..., K, N)"},
                  {.name = "scale_a", .words = "by a_scaling"},
                  {.name = "scale_b", .words = "by b_scaling"}},
       .parameters = {transpose_parameter("a"),
                      transpose_parameter("b"),
                      scaling_parameter("a_scaling", "a (blocks are rows by K)"),
                      scaling_parameter("b_scaling", "b (blocks are columns by K)"),
                      scales_parameter(),
                      {.name = "scale_order",
                       .kind = ParameterKind::kWord,
                       .default_value = std::string(kScaleOrderWords[0]),
                       .choices = {std::begin(kScaleOrderWords), std::end(kScaleOrderWords)},
                       .words =
                           "order in which a sum P is scaled: P (scale_a scale_b), (P scale_a) "
                           "scale_b or (P scale_b) scale_a. Each product is rounded to float32"},
                      dtype_parameter("output_dtype",
                                      "dtype of the result. If it is not given, it is float32"),
                      dtype_parameter("compute_dtype",
                                      "dtype to which codes are first converted exactly, for a "
                                      "machine that does not take the codes"),
                      {.name = "promotion_interval",
                       .kind = ParameterKind::kInteger,
                       .default_value = "0",
                       .least = 0,
                       .most = std::numeric_limits<int>::max(),
                       .words = "number of terms in a separate stretch. 0 means the machine's own"},
                      fused_parameter()},
       .output = "c",
       .sizes = "..., M, K, N",
       .run = run_scaled_matmul,
       .reference = scaled_matmul_reference,
       .output_format = [](const Case&) -> const Format& { return format_named("float32"); },
       .element_bounds = scaled_matmul_bounds,
       .expected_errors = scaled_matmul_errors,
       .tolerance = scaled_matmul_tolerance,
       .generate = generate_scaled_matmul}};
}

}  // namespace assay
