#include "assay/matchers/abft_close.h"

#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/gate/gate.h"
#include "assay/report/report.h"

namespace assay {

AbftMatcher::AbftMatcher(Reference golden_or_case) : first_(std::move(golden_or_case)) {}
AbftMatcher::AbftMatcher(Reference a, Reference b) : first_(std::move(a)), second_(std::move(b)) {
  if (first_.as_case() != nullptr || second_->as_case() != nullptr) {
    throw std::invalid_argument("AbftClose takes two operands, or one case; a case is no operand");
  }
}

AbftMatcher::AbftMatcher(const AbftMatcher&) = default;
AbftMatcher::AbftMatcher(AbftMatcher&&) noexcept = default;
AbftMatcher& AbftMatcher::operator=(const AbftMatcher&) = default;
AbftMatcher& AbftMatcher::operator=(AbftMatcher&&) noexcept = default;
AbftMatcher::~AbftMatcher() = default;

AbftMatcher AbftMatcher::threshold(const std::string& spec) const {
  (void)parse_threshold(spec);  // a wrong name is an error here, not a mismatch later
  return with([&](auto& m) { m.threshold_ = spec; });
}
AbftMatcher AbftMatcher::false_alarm_budget(double delta) const {
  if (!(delta > 0 && delta < 1)) {
    throw std::invalid_argument(
        format("a false-alarm budget is a probability between 0 and 1, not {}", delta));
  }
  return with([&](auto& m) { m.delta_ = delta; });
}

ThresholdSpec AbftMatcher::spec() const {
  ThresholdSpec spec = parse_threshold(threshold_);
  if (groups_ && (*groups_ != 0 || spec.group_width() != 0)) {
    if (!spec.threshold->takes("groups")) {
      throw std::invalid_argument(
          format("{} checks whole rows; groups are rounding_variance's", spec.threshold->name));
    }
    if (*groups_ < 0) throw std::invalid_argument("a group has at least one column");
    spec.groups = *groups_;
  }
  if (columns_) spec.columns = *columns_;
  if (confirm_) spec.confirm = *confirm_;
  if (delta_) spec.delta = *delta_;
  return spec;
}

MatchReport AbftMatcher::check(const TensorView& actual) const {
  const FloatEnvironment environment;
  AbftOptions options;
  options.spec = spec();
  options.model = model_;
  AbftVerdict v;
  try {
    if (const Case* c = first_.as_case()) {
      GateRequest request;
      request.elements = false;
      request.checksums = options.spec;
      request.model = model_;
      v = *gate_case(*c, actual, request, {.producer = producer_}).abft;
    } else if (second_) {
      v = AbftChecker::of_product(first_.tensor(), second_->tensor(), options).check(actual);
    } else {
      v = AbftChecker::of_golden(first_.tensor(), options).check(actual);
    }
  } catch (const std::invalid_argument& e) {
    v.outcome = Outcome::kNotComparable;
    v.because = e.what();
  }
  return {v.outcome, explain(v)};
}

std::string AbftMatcher::describe(bool negated) const {
  std::string what;
  if (const Case* c = first_.as_case()) {
    what = format("case {}", c->name);
  } else if (second_) {
    what = format("the operands {} {} and {} {}", first_.tensor().format->name,
                  shape_text(first_.tensor().shape), second_->tensor().format->name,
                  shape_text(second_->tensor().shape));
  } else {
    what = format("the {} golden result of shape {}", first_.tensor().format->name,
                  shape_text(first_.tensor().shape));
  }
  return format("{} with {} by checksums (threshold {})", negated ? "does not agree" : "agrees",
                what, spec().text());
}

AbftMatcher AbftClose(Reference golden_or_case) { return AbftMatcher(std::move(golden_or_case)); }
AbftMatcher AbftClose(Reference a, Reference b) { return AbftMatcher(std::move(a), std::move(b)); }

}  // namespace assay
