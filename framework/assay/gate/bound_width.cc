#include "assay/gate/bound_width.h"

#include <cmath>
#include <cstdint>
#include <optional>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/gate/product_sample.h"
#include "assay/op/operator.h"
#include "assay/op/sum_bound.h"

namespace assay::inline v0_2 {

namespace {

std::int64_t elements_of_inputs(const Case& c) {
  std::int64_t all = 0;
  for (const auto& [name, input] : c.inputs) all += input.size();
  return all;
}

}  // namespace

std::optional<double> times_expected(
    const Case& c, const Machine& machine,
    const std::function<double(std::int64_t index, double exact)>& allowed) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 18, kSide = 16;
  const Format& output = output_format(c);
  const Operator* op = find_operator(c.op);
  if (op == nullptr || op->expected_errors == nullptr || output.name != "float32") return {};
  if (!op->product && elements_of_inputs(c) > kMostElements) return {};
  try {
    const std::optional<ProductSample> sample =
        op->product ? std::optional(sample_of_product(c, kSide)) : std::nullopt;
    const Case& asked = sample ? sample->test_case : c;
    const bool is_known = !sample && c.output().golden && c.output().golden->format().is_float64();
    const Tensor exact = is_known ? *c.output().golden : golden_result(asked);
    const double expected = expected_rms(expected_errors(asked, machine), exact, output);
    double squares = 0;
    std::int64_t finite = 0;
    for (std::int64_t i = 0; i < exact.size(); ++i) {
      const double value = exact.view().value_at(i);
      const double most = allowed(sample ? sample->index[static_cast<std::size_t>(i)] : i, value);
      if (!std::isfinite(most)) continue;
      squares += most * most;
      ++finite;
    }
    const double times = std::sqrt(squares / static_cast<double>(finite)) / expected;
    return std::isfinite(times) ? std::optional(times) : std::nullopt;
  } catch (const Refusal&) {
    return {};  // the factor is unknown, because the theory does not cover these operands
  }
}

std::string times_text(double times) {
  if (times < 10) return short_number(times, 2);
  // Two digits, because the factor is not known more exactly.
  const double unit = std::pow(10.0, std::floor(std::log10(times)) - 1);
  return times < 1e15 ? grouped(static_cast<std::int64_t>(std::round(times / unit) * unit))
                      : short_number(times, 2);
}

DerivedTolerance explained_tolerance(const Case& c) {
  DerivedTolerance tolerance = derived_tolerance(c);
  const auto named = c.text("machine");
  const auto times = times_expected(c, named ? machine_named(*named) : any_machine(),
                                    [&](std::int64_t, double exact) {
                                      return tolerance.atol + tolerance.rtol * std::abs(exact);
                                    });
  if (times) tolerance.why += formatted("; {} times the expected error", times_text(*times));
  return tolerance;
}

}  // namespace assay
