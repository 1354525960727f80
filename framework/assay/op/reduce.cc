#include "assay/op/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/machine/dot.h"
#include "assay/op/order.h"
#include "assay/op/rows.h"

namespace assay {
namespace {

enum class Reduce { kSum, kMean, kMax };

// The dimension that is reduced, or all as one.
AxisExtent reduced_extent(const Case& c) {
  if (const auto axis = c.integer("axis")) return extent_along(c, *axis);
  return {1, element_count(c.input("x").shape()), 1};
}

Shape reduced_shape(const Case& c) {
  const auto axis = c.integer("axis");
  if (!axis) return {};
  Shape shape = c.input("x").shape();
  shape.erase(shape.begin() +
              (*axis < 0 ? *axis + static_cast<std::int64_t>(shape.size()) : *axis));
  return shape;
}

double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

void column_maxima(std::int64_t n, std::int64_t w, const double* x, double* to) {
  std::copy_n(x, w, to);
  for (std::int64_t i = 1; i < n; ++i) {
    for (std::int64_t j = 0; j < w; ++j) to[j] = larger(to[j], x[i * w + j]);
  }
}

// The reference: sums with twice the precision of float64.
void exact_sums(std::int64_t n, std::int64_t w, const double* x, double* to) {
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  std::fill_n(to, w, 0.0);
  exact_matmul(1, w, n, ones.data(), x, to, 1);
}

// A reduction of x as its machine takes it.
struct Plan {
  const Call& call;
  Reduce what;
  AxisExtent e;
  SumOrder order;
  VectorArithmetic unit, mean_unit;
  Overflow overflow;

  bool exact() const { return call.machine.is_exact(); }
  template <typename T>
  void store(std::int64_t first, std::int64_t count, T* values, Tensor& result) const {
    store_values(call, overflow, values, count, result.bytes() + first * call.output.storage_bytes);
  }
};

// to[j] = the maximum or sum of column j of an n x w matrix, which is scratch afterwards.
template <typename T>
void reduce_columns(const Plan& p, std::int64_t n, std::int64_t w, T* x, T* to) {
  if constexpr (sizeof(T) == sizeof(double)) {
    if (p.exact() && p.what == Reduce::kMax) return column_maxima(n, w, x, to);
    if (p.exact()) return exact_sums(n, w, x, to);
  }
  if (p.what == Reduce::kMax) {
    if (w == 1) {
      *to = vector_maximum(n, x);
      return;
    }
    std::copy_n(x, w, to);
    for (std::int64_t i = 1; i < n; ++i) {
      vector_apply(p.unit, VectorOp::kMax, w, to, x + i * w, to, to);
    }
    return;
  }
  reduce_sum(p.unit, p.order.order, p.order.chunk, n, w, x, to);
}

// Sums become means: in float64, where any count is exact and the quotient is still rounded once.
template <typename T>
void divide(const Plan& p, std::int64_t count, T* sums) {
  if (p.what != Reduce::kMean) return;
  const auto n = static_cast<double>(p.e.n);
  if (p.exact()) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] = static_cast<T>(sums[i] / n);
    return;
  }
  std::vector<double> wide(sums, sums + count);
  vector_apply(p.mean_unit, VectorOp::kDiv, count, wide.data(), {&n, true}, wide.data(),
               wide.data());
  std::transform(wide.begin(), wide.end(), sums, [](double v) { return static_cast<T>(v); });
}

// Rows [row, row + rows) of the outer dimension, each summed along itself: long ones one by one,
// short ones and those whose every step waits for the one before side by side.
template <typename T>
void reduce_rows(const Plan& p, std::int64_t row, std::int64_t rows, Tensor& result) {
  const std::int64_t n = p.e.n;
  const bool chained = p.what != Reduce::kMax && p.order.order == ReduceOrder::kSequential;
  const std::int64_t fit =
      std::clamp<std::int64_t>((1 << 18) / std::max<std::int64_t>(n, 1), 1, 64);
  const std::int64_t together = chained || n < 128 || p.exact() ? fit : 1;
  std::vector<T> x(static_cast<std::size_t>(n * together)), turned,
      sums(static_cast<std::size_t>(rows));
  for (std::int64_t first = 0; first < rows; first += together) {
    const std::int64_t w = std::min(together, rows - first);
    T* values = x.data();
    read_values(p.call.test_case.input("x"), (row + first) * n, n * w, values);
    if (w > 1) {
      turned.resize(x.size());
      transpose(w, n, values, turned.data());
      values = turned.data();
    }
    reduce_columns(p, n, w, values, sums.data() + first);
  }
  divide(p, rows, sums.data());
  p.store(row, rows, sums.data(), result);
}

// Columns [first, first + w) of an outer row.
template <typename T>
void reduce_inner(const Plan& p, std::int64_t row, std::int64_t first, std::int64_t w,
                  Tensor& result) {
  const AxisExtent& e = p.e;
  const Tensor& x = p.call.test_case.input("x");
  std::vector<T> values(static_cast<std::size_t>(e.n * w)), sums(static_cast<std::size_t>(w));
  if (w == e.inner) {
    read_values(x, row * e.n * w, e.n * w, values.data());
  } else {
    for (std::int64_t i = 0; i < e.n; ++i) {
      read_values(x, (row * e.n + i) * e.inner + first, w, values.data() + i * w);
    }
  }
  reduce_columns(p, e.n, w, values.data(), sums.data());
  divide(p, w, sums.data());
  p.store(row * e.inner + first, w, sums.data(), result);
}

template <typename T>
void reduce_all(const Plan& p, Tensor& result) {
  const AxisExtent& e = p.e;
  // A part is some 2^17 elements, as far as rows and columns allow.
  const std::int64_t width =
      std::clamp<std::int64_t>((1 << 17) / std::max<std::int64_t>(e.n, 1), 1, 1 << 17);
  if (e.inner == 1) {
    parallel_for((e.outer + width - 1) / width, p.call.threads, [&](std::int64_t part) {
      reduce_rows<T>(p, part * width, std::min(width, e.outer - part * width), result);
    });
    return;
  }
  const std::int64_t columns = std::min(width, std::max<std::int64_t>(e.inner, 1));
  const std::int64_t parts = (e.inner + columns - 1) / columns;
  parallel_for(e.outer * parts, p.call.threads, [&](std::int64_t part) {
    const std::int64_t first = part % parts * columns;
    reduce_inner<T>(p, part / parts, first, std::min(columns, e.inner - first), result);
  });
}

Tensor run_reduce(const Call& call, Reduce what) {
  const Case& c = call.test_case;
  const Format& input = operand_format(c, {"x"}, call.output);
  Plan p{call,     what,     reduced_extent(c),           sum_order(call, input),
         {&input}, {&input}, overflow_of(c, call.machine)};
  if (p.e.n == 0 && what != Reduce::kSum) {
    throw std::invalid_argument(format("case {}: {} of no elements: x is {}", c.name, c.op,
                                       shape_text(c.input("x").shape())));
  }
  if (!p.exact()) p.unit = arithmetic_of(call, input);
  p.mean_unit = p.order.order == ReduceOrder::kBlock ? block_arithmetic(p.unit) : p.unit;
  Tensor result(call.output, reduced_shape(c));
  if (!p.exact() && fits_float32(p.unit))
    reduce_all<float>(p, result);
  else
    reduce_all<double>(p, result);
  return result;
}

// sum |x| of each element of the result, row-major.
std::vector<double> absolute_sums(const Case& c, const AxisExtent& e) {
  const std::vector<double> values = c.input("x").view().values();
  std::vector<double> sums(static_cast<std::size_t>(e.outer * e.inner));
  for (std::int64_t row = 0; row < e.outer; ++row) {
    for (std::int64_t j = 0; j < e.inner; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < e.n; ++i) {
        sum += std::abs(values[static_cast<std::size_t>((row * e.n + i) * e.inner + j)]);
      }
      if (!std::isfinite(sum)) {
        throw std::invalid_argument(format(
            "case {}: no tolerance can be derived: its inputs hold NaN or infinity", c.name));
      }
      sums[static_cast<std::size_t>(row * e.inner + j)] = sum;
    }
  }
  return sums;
}

}  // namespace

Tensor reduce_sum_bounds(const Case& c) {
  const Format& output = c.output_format();
  const Format& input = operand_format(c, {"x"}, output);
  const AxisExtent e = reduced_extent(c);
  const RoundoffBounds bounds = roundoff_bounds(c, input, output);
  const SumRoundings roundings = sum_roundings(c, e.n, input, bounds);
  std::vector<double> sums = absolute_sums(c, e);
  for (double& sum : sums) sum *= roundings.factor() * (1 + unit_roundoff(output));
  return Tensor::from_values(format_named("float64"), reduced_shape(c), sums);
}

Tensor run_reduce_sum(const Call& call) { return run_reduce(call, Reduce::kSum); }
Tensor run_reduce_mean(const Call& call) { return run_reduce(call, Reduce::kMean); }
Tensor run_reduce_max(const Call& call) { return run_reduce(call, Reduce::kMax); }

DerivedTolerance reduce_tolerance(const Case& c) {
  const Format& output = c.output_format();
  const Format& input = operand_format(c, {"x"}, output);
  const AxisExtent e = reduced_extent(c);
  const SumOrder order = sum_order({c, machine_named("exact"), output}, input);
  if (c.op == "reduce_max") {
    const double rtol = &input == &output ? 0 : unit_roundoff(output);
    return {rtol, rtol == 0 ? 0 : min_subnormal(output) / 2,
            rtol == 0 ? std::string("a maximum is exact")
                      : format("rtol, atol: the maximum's rounding to {}", output.name)};
  }
  const RoundoffBounds bounds = roundoff_bounds(c, input, output);
  const SumRoundings roundings = sum_roundings(c, e.n, input, bounds);
  double largest = 0;
  for (const double sum : absolute_sums(c, e)) largest = std::max(largest, sum);
  const bool mean = c.op == "reduce_mean";
  // What follows the sum: the mean's division, and the conversion to the output's format.
  const double rtol = mean                                 ? bounds.result()
                      : order.order == ReduceOrder::kBlock ? unit_roundoff(output)
                                                           : bounds.output;
  const double error = roundings.factor() * largest / (mean ? static_cast<double>(e.n) : 1.0);
  // Sums of subnormals are exact; a quotient and a conversion are not.
  const double tiny = mean || rtol > 0 ? bounds.tiny : 0;
  return {rtol, (1 + rtol) * error + tiny,
          format("atol: h u / (1 - h u) sum |x| with h = {} roundings of the order {} (sum at most "
                 "{}){}",
                 roundings.steps + roundings.wide, order.name, short_number(largest, 4),
                 rtol > 0 ? "; rtol: what follows the sum" : "")};
}

}  // namespace assay
