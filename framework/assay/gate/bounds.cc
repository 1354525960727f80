#include "assay/gate/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/cases/product.h"
#include "assay/judge/indices.h"
#include "assay/judge/standards_file.h"
#include "assay/machine/machine.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {

std::int64_t accumulations_of(const Case& c) {
  if (const auto given = c.integer("accumulations")) {
    if (*given < 1) {
      refuse_case(c.name, "accumulations must be at least 1, but it is {}", *given);
    }
    return *given;
  }
  return is_product(c) ? matmul_shape(c).k : 0;
}

namespace {

void check_tolerance(double value, std::string_view name, std::string_view where) {
  if (std::isnan(value) || value < 0) {
    refuse("{}: {} must be a number of at least 0, but it is {}", where, name, value);
  }
}

// Returns a standard's bound with the tolerances of one level (the request, or the case). If the
// level gives only one of the two, the other is 0. The standard's policy for NaN applies only if
// someone named that standard.
Bound with_tolerance(const std::optional<Bound>& standard, bool named, std::optional<double> rtol,
                     std::optional<double> atol, std::string_view where) {
  const bool indices = standard && standard->rule == Rule::kIndices;
  Bound own = standard && (standard->is_plain() || indices) ? *standard : Bound{};
  own.nan_equal = named && standard && standard->nan_equal;
  own.rtol = rtol.value_or(0);
  own.atol = atol.value_or(0);
  check_tolerance(own.rtol, "rtol", where);
  check_tolerance(own.atol, "atol", where);
  own.standard = "custom";
  if (indices) {
    // The given tolerance replaces the standard for the values. The other words of `indices` stay
    // in the name.
    own.standard = with_values(*index_rule(standard->standard), "");
  }
  return own;
}

// Returns the requested standards as bounds of the values at the indices, if the case says that the
// output holds indices. A standard that does not judge single elements is left out, with a note. If
// none remains, the case's own standards are used.
std::vector<std::string> of_indices(const Case& c, const std::vector<std::string>& asked,
                                    const BoundRequest& request, std::vector<std::string>& notes) {
  const std::vector<std::string> own = case_standards(c);
  std::optional<IndexRule> rule;
  for (const std::string& name : own) {
    if (!rule) rule = index_rule(name);
  }
  if (!rule) return asked;
  std::vector<std::string> names;
  for (const std::string& name : asked) {
    if (values_of_indices(name)) {
      names.push_back(name);
      continue;
    }
    const auto bound = standard_bound(name, format_named("float32"), 1, request.custom);
    if (bound && judges_single_elements(*bound)) {
      names.push_back(with_values(*rule, name));
    } else {
      notes.push_back(
          formatted("{} does not judge the values at indices; judged by {}", name, own[0]));
    }
  }
  return names.empty() ? own : names;
}

// Returns the standard of a word of the request. "bfloat16=atb" gives "atb" if the output is
// bfloat16, and nothing otherwise. "atb" always gives "atb".
std::optional<std::string> of_dtype(const std::string& word, const Format& output) {
  const auto [dtype, standard] = standard_word(word);
  if (!dtype.empty() && format_named(dtype).name != output.name) return std::nullopt;
  return std::string(standard);
}

// Loosens a bound of the standard torch if the golden result has less precision than the output:
// the tolerance becomes the looser one of the two dtypes. (A golden result of more precision is
// rounded to the output's dtype instead.)
void loosen(Bound& bound, const std::string& name, const Case& c, const Format& output,
            const Format* compared_with) {
  if (!c.output().golden && compared_with == nullptr) return;
  const Format& golden = c.output().golden ? c.output().golden->format() : *compared_with;
  const Format &part = part_format(output), &golden_part = part_format(golden);
  if (golden.is_complex() != output.is_complex() || !part.is_float() || !golden_part.is_float() ||
      golden_part.precision >= part.precision) {
    return;
  }
  if (const auto other = standard_bound(name, golden)) {
    bound.rtol = std::max(bound.rtol, other->rtol);
    bound.atol = std::max(bound.atol, other->atol);
  }
}

std::string no_row(std::string_view standard, const Format& output, const BoundRequest& request) {
  return formatted("standard {} has no tolerance for {}{}; {}", standard, output.name,
                   output.is_complex() ? ", whose elements are complex numbers" : "",
                   standards_with(output, request.custom));
}

template <typename T>
void check_budget(const std::optional<T>& value, T most, std::string_view name,
                  std::string_view where) {
  if (value && !(*value >= T{0} && *value <= most)) {
    refuse("{}: {} must be {}, but it is {}", where, name,
           most == T{1} ? "from 0 to 1" : "a whole number of at least 0", *value);
  }
}

// Sets the policies for NaN and infinity, and the budgets for mismatches and blind elements. The
// request goes before the case, and the case before the standard. The case's policies for NaN and
// infinity apply to its data, whatever judges them. The case's budgets are part of its own bound,
// and do not apply if the request gives another bound (`asked`).
void apply_policies(Bound& bound, const Case& c, const BoundRequest& request, bool asked) {
  const std::string where = formatted("case {}", c.name);
  if (const auto equal = c.flag("equal_nan")) bound.nan_equal = *equal;
  bound.allow_empty = allows_empty(c, request);
  if (const auto word = c.text("infinity")) bound.infinity = infinity_named(*word, where);
  if (!asked) {
    if (const auto most = c.integer("max_mismatches")) bound.max_mismatches = most;
    if (const auto most = c.real("max_mismatch_fraction")) bound.max_mismatch_fraction = most;
    check_budget(bound.max_mismatches, std::numeric_limits<std::int64_t>::max(), "max_mismatches",
                 where);
    check_budget(bound.max_mismatch_fraction, 1.0, "max_mismatch_fraction", where);
    if (const auto most = c.real("max_blind")) {
      check_budget(most, 1.0, "max_blind", where);
      bound.max_blind = *most;
      bound.max_blind_why = c.text("why").value_or("");
      if (bound.max_blind_why.empty()) {
        refuse_case(c.name,
                    "max_blind is given without a reason; say in the attribute 'why' why a check "
                    "is enough that does not see this share of the elements");
      }
    }
  }
  if (request.equal_nan) bound.nan_equal = *request.equal_nan;
  if (request.nan_accepts) bound.nan_accepts = true;
  if (request.infinity) bound.infinity = *request.infinity;
  if (request.max_blind) {
    check_budget(request.max_blind, 1.0, "max_blind", "the request");
    bound.max_blind = *request.max_blind;
    bound.max_blind_why.clear();
  }
  if (request.max_mismatches || request.max_mismatch_fraction) {
    bound.max_mismatches = request.max_mismatches;
    bound.max_mismatch_fraction = request.max_mismatch_fraction;
    check_budget(bound.max_mismatches, std::numeric_limits<std::int64_t>::max(), "max_mismatches",
                 "the request");
    check_budget(bound.max_mismatch_fraction, 1.0, "max_mismatch_fraction", "the request");
  }
}

// Throws Refusal if the request has a tolerance, a budget or a policy. Call it for a standard with
// the suffix ",as_published", because such a standard is applied without changes.
void refuse_policies(const Bound& bound, const BoundRequest& request) {
  if (!request.equal_nan && !request.nan_accepts && !request.infinity && !request.max_blind &&
      !request.max_mismatches && !request.max_mismatch_fraction && !request.rtol && !request.atol) {
    return;
  }
  refuse(
      "standard {} cannot be used together with a tolerance, budget or policy; give only one of "
      "them",
      bound.standard);
}

// Returns the operator's own bound if the case has its operands, and the default standard's bound
// otherwise.
ChosenBound unnamed_bound(const Case& c, const Format& output, const BoundRequest& request,
                          const std::function<const Machine*()>& machine) {
  const Operator* op = find_operator(c.op);
  if (op == nullptr || c.inputs.empty()) return default_bound(c, output, request, "");
  const Machine* named = op->machine_tolerance != nullptr && machine ? machine() : nullptr;
  std::string why_not;
  try {
    Bound bound = own_bound(c, output, named);
    apply_policies(bound, c, request, false);
    bound.origin = kOperatorOrigin;
    return {bound, bound.standard, ""};
  } catch (const Refusal& e) {
    why_not = e.reason();
  }
  return default_bound(c, output, request, why_not);
}

}  // namespace

bool gives_codes(const Case& c) {
  const Operator* op = find_operator(c.op);
  return op != nullptr && op->has_element_bounds != nullptr && !c.inputs.empty() &&
         op->has_element_bounds(c);
}

void bound_codes(const Case& c, Bound& bound) {
  if (!gives_codes(c)) return;
  bound.rule = Rule::kAccumulation;
  bound.rtol = bound.atol = 0;
}

Bound own_bound(const Case& c, const Format& output, const Machine* machine) {
  require_real(output);
  const Operator* op = find_operator(c.op);
  Bound bound;
  const bool by_elements = op != nullptr && op->element_bounds != nullptr &&
                           (op->has_element_bounds == nullptr || op->has_element_bounds(c));
  if (by_elements) {
    bound = *standard_bound("accumulation", output);
    bound_codes(c, bound);
  } else {
    const DerivedTolerance tolerance = derived_tolerance(c, machine);
    bound.standard = "derived";
    bound.rtol = tolerance.rtol;
    bound.atol = tolerance.atol;
    bound.round_expected = false;
  }
  // The operands are known, so a NaN is either right or wrong. Machines differ in how they overflow
  // at the end of the output's range, so the largest finite value also counts as infinity.
  bound.nan_equal = true;
  if (output.is_float()) bound.infinity = Infinity::kSaturating;
  return bound;
}

std::optional<Bound> chance_bound(const Case& c, const Format& output,
                                  const BoundRequest& request) {
  const Operator* op = find_operator(c.op);
  if (op == nullptr || op->element_bounds == nullptr || op->expected_errors == nullptr) return {};
  if (!output.is_float()) return {};
  Bound bound = *standard_bound("expected_error", output);
  apply_policies(bound, c, request, false);
  if (bound.max_mismatches || bound.max_mismatch_fraction) return {};
  bound.origin = kOperatorOrigin;
  return bound;
}

bool names_bound(const Case& header, const BoundRequest& request) {
  if (request.rtol || request.atol) return true;
  const auto of_every_dtype = [](const std::string& s) { return standard_word(s).dtype.empty(); };
  if (std::any_of(request.standards.begin(), request.standards.end(), of_every_dtype)) return true;
  return header.attributes.count("rtol") + header.attributes.count("atol") +
             header.attributes.count("standard") >
         0;
}

ChosenBound default_bound(const Case& c, const Format& output, const BoundRequest& request,
                          const std::string& why_no_own) {
  ChosenBound chosen;
  chosen.standard = kDefaultStandard;
  chosen.bound = standard_bound(kDefaultStandard, output);
  if (chosen.bound) {
    // If the operands are known, they determine which exact results are NaN, so NaN equals NaN.
    chosen.bound->nan_equal = find_operator(c.op) != nullptr && !c.inputs.empty();
    apply_policies(*chosen.bound, c, request, false);
    chosen.bound->origin = kDefaultOrigin;
  } else {
    chosen.why_not = no_row(kDefaultStandard, output, request);
  }
  if (!why_no_own.empty()) {
    chosen.notes.push_back(formatted(
        "judged by the default standard, because the operator's own bound is not known: {}",
        why_no_own));
  }
  return chosen;
}

bool allows_empty(const Case& c, const BoundRequest& request) {
  return request.allow_empty || c.flag("allow_empty").value_or(false);
}

void check_request(const BoundRequest& request) {
  const FloatEnvironment environment;
  for (const std::string& word : request.standards) {
    const auto [dtype, name] = standard_word(word);
    const Format& f = format_named(dtype.empty() ? "float32" : dtype);
    const auto bound = standard_bound(name, f, 1, request.custom);
    if (bound && !bound->machine.empty()) (void)machine_named(bound->machine);
  }
}

std::vector<std::string> case_standards(const Case& c) {
  return standard_words(c.text("standard").value_or(""));
}

std::vector<ChosenBound> choose_bounds(const Case& c, const Format& output,
                                       const BoundRequest& request,
                                       const std::function<const Machine*()>& machine) {
  const FloatEnvironment environment;
  std::vector<std::string> asked;
  for (const std::string& name : request.standards) {
    if (const auto speaks = of_dtype(name, output)) asked.push_back(*speaks);
  }
  const bool asked_tolerance = request.rtol || request.atol;
  const bool asked_standard = !asked.empty();
  const auto case_standard = c.text("standard");
  const bool case_bound = c.attributes.count("rtol") + c.attributes.count("atol") > 0;
  if (!asked_tolerance && !asked_standard && !case_standard && !case_bound) {
    return {unnamed_bound(c, output, request, machine)};
  }
  std::vector<std::string> names = asked;
  if (!asked_standard) {
    names = case_standards(c);
    if (std::ranges::any_of(names, [](const std::string& name) { return is_in_file(name); })) {
      refuse_case(c.name, "its attribute 'standard' names a file, which only a request may do");
    }
    if (names.empty()) names.push_back(case_standard.value_or(std::string(kDefaultStandard)));
  }
  std::vector<std::string> notes;
  if (asked_standard) names = of_indices(c, names, request, notes);
  const bool case_tolerance = !asked_tolerance && !asked_standard && case_bound;
  const std::int64_t accumulations = accumulations_of(c);
  std::vector<ChosenBound> chosen;
  const bool named = asked_standard || case_standard;
  bool tolerance_used = false;
  for (const std::string& name : names) {
    std::optional<Bound> bound;
    std::string origin = asked_standard  ? request.origin
                         : case_standard ? "case"
                                         : std::string(kDefaultOrigin);
    try {
      bound = standard_bound(name, output, accumulations, request.custom);
      if (name == "torch" && bound) loosen(*bound, name, c, output, request.golden);
    } catch (const AccumulationsUnknown& e) {
      chosen.push_back({std::nullopt, name, e.what()});
      continue;
    } catch (const Refusal& e) {
      if (asked_standard || !case_standard) throw;
      refuse_case(c.name, e.what());
    }
    if (asked_standard && bound && bound->as_published) refuse_policies(*bound, request);
    // A requested tolerance replaces the case's own bound, and requested standards with the rule
    // atol + rtol |expected|. It is applied in addition to requested standards with another rule,
    // such as ulp(n) and bit_equal.
    const bool by_tolerance =
        !bound || bound->rule == Rule::kTolerance || bound->rule == Rule::kIndices;
    if (asked_tolerance && (by_tolerance || !asked_standard)) {
      if (tolerance_used) continue;
      bound = with_tolerance(bound, named, request.rtol, request.atol, "the request");
      origin = request.origin;
      tolerance_used = true;
    } else if (case_tolerance) {
      if (tolerance_used) continue;
      bound = with_tolerance(bound, named, c.real("rtol"), c.real("atol"),
                             formatted("case {}", c.name));
      if (const auto rounds = c.flag("round_expected")) bound->round_expected = *rounds;
      origin = "case";
      tolerance_used = true;
    }
    if (!bound) {
      chosen.push_back({std::nullopt, name, no_row(name, output, request)});
      continue;
    }
    if (bound->as_published) refuse_policies(*bound, request);
    apply_policies(*bound, c, request, asked_standard || asked_tolerance);
    bound->origin = origin;
    chosen.push_back({bound, bound->standard, "", notes});
  }
  if (asked_tolerance && !tolerance_used) {
    Bound own = with_tolerance(std::nullopt, false, request.rtol, request.atol, "the request");
    apply_policies(own, c, request, true);
    own.origin = request.origin;
    chosen.push_back({own, own.standard, ""});
  }
  return chosen;
}

}  // namespace assay
