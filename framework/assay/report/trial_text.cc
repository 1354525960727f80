#include "assay/report/trial_text.h"

#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

// Returns Python's keywords for the options that decide the verdict.
std::string python_options(const TrialReport& report) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += formatted(", {}={}", name, value);
  };
  const auto quoted = [](const std::string& word) { return "\"" + word + "\""; };
  if (!report.machine.empty()) add("machine", quoted(report.machine));
  for (const std::string& standard : report.standards) add("standard", quoted(standard));
  if (report.rtol) add("rtol", number_text(*report.rtol));
  if (report.atol) add("atol", number_text(*report.atol));
  if (report.contract.unordered) add("unordered", "True");
  if (report.contract.batch_invariant) add("batch_invariant", "True");
  if (report.contract.isolated) add("isolated", "True");
  return text;
}

// Returns the line that repeats a failure with its reduced input.
std::string repeat_text(const TrialReport& report, const TrialFailure& failure, TrialDoor door) {
  if (!failure.repeat.empty()) return failure.repeat;
  switch (door) {
    case TrialDoor::kMatcher:
      return formatted("EXPECT_THAT(KERNEL, PassesTrial(\"{}\"){}.on(\"{}\"));", report.op,
                       matcher_options(report, ""), failure.reduced);
    case TrialDoor::kPython:
      return formatted("assay.trial(KERNEL, \"{}\"{}, on=\"{}\")", report.op,
                       python_options(report), failure.reduced);
    case TrialDoor::kCommandLine:
      break;
  }
  return formatted("assay trial {} --on {} -- ...", report.op, shell_word(failure.reduced));
}

// Returns the element that is farthest outside its bound, with its values, or an empty string.
std::string worst_text(const TrialFailure& failure) {
  const Verdict* verdict = failure.report ? failure.report->deciding_verdict() : nullptr;
  if (verdict == nullptr || verdict->worst.empty()) return "";
  const Mismatch& worst = verdict->worst.front();
  return formatted("element {}: actual {}, expected {}, error {}, bound {}",
                   shape_text(worst.index), number_text(worst.actual), number_text(worst.expected),
                   short_number(worst.error, 4), short_number(worst.bound, 4));
}

}  // namespace

std::string matcher_options(const TrialReport& report, std::string_view separator) {
  std::string text;
  const auto add = [&](const std::string& option) { text += formatted("{}{}", separator, option); };
  if (!report.machine.empty()) add(formatted(".machine(\"{}\")", report.machine));
  for (const std::string& standard : report.standards) {
    add(formatted(".standard(\"{}\")", standard));
  }
  if (report.rtol) add(formatted(".rtol({})", *report.rtol));
  if (report.atol) add(formatted(".atol({})", *report.atol));
  if (report.contract.unordered) add(".unordered()");
  if (report.contract.batch_invariant) add(".batch_invariant()");
  if (report.contract.isolated) add(".isolated()");
  return text;
}

std::string trial_text(const TrialReport& report, TrialDoor door) {
  std::string text;
  if (report.failures.empty()) {
    text = report.because();
  } else {
    text = formatted("fails {} of {}", report.listed.failed + report.random.failed,
                     counted(report.listed.all() + report.random.all(), "input"));
  }
  if (report.was_interrupted) text += "; the trial was interrupted";
  for (const TrialFailure& failure : report.failures) {
    text += formatted("\n{}: {}", finding_word(failure.finding), failure.text);
    if (const std::string worst = worst_text(failure); !worst.empty()) {
      text += formatted("\n  {}", worst);
    }
    for (const std::string& cause : failure.causes) text += formatted("\n  cause: {}", cause);
    // A longer line would hide the rest. The draw's number repeats it, too.
    constexpr std::size_t kLongest = 2000;
    const bool is_short = failure.reduced.size() <= kLongest;
    text += formatted("\n  reduced input: {}",
                      is_short ? failure.reduced : failure.reduced.substr(0, 200) + "...");
    if (failure.draw >= 0) {
      text += formatted("\n  drawn input: number {} of seed {}: {}", failure.draw, report.seed,
                        failure.drawn);
    }
    if (is_short || !failure.repeat.empty())
      text += formatted("\n  repeat: {}", repeat_text(report, failure, door));
  }
  if (!report.not_judged.empty()) {
    text += formatted("\n{} without a verdict (first reason: {})",
                      counted(report.listed.not_judged + report.random.not_judged, "input"),
                      report.not_judged.begin()->first);
  }
  if (!report.not_supported.empty()) {
    text += formatted("\n{} not supported by the kernel (first reason: {})",
                      counted(report.listed.not_supported + report.random.not_supported, "input"),
                      report.not_supported.begin()->first);
  }
  return text;
}

std::string trial_coverage_text(const TrialReport& report) {
  std::string text;
  for (const auto& [kind, names] : report.coverage) {
    std::string line;
    for (const auto& [name, count] : names) {
      line += formatted("{}{} {}", line.empty() ? "" : ", ", grouped(count), name);
    }
    text += formatted("{}: {}\n", kind, line);
  }
  for (const std::string& left : report.left_out) text += formatted("not tried: {}\n", left);
  return text;
}

}  // namespace assay
