#include "assay/op/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/machine/dot.h"
#include "assay/op/unit.h"

namespace assay {
namespace {

enum class Reduce { kSum, kMean, kMax };

// x seen as (outer, n, inner), n reduced.
struct Extent {
  std::int64_t outer = 1, n = 1, inner = 1;
  Shape output;
};

Extent extent_of(const Case& c) {
  const Shape& shape = c.input("x").shape();
  Extent e;
  const auto axis = c.integer("axis");
  if (!axis) {
    e.n = element_count(shape);
    return e;
  }
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (*axis < -rank || *axis >= rank) {
    throw std::invalid_argument(
        format("case {}: axis {} is no dimension of x {}", c.name, *axis, shape_text(shape)));
  }
  const auto at = static_cast<std::size_t>(*axis < 0 ? *axis + rank : *axis);
  e.n = shape[at];
  e.output = shape;
  e.output.erase(e.output.begin() + static_cast<std::ptrdiff_t>(at));
  e.outer = element_count(std::span(shape).first(at));
  e.inner = element_count(std::span(shape).subspan(at + 1));
  return e;
}

struct OrderName {
  std::string_view name;
  ReduceOrder order;
};
constexpr OrderName kOrders[] = {
    {"pairwise", ReduceOrder::kPairwise},
    {"sequential", ReduceOrder::kSequential},
    {"block", ReduceOrder::kBlock},
    {"ascend910b_first_n", ReduceOrder::kFirstN},
    {"ascend910b_high_dim", ReduceOrder::kHighDim},
};

ReduceOrder order_of(const Case& c) {
  const std::string word = c.text("order").value_or(std::string(kOrders[0].name));
  std::vector<std::string> names;
  for (const OrderName& row : kOrders) {
    if (row.name == word) return row.order;
    names.emplace_back(row.name);
  }
  throw std::invalid_argument(format("case {}: {} does not know the order '{}'; it knows {}",
                                     c.name, c.op, word, joined(names)));
}

bool by_repeat(ReduceOrder order) {
  return order == ReduceOrder::kFirstN || order == ReduceOrder::kHighDim;
}

// The block_size of the order block; 1 for others. Refused where the order has no use for it.
std::int64_t block_size_of(const Case& c, ReduceOrder order) {
  const auto size = c.integer("block_size");
  if (order == ReduceOrder::kBlock ? !size || *size < 1 : size.has_value()) {
    throw std::invalid_argument(
        order == ReduceOrder::kBlock
            ? format("case {}: the order block needs block_size, at least 1", c.name)
            : format("case {}: block_size goes with the order block alone", c.name));
  }
  return size.value_or(1);
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

Tensor run_reduce(const Call& call, Reduce what) {
  const Case& c = call.test_case;
  const Format& input = operand_format(c, {"x"}, call.output);
  const Extent e = extent_of(c);
  const ReduceOrder order = order_of(c);
  std::int64_t chunk = block_size_of(c, order);
  if (e.n == 0 && what != Reduce::kSum) {
    throw std::invalid_argument(format("case {}: {} of no elements: x is {}", c.name, c.op,
                                       shape_text(c.input("x").shape())));
  }
  const bool exact = call.machine.is_exact();
  VectorArithmetic unit{&input};
  if (!exact) {
    unit = arithmetic_of(call, input);
    const int repeat = vector_format(vector_model(call.machine), input).repeat.value;
    if (by_repeat(order)) {
      if (repeat == 0) {
        throw std::invalid_argument(format("case {}: {} has no repeats, so no order {}", c.name,
                                           call.machine.name, *c.text("order")));
      }
      chunk = repeat;
    }
  }
  const VectorArithmetic mean_unit = order == ReduceOrder::kBlock ? block_arithmetic(unit) : unit;
  const Overflow overflow = overflow_of(c, call.machine);

  // One part: some columns of one outer row; of rows that are summed along themselves several side
  // by side, where each step waits for the one before.
  Tensor result(call.output, e.output);
  const bool chained = order == ReduceOrder::kSequential || what == Reduce::kMax;
  const std::int64_t together =
      e.inner == 1 && chained
          ? std::clamp<std::int64_t>((1 << 22) / std::max<std::int64_t>(e.n, 1), 1, 8)
          : 1;
  const std::int64_t width = std::clamp<std::int64_t>((1 << 17) / std::max<std::int64_t>(e.n, 1), 1,
                                                      std::max<std::int64_t>(e.inner, 1));
  const std::int64_t parts = (e.inner + width - 1) / width;
  const std::int64_t groups = (e.outer + together - 1) / together;
  const TensorView x = c.input("x").view();
  parallel_for(groups * parts, call.threads, [&](std::int64_t part) {
    const std::int64_t row = part / parts * together, first = part % parts * width;
    const std::int64_t rows = std::min(together, e.outer - row);
    const std::int64_t w = rows > 1 ? rows : std::min(width, e.inner - first);
    std::vector<double> values(static_cast<std::size_t>(e.n * w)),
        sums(static_cast<std::size_t>(w));
    if (rows > 1) {
      std::vector<double> line(static_cast<std::size_t>(e.n));
      for (std::int64_t j = 0; j < rows; ++j) {
        x.read((row + j) * e.n, e.n, line.data());
        for (std::int64_t i = 0; i < e.n; ++i) {
          values[static_cast<std::size_t>(i * w + j)] = line[static_cast<std::size_t>(i)];
        }
      }
    } else if (w == e.inner) {
      x.read(row * e.n * w, e.n * w, values.data());
    } else {
      for (std::int64_t i = 0; i < e.n; ++i) {
        x.read((row * e.n + i) * e.inner + first, w, values.data() + i * w);
      }
    }
    if (what == Reduce::kMax)
      column_maxima(e.n, w, values.data(), sums.data());
    else if (exact)
      exact_sums(e.n, w, values.data(), sums.data());
    else
      reduce_sum(unit, order, chunk, e.n, w, values.data(), sums.data());
    if (what == Reduce::kMean) {
      const auto count = static_cast<double>(e.n);
      if (exact) {
        for (double& sum : sums) sum /= count;
      } else {
        const std::vector<double> counts(sums.size(), count);
        vector_apply(mean_unit, VectorOp::kDiv, w, sums.data(), counts.data(), nullptr,
                     sums.data());
      }
    }
    store_values(call, overflow, sums.data(), w,
                 result.bytes() + (row * e.inner + first) * call.output.storage_bytes);
  });
  return result;
}

std::int64_t tree_depth(std::int64_t n) {
  return n <= 1 ? 0 : static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
}

// Between an element and its sum: roundings by the unit, and by float32.
struct Roundings {
  std::int64_t steps = 0, wide = 0;
  double total = 0;  // their relative errors
  double factor() const { return total / (1 - total); }
};

// Throws where they leave no digit.
Roundings roundings_of(const Case& c, const Extent& e, const Format& input,
                       const RoundoffBounds& bounds) {
  const ReduceOrder order = order_of(c);
  std::int64_t chunk = block_size_of(c, order);
  if (by_repeat(order)) chunk = input.name == "float16" ? 128 : 64;
  const std::int64_t chunks = e.n == 0 ? 1 : (e.n + chunk - 1) / chunk;
  Roundings r;
  switch (order) {
    case ReduceOrder::kSequential:
      r.steps = std::max<std::int64_t>(e.n - 1, 0);
      break;
    case ReduceOrder::kPairwise:
      r.steps = tree_depth(e.n);
      break;
    case ReduceOrder::kBlock:
      r.steps = tree_depth(std::min(chunk, e.n));
      r.wide = chunks - 1;
      break;
    case ReduceOrder::kFirstN:
      r.steps = tree_depth(std::min(chunk, e.n)) + chunks - 1;
      break;
    case ReduceOrder::kHighDim:
      r.steps = tree_depth(std::min(chunk, e.n)) + tree_depth(chunks);
      break;
  }
  const double block = std::min(bounds.unit, unit_roundoff(format_named("float32")));
  r.total = static_cast<double>(r.steps) * bounds.unit + static_cast<double>(r.wide) * block;
  if (r.total >= 0.5) {
    throw std::invalid_argument(
        format("case {}: no tolerance can be derived: {} roundings of a {} sum leave no digit",
               c.name, r.steps + r.wide, input.name));
  }
  return r;
}

// sum |x| of each element of the result, row-major.
std::vector<double> absolute_sums(const Case& c, const Extent& e) {
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
  const Extent e = extent_of(c);
  const RoundoffBounds bounds = roundoff_bounds(c, input, output);
  const Roundings roundings = roundings_of(c, e, input, bounds);
  std::vector<double> sums = absolute_sums(c, e);
  for (double& sum : sums) sum *= roundings.factor() * (1 + unit_roundoff(output));
  return Tensor::from_values(format_named("float64"), e.output, sums);
}

Tensor run_reduce_sum(const Call& call) { return run_reduce(call, Reduce::kSum); }
Tensor run_reduce_mean(const Call& call) { return run_reduce(call, Reduce::kMean); }
Tensor run_reduce_max(const Call& call) { return run_reduce(call, Reduce::kMax); }

DerivedTolerance reduce_tolerance(const Case& c) {
  const Format& output = c.output_format();
  const Format& input = operand_format(c, {"x"}, output);
  const Extent e = extent_of(c);
  const ReduceOrder order = order_of(c);
  (void)block_size_of(c, order);
  if (c.op == "reduce_max") {
    const double rtol = &input == &output ? 0 : unit_roundoff(output);
    return {rtol, rtol == 0 ? 0 : min_subnormal(output) / 2,
            rtol == 0 ? std::string("a maximum is exact")
                      : format("rtol, atol: the maximum's rounding to {}", output.name)};
  }
  const RoundoffBounds bounds = roundoff_bounds(c, input, output);
  const Roundings roundings = roundings_of(c, e, input, bounds);
  double largest = 0;
  for (const double sum : absolute_sums(c, e)) largest = std::max(largest, sum);
  const bool mean = c.op == "reduce_mean";
  // What follows the sum: the mean's division, and the conversion to the output's format.
  const double rtol = mean                           ? bounds.result()
                      : order == ReduceOrder::kBlock ? unit_roundoff(output)
                                                     : bounds.output;
  const double error = roundings.factor() * largest / (mean ? static_cast<double>(e.n) : 1.0);
  // Sums of subnormals are exact; a quotient and a conversion are not.
  const double tiny = mean || rtol > 0 ? bounds.tiny : 0;
  return {rtol, (1 + rtol) * error + tiny,
          format("atol: h u / (1 - h u) sum |x| with h = {} roundings of the order {} (sum at most "
                 "{}){}",
                 roundings.steps + roundings.wide,
                 c.text("order").value_or(std::string(kOrders[0].name)), short_number(largest, 4),
                 rtol > 0 ? "; rtol: what follows the sum" : "")};
}

}  // namespace assay
