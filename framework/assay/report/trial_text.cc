#include "assay/report/trial_text.h"

#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

// Returns the line that repeats a failure with its reduced input.
std::string repeat_text(const TrialReport& report, const TrialFailure& failure, TrialDoor door) {
  if (!failure.repeat.empty()) return failure.repeat;
  switch (door) {
    case TrialDoor::kMatcher:
      return formatted("EXPECT_THAT(KERNEL, PassesTrial(\"{}\").on(\"{}\"));", report.op,
                       failure.reduced);
    case TrialDoor::kPython:
      return formatted("assay.trial(KERNEL, \"{}\", on=\"{}\")", report.op, failure.reduced);
    case TrialDoor::kCommandLine:
      break;
  }
  return formatted("assay trial {} --on {} -- ...", report.op, shell_word(failure.reduced));
}

}  // namespace

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
