#include "assay/judge/rule_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "assay/base/text.h"
#include "assay/judge/draw_distribution.h"
#include "assay/judge/indices.h"

namespace assay::inline v0_2 {
namespace {

// Infinity times zero counts as zero.
double times(const Bound& b, double size) { return size == 0 ? 0.0 : b.rtol * size; }

constexpr std::string_view kSum = "atol {0} + rtol {1} * |expected|";

std::string with_numbers(std::string_view words, const Bound& b) {
  return fmt::format(fmt::runtime(words), short_number(b.atol, 6), short_number(b.rtol, 6),
                     short_number(b.floor, 6), b.ulps);
}

std::string sum_text(const Bound& b) {
  return b.rtol == 0 && b.atol == 0 ? "equality" : with_numbers(kSum, b);
}

std::string distribution_text(const Bound& b) {
  return formatted("draws of {}, false alarms {}", b.distribution,
                   short_number(parse_law(b.distribution).delta));
}

std::string indices_text(const Bound& b) {
  const auto words = index_rule(b.standard);
  const bool named = words && !words->values.empty() && b.rtol == 0 && b.atol == 0;
  return formatted("values at the {}indices{}: {}", words && words->flattened ? "flattened " : "",
                   words && words->unsorted ? ", in any order" : "",
                   named ? words->values : sum_text(b));
}

constexpr RuleRow kRules[] = {
    {.rule = Rule::kTolerance, .name = "sum", .parameters = "rtol atol", .text = sum_text},
    {.rule = Rule::kEither,
     .name = "either",
     .parameters = "rtol atol",
     .words = "atol {0} or rtol {1} * |expected|",
     .bound = [](const Bound& b, double e, double) { return std::max(b.atol, times(b, e)); },
     .form = simd::ToleranceForm::kEither},
    {.rule = Rule::kLargest,
     .name = "largest",
     .parameters = "rtol floor",
     .words = "rtol {1} * max({2}, |expected|)",
     .bound = [](const Bound& b, double e, double) { return times(b, std::max(b.floor, e)); },
     .form = simd::ToleranceForm::kLargest},
    {.rule = Rule::kSymmetric,
     .name = "symmetric",
     .parameters = "rtol floor",
     .words = "rtol {1} * max({2}, |actual| + |expected|)",
     .bound = [](const Bound& b, double e, double a) { return times(b, std::max(b.floor, e + a)); },
     .form = simd::ToleranceForm::kSymmetric},
    {.rule = Rule::kUlps,
     .parameters = "ulps",
     .words = "{3} ulp",
     .by_codes = true,
     .why_not_complex = "complex numbers have no order, and so no ulps"},
    {.rule = Rule::kBits, .words = "bit equality", .by_codes = true},
    {.rule = Rule::kAccumulation,
     .parameters = "machine",
     .words = "the bound of accumulation",
     .by_value = false,
     .by_element_bounds = true,
     .why_not_complex = "no error of complex arithmetic is derived"},
    {.rule = Rule::kExpectedError,
     .parameters = "machine",
     .words = "the expected error",
     .by_value = false,
     .by_element_bounds = true,
     .why_not_complex = "no error of complex arithmetic is derived"},
    {.rule = Rule::kStatistics,
     .by_value = false,
     .why_not_complex = "its limits are on statistics of real numbers"},
    {.rule = Rule::kDistribution,
     .parameters = "distribution",
     .text = distribution_text,
     .by_value = false,
     .needs_expected = false,
     .judge = judge_distribution,
     .why_not_complex = "no law of complex draws is known",
     .why_not_saved = "tests the draws themselves"},
    {.rule = Rule::kIndices,
     .parameters = "rtol atol",
     .text = indices_text,
     .by_value = false,
     .judge = judge_indices,
     .why_not_complex = "they are no indices",
     .why_not_saved = "looks at the values that the indices lead to"}};

}  // namespace

std::string RuleRow::text_of(const Bound& of) const {
  return text != nullptr ? text(of) : with_numbers(words, of);
}

bool RuleRow::takes(std::string_view parameter) const {
  return parameters.find(parameter) != std::string_view::npos;
}

const RuleRow& row_of(Rule rule) {
  constexpr auto kPlaces = [] {
    std::array<std::size_t, std::size(kRules)> places = {};
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[static_cast<std::size_t>(kRules[i].rule)] = i;
    }
    return places;
  }();
  return kRules[kPlaces[static_cast<std::size_t>(rule)]];
}

std::span<const RuleRow> tolerance_rules() { return std::span(kRules).first(4); }

double tolerance_at(const Bound& bound, double expected, double actual) {
  const double size = std::abs(expected);
  if (size < bound.small_value) return bound.small_atol;
  double tolerance = bound.atol + times(bound, size);
  if (bound.rule != Rule::kTolerance) {  // passes over metrics often call this with kTolerance
    const auto own = row_of(bound.rule).bound;
    if (own != nullptr) tolerance = own(bound, size, std::abs(actual));
  }
  return std::min(tolerance, std::numeric_limits<double>::max());
}

double largest_error(const Bound& bound, const Format& output, double expected, double actual) {
  switch (bound.rule) {
    case Rule::kBits:
      return 0;
    case Rule::kUlps:
      return static_cast<double>(bound.ulps) * ulp_of(output, expected);
    case Rule::kStatistics:
      return std::numeric_limits<double>::max();
    default:
      return tolerance_at(bound, expected, actual);
  }
}

}  // namespace assay
