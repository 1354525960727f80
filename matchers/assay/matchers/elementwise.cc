#include "assay/matchers/elementwise.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/gate/case_outputs.h"
#include "assay/report/report.h"

namespace assay {
namespace {

// The variable's value; empty where it is not set or says nothing.
std::string variable(const char* name, std::string& text) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return "";
  text += format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return value;
}

std::optional<double> tolerance_variable(const char* name, std::string& text) {
  const std::string value = variable(name, text);
  if (value.empty()) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (*end != '\0' || !(number >= 0)) {
    throw std::invalid_argument(
        format("the environment's {}='{}' must be a number of at least 0", name, value));
  }
  return number;
}

}  // namespace

EnvironmentOverride EnvironmentOverride::read() {
  const FloatEnvironment environment;
  EnvironmentOverride found;
  found.request.standards = standard_words(variable("ASSAY_STANDARD", found.text));
  found.request.rtol = tolerance_variable("ASSAY_RTOL", found.text);
  found.request.atol = tolerance_variable("ASSAY_ATOL", found.text);
  if (const std::string flag = variable("ASSAY_EQUAL_NAN", found.text); !flag.empty()) {
    if (flag != "0" && flag != "1") {
      throw std::invalid_argument(
          format("the environment's ASSAY_EQUAL_NAN='{}' must be 0 or 1", flag));
    }
    found.request.equal_nan = flag == "1";
  }
  return found;
}

ElementwiseMatcher::ElementwiseMatcher(Reference reference, std::string standard, bool fixed)
    : reference_(std::move(reference)), fixed_(fixed) {
  if (!standard.empty()) request_.bounds.standards = {std::move(standard)};
  request_.bounds.origin = "matcher";
}
ElementwiseMatcher::ElementwiseMatcher(const ElementwiseMatcher&) = default;
ElementwiseMatcher::ElementwiseMatcher(ElementwiseMatcher&&) noexcept = default;
ElementwiseMatcher& ElementwiseMatcher::operator=(const ElementwiseMatcher&) = default;
ElementwiseMatcher& ElementwiseMatcher::operator=(ElementwiseMatcher&&) noexcept = default;
ElementwiseMatcher::~ElementwiseMatcher() = default;

GateRequest ElementwiseMatcher::effective(std::string& overridden) const {
  GateRequest effective = request_;
  BoundRequest& request = effective.bounds;
  request.rtol = rtol_;
  request.atol = atol_;
  request.equal_nan = equal_nan_;
  request.max_blind = max_blind_;
  if (fixed_) return effective;
  const EnvironmentOverride environment = EnvironmentOverride::read();
  if (environment.text.empty()) return effective;
  overridden = environment.text;
  const BoundRequest& over = environment.request;
  if (!over.standards.empty()) {
    // Another standard: what the matcher asked for beside its own goes with it.
    request.standards = over.standards;
    request.rtol = request.atol = std::nullopt;
  }
  if (over.rtol) request.rtol = over.rtol;
  if (over.atol) request.atol = over.atol;
  if (over.equal_nan) request.equal_nan = over.equal_nan;
  request.origin = "environment";
  return effective;
}

GateRequest ElementwiseMatcher::said_request(std::string& overridden) const {
  GateRequest request = effective(overridden);
  if (!overridden.empty()) {
    // A test that passes prints nothing, so this is said by itself.
    static std::once_flag once;
    std::call_once(once, [&] {
      std::fprintf(stderr, "[ assay    ] the environment overrides tolerances: %s\n",
                   overridden.c_str());
    });
  }
  return request;
}

MatchReport ElementwiseMatcher::check_outputs(const std::vector<NamedView>& actual) const {
  const FloatEnvironment environment;
  const Case* c = reference_.as_case();
  if (c == nullptr || c->results.empty()) {
    return {Outcome::kNotComparable,
            c == nullptr ? "outputs by name are compared with a case that has several outputs"
                         : format("case {} has one output, without a name: give that tensor alone",
                                  c->name)};
  }
  std::string overridden;
  const GateRequest request = said_request(overridden);
  Outcome worst = Outcome::kPass;
  std::vector<std::string> parts;
  const auto add = [&](Outcome outcome, const std::string& name, const std::string& text) {
    worst = worse(worst, outcome);
    parts.push_back(format("{} {}: {}", name, outcome_verb(outcome), text));
  };
  std::set<std::string> given;
  for (const NamedView& output : actual) {
    given.insert(output.name);
    const auto known = c->results.find(output.name);
    if (known == c->results.end()) {
      add(Outcome::kFail, output.name, format("case {} has no such output", c->name));
      continue;
    }
    if (!known->second.golden && !known->second.golden_missing) continue;  // not compared
    CaseReport report =
        gate_case(output_case(*c, output.name), output.tensor, request, {.producer = producer_});
    say_output(report, *c, output.name);
    const Verdict* decides = report.deciding_verdict();
    add(report.outcome(), output.name, decides != nullptr ? explain(*decides) : report.because());
  }
  for (const auto& [name, output] : c->results) {
    const bool compared = output.golden || output.golden_missing;
    if (compared && given.count(name) == 0)
      add(Outcome::kFail, name, "it is not among the outputs");
  }
  if (parts.empty()) add(Outcome::kNotComparable, c->name, "none of its outputs is to be compared");
  std::string text = joined(parts, "\n");
  if (!overridden.empty()) text += "\noverridden by the environment: " + overridden;
  return {worst, text};
}

MatchReport ElementwiseMatcher::check(const TensorView& actual) const {
  const FloatEnvironment environment;
  std::string overridden;
  const GateRequest request = said_request(overridden);
  CaseReport report;
  if (const Case* c = reference_.as_case()) {
    report = gate_case(*c, actual, request, {.producer = producer_});
  } else {
    report.verdicts = gate_tensors(actual, reference_.tensor(), request,
                                   "; give .rtol() and .atol(), or another .standard()");
  }
  const Verdict* decides = report.deciding_verdict();
  std::string text = decides != nullptr ? explain(*decides) : report.because();
  if (!overridden.empty()) text += "\noverridden by the environment: " + overridden;
  return {report.outcome(), text};
}

std::string ElementwiseMatcher::describe(bool negated) const {
  std::string overridden;
  const BoundRequest request = effective(overridden).bounds;
  std::string bound;
  for (const std::string& s : request.standards) {
    bound += (bound.empty() ? "" : " and ") +
             (s == "bit_equal" ? std::string("bit equality") : "standard " + s);
  }
  if (request.rtol) bound += format("{}rtol {}", bound.empty() ? "" : ", ", *request.rtol);
  if (request.atol) bound += format("{}atol {}", bound.empty() ? "" : ", ", *request.atol);
  if (request.equal_nan) {
    bound += format("{}NaN {} NaN", bound.empty() ? "" : ", ",
                    *request.equal_nan ? "equal to" : "unequal to");
  }
  if (bound.empty()) {
    bound = reference_.as_case() != nullptr ? "the case's bound"
                                            : format("standard {}", kDefaultStandard);
  }
  if (!overridden.empty()) bound += "; overridden by the environment: " + overridden;
  return format("is {}close to {} ({})", negated ? "not " : "", reference_.text(), bound);
}

ElementwiseMatcher CloseTo(Reference reference) {
  return ElementwiseMatcher(std::move(reference), "", false);
}
ElementwiseMatcher MeetsStandard(std::string name, Reference reference) {
  return ElementwiseMatcher(std::move(reference), std::move(name), false);
}
ElementwiseMatcher WithinUlps(Reference reference, std::uint64_t ulps) {
  return ElementwiseMatcher(std::move(reference), "ulp(" + std::to_string(ulps) + ")", true);
}
ElementwiseMatcher BitEqual(Reference reference) {
  return ElementwiseMatcher(std::move(reference), "bit_equal", true);
}

}  // namespace assay
