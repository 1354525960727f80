#include "assay/trial/trial.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/trial/case_text.h"
#include "assay/trial/diagnose.h"
#include "assay/trial/shrink.h"

namespace assay::inline v0_2 {
namespace {

using trial::Draw;
using trial::Examined;
using trial::Subject;
using Clock = std::chrono::steady_clock;

// Returns the text with "[...]" for each shape in it, so that equal reasons are counted together.
std::string without_shapes(const std::string& text) {
  std::string out;
  bool is_inside = false;
  for (const char c : text) {
    if (c == ']') is_inside = false;
    if (!is_inside) out += c;
    if (c == '[') {
      is_inside = true;
      out += "...";
    }
  }
  return out;
}

// A right result is NaN wherever the exact one is, also under a tolerance that the user gives.
GateRequest with_equal_nan(GateRequest request) {
  if (!request.bounds.equal_nan) request.bounds.equal_nan = true;
  return request;
}

// Throws Refusal if no run can continue the trial of this report, or only another number of shards.
void check_continuable(const TrialReport& report, std::int64_t shards) {
  const std::int64_t joined = std::ssize(report.shard_nexts);
  if (report.next < 0 && joined == 0) {
    refuse("the earlier run cannot be continued: it tried a single input, or joins shards");
  }
  if (joined > 0 && joined != shards) {
    refuse(
        "the earlier run joins {0} shards that ended at different inputs, so only {0} ranks of "
        "`assay-mpi trial` can continue it",
        joined);
  }
}

// Without a machine, nobody says if subnormal numbers are kept.
trial::DrawLimits limits_of(const TrialOptions& options) {
  trial::DrawLimits limits = options.limits;
  limits.subnormals = limits.subnormals && options.request.machine != nullptr;
  return limits;
}

class Trial {
 public:
  Trial(const Operator& op, const TrialKernel& kernel, const TrialOptions& options)
      : op_(op),
        kernel_(kernel),
        o_(options),
        drawing_(op, kernel, options.dtypes, options.parameters, limits_of(options), options.seed) {
    report_.op = op.name;
    report_.kernel = kernel.name;
    report_.dtypes = drawing_.dtypes();
    report_.seed = options.seed;
    report_.shard = options.shard;
    report_.shards = options.shards;
    report_.left_out = drawing_.left_out();
    if (options.request.machine != nullptr) report_.machine = options.request.machine->name;
    report_.output_dtype = kernel.output_dtype;
    for (const auto& [name, value] : options.parameters) {
      report_.parameters[name] = attribute_text(value);
    }
    report_.standards = options.request.bounds.standards;
    report_.rtol = options.request.bounds.rtol;
    report_.atol = options.request.bounds.atol;
    report_.contract = options.contract;
    report_.limits = options.limits;
    report_.unchecked = unchecked();
    if (options.earlier != nullptr) take_earlier(*options.earlier);
  }

  TrialReport run() {
    if (!o_.on.empty()) {
      on_case();
    } else if (o_.only) {
      group({*o_.only});
    } else {
      draws();
    }
    report_.seconds = earlier_seconds_ + seconds();
    return std::move(report_);
  }

 private:
  std::vector<TrialFinding> unchecked() const {
    std::vector<TrialFinding> all;
    const bool is_program = static_cast<bool>(kernel_.call_all);
    if (!is_program && !o_.contract.isolated) {
      all = {TrialFinding::kCrashed, TrialFinding::kHung};
    }
    if (is_program || kernel_.returns_output) all.push_back(TrialFinding::kWroteOutside);
    if (kernel_.returns_output) all.push_back(TrialFinding::kUnwritten);
    if (!kernel_.keeps_state) all.push_back(TrialFinding::kStale);
    if (o_.contract.unordered) all.push_back(TrialFinding::kNotRepeatable);
    if (!o_.contract.batch_invariant) all.push_back(TrialFinding::kBatchVariant);
    return all;
  }

  // Continues an earlier run.
  void take_earlier(const TrialReport& earlier) {
    check_same_trial(report_, earlier);
    if (report_.shard != earlier.shard || report_.shards != earlier.shards) {
      refuse("the earlier run was shard {} of {}, and this is shard {} of {}", earlier.shard + 1,
             earlier.shards, report_.shard + 1, report_.shards);
    }
    check_continuable(earlier, 0);
    report_ = earlier;
    report_.was_interrupted = false;
    first_ = earlier.next;
    earlier_seconds_ = earlier.seconds;
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool is_late() const { return o_.seconds > 0 && seconds() >= o_.seconds; }

  void on_case() {
    Subject subject = trial::parse_case(op_, o_.on);
    subject.decoy = other_values(subject.test_case);
    Examined examined = trial::examine(kernel_, o_.contract, o_.request, environment_, subject);
    count(report_.listed, examined);
    if (examined.how == Examined::How::kFailed) {
      report_.failures.push_back(failure(nullptr, subject, subject, examined.finding, 0, false));
    }
  }

  // Returns the case with other values of its first input, for the call before.
  Case other_values(Case c) const {
    const auto found = c.inputs.find(op_.inputs.front().name);
    if (found == c.inputs.end()) return c;
    Tensor& first = found->second;
    const Format& format = first.format();
    for (std::int64_t i = 0; i < first.size() && format.is_float() && !format.is_complex(); ++i) {
      const double value = decode(format, first.bits_at(i));
      if (std::isfinite(value)) first.set_bits(i, encode(format, value / 2 + 0.25));
    }
    return c;
  }

  void draws() {
    const int threads = o_.threads > 0 ? o_.threads : default_threads();
    constexpr std::int64_t kGroup = 4;  // draws of a thread
    std::int64_t size = kGroup * threads;
    if (kernel_.call_all) {
      constexpr std::int64_t kCalls = 4;  // of one examination
      size = std::max<std::int64_t>(1, static_cast<std::int64_t>(kernel_.together) / kCalls);
    }
    const std::int64_t end = o_.seconds > 0 ? std::int64_t{1} << 40 : drawing_.listed() + o_.draws;
    std::vector<std::int64_t> numbers;
    bool goes_on = true, is_ended = false;
    const auto flush = [&] {
      if (numbers.empty()) return;
      group(numbers);
      report_.next = numbers.back() + 1;
      numbers.clear();
      goes_on = report_.failures.empty() || o_.keep_going;
      if (!tell(false)) was_stopped_ = true;
      if (was_stopped_) {
        report_.was_interrupted = true;
        goes_on = false;
      }
      report_.seconds = earlier_seconds_ + seconds();
      if (o_.save) o_.save(report_);
    };
    report_.next = first_;
    goes_on = report_.failures.empty() || o_.keep_going;
    for (std::int64_t number = first_; number < end && goes_on && !is_late(); ++number) {
      if (number % o_.shards != o_.shard) continue;
      is_ended = o_.end && number >= o_.end();
      if (is_ended) break;
      numbers.push_back(number);
      if (std::ssize(numbers) == size) flush();
    }
    flush();
    if (!was_stopped_ && goes_on && !is_ended && !is_late()) report_.next = std::max(end, first_);
  }

  bool tell(bool is_shrinking) {
    if (!o_.progress) return true;
    return o_.progress({report_.listed.all() + report_.random.all(),
                        static_cast<std::int64_t>(report_.failures.size()), is_shrinking,
                        first_failing_});
  }

  Subject subject_of(const Draw& draw, Case test_case) const {
    Subject subject{.test_case = std::move(test_case),
                    .inputs = draw.inputs,
                    .output = draw.output,
                    .row = draw.recipe.seed};
    constexpr std::uint64_t kOther = 0x5555;  // another seed for the values of the decoy
    subject.decoy = drawing_.make(draw, kOther);
    return subject;
  }

  // Examines some draws: threads prepare and judge, and this thread calls the kernel.
  void group(const std::vector<std::int64_t>& numbers) {
    const auto count_of = std::ssize(numbers);
    std::vector<std::optional<Draw>> draws(numbers.size());
    std::vector<std::optional<trial::Examination>> examinations(numbers.size());
    std::vector<std::string> refusals(numbers.size());
    std::vector<Examined> examined(numbers.size());
    parallel_for(count_of, o_.threads, [&](std::int64_t i) {
      const FloatEnvironment environment;
      const auto at = static_cast<std::size_t>(i);
      trial::Drawing::Made made = drawing_.made(numbers[at]);
      draws[at] = std::move(made.draw);
      try {
        examinations[at].emplace(kernel_, o_.contract, o_.request,
                                 subject_of(*draws[at], std::move(made.test_case)));
      } catch (const Refusal& e) {
        refusals[at] = "the operator refuses the input: " + without_shapes(e.reason());
      }
    });
    if (kernel_.call_all) {
      call_together(examinations);
    } else {
      for (auto& examination : examinations) {
        if (examination) examination->call(environment_);
      }
    }
    parallel_for(count_of, o_.threads, [&](std::int64_t i) {
      const FloatEnvironment environment;
      const auto at = static_cast<std::size_t>(i);
      if (examinations[at]) {
        examined[at] = examinations[at]->judge(false);
      } else {
        examined[at] = {.how = Examined::How::kNotJudged, .text = refusals[at]};
      }
    });
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      count(draws[i]->is_listed ? report_.listed : report_.random, examined[i]);
      for (const auto& [kind, name] : draws[i]->classes) ++report_.coverage[kind][name];
      if (examined[i].how == Examined::How::kFailed && first_failing_ < 0) {
        first_failing_ = numbers[i];
      }
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (examined[i].how != Examined::How::kFailed) continue;
      const TrialFinding finding = examined[i].finding;
      if (std::ranges::find(report_.failures, finding, &TrialFailure::finding) !=
          report_.failures.end()) {
        continue;
      }
      Subject failing = examinations[i]->subject();
      if (examined[i].is_of_decoy) std::swap(failing.test_case, *failing.decoy);
      report_.failures.push_back(reduced(*draws[i], failing, finding));
    }
  }

  void call_together(std::vector<std::optional<trial::Examination>>& examinations) {
    std::vector<KernelCall> calls;
    std::vector<std::size_t> counts;
    for (auto& examination : examinations) {
      counts.push_back(0);
      if (!examination) continue;
      for (KernelCall& call : examination->calls()) {
        calls.push_back(std::move(call));
        ++counts.back();
      }
    }
    const std::vector<CallEnd> ends = trial::ends_of(kernel_, calls);
    std::size_t first = 0;
    for (std::size_t i = 0; i < examinations.size(); ++i) {
      if (examinations[i]) examinations[i]->ended(std::span(ends).subspan(first, counts[i]));
      first += counts[i];
    }
  }

  void count(TrialReport::Counts& counts, const Examined& examined) {
    switch (examined.how) {
      case Examined::How::kPassed:
        ++counts.passed;
        break;
      case Examined::How::kFailed:
        ++counts.failed;
        break;
      case Examined::How::kNotSupported:
        ++counts.not_supported;
        ++report_.not_supported[examined.text];
        break;
      case Examined::How::kNotJudged:
        ++counts.not_judged;
        ++report_.not_judged[examined.text];
        break;
    }
  }

  // True if an input shows the finding. A result that is not repeatable may need several calls.
  bool shows(const Subject& subject, TrialFinding finding) const {
    const int calls = finding == TrialFinding::kNotRepeatable ? 4 : 1;
    for (int i = 0; i < calls; ++i) {
      const Examined examined =
          trial::examine(kernel_, o_.contract, o_.request, environment_, subject);
      if (examined.how == Examined::How::kFailed && examined.finding == finding) return true;
    }
    return false;
  }

  TrialFailure reduced(const Draw& draw, const Subject& failing, TrialFinding finding) {
    was_stopped_ = was_stopped_ || !tell(true);
    // Each try of a call that hangs takes its whole limit.
    constexpr std::int64_t kHangTries = 40;
    const std::int64_t most = finding == TrialFinding::kHung ? kHangTries : trial::kShrinkTries;
    Subject drawn = failing;
    drawn.test_case.outputs.clear();
    trial::Remake remake{draw.recipe.sizes, [&](const std::vector<std::int64_t>& sizes) {
                           Draw other = draw;
                           other.recipe.sizes = sizes;
                           return subject_of(other, drawing_.make(other));
                         }};
    const auto end = Clock::now() + std::chrono::duration<double>(o_.shrink_seconds);
    const trial::Shrunk shrunk = trial::shrink(
        drawn, [&](const Subject& s) { return shows(s, finding); }, remake, most,
        [&] {
          was_stopped_ = was_stopped_ || !tell(true);
          return was_stopped_ || Clock::now() > end;
        });
    return failure(&draw, drawn, shrunk.subject, finding, shrunk.tries, shrunk.is_minimal);
  }

  TrialFailure failure(const Draw* draw, const Subject& drawn, const Subject& small,
                       TrialFinding finding, std::int64_t tries, bool is_minimal) {
    TrialFailure failure{.finding = finding, .tries = tries, .is_minimal = is_minimal};
    if (draw != nullptr) {
      failure.draw = draw->number;
      failure.drawn = draw->text();
    }
    Examined examined = trial::examine(kernel_, o_.contract, o_.request, environment_, small, true);
    if (examined.how != Examined::How::kFailed || examined.finding != finding) {
      // A result that is not repeatable need not fail again.
      failure.text = "the finding does not repeat with each call";
    } else {
      failure.text = std::move(examined.text);
    }
    failure.report = std::move(examined.report);
    failure.output = std::move(examined.output);
    failure.reduced = trial::case_text(small);
    failure.nonzero = trial::nonzero_elements(small.test_case);
    failure.test_case = small.test_case;
    failure.test_case.outputs.clear();
    failure.test_case.output().golden = golden_result(small.test_case);
    failure.causes = trial::diagnose(kernel_, o_.contract, o_.request, environment_, finding, drawn,
                                     small, is_minimal);
    if (const std::string arithmetic = arithmetic_of(drawn, finding); !arithmetic.empty()) {
      failure.causes.insert(failure.causes.begin(), arithmetic);
    }
    return failure;
  }

  // Returns the wrong arithmetic that explains the errors of an input (gate/likely_arithmetic.h),
  // or an empty string. The drawn input shows it, because a reduced one has too few errors.
  std::string arithmetic_of(const Subject& drawn, TrialFinding finding) const {
    if (finding != TrialFinding::kWrongResult) return "";
    const Examined examined =
        trial::examine(kernel_, o_.contract, o_.request, environment_, drawn, true);
    if (!examined.report) return "";
    const std::string because = examined.report->because();
    const std::size_t at = because.find("errors ");
    return at == std::string::npos ? "" : because.substr(at, because.find(';', at) - at);
  }

  const Operator& op_;
  const TrialKernel& kernel_;
  const TrialOptions& o_;
  const FloatEnvironment environment_;
  trial::Drawing drawing_;
  TrialReport report_;
  std::int64_t first_ = 0;  // the number of the first draw
  std::int64_t first_failing_ = -1;
  double earlier_seconds_ = 0;
  bool was_stopped_ = false;
  const Clock::time_point begin_ = Clock::now();
};

}  // namespace

TrialReport::Counts& TrialReport::Counts::operator+=(const Counts& more) {
  passed += more.passed;
  failed += more.failed;
  not_supported += more.not_supported;
  not_judged += more.not_judged;
  return *this;
}

std::string TrialFailure::sentence() const {
  std::string all = formatted("{}: {}", finding_word(finding), text);
  for (const std::string& cause : causes) all += "; " + cause;
  return all;
}

std::int64_t fails_fewer_than_one_in(std::int64_t passed) {
  if (passed <= 0) return 1;
  return static_cast<std::int64_t>(1 / -std::expm1(std::log(0.05) / static_cast<double>(passed)));
}

Outcome TrialReport::outcome() const {
  if (!failures.empty() || listed.failed + random.failed > 0) return Outcome::kFail;
  return listed.passed + random.passed > 0 ? Outcome::kPass : Outcome::kUntrusted;
}

std::string TrialReport::because() const {
  const std::int64_t passed = listed.passed + random.passed;
  if (outcome() == Outcome::kFail) {
    return formatted("{} of {} failed{}", listed.failed + random.failed,
                     counted(listed.all() + random.all(), "input"),
                     failures.empty() ? "" : "; " + failures.front().sentence());
  }
  if (passed == 0) {
    std::string text = formatted(
        "no output was judged: {} not supported by the kernel, {} "
        "without a verdict",
        listed.not_supported + random.not_supported, listed.not_judged + random.not_judged);
    const auto& reasons = not_supported.empty() ? not_judged : not_supported;
    if (!reasons.empty()) text += formatted(" (first: {})", reasons.begin()->first);
    return text;
  }
  std::string text =
      formatted("no failure in {} of the fixed list", counted(listed.passed, "input"));
  if (random.passed > 0) {
    text += formatted(" and in {}: with 95 % confidence fewer than 1 in {} such random inputs fail",
                      counted(random.passed, "random draw"),
                      grouped(fails_fewer_than_one_in(random.passed)));
  }
  return text;
}

Attribute trial_parameter(const Operator& op, const std::string& name, std::string_view text) {
  const Parameter* parameter = find_parameter(op, name);
  if (parameter == nullptr) {
    refuse("{} has no parameter '{}'{}", op.name, name,
           did_you_mean(name, names_of(op.parameters)));
  }
  Attribute value = parameter_value(*parameter, text);
  const std::string problem =
      parameter_problem({.name = op.name, .parameters = {*parameter}}, {{name, value}});
  if (!problem.empty()) refuse(problem);
  return value;
}

TrialReport run_trial(std::string_view name, const TrialKernel& kernel,
                      const TrialOptions& options) {
  const FloatEnvironment environment;
  const Operator& op = operator_named(name);
  if (options.shards < 1 || options.shard < 0 || options.shard >= options.shards) {
    refuse("shard {} of {}: the number must be from 0 to the number of shards less 1",
           options.shard, options.shards);
  }
  if (options.only && *options.only < 0) {
    refuse("there is no draw {}; the first one is draw 0", *options.only);
  }
  if (options.only && !options.on.empty()) {
    refuse("a single draw and a case are both given; leave out one of them");
  }
  if (!(options.seconds >= 0) || std::isinf(options.seconds)) {
    refuse("the trial cannot take {} seconds", number_text(options.seconds));
  }
  if (!(options.contract.call_seconds > 0) || std::isinf(options.contract.call_seconds)) {
    refuse("a call cannot take {} seconds", number_text(options.contract.call_seconds));
  }
  if (options.draws < 0) refuse("the number of draws is {}; it must be at least 0", options.draws);
  if (options.limits.elements < 1 || options.limits.products < 1) {
    refuse("the largest number of elements must be at least 1");
  }
  check_request(options.request.bounds);
  for (const auto& [parameter, value] : options.parameters) {
    (void)trial_parameter(op, parameter, attribute_text(value));
  }
  TrialOptions asked = options;
  asked.request = with_equal_nan(options.request);
  return Trial(op, kernel, asked).run();
}

void check_same_trial(const TrialReport& a, const TrialReport& b) {
  const auto check = [](std::string_view what, const auto& x, const auto& y) {
    if (x != y) refuse("the results are not of one trial: {} differs", what);
  };
  check("the operator", a.op, b.op);
  check("the list of dtypes", a.dtypes, b.dtypes);
  check("the output's dtype", a.output_dtype, b.output_dtype);
  check("the list of parameters", a.parameters, b.parameters);
  check("the seed", a.seed, b.seed);
  check("the machine", a.machine, b.machine);
  check("the list of standards", a.standards, b.standards);
  check("the relative tolerance", a.rtol, b.rtol);
  check("the absolute tolerance", a.atol, b.atol);
  check("the largest number of elements", a.limits.elements, b.limits.elements);
  check("the largest number of products", a.limits.products, b.limits.products);
  check("what may vary with repeated calls", a.contract.unordered, b.contract.unordered);
  check("batch invariance", a.contract.batch_invariant, b.contract.batch_invariant);
}

void judge_again(TrialFailure& failure, const GateRequest& request) {
  const FloatEnvironment environment;
  Case& c = failure.test_case;
  c.outputs.clear();
  c.output().golden = golden_result(c);
  if (failure.output.empty()) return;
  GateRequest asked = with_equal_nan(request);
  asked.bounds.allow_empty = true;
  failure.report = gate_case(c, failure.output, asked);
}

TrialReport merged(const std::vector<TrialReport>& shards) {
  if (shards.empty()) refuse("there is no shard to merge");
  TrialReport all = shards.front();
  std::map<std::int64_t, std::int64_t> nexts = {{all.shard, all.next}};  // by shard
  for (std::size_t i = 1; i < shards.size(); ++i) {
    const TrialReport& more = shards[i];
    check_same_trial(all, more);
    if (more.shards != all.shards) {
      refuse("the results are shards of {} and of {} runs", all.shards, more.shards);
    }
    if (!nexts.emplace(more.shard, more.next).second) {
      refuse("shard {} of {} is there twice", more.shard + 1, more.shards);
    }
    all.listed += more.listed;
    all.random += more.random;
    for (const auto& [reason, count] : more.not_supported) all.not_supported[reason] += count;
    for (const auto& [reason, count] : more.not_judged) all.not_judged[reason] += count;
    for (const auto& [kind, names] : more.coverage) {
      for (const auto& [class_name, count] : names) all.coverage[kind][class_name] += count;
    }
    for (const TrialFailure& failure : more.failures) all.failures.push_back(failure);
    all.was_interrupted = all.was_interrupted || more.was_interrupted;
    all.seconds += more.seconds;
  }
  if (std::ssize(nexts) != all.shards) {
    refuse("{} of {} shards are there", nexts.size(), all.shards);
  }
  std::ranges::stable_sort(all.failures, {}, &TrialFailure::draw);
  std::vector<TrialFailure> first;
  for (TrialFailure& failure : all.failures) {
    if (std::ranges::find(first, failure.finding, &TrialFailure::finding) == first.end()) {
      first.push_back(std::move(failure));
    }
  }
  all.failures = std::move(first);
  // Shards that ended at the same draw have made all draws before it. A single shard may itself be
  // joined shards, and stays as it is.
  const auto differs = [&](const auto& next) { return next.second != all.next; };
  if (std::ranges::any_of(nexts, differs)) {
    all.next = -1;
    for (const auto& [shard, next] : nexts) all.shard_nexts.push_back(next);
    if (contains(all.shard_nexts, -1)) all.shard_nexts.clear();
  }
  all.shard = 0;
  all.shards = 1;
  return all;
}

std::vector<TrialReport> parts_of(const TrialReport& report, std::int64_t shards) {
  if (report.shards != 1) {
    refuse("the earlier run was shard {} of {}; join all shards first", report.shard + 1,
           report.shards);
  }
  check_continuable(report, shards);
  std::vector<TrialReport> parts;
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    TrialReport& part = parts.emplace_back(report);
    part.shard = shard;
    part.shards = shards;
    if (!report.shard_nexts.empty())
      part.next = report.shard_nexts[static_cast<std::size_t>(shard)];
    part.shard_nexts.clear();
    if (shard == 0) continue;
    // Only the first shard has the counts.
    part.listed = part.random = {};
    part.not_supported.clear();
    part.not_judged.clear();
    part.coverage.clear();
    part.seconds = 0;
  }
  return parts;
}

}  // namespace assay
