#include "assay/matchers/abft_close.h"

#include <utility>

#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/gate/gate.h"
#include "assay/report.h"

namespace assay::inline v0_2 {

AbftMatcher::AbftMatcher(Reference golden_or_case) : first_(std::move(golden_or_case)) {}
AbftMatcher::AbftMatcher(Reference a, Reference b) : first_(std::move(a)), second_(std::move(b)) {
  if (first_.as_case() != nullptr || second_->as_case() != nullptr) {
    refuse(
        "AbftClose(a, b) takes two operands, and a case is not an operand; give AbftClose(case) or "
        "two tensors");
  }
}

AbftMatcher::AbftMatcher(const AbftMatcher&) = default;
AbftMatcher::AbftMatcher(AbftMatcher&&) noexcept = default;
AbftMatcher& AbftMatcher::operator=(const AbftMatcher&) = default;
AbftMatcher& AbftMatcher::operator=(AbftMatcher&&) noexcept = default;
AbftMatcher::~AbftMatcher() = default;

AbftMatcher AbftMatcher::threshold(const std::string& spec) const {
  // Called so that a wrong name throws here, and is not reported as a mismatch later.
  (void)parse_threshold(spec);
  return with([&](auto& m) { m.threshold_ = spec; });
}
AbftMatcher AbftMatcher::false_alarm_budget(double delta) const {
  if (!(delta > 0 && delta < 1)) {
    refuse("a false-alarm budget is a probability between 0 and 1, not {}", delta);
  }
  return with([&](auto& m) { m.delta_ = delta; });
}

ThresholdSpec AbftMatcher::spec() const {
  ThresholdSpec spec =
      parse_threshold(threshold_.empty() ? kDefaultThreshold : std::string_view(threshold_));
  if (groups_ && (*groups_ != 0 || spec.group_width() != 0)) {
    if (!spec.threshold->takes("groups")) {
      refuse("the threshold {} checks only whole rows; leave groups out, or use rounding_variance",
             spec.threshold->name);
    }
    if (*groups_ < 0)
      refuse("the number of columns in a group must be at least 1, or 0 for whole rows");
    spec.groups = *groups_;
  }
  if (columns_) spec.columns = *columns_;
  if (confirm_) spec.confirm = *confirm_;
  if (delta_) spec.delta = *delta_;
  return spec;
}

AbftMatcher AbftMatcher::machine(const std::string& name) const {
  return with([&](auto& m) { m.machine_ = name; });
}

AbftMatcher AbftMatcher::bias(Reference values) const {
  if (!second_) refuse("a bias is only for two operands; use AbftClose(a, b)");
  return with([&](auto& m) { m.bias_ = std::move(values); });
}

Case AbftMatcher::made_case(const Format& output, HostCopies& copies) const {
  const auto copied = [&](const Reference& tensor, const char* name) {
    return copy_of(copies.add(tensor.tensor(), name));
  };
  Case made;
  made.attributes["output_dtype"] = std::string(output.name);
  if (!second_) {
    made.output().golden = copied(first_, "the golden result");
    return made;
  }
  made.op = "matmul";
  made.inputs.emplace("a", copied(first_, "operand a"));
  made.inputs.emplace("b", copied(*second_, "operand b"));
  if (bias_) made.inputs.emplace("bias", copied(*bias_, "the bias"));
  if (transpose_a_) made.attributes["transpose_a"] = std::int64_t{1};
  if (transpose_b_) made.attributes["transpose_b"] = std::int64_t{1};
  return made;
}

MatchReport AbftMatcher::check_on_host(const TensorView& actual, HostCopies& copies) const {
  const FloatEnvironment environment;
  GateRequest request;
  request.elements = false;
  request.checksums = spec();
  request.bounds.allow_empty = allow_empty_;
  if (!machine_.empty()) request.machine = &machine_named(machine_);
  request.model = model_;
  AbftVerdict v;
  try {
    const Case* given = first_.as_case();
    const Case made = given != nullptr ? Case{} : made_case(*actual.format, copies);
    Origin origin{.producer = producer_};
    Epilogue epilogue;
    if (accumulator_)
      epilogue.accumulator = copy_of(copies.add(accumulator_->tensor(), "the accumulator"));
    if (residual_) epilogue.residual = copy_of(copies.add(residual_->tensor(), "the residual"));
    if (!epilogue.empty()) {
      if (!request.checksums->threshold->takes_residuals) {
        refuse(
            "the threshold {} does not use an accumulator or a residual; use residual_compensated, "
            "as in .threshold(\"residual_compensated\")",
            request.checksums->threshold->name);
      }
      origin.epilogue = &epilogue;
    }
    v = *gate_case(given != nullptr ? *given : made, actual, request, origin).abft;
  } catch (const Refusal& e) {
    v.outcome = Outcome::kNotComparable;
    v.because = e.what();
  }
  return {v.outcome, explain(v), v.notes};
}

std::string AbftMatcher::describe(bool negated) const {
  std::string what;
  if (const Case* c = first_.as_case()) {
    what = formatted("case {}", c->name);
  } else if (second_) {
    what = formatted("the operands {} {} and {} {}", first_.layout().format->name,
                     shape_text(first_.layout().shape), second_->layout().format->name,
                     shape_text(second_->layout().shape));
  } else {
    what = formatted("the {} golden result of shape {}", first_.layout().format->name,
                     shape_text(first_.layout().shape));
  }
  return formatted("{} with {} by checksums (threshold {})", negated ? "does not agree" : "agrees",
                   what, spec().text());
}

AbftMatcher AbftClose(Reference golden_or_case) { return AbftMatcher(std::move(golden_or_case)); }
AbftMatcher AbftClose(Reference a, Reference b) { return AbftMatcher(std::move(a), std::move(b)); }

}  // namespace assay
