#include "assay/identify/function_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/machine/function_error.h"
#include "assay/op/operator.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2::identify {
namespace {

constexpr std::array<std::string_view, 8> kFunctions = {"exp",  "log",     "sqrt", "rsqrt",
                                                        "tanh", "sigmoid", "silu", "gelu"};
constexpr std::size_t kRanges = 16;
constexpr std::size_t kNearest = 3;

// A recorded function: its inputs x, its outputs y, and its exact values, in float64.
struct RecordedFunction {
  const Case& test_case;
  const Tensor& output;
  int threads;
  std::vector<double> x, y, exact;

  const Format& format() const { return output.format(); }
};

bool is_zero_of_other_sign(double a, double b) {
  return a == 0 && b == 0 && std::signbit(a) != std::signbit(b);
}

// Adds the error of an element to the errors of a range. Returns false if the output or the exact
// value is not finite, so that there is no error.
bool add_error(const RecordedFunction& r, std::size_t i, UlpErrors& errors) {
  const double nearest = round_to(r.format(), r.exact[i]);
  if (!std::isfinite(nearest) || !std::isfinite(r.y[i])) return false;
  const double off = std::abs(r.y[i] - r.exact[i]) / ulp_of(r.format(), nearest);
  ++errors.elements;
  errors.inexact += r.y[i] != nearest ? 1 : 0;
  errors.mean += off;  // The sum of the errors, until finish() divides it.
  if (errors.at < 0 || off > errors.largest) {
    errors.largest = off;
    errors.at = static_cast<std::int64_t>(i);
  }
  return true;
}

void finish(UlpErrors& errors) {
  if (errors.elements > 0) errors.mean /= static_cast<double>(errors.elements);
}

// Adds the errors of all elements to the report. Elements with a NaN or infinity are counted
// separately.
void add_errors(const RecordedFunction& r, FunctionReport& report) {
  for (std::size_t i = 0; i < r.x.size(); ++i) {
    const double nearest = round_to(r.format(), r.exact[i]);
    if (r.y[i] == 0 && nearest != 0 && !std::isnan(nearest)) ++report.flushed;
    if (add_error(r, i, report.errors)) continue;
    const bool same = (std::isnan(nearest) && std::isnan(r.y[i])) || nearest == r.y[i];
    if (same) continue;
    if (report.special++ == 0) report.special_at = static_cast<std::int64_t>(i);
  }
  finish(report.errors);
}

// Returns the elements in ascending order of their inputs, without NaN. Equal inputs keep their
// order.
std::vector<std::size_t> ascending(const std::vector<double>& x) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isnan(x[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return x[a] < x[b] || (x[a] == x[b] && std::signbit(x[a]) && !std::signbit(x[b]));
  });
  return order;
}

void add_ranges(const RecordedFunction& r, const std::vector<std::size_t>& order,
                FunctionReport& report) {
  std::vector<std::size_t> finite;
  for (const std::size_t i : order) {
    if (std::isfinite(r.x[i])) finite.push_back(i);
  }
  const std::size_t ranges = std::min(kRanges, finite.size());
  for (std::size_t part = 0; part < ranges; ++part) {
    const std::size_t begin = finite.size() * part / ranges;
    const std::size_t end = finite.size() * (part + 1) / ranges;
    FunctionRange range{r.x[finite[begin]], r.x[finite[end - 1]], {}};
    for (std::size_t at = begin; at < end; ++at) (void)add_error(r, finite[at], range.errors);
    finish(range.errors);
    report.ranges.push_back(range);
  }
}

void add_order(const RecordedFunction& r, const std::vector<std::size_t>& order,
               FunctionReport& report) {
  for (std::size_t at = 1; at < order.size(); ++at) {
    const std::size_t a = order[at - 1], b = order[at];
    if (std::isnan(r.y[a]) || std::isnan(r.y[b])) continue;
    const bool same_input = r.x[a] == r.x[b] && !is_zero_of_other_sign(r.x[a], r.x[b]);
    if (same_input && (r.y[a] != r.y[b] || is_zero_of_other_sign(r.y[a], r.y[b]))) {
      if (report.unsteady++ == 0) report.unsteady_at = r.x[a];
    }
    const double rise = r.exact[b] - r.exact[a], step = r.y[b] - r.y[a];
    if ((rise > 0 && step < 0) || (rise < 0 && step > 0)) {
      if (report.inversions++ == 0) report.inversion_at = r.x[a];
    }
  }
}

// -- Candidates -----------------------------------------------------------------------------------

// Counts the elements in which a candidate's result differs from the output, and adds the candidate
// to `all`.
void add_candidate(const RecordedFunction& r, FunctionCandidate candidate, const Tensor& result,
                   std::vector<FunctionCandidate>& all) {
  for (std::int64_t i = 0; i < result.size(); ++i) {
    if (same_code(r.format(), result.bits_at(i), r.output.bits_at(i))) continue;
    if (candidate.differ++ == 0) candidate.first = i;
  }
  all.push_back(std::move(candidate));
}

// Adds candidates that round the exact value in other ways than once to nearest.
void add_rounded(const RecordedFunction& r, std::vector<FunctionCandidate>& all) {
  const Format& output = r.format();
  const auto rounded = [&](const char* name, const auto& round) {
    std::vector<double> values;
    for (const double exact : r.exact) values.push_back(round(exact));
    FunctionCandidate candidate{.name = name, .machine = std::string(kReferenceMachine)};
    add_candidate(r, candidate, Tensor::from_values(output, r.output.shape(), values), all);
  };
  if (output.precision >= 24) return;
  rounded("the exact value, rounded to float32 and then to the output's dtype",
          [](double exact) { return static_cast<double>(static_cast<float>(exact)); });
  rounded("the exact value, rounded toward zero",
          [&](double exact) { return round_to(output, exact, Rounding::kTowardZero); });
}

// A parameter that the case does not set, and the values to try. The first value leaves it unset.
struct Choice {
  const char* name;
  std::vector<std::optional<Attribute>> values;
};
std::vector<Choice> choices_of(const Case& c) {
  std::vector<Choice> choices;
  const auto add = [&](const char* name, std::vector<std::optional<Attribute>> values) {
    if (c.attributes.count(name) != 0) return;
    values.insert(values.begin(), std::nullopt);
    choices.push_back({name, std::move(values)});
  };
  if (c.input("x").format().precision < 24) add("compute_dtype", {Attribute("float32")});
  add("subnormals", {Attribute("flush")});
  add("saturate", {Attribute(std::int64_t{0}), Attribute(std::int64_t{1})});
  // For gelu, the formula that the case does not name is tried as well, because the case may be
  // wrong.
  if (c.op == "gelu") {
    const bool by_tanh = word_of(c, "approximate") == "tanh";
    choices.push_back({"approximate", {std::nullopt, Attribute(by_tanh ? "none" : "tanh")}});
  }
  return choices;
}

// Returns the vector units, but only one of those with the same formats, policies and tanh.
std::vector<const VectorModel*> distinct_units() {
  std::vector<const VectorModel*> units;
  for (const VectorModel& model : vector_models()) {
    const bool known = std::ranges::any_of(units, [&](const VectorModel* other) {
      return other->formats.data() == model.formats.data() &&
             other->overflow.value == model.overflow.value &&
             other->subnormals.value == model.subnormals.value &&
             other->tanh_by_exp.value == model.tanh_by_exp.value;
    });
    if (!known) units.push_back(&model);
  }
  return units;
}

std::string parameters_text(const std::map<std::string, Attribute>& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) {
    text += formatted(", {}={}", name, attribute_text(value));
  }
  return text;
}

void add_machine(const RecordedFunction& r, const std::string& machine,
                 std::vector<FunctionCandidate>& all) {
  const std::vector<Choice> choices = choices_of(r.test_case);
  std::vector<std::size_t> at(choices.size(), 0);
  Case asked = r.test_case;
  while (true) {
    FunctionCandidate candidate;
    asked.attributes = r.test_case.attributes;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (const auto& value = choices[i].values[at[i]]) {
        candidate.parameters[choices[i].name] = *value;
        asked.attributes[choices[i].name] = *value;
      }
    }
    candidate.machine = machine;
    candidate.name = (machine == kReferenceMachine ? "the exact value, rounded once" : machine) +
                     parameters_text(candidate.parameters);
    try {
      add_candidate(r, candidate, emulate(asked, machine_named(machine), r.threads), all);
    } catch (const Refusal&) {
      // The unit does not accept the dtype, or the parameter.
    }
    std::size_t next = 0;
    while (next < at.size() && ++at[next] == choices[next].values.size()) at[next++] = 0;
    if (next == at.size()) return;
  }
}

// Adds the candidates that give every bit, each with the fewest parameters, and those of the others
// that differ least.
void add_candidates(const RecordedFunction& r, FunctionReport& report) {
  std::vector<FunctionCandidate> all;
  add_machine(r, std::string(kReferenceMachine), all);
  add_rounded(r, all);
  for (const VectorModel* unit : distinct_units()) add_machine(r, std::string(unit->machine), all);
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) {
    return std::pair(a.differ, a.parameters.size()) < std::pair(b.differ, b.parameters.size());
  });
  for (FunctionCandidate& candidate : all) {
    if (candidate.differ == 0) {
      // Skips a candidate if the same machine fits with fewer of its parameters.
      const bool said = std::ranges::any_of(report.fits, [&](const auto& fit) {
        return fit.machine == candidate.machine &&
               std::includes(candidate.parameters.begin(), candidate.parameters.end(),
                             fit.parameters.begin(), fit.parameters.end());
      });
      if (!said) report.fits.push_back(std::move(candidate));
    } else if (report.nearest.size() < kNearest) {
      report.nearest.push_back(std::move(candidate));
    }
  }
}

// -- Bounds ---------------------------------------------------------------------------------------

void mismatch(FunctionBound& bound, std::size_t i) {
  if (bound.outside++ == 0) bound.first = static_cast<std::int64_t>(i);
}

// Counts the elements outside the published bound of a library's function. The function is computed
// in the row's dtype and its result is rounded to the output's.
FunctionBound by_row(const RecordedFunction& r, const FunctionError& row) {
  const FunctionLibrary& library = function_library(row.library);
  FunctionBound bound{formatted("{}: {} in {}, {} ({})", row.library, row.name, row.dtype,
                                row.text(), provenance_word(library.how))};
  for (std::size_t i = 0; i < r.x.size(); ++i) {
    if (std::isnan(r.exact[i]) || std::isnan(r.y[i])) {
      if (std::isnan(r.exact[i]) != std::isnan(r.y[i])) mismatch(bound, i);
      continue;
    }
    FunctionError::Range range = row.range(r.x[i], r.exact[i]);
    if (r.format().name != row.dtype) {
      range = {round_to(r.format(), range.low), round_to(r.format(), range.high)};
    }
    if (!(range.low <= r.y[i] && r.y[i] <= range.high)) mismatch(bound, i);
  }
  return bound;
}

// Counts the elements outside the bound of a machine's formula with the functions of its library,
// which is the operator's derived tolerance. Returns nothing if the operator has no such tolerance
// for this case.
std::optional<FunctionBound> by_formula(const RecordedFunction& r, const VectorModel& unit) {
  try {
    const DerivedTolerance t = derived_tolerance(r.test_case, &machine_named(unit.machine));
    const FunctionLibrary& library = function_library(unit.functions.value);
    FunctionBound bound{formatted("{} of {}, each step rounded ({})", r.test_case.op, library.name,
                                  provenance_word(library.how))};
    for (std::size_t i = 0; i < r.x.size(); ++i) {
      const double nearest = round_to(r.format(), r.exact[i]);
      const bool same = r.y[i] == nearest || (std::isnan(nearest) && std::isnan(r.y[i]));
      const double off = std::abs(r.y[i] - r.exact[i]);
      if (!same && !(off <= t.atol + t.rtol * std::abs(r.exact[i]))) mismatch(bound, i);
    }
    return bound;
  } catch (const Refusal&) {
    return std::nullopt;  // the unit does not accept the dtype, or the data have no bound
  }
}

void add_bounds(const RecordedFunction& r, FunctionReport& report) {
  for (const FunctionError& row : function_errors()) {
    if (row.function != r.test_case.op) continue;
    const Format& computed = format_named(row.dtype);
    const Format& input = compute_format(r.test_case, r.test_case.input("x").format());
    const bool widened = computed.name == "float32" && input.precision < 24;
    if (&computed == &input || widened) report.bounds.push_back(by_row(r, row));
  }
  if (!report.bounds.empty()) return;
  std::vector<std::string_view> done;
  for (const VectorModel& unit : vector_models()) {
    if (contains(done, unit.functions.value)) continue;
    done.push_back(unit.functions.value);
    if (auto bound = by_formula(r, unit)) report.bounds.push_back(std::move(*bound));
  }
}

std::string element_at(const Case& c, const Tensor& output, std::int64_t at) {
  const Tensor& x = c.input("x");
  return formatted("x = {}, output {}", element_text(x.format(), x.bits_at(at)),
                   element_text(output.format(), output.bits_at(at)));
}

}  // namespace

std::string FunctionReport::outcome() const {
  if (!fits.empty()) return "found";
  const bool kept =
      std::ranges::any_of(bounds, [](const FunctionBound& bound) { return bound.outside == 0; });
  return kept ? "bounded" : "none";
}

std::span<const std::string_view> identifiable_functions() { return kFunctions; }

bool is_identifiable_function(const Case& c) { return contains(kFunctions, c.op); }

FunctionReport identify_function(const Case& c, const Tensor& output, int threads) {
  const FloatEnvironment environment;
  if (!is_identifiable_function(c)) {
    refuse_case(c.name,
                "{} is not a function of each element that can be identified; these can: {}",
                c.op.empty() ? "a case without an operator" : c.op,
                joined(std::vector<std::string>(kFunctions.begin(), kFunctions.end())));
  }
  if (const std::string why = why_not_output(c, output.format()); !why.empty()) {
    refuse_case(c.name, why);
  }
  const Tensor& x = c.input("x");
  if (x.shape() != output.shape()) {
    refuse_case(c.name, "the output is {}, x is {}", shape_text(output.shape()),
                shape_text(x.shape()));
  }
  // The case without its golden result, because one from a file may be rounded.
  Case bare;
  bare.name = c.name, bare.op = c.op, bare.attributes = c.attributes;
  bare.inputs["x"] = x;
  const RecordedFunction r{bare,
                           output,
                           threads,
                           x.view().values(),
                           output.view().values(),
                           golden_result(bare, threads).view().values()};
  FunctionReport report{.elements = output.size()};
  add_errors(r, report);
  const std::vector<std::size_t> order = ascending(r.x);
  add_ranges(r, order, report);
  add_order(r, order, report);
  add_candidates(r, report);
  add_bounds(r, report);
  return report;
}

std::string function_text(const FunctionReport& report, const Case& c, const Tensor& output) {
  const UlpErrors& e = report.errors;
  std::string out =
      formatted("{}: {} of {} elements\n", c.name, report.outcome(), grouped(report.elements));
  for (const FunctionCandidate& fit : report.fits) {
    out += formatted("  every bit: {}\n", fit.name);
  }
  for (const FunctionCandidate& near : report.nearest) {
    if (!report.fits.empty()) break;
    out += formatted("  {} of {} elements differ: {} (first {})\n", grouped(near.differ),
                     grouped(report.elements), near.name, element_at(c, output, near.first));
  }
  for (const FunctionBound& bound : report.bounds) {
    out += bound.outside == 0 ? formatted("  within {}\n", bound.name)
                              : formatted("  {} of {} elements outside {} (first {})\n",
                                          grouped(bound.outside), grouped(report.elements),
                                          bound.name, element_at(c, output, bound.first));
  }
  if (e.elements > 0) {
    out += formatted("  error in ulps of {}: largest {} ({}), mean {}; {} of {} not the nearest\n",
                     output.format().name, short_number(e.largest, 4), element_at(c, output, e.at),
                     short_number(e.mean, 4), grouped(e.inexact), grouped(e.elements));
  }
  if (report.special > 0) {
    out += formatted("  NaN or infinity where it is wrong: {} (first {})\n",
                     grouped(report.special), element_at(c, output, report.special_at));
  }
  if (report.flushed > 0) {
    out += formatted("  zeros where the result is not zero: {}\n", grouped(report.flushed));
  }
  out += report.inversions == 0
             ? "  monotonic where the function is\n"
             : formatted("  not monotonic at {} places (first above x = {})\n",
                         grouped(report.inversions), short_number(report.inversion_at, 9));
  if (report.unsteady > 0) {
    out += formatted("  equal inputs with different outputs: {} (first x = {})\n",
                     grouped(report.unsteady), short_number(report.unsteady_at, 9));
  }
  std::vector<std::vector<std::string>> rows = {
      {"  x from", "to", "largest", "mean", "not nearest", "elements"}};
  for (const FunctionRange& range : report.ranges) {
    rows.push_back({"  " + short_number(range.low, 4), short_number(range.high, 4),
                    short_number(range.errors.largest, 4), short_number(range.errors.mean, 4),
                    grouped(range.errors.inexact), grouped(range.errors.elements)});
  }
  return rows.size() > 1 ? out + columns_text(rows) : out;
}

}  // namespace assay::identify
