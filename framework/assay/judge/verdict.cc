#include "assay/judge/verdict.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/judge/blindness.h"
#include "assay/judge/elements.h"

namespace assay {
namespace {

// Whether every element of both is the same one. Strides along extents of 1 say nothing.
bool same_memory(const TensorView& a, const TensorView& b) {
  if (a.data != b.data || a.format != b.format || a.shape != b.shape) return false;
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    if (a.shape[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

// The output was held against itself, whatever else was found.
void cannot_fail(Verdict& verdict, std::string because) {
  verdict.outcome = Outcome::kUntrusted;
  verdict.because = std::move(because) + ": the check could not have failed";
  verdict.where.clear();
}

}  // namespace

std::string_view outcome_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "pass";
    case Outcome::kFail:
      return "fail";
    case Outcome::kUntrusted:
      return "untrusted";
    case Outcome::kNotComparable:
      return "not_comparable";
  }
  return "";
}

Verdict not_comparable(std::string because) {
  Verdict verdict;
  verdict.outcome = Outcome::kNotComparable;
  verdict.because = std::move(because);
  return verdict;
}

std::string why_not_comparable(const TensorView& actual, const TensorView& expected) {
  if (actual.shape != expected.shape) {
    return format("the output's shape is {}, the expected one is {}; nothing is broadcast",
                  shape_text(actual.shape), shape_text(expected.shape));
  }
  if (actual.format->is_float() && !expected.format->is_float()) {
    return format(
        "the output is {}, the expected result {}: integers are no golden result of a float output",
        actual.format->name, expected.format->name);
  }
  return "";
}

Verdict judge(const TensorView& actual, const TensorView& expected, const Bound& bound,
              const JudgeOptions& options) {
  const FloatEnvironment environment;
  if (actual.format == nullptr || expected.format == nullptr) {
    throw std::invalid_argument("judge: a view without data has no values to compare");
  }
  const auto refuse = [&](std::string because) {
    Verdict refused = not_comparable(std::move(because));
    refused.bound = bound;
    return refused;
  };
  if (std::string why_not = why_not_comparable(actual, expected); !why_not.empty()) {
    return refuse(std::move(why_not));
  }
  if (bound.rule == Rule::kGiven &&
      (!options.element_bounds || options.element_bounds->shape != actual.shape)) {
    return refuse(
        format("standard {} needs the bound of each element, computed from the case's operands and "
               "a machine (`assay gate`), and there is none",
               bound.standard));
  }
  Verdict verdict;
  verdict.bound = bound;
  verdict.format = actual.format;
  verdict.shape = actual.shape;
  verdict.sites = actual.size();
  if (verdict.sites == 0) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.because = "there are no elements to compare";
    return verdict;
  }
  ElementFindings found;
  judge_elements(actual, expected, bound, options, options.metrics || !bound.limits.empty(), 0,
                 found);
  std::optional<StatisticsResult> statistics;
  const TensorView* benchmark = options.benchmark ? &*options.benchmark : nullptr;
  if (!bound.limits.empty()) {
    // Whether zeros would pass the limits too is asked where nothing else decides the outcome.
    const bool trivial = !found.zeros_miss(bound, verdict.sites) &&
                         found.misses == found.forgiven(bound, verdict.sites);
    statistics = judge_statistics(actual, expected, benchmark, bound.round_expected, bound.limits,
                                  {.metrics = &*found.metrics,
                                   .trivial = trivial,
                                   .blindness = options.blindness,
                                   .threads = options.threads});
    if (!statistics->why_not.empty()) return refuse(statistics->why_not);
  }
  settle(verdict, std::move(found), statistics, options.metrics, [&] {
    std::vector<double> sizes;
    for (const std::int64_t position : sampled_positions(expected.size())) {
      sizes.push_back(std::abs(expected.value_at(position)));
    }
    return sizes;
  });
  if (bound.needs_benchmark() && same_memory(actual, *benchmark)) {
    cannot_fail(verdict, "the benchmark is the output itself");
  } else if (verdict.outcome == Outcome::kPass && same_memory(actual, expected)) {
    cannot_fail(verdict, "the output is the expected result itself, in the same memory");
  }
  return verdict;
}

Outcome worse(Outcome a, Outcome b) {
  for (const Outcome outcome : {Outcome::kFail, Outcome::kNotComparable, Outcome::kUntrusted}) {
    if (a == outcome || b == outcome) return outcome;
  }
  return Outcome::kPass;
}

Outcome worst_outcome(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return Outcome::kNotComparable;
  Outcome worst = Outcome::kPass;
  for (const Verdict& verdict : verdicts) worst = worse(worst, verdict.outcome);
  return worst;
}

std::string location_pattern(const std::vector<std::int64_t>& positions, const Shape& shape) {
  const std::int64_t size = element_count(shape);
  const auto count = static_cast<std::int64_t>(positions.size());
  if (count == size && count > 1) return "every element";
  if (count < 3) return "";
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  std::int64_t low_row = positions.front() / columns, high_row = positions.back() / columns;
  std::int64_t low_column = columns, high_column = -1;
  for (const std::int64_t p : positions) {
    low_column = std::min(low_column, p % columns);
    high_column = std::max(high_column, p % columns);
  }
  const std::int64_t rows = size / columns;
  if (shape.size() >= 2 && rows > 1 && columns > 1) {
    if (low_row == high_row) return format("all in row {}", low_row);
    if (low_column == high_column) return format("all in column {}", low_column);
  }
  const std::int64_t step = positions[1] - positions[0];
  bool regular = true;
  for (std::size_t i = 2; i < positions.size(); ++i) {
    regular = regular && positions[i] - positions[i - 1] == step;
  }
  if (regular && step == 1) {
    return positions.back() == size - 1
               ? format("the tail: every element from position {} on", grouped(positions[0]))
               : format("a run of {} elements from position {}", grouped(count),
                        grouped(positions[0]));
  }
  if (regular && step > 0 && positions.back() + step >= size && positions.front() < step) {
    return format("every {} elements, beginning with element {}", grouped(step), positions[0]);
  }
  const std::int64_t box = (high_row - low_row + 1) * (high_column - low_column + 1);
  if (shape.size() >= 2 && count * 2 >= box && box * 2 <= size) {
    // A power of two in each direction that begins at a multiple of it: a block of the kernel's.
    const auto aligned = [](std::int64_t low, std::int64_t high) {
      const std::int64_t extent = high - low + 1;
      return extent > 1 && (extent & (extent - 1)) == 0 && low % extent == 0;
    };
    const bool block = aligned(low_row, high_row) && aligned(low_column, high_column);
    return format("in {}tile: rows {} to {}, columns {} to {}", block ? "an aligned " : "a ",
                  low_row, high_row, low_column, high_column);
  }
  if (shape.size() == 2 && rows > 2 && columns > 2) {
    const bool edges = std::all_of(positions.begin(), positions.end(), [&](std::int64_t p) {
      const std::int64_t row = p / columns, column = p % columns;
      return row == 0 || row == rows - 1 || column == 0 || column == columns - 1;
    });
    const std::int64_t boundary = 2 * (rows + columns) - 4;
    if (edges && 2 * count >= boundary && 2 * boundary <= size) {
      return "on the boundary: first and last rows and columns";
    }
  }
  return "";
}

}  // namespace assay
