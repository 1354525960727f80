#include "assay/matchers/trial.h"

#include <functional>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/machine/machine.h"
#include "assay/matchers/tensor_matcher.h"
#include "assay/op/parameter.h"
#include "assay/report/trial_text.h"
#include "assay/trial/trial.h"

namespace assay::inline v0_2 {

struct PassesTrialMatcher::Settings {
  std::string op;
  TrialOptions options = {};
  std::string output_dtype = {}, machine = {};
  std::map<std::string, std::string> parameters = {};
  bool aligned = false, contiguous = false, nonempty = false;
  int least_rank = 0, most_rank = 0;
};

PassesTrialMatcher::PassesTrialMatcher(std::string op)
    : settings_(std::make_unique<Settings>(Settings{std::move(op)})) {}
PassesTrialMatcher::PassesTrialMatcher(const PassesTrialMatcher& other)
    : settings_(std::make_unique<Settings>(*other.settings_)) {}
PassesTrialMatcher& PassesTrialMatcher::operator=(const PassesTrialMatcher& other) {
  *settings_ = *other.settings_;
  return *this;
}
PassesTrialMatcher::~PassesTrialMatcher() = default;

template <typename Set>
PassesTrialMatcher PassesTrialMatcher::with(const Set& set) const {
  PassesTrialMatcher copy = *this;
  set(*copy.settings_);
  return copy;
}

PassesTrialMatcher PassesTrialMatcher::dtypes(std::vector<std::string> dtypes) const {
  return with([&](Settings& s) { s.options.dtypes = std::move(dtypes); });
}
PassesTrialMatcher PassesTrialMatcher::output_dtype(std::string_view dtype) const {
  return with([&](Settings& s) { s.output_dtype = dtype; });
}
PassesTrialMatcher PassesTrialMatcher::parameter(const std::string& name,
                                                 std::string_view value) const {
  return with([&](Settings& s) { s.parameters[name] = value; });
}
PassesTrialMatcher PassesTrialMatcher::draws(std::int64_t draws) const {
  return with([&](Settings& s) { s.options.draws = draws; });
}
PassesTrialMatcher PassesTrialMatcher::budget(std::chrono::duration<double> time) const {
  return with([&](Settings& s) { s.options.seconds = time.count(); });
}
PassesTrialMatcher PassesTrialMatcher::seed(std::uint64_t seed) const {
  return with([&](Settings& s) { s.options.seed = seed; });
}
PassesTrialMatcher PassesTrialMatcher::sizes(std::vector<std::vector<std::int64_t>> sizes) const {
  return with([&](Settings& s) { s.options.limits.sizes = std::move(sizes); });
}
PassesTrialMatcher PassesTrialMatcher::max_elements(std::int64_t elements) const {
  return with([&](Settings& s) {
    s.options.limits.elements = elements;
    s.options.limits.products = elements * 16;
  });
}
PassesTrialMatcher PassesTrialMatcher::machine(std::string_view name) const {
  return with([&](Settings& s) { s.machine = name; });
}
PassesTrialMatcher PassesTrialMatcher::standard(std::string_view name) const {
  return with([&](Settings& s) { s.options.request.bounds.standards.emplace_back(name); });
}
PassesTrialMatcher PassesTrialMatcher::rtol(double rtol) const {
  return with([&](Settings& s) { s.options.request.bounds.rtol = rtol; });
}
PassesTrialMatcher PassesTrialMatcher::atol(double atol) const {
  return with([&](Settings& s) { s.options.request.bounds.atol = atol; });
}
PassesTrialMatcher PassesTrialMatcher::unordered() const {
  return with([&](Settings& s) { s.options.contract.unordered = true; });
}
PassesTrialMatcher PassesTrialMatcher::batch_invariant() const {
  return with([&](Settings& s) { s.options.contract.batch_invariant = true; });
}
PassesTrialMatcher PassesTrialMatcher::isolated(std::chrono::duration<double> limit) const {
  return with([&](Settings& s) {
    s.options.contract.isolated = true;
    s.options.contract.call_seconds = limit.count();
  });
}
PassesTrialMatcher PassesTrialMatcher::aligned() const {
  return with([&](Settings& s) { s.aligned = true; });
}
PassesTrialMatcher PassesTrialMatcher::contiguous() const {
  return with([&](Settings& s) { s.contiguous = true; });
}
PassesTrialMatcher PassesTrialMatcher::ranks(int least, int most) const {
  return with([&](Settings& s) {
    s.least_rank = least;
    s.most_rank = most;
  });
}
PassesTrialMatcher PassesTrialMatcher::nonempty() const {
  return with([&](Settings& s) { s.nonempty = true; });
}
PassesTrialMatcher PassesTrialMatcher::only(std::int64_t draw) const {
  return with([&](Settings& s) { s.options.only = draw; });
}
PassesTrialMatcher PassesTrialMatcher::on(std::string_view case_text) const {
  return with([&](Settings& s) { s.options.on = case_text; });
}

bool PassesTrialMatcher::match(const std::function<TrialKernel(const Operator&)>& make,
                               testing::MatchResultListener* listener) const {
  try {
    const Operator& op = operator_named(settings_->op);
    TrialKernel kernel = make(op);
    TrialOptions options = settings_->options;
    if (!settings_->machine.empty()) options.request.machine = &machine_named(settings_->machine);
    for (const auto& [name, text] : settings_->parameters) {
      options.parameters[name] = trial_parameter(op, name, text);
    }
    if (!settings_->output_dtype.empty()) kernel.output_dtype = settings_->output_dtype;
    if (settings_->aligned) kernel.takes_offsets = false;
    if (settings_->contiguous) kernel.takes_strides = kernel.takes_out_strides = false;
    if (settings_->nonempty) kernel.takes_empty = false;
    if (settings_->most_rank > 0) {
      kernel.least_rank = settings_->least_rank;
      kernel.most_rank = settings_->most_rank;
    }
    const TrialReport report = run_trial(settings_->op, kernel, options);
    const bool passes = report.outcome() == Outcome::kPass;
    *listener << "which " << trial_text(report, TrialDoor::kMatcher);
    return passes;
  } catch (const Refusal& e) {
    return explain_refusal(e, listener);
  }
}

void PassesTrialMatcher::DescribeTo(std::ostream* os) const {
  *os << formatted("computes {} right for every input that a trial draws", settings_->op);
}
void PassesTrialMatcher::DescribeNegationTo(std::ostream* os) const {
  *os << formatted("computes {} wrong for an input that a trial draws", settings_->op);
}

}  // namespace assay
