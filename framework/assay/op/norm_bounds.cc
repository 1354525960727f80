#include "assay/op/norm_bounds.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/text.h"
#include "assay/machine/function_error.h"
#include "assay/op/along_axis.h"
#include "assay/op/order.h"
#include "assay/op/sum_bound.h"

namespace assay::inline v0_2 {
namespace {

struct Errors {
  double u;  // of an operation
  double f;  // relative error of exp and rsqrt
  // Error of a sum, divided by the sum of its terms' sizes.
  double gamma;
  double loss;         // the share that a sum of terms that are not negative may lose
  double tiny;         // half the smallest subnormal
  const Format& unit;  // the format of the sum over the row, or over each block of a block order
  // The format of the steps after that sum. A block order adds the sums of blocks, and takes all
  // later steps, in float32, or in float64 if `unit` is float64. For other orders it is `unit`.
  const Format& after;
  SumOrder order;
};

[[noreturn]] void no_digit(const Norm& norm, const char* what) {
  refuse_case(
      norm.test_case.name,
      "no tolerance can be derived, because the rounding errors of {} may be as large as {}",
      norm.test_case.op, what);
}

bool is_infinite(double v) { return std::isinf(v); }
bool is_nan(double v) { return std::isnan(v); }

// Writes bounds[i] for each element of a row of softmax. Returns the largest relative error,
// without the part of the bound that `tiny` causes.
double softmax_bounds(const Norm& norm, const Errors& r, std::span<const double> x,
                      std::vector<double>& bounds) {
  const double most = *std::ranges::max_element(x);
  if (std::ranges::any_of(x, is_nan) || std::isinf(most)) {
    std::ranges::fill(bounds, kNan);  // the row's result is NaN
    return 0;
  }
  std::vector<double> terms, largest_terms;
  double sum = 0, moved = 0;
  // exp turns the absolute error of x - max into a relative one. The difference is rounded. Kernels
  // that compute exp2((x - max) log2(e)) also round log2(e) and the product. For x = -infinity,
  // which a mask writes, these errors are 0.
  const double grow = std::pow(1 + r.u, 3), shrink = std::pow(1 - r.u, 3);
  for (const double v : x) {
    const double term = std::exp(v - most);
    terms.push_back(term);
    largest_terms.push_back((1 + r.f) * std::exp(-shrink * (most - v)));
    sum += term, moved += std::min(largest_terms.back() - term, 1.0) + r.tiny;
  }
  const LargestSums sums = largest_sums(r.order, terms);
  require_range(norm.test_case, r.unit, "its sum", sums.unit * (1 + r.gamma));
  // However much is lost, a sum of terms that are not negative is at least the largest term,
  // exp(0).
  const double least = std::max((sum - moved) * (1 - r.loss), 1 - r.f - r.tiny);
  const double greatest = (sum + moved) * (1 + r.gamma);
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double size = terms[i] / sum, least_term = (1 - r.f) * std::exp(-grow * (most - x[i]));
    const double above = largest_terms[i] * (1 + r.u) / least - size,
                 below = size - least_term * (1 - r.u) / greatest;
    // size * 2^-50 covers the roundings of this computation itself. They matter if the unit
    // computes in float64.
    const double off = std::max(above, below) + size * 0x1p-50;
    // `tiny` bounds the error of quotients below the normal range.
    bounds[i] = off + r.tiny / least + r.tiny;
    if (size > r.tiny) largest = std::max(largest, off / size);
  }
  return largest;
}

// Writes the bounds of a row of rmsnorm that holds an infinity. The result is NaN at the infinity,
// and 0 for the other elements. A unit that saturates divides the others by at least the root of
// the largest number over n.
void bounds_beside_infinity(const Norm& norm, const Errors& r, const std::vector<double>& weight,
                            std::span<const double> x, std::vector<double>& bounds) {
  const double factor =
      std::sqrt(static_cast<double>(norm.e.n) / max_finite(r.after)) * (1 + 8 * r.u + r.f);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double size = std::abs(x[i]) * (weight.empty() ? 1.0 : std::abs(weight[i]));
    bounds[i] = std::isfinite(size) ? size * factor + 2 * r.tiny : kNan;
  }
}

// Writes the bounds of a row of layernorm or rmsnorm. Elements that may leave the range have
// infinite bounds, and `unbounded` keeps the reason.
void normalised_bounds(const Norm& norm, const Errors& r, const std::vector<double>& weight,
                       const std::vector<double>& bias, std::span<const double> x,
                       std::vector<double>& bounds, Unbounded& unbounded) {
  const auto n = static_cast<double>(x.size());
  const Case& c = norm.test_case;
  const bool has_infinity = std::ranges::any_of(x, is_infinite);
  if (std::ranges::any_of(x, is_nan) || (has_infinity && norm.subtracts_mean())) {
    std::ranges::fill(bounds, kNan);  // the row's result is NaN
    return;
  }
  if (has_infinity) return bounds_beside_infinity(norm, r, weight, x, bounds);
  double mean = 0, mean_error = 0;
  if (norm.subtracts_mean()) {
    double sizes = 0;
    std::vector<double> all;
    for (const double v : x) mean += v / n, sizes += std::abs(v) / n, all.push_back(std::abs(v));
    const LargestSums sums = largest_sums(r.order, all);
    require_range(c, r.unit, "the sum of x", sums.unit * (1 + r.gamma));
    require_range(c, r.after, "the sum of x", sums.total * (1 + r.gamma));
    // A kernel that updates the mean with each element divides it n times, and each quotient may be
    // subnormal.
    mean_error = r.gamma * sizes * (1 + r.u) + r.u * std::abs(mean) + n * r.tiny;
  }
  const auto error_of = [&](double d) {
    if (!norm.subtracts_mean()) return 0.0;
    return mean_error + r.u * (std::abs(d) + mean_error) + r.tiny;
  };
  double square = 0, low = 0, high = 0;
  for (const double v : x) {
    const double d = std::abs(v - mean), error = error_of(d), least = std::max(d - error, 0.0);
    square += d * d / n, low += least * least / n, high += (d + error) * (d + error) / n;
  }
  // Counts the roundings of the squares, of their sum, of its division by n, of eps and of the
  // addition of eps.
  const double grow = (1 + r.u) * (1 + r.gamma) * (1 + r.u), eps = norm.eps;
  const double shrink = (1 - r.u) * (1 - r.loss) * (1 - r.u);
  require_range(c, r.after, "the sum of the squares", high * n * grow);
  high = (high * grow + 3 * r.tiny + eps * (1 + r.u)) * (1 + r.u);
  low = (low * shrink - 3 * r.tiny + eps * (1 - r.u)) * (1 - r.u);
  if (!(low > 0)) no_digit(norm, "its mean square");
  const double exact = 1 / std::sqrt(square + eps);
  const double factor =
      std::max((1 + r.f) / std::sqrt(low) - exact, exact - (1 - r.f) / std::sqrt(high)) + r.tiny;
  const double most = max_finite(r.after);
  const auto require_held = [&](double value) {
    if (!(value <= most)) require_range(c, r.after, "an element", value);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool reached = (!weight.empty() && !std::isfinite(weight[i])) ||
                         (!bias.empty() && !std::isfinite(bias[i]));
    if (reached) {
      bounds[i] = kNan;
      continue;
    }
    const double d = std::abs(x[i] - mean);
    double size = d * exact;
    // Kernels compute (x - mean) s, or x s - mean s, where s is the reciprocal of the root. In the
    // second form both products and the difference are rounded.
    const double of_products =
        norm.subtracts_mean()
            ? mean_error + r.u * (std::abs(x[i]) + 2 * (std::abs(mean) + mean_error)) + r.tiny
            : 0;
    double bound = std::max(error_of(d), of_products) * (exact + factor) + d * factor;
    // Adds the rounding of an operation on a value that already has an error.
    const auto rounded = [&] { bound += r.u * (size + bound) + r.tiny; };
    rounded();
    const bool holds = unbounded.holds([&] {
      if (!weight.empty()) size *= std::abs(weight[i]), bound *= std::abs(weight[i]), rounded();
      require_held(size + bound);
      if (!bias.empty()) size += std::abs(bias[i]), rounded();
      require_held(size + bound);
    });
    bounds[i] = holds ? bound : kInfinity;
  }
}

struct Bounds {
  // Bounds in row-major order. A bound is infinite if the element has no bound, and NaN if a NaN or
  // infinity reaches it.
  std::vector<double> values;
  double relative = 0;  // the largest relative error, for softmax only
  Unbounded unbounded;
};

Bounds bounds_of(const Norm& norm, const RoundoffBounds& roundoff) {
  const Case& c = norm.test_case;
  const Format& unit = unit_format(c, norm.input);
  const SumOrder order = asked_order(c);
  const bool widens = order.order == ReduceOrder::kBlock && !unit.is_float64();
  const SumRoundings roundings = sum_roundings(c, norm.e.n, norm.input, roundoff);
  const Errors r{roundoff.unit,
                 largest_function_error(norm.is_softmax() ? "exp" : "rsqrt", unit),
                 roundings.factor(),
                 roundings.loss(),
                 roundoff.tiny,
                 unit,
                 widens ? format_named("float32") : unit,
                 order};
  const std::vector<double> weight = norm.vector<double>("weight", norm.has_weight),
                            bias = norm.vector<double>("bias", norm.has_bias);
  Bounds result{std::vector<double>(static_cast<std::size_t>(c.input("x").size())), 0, {}};
  using Values = std::vector<double>;
  for_lines<Values>(c.input("x"), norm.e, 1, [&](Values& bounds, const LineAlong& line) {
    bounds.resize(line.values.size());
    const bool holds = result.unbounded.holds([&] {
      if (norm.is_softmax())
        result.relative = std::max(result.relative, softmax_bounds(norm, r, line.values, bounds));
      else
        normalised_bounds(norm, r, weight, bias, line.values, bounds, result.unbounded);
    });
    if (!holds) std::ranges::fill(bounds, kInfinity);
    for (std::size_t i = 0; i < bounds.size(); ++i) result.values[line.position(i)] = bounds[i];
  });
  return result;
}

}  // namespace

Tensor norm_bounds(const Case& c, NormKind kind) {
  const Format& output = output_format(c);
  const Norm norm = norm_of(c, kind, output);
  Bounds bounds = bounds_of(norm, roundoff_bounds(c, norm.input, output));
  for (double& v : bounds.values) v *= 1 + unit_roundoff(output);
  return held_bounds(output, c.input("x").shape(), std::move(bounds.values), bounds.unbounded);
}

DerivedTolerance norm_tolerance(const Case& c, NormKind kind) {
  const Format& output = output_format(c);
  const Norm norm = norm_of(c, kind, output);
  const RoundoffBounds roundoff = roundoff_bounds(c, norm.input, output);
  const Bounds bounds = bounds_of(norm, roundoff);
  bounds.unbounded.rethrow();
  if (norm.is_softmax()) {
    const double rtol = roundoff.of(bounds.relative);
    return {rtol, 4 * roundoff.tiny,
            formatted("rtol: 3 u |x - max| through exp, the sum and the quotient, at most {}",
                      short_number(rtol, 3))};
  }
  double largest = 0;
  for (const double v : bounds.values) largest = std::max(largest, std::isnan(v) ? 0 : v);
  const double rtol = roundoff.output;
  return {rtol, (1 + rtol) * largest + roundoff.tiny,
          formatted("atol: the rounding of every step, at most {} of an element{}",
                    short_number(largest, 3),
                    rtol > 0 ? formatted("; rtol: rounding to {}", output.name) : "")};
}

}  // namespace assay
