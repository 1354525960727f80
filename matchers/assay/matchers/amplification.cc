#include "assay/matchers/amplification.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/gate/gate.h"
#include "assay/report/gate_text.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::size_t kNamed = 5;  // at most this many elements of each kind are listed

// True if another rounding of y may change int(y), because y is within `ulps` ulps of a whole
// number other than 0.
bool near_whole(const Format& f, double y, int ulps) {
  if (!std::isfinite(y)) return false;
  const double whole = std::round(y);
  return whole != 0 && std::abs(y - whole) <= ulps * ulp_of(f, whole);
}

}  // namespace

MatchReport AmplificationMatcher::check_on_host(const TensorView& actual,
                                                HostCopies& copies) const {
  const FloatEnvironment environment;
  const TensorView expected = copies.add(reference_.tensor_or_golden(), kReferenceName),
                   y = copies.add(coordinates_.tensor_or_golden(), "the coordinates");
  if (actual.shape != expected.shape) {
    return {Outcome::kNotComparable,
            formatted("the shapes differ: {} and {}", shape_text(actual.shape),
                      shape_text(expected.shape))};
  }
  const bool fits = y.shape.size() >= actual.shape.size() &&
                    std::equal(actual.shape.begin(), actual.shape.end(), y.shape.begin());
  if (!fits) {
    return {Outcome::kNotComparable,
            formatted("coordinates of shape {} do not fit elements of shape {}",
                      shape_text(y.shape), shape_text(actual.shape))};
  }
  // The elements that differ are those that the gate reports as mismatches, by the case's own bound
  // or by the tolerances that were set.
  GateRequest request;
  request.bounds.origin = "matcher";
  if (rtol_ || atol_) {
    request.bounds.rtol = rtol_.value_or(0);
    request.bounds.atol = atol_.value_or(0);
  }
  request.worst = static_cast<std::size_t>(actual.size());
  const Case* c = reference_.as_case();
  const std::vector<Verdict> verdicts = c != nullptr ? gate_case(*c, actual, request).verdicts
                                                     : gate_tensors(actual, expected, request);
  std::vector<Mismatch> mismatches;
  std::vector<std::string> notes;
  for (const Verdict& v : verdicts) {
    if (v.outcome == Outcome::kNotComparable) return {v.outcome, v.because};
    if (v.bound.rule == Rule::kStatistics) {
      return {Outcome::kNotComparable,
              formatted("standard {} does not judge single elements; give .rtol() and .atol()",
                        v.bound.standard)};
    }
    mismatches.insert(mismatches.end(), v.worst.begin(), v.worst.end());
    for (std::string& note : assay::notes_of(v)) notes.push_back(std::move(note));
  }
  std::ranges::sort(mismatches, {}, &Mismatch::linear);
  const auto is_same = [](const Mismatch& m, const Mismatch& n) { return m.linear == n.linear; };
  mismatches.erase(std::unique(mismatches.begin(), mismatches.end(), is_same), mismatches.end());
  const std::int64_t each = actual.size() == 0 ? 0 : y.size() / actual.size();
  std::vector<std::string> amplified, others;
  for (const Mismatch& mismatch : mismatches) {
    double nearest = NAN;
    for (std::int64_t k = mismatch.linear * each; k < (mismatch.linear + 1) * each; ++k) {
      if (near_whole(*y.format, y.value_at(k), ulps_)) nearest = y.value_at(k);
    }
    const bool is_near = !std::isnan(nearest);
    std::vector<std::string>& kind = is_near ? amplified : others;
    kind.push_back(formatted("{}: {} in place of {}{}", shape_text(mismatch.index),
                             number_text(mismatch.actual), number_text(mismatch.expected),
                             is_near ? formatted(", at y = {}", short_number(nearest, 9)) : ""));
  }
  const auto list = [](const std::vector<std::string>& kind) {
    std::string text;
    for (std::size_t i = 0; i < std::min(kind.size(), kNamed); ++i) text += "\n  " + kind[i];
    if (kind.size() > kNamed) text += formatted("\n  and {} more", kind.size() - kNamed);
    return text;
  };
  if (amplified.empty() && others.empty()) {
    return {actual.size() == 0 ? Outcome::kUntrusted : Outcome::kFail,
            formatted("none of {} elements differs", actual.size())};
  }
  std::string text =
      formatted("{} of {} elements differ where their coordinate is near a whole number{}",
                amplified.size(), actual.size(), list(amplified));
  if (!others.empty()) text += formatted("\n{} elsewhere{}", others.size(), list(others));
  return {others.empty() ? Outcome::kPass : Outcome::kFail, text, notes};
}

std::string AmplificationMatcher::describe(bool negated) const {
  std::string by = reference_.as_case() != nullptr ? std::string("the case's bound")
                                                   : formatted("standard {}", kDefaultStandard);
  if (rtol_ || atol_) by = formatted("rtol {}, atol {}", rtol_.value_or(0), atol_.value_or(0));
  return formatted("{} from {} only where a coordinate is within {} ulps of a whole number ({})",
                   negated ? "does not differ" : "differs", reference_.text(), ulps_, by);
}

}  // namespace assay
