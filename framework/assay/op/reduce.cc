#include "assay/op/reduce.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/double_double.h"
#include "assay/base/text.h"
#include "assay/machine/exact_matmul.h"
#include "assay/machine/exact_sum.h"
#include "assay/op/along_axis.h"
#include "assay/op/chance_unit.h"
#include "assay/op/generate.h"
#include "assay/op/order.h"
#include "assay/op/sum_bound.h"

namespace assay::inline v0_2 {
namespace {

enum class Reduce { kSum, kMean, kMax };

// Returns the extents along the dimension that is reduced, or of all elements as one dimension.
AxisExtent reduced_extent(const Case& c) {
  if (const auto axis = c.integer("axis")) return extent_along(c, *axis);
  return {1, element_count(c.input("x").shape()), 1};
}

Shape reduced_shape(const Case& c) {
  const auto axis = c.integer("axis");
  if (!axis) return {};
  Shape shape = c.input("x").shape();
  shape.erase(shape.begin() + (*axis < 0 ? *axis + std::ssize(shape) : *axis));
  return shape;
}

double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

void column_maxima(std::int64_t n, std::int64_t w, const double* x, double* to) {
  std::copy_n(x, w, to);
  for (std::int64_t i = 1; i < n; ++i) {
    for (std::int64_t j = 0; j < w; ++j) to[j] = larger(to[j], x[i * w + j]);
  }
}

// A reduction of x: what the machine's way and the reference have in common.
struct Reduction {
  const Case& test_case;
  const Format& output;
  int threads;
  Reduce what;
  AxisExtent e;
  Overflow overflow;

  template <typename T>
  void store(std::int64_t first, std::int64_t count, T* values, Tensor& result) const {
    store_values(test_case, output, overflow, values, count,
                 result.bytes() + first * output.storage_bytes);
  }
};

Reduction reduction_of(const Case& c, const Format& output, int threads, Reduce what,
                       Overflow overflow) {
  Reduction r{c, output, threads, what, reduced_extent(c), overflow};
  if (r.e.n == 0 && what != Reduce::kSum) {
    refuse_case(c.name, "{} of no elements: x is {}", c.op, shape_text(c.input("x").shape()));
  }
  return r;
}

// Reduces columns on a machine's unit. T is float if it can hold the unit's format.
template <typename T>
struct OnUnit {
  using Value = T;
  Reduce what;
  const SumOrder& order;
  VectorArithmetic unit, last;  // `last` computes the steps after the sums of blocks
  const SumSchedule* schedule;  // the additions of a sum that has a plan

  // True if w columns are reduced side by side: if they are short, or if each step of a sum waits
  // for the step before it.
  bool side_by_side(std::int64_t n) const {
    const bool waits = schedule != nullptr || order.order == ReduceOrder::kSequential;
    return (what != Reduce::kMax && waits) || n < 128;
  }
  // Writes the maximum or sum of column j of an n x w matrix x to to[j]. Overwrites x.
  void columns(std::int64_t n, std::int64_t w, T* x, T* to) const {
    if (what != Reduce::kMax) {
      if (schedule != nullptr) return schedule->sum(unit, last, w, x, to);
      return reduce_sum(unit, order.order, order.chunk, n, w, x, to);
    }
    if (w == 1) {
      *to = vector_maximum(n, x);
      return;
    }
    std::copy_n(x, w, to);
    for (std::int64_t i = 1; i < n; ++i) {
      vector_apply(unit, VectorOp::kMax, w, to, x + i * w, to, to);
    }
  }
  // Turns sums into means in float64, which holds any count exactly, so that the quotient is
  // rounded once.
  void divide(std::int64_t n, std::int64_t count, T* sums) const {
    const auto by = static_cast<double>(n);
    std::vector<double> wide(sums, sums + count);
    vector_apply(last, VectorOp::kDiv, count, wide.data(), {&by, true}, wide.data(), wide.data());
    std::ranges::transform(wide, sums, [](double v) { return static_cast<T>(v); });
  }
};

// Reduces columns for the golden result: sums and means are exact and rounded once.
struct Exactly {
  using Value = double;
  Reduce what;
  const std::vector<double>& ones;  // a 1 for each element that is summed
  // True if the output has fewer bits than float64. Means are then rounded to odd.
  bool narrow;

  bool side_by_side(std::int64_t n) const { return n < 64; }
  void columns(std::int64_t n, std::int64_t w, const double* x, double* to) const {
    if (what == Reduce::kMax) {
      if (w > 1) return column_maxima(n, w, x, to);
      *to = vector_maximum(n, x);
      return;
    }
    std::fill_n(to, w, 0.0);
    exact_matmul(1, w, n, ones.data(), x, to, 1);
    if (what == Reduce::kMean) means(n, w, x, to);
  }
  // Does nothing, because columns() already returns means.
  void divide(std::int64_t, std::int64_t, double*) const {}

 private:
  // Replaces the rounded float64 sums by the exact sums over n, rounded once. Uses the remainder
  // that the rounding of a sum left, if it settles the result, and long division otherwise.
  void means(std::int64_t n, std::int64_t w, const double* x, double* sums) const {
    const auto count = static_cast<double>(n);
    std::vector<double> rests(static_cast<std::size_t>(w), kInfinity);
    if (!narrow) {
      std::transform(sums, sums + w, rests.begin(), [](double sum) { return -sum; });
      exact_matmul(1, w, n, ones.data(), x, rests.data(), 1);
    }
    for (std::int64_t j = 0; j < w; ++j) {
      const double rest = rests[static_cast<std::size_t>(j)], size = std::abs(sums[j]);
      if (std::isfinite(rest) && size > 0x1p-900 && size < 0x1p1000) {
        const DoubleDouble quick = DoubleDouble(sums[j], rest) / DoubleDouble(count);
        if (is_sure(quick, 0x1p-98)) {
          sums[j] = quick.high;
          continue;
        }
      }
      ExactSum sum;
      bool finite = true;
      for (std::int64_t i = 0; i < n && finite; ++i) {
        finite = std::isfinite(x[i * w + j]);
        if (finite) sum.add(x[i * w + j]);
      }
      const auto divisor = static_cast<std::uint64_t>(n);
      if (finite && size > 0) {
        sums[j] = narrow ? sum.odd_quotient(divisor) : sum.nearest_quotient(divisor);
      }
    }
  }
};

// Reduces rows [row, row + rows) of the outer dimension, each to one number. Long rows are reduced
// one by one. Short rows, and rows in which every step waits for the one before, are reduced side
// by side.
template <typename Way>
void reduce_rows(const Reduction& r, const Way& way, std::int64_t row, std::int64_t rows,
                 Tensor& result) {
  using T = typename Way::Value;
  const std::int64_t n = r.e.n;
  const std::int64_t fit =
      std::clamp<std::int64_t>((1 << 18) / std::max<std::int64_t>(n, 1), 1, 64);
  const std::int64_t together = way.side_by_side(n) ? fit : 1;
  std::vector<T> x(static_cast<std::size_t>(n * together)), turned,
      sums(static_cast<std::size_t>(rows));
  for (std::int64_t first = 0; first < rows; first += together) {
    const std::int64_t w = std::min(together, rows - first);
    T* values = x.data();
    read_values(r.test_case.input("x"), (row + first) * n, n * w, values);
    if (w > 1) {
      turned.resize(x.size());
      transpose(w, n, values, turned.data());
      values = turned.data();
    }
    way.columns(n, w, values, sums.data() + first);
  }
  if (r.what == Reduce::kMean) way.divide(n, rows, sums.data());
  r.store(row, rows, sums.data(), result);
}

// Reduces the columns [first, first + w) of an outer row.
template <typename Way>
void reduce_inner(const Reduction& r, const Way& way, std::int64_t row, std::int64_t first,
                  std::int64_t w, Tensor& result) {
  using T = typename Way::Value;
  const AxisExtent& e = r.e;
  const Tensor& x = r.test_case.input("x");
  std::vector<T> values(static_cast<std::size_t>(e.n * w)), sums(static_cast<std::size_t>(w));
  if (w == e.inner) {
    read_values(x, row * e.n * w, e.n * w, values.data());
  } else {
    for (std::int64_t i = 0; i < e.n; ++i) {
      read_values(x, (row * e.n + i) * e.inner + first, w, values.data() + i * w);
    }
  }
  way.columns(e.n, w, values.data(), sums.data());
  if (r.what == Reduce::kMean) way.divide(e.n, w, sums.data());
  r.store(row * e.inner + first, w, sums.data(), result);
}

template <typename Way>
Tensor reduce_all(const Reduction& r, const Way& way) {
  Tensor result(r.output, reduced_shape(r.test_case));
  const AxisExtent& e = r.e;
  // A task has about 2^17 elements, as far as rows and columns allow.
  const std::int64_t width =
      std::clamp<std::int64_t>((1 << 17) / std::max<std::int64_t>(e.n, 1), 1, 1 << 17);
  if (e.inner == 1) {
    parallel_for((e.outer + width - 1) / width, r.threads, [&](std::int64_t part) {
      reduce_rows(r, way, part * width, std::min(width, e.outer - part * width), result);
    });
    return result;
  }
  const std::int64_t columns = std::min(width, std::max<std::int64_t>(e.inner, 1));
  const std::int64_t parts = (e.inner + columns - 1) / columns;
  parallel_for(e.outer * parts, r.threads, [&](std::int64_t part) {
    const std::int64_t first = part % parts * columns;
    reduce_inner(r, way, part / parts, first, std::min(columns, e.inner - first), result);
  });
  return result;
}

template <Reduce what>
Tensor run_reduce(const Call& call) {
  const Case& c = call.test_case;
  const Format& input = operand_format(c, {"x"}, call.output);
  const SumOrder order = sum_order(call, input);
  const Reduction r =
      reduction_of(c, call.output, call.threads, what, overflow_of(c, call.machine));
  const VectorArithmetic unit = arithmetic_of(call, input), last = order.last(unit);
  (void)last_format(c, order, *unit.format);  // throws if the format cannot hold the sums
  std::optional<SumSchedule> schedule;
  if (order.plan && what != Reduce::kMax) schedule.emplace(*order.plan, r.e.n);
  const SumSchedule* planned = schedule ? &*schedule : nullptr;
  if (fits_float32(unit) && fits_float32(last)) {
    return reduce_all(r, OnUnit<float>{what, order, unit, last, planned});
  }
  return reduce_all(r, OnUnit<double>{what, order, unit, last, planned});
}

template <Reduce what>
Tensor reduce_reference(const ReferenceCall& call) {
  const Case& c = call.test_case;
  const Format& input = operand_format(c, {"x"}, call.output);  // throws if x is not float,
  (void)last_format(c, asked_order(c), unit_format(c, input));  // or if the order is invalid
  const Reduction r = reduction_of(c, call.output, call.threads, what, overflow_of(c));
  const std::vector<double> ones(what == Reduce::kMax ? 0 : static_cast<std::size_t>(r.e.n), 1.0);
  return reduce_all(r, Exactly{what, ones, call.output.precision < 53});
}

// Returns sum |x| of each element of the result, row-major. The size of an element that a NaN or
// infinity reaches is NaN.
//
// The size of an element is infinite, and `unbounded` keeps the reason, if the sum may leave the
// range of the unit, or of the arithmetic that sums its blocks. The sums are compared with the
// range after they grow by the relative error of their roundings. The exception is a sum whose
// terms have one sign, if the output's range is not wider than the unit's. The result is then the
// largest number or an infinity of that sign, which the judge treats as equal.
std::vector<double> absolute_sums(const Case& c, const AxisExtent& e, const Format& input,
                                  double roundings, bool mean, Unbounded& unbounded) {
  const SumOrder order = asked_order(c);
  const Format& unit = unit_format(c, input);
  const Format& last = last_format(c, order, unit);
  const double most = max_finite(unit);
  // Means are divided, so a sum that overflows does not imply that the output overflows.
  const bool ends_there = !mean && max_finite(output_format(c)) <= most;
  std::vector<double> sums(static_cast<std::size_t>(e.outer * e.inner));
  using Values = std::vector<double>;
  for_lines<Values>(c.input("x"), e, 1, [&](Values& sizes, const LineAlong& line) {
    sizes.clear();
    bool finite = true, positive = false, negative = false;
    for (const double v : line.values) {
      finite = finite && std::isfinite(v);
      positive = positive || v > 0;
      negative = negative || v < 0;
      sizes.push_back(std::abs(v));
    }
    double& sum = sums[static_cast<std::size_t>(line.index)];
    if (!finite) {
      sum = kNan;
      return;
    }
    const LargestSums largest = largest_sums(order, sizes);
    const bool holds = unbounded.holds([&] {
      if (!std::isfinite(largest.total)) {
        refuse_case(c.name, "no tolerance can be derived: a sum may overflow float64");
      }
      if (ends_there && !(positive && negative)) return;
      require_range(c, unit, "a sum", largest.unit * (1 + roundings));
      require_range(c, last, "a sum", largest.total * (1 + roundings));
    });
    sum = holds ? largest.total : kInfinity;
  });
  return sums;
}

template <Reduce what>
Tensor reduce_bounds(const Case& c, const Machine& machine, int) {
  const Format& output = output_format(c);
  const Format& input = operand_format(c, {"x"}, output);
  const AxisExtent e = reduced_extent(c);
  const RoundoffBounds bounds = roundoff_bounds(c, input, output);
  double factor = sum_roundings(c, e.n, input, bounds).factor();
  const bool mean = what == Reduce::kMean;
  Unbounded unbounded;
  std::vector<double> sums = absolute_sums(c, e, input, factor, mean, unbounded);
  // The division that makes a sum a mean is one more rounding, also below the normal range.
  if (mean) factor = (factor + bounds.unit * (1 + factor)) / static_cast<double>(e.n);
  for (double& sum : sums) {
    const double rounded = std::isinf(sum) ? sum : sum * factor;
    sum = (rounded + (mean ? bounds.tiny : 0)) * (1 + unit_roundoff(output));
  }
  const bool reached = std::ranges::any_of(sums, [](double v) { return std::isnan(v); });
  if (mean && reached && find_vector_model(machine) != nullptr &&
      overflow_of(c, machine) == Overflow::kSaturate) {
    // A unit that saturates turns a sum with an infinity into the largest number, and the mean
    // divides that.
    const std::vector<double> exact = golden_result(c).view().values();
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (std::isinf(exact[i]) && std::isnan(sums[i])) sums[i] = max_finite(output);
    }
  }
  return held_bounds(output, reduced_shape(c), std::move(sums), unbounded);
}

// The expected errors are those of the roundings of each sum in its order, and of the mean's
// quotient.
template <Reduce what>
ExpectedErrors reduce_errors(const Case& c, const Machine& machine, int threads) {
  const Format& output = output_format(c);
  const Format& input = operand_format(c, {"x"}, output);
  const ChanceUnit unit = chance_unit(c, machine, input);
  const AxisExtent e = reduced_extent(c);
  ExpectedErrors errors{.last = &output, .at_most = unit.any_order};
  errors.resize(static_cast<std::size_t>(e.outer * e.inner));
  if (what == Reduce::kMax) return errors;  // a maximum is rounded only to the output's format
  const RoundingStep after(*unit.after);
  const bool mean = what == Reduce::kMean;
  using Terms = std::vector<double>;
  for_lines<Terms>(c.input("x"), e, threads, [&](Terms& terms, const LineAlong& line) {
    terms.assign(line.values.begin(), line.values.end());
    for (double& v : terms) v = std::isfinite(v) ? v : 0;
    Uncertain result = unit.sum_of_exact(terms, mean ? nullptr : &output);
    if (mean) {
      result.divide_by(static_cast<double>(e.n));
      // Without a machine, a kernel may multiply the sum by the rounded 1 / n. It may also divide
      // each term by n before it adds them, or update a running mean, which rounds the difference
      // of each term from the mean, and that difference over k. So sums of whole numbers are
      // rounded, too.
      if (unit.any_order && e.n > 1) {
        const double u = unit_roundoff(*unit.after), n = static_cast<double>(e.n);
        if ((e.n & (e.n - 1)) != 0) result.variance += 2 * u * u / 3 * result.value * result.value;
        double of_terms = 0;
        for (double& v : terms) {
          const double size = (std::abs(v) + std::abs(result.value)) / n;
          of_terms += 2 * u * u / 3 * size * size;
          v /= n;
        }
        const Uncertain scaled = unit.sum_of_exact(terms, &output);
        result.variance = std::max(result.variance, scaled.variance + of_terms);
      }
      if (unit.after != &output) result.round(after);
    }
    set_error(errors, static_cast<std::size_t>(line.index), result);
  });
  return errors;
}

template <Reduce what>
DerivedTolerance reduce_tolerance(const Case& c) {
  const Format& output = output_format(c);
  const Format& input = operand_format(c, {"x"}, output);
  const AxisExtent e = reduced_extent(c);
  const SumOrder order = asked_order(c);
  if (what == Reduce::kMax) {
    const double rtol = &input == &output ? 0 : unit_roundoff(output);
    return {rtol, rtol == 0 ? 0 : min_subnormal(output) / 2,
            rtol == 0 ? std::string("a maximum is exact")
                      : formatted("rtol, atol: the maximum's rounding to {}", output.name)};
  }
  const RoundoffBounds bounds = roundoff_bounds(c, input, output);
  const SumRoundings roundings = sum_roundings(c, e.n, input, bounds);
  double largest = 0;
  const bool mean = what == Reduce::kMean;
  Unbounded unbounded;
  for (const double sum : absolute_sums(c, e, input, roundings.factor(), mean, unbounded)) {
    if (!std::isnan(sum)) largest = std::max(largest, sum);
  }
  unbounded.rethrow();
  // The relative error of the steps after the sum: the mean's division, and the conversion to the
  // output's format.
  const double rtol = mean                 ? bounds.result()
                      : order.has_blocks() ? unit_roundoff(output)
                                           : bounds.output;
  const double error = roundings.factor() * largest / (mean ? static_cast<double>(e.n) : 1.0);
  // Sums of subnormals are exact, but a quotient and a conversion are not.
  const double tiny = mean || rtol > 0 ? bounds.tiny : 0;
  return {
      rtol, (1 + rtol) * error + tiny,
      formatted("atol: {} with h = {} roundings of {} (sum at most {}){}", roundings.formula(),
                roundings.steps + roundings.wide,
                roundings.any_order ? "sums in any order" : formatted("the order {}", order.name),
                short_number(largest, 4), rtol > 0 ? "; rtol: what follows the sum" : "")};
}

template <Reduce what>
Operator reduce_row(const char* name, const char* summary) {
  return {
      .name = name,
      .summary = summary,
      .inputs = {{.name = "x", .shape = "(...)"}},
      .parameters = unit_parameters(
          plan_parameters({{.name = "axis",
                            .kind = ParameterKind::kInteger,
                            .words = "dimension that is reduced. A negative number counts from the "
                                     "end. If it is not given, all dimensions are reduced",
                            .tried = {"0", "-1", "1"}}}),
          false),
      .run = run_reduce<what>,
      .reference = reduce_reference<what>,
      .output_format = computed_format,
      .element_bounds = what == Reduce::kMax ? nullptr : reduce_bounds<what>,
      .no_element_bounds = what == Reduce::kMax ? "a maximum adds nothing up" : "",
      .machine_free_bounds = what != Reduce::kMax,
      .expected_errors = reduce_errors<what>,
      .tolerance = reduce_tolerance<what>,
      .generate = generate_vector};
}

}  // namespace

std::vector<Operator> reduce_operators() {
  return {reduce_row<Reduce::kSum>("reduce_sum", "the sum of x along a dimension, or of all"),
          reduce_row<Reduce::kMean>("reduce_mean", "the mean of x along a dimension, or of all"),
          reduce_row<Reduce::kMax>("reduce_max", "the maximum of x along a dimension, or of all")};
}

}  // namespace assay
