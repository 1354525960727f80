#include "earlier_results.h"

#include <algorithm>
#include <set>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/gate/known_failures.h"
#include "assay/wire/baseline.h"
#include "assay/wire/known_failures_file.h"
#include "sources.h"

namespace assay::inline v0_2::tools {
namespace {

// Returns a function that tells if this run looks for the case of a baseline's entry: its name is
// chosen, its producer is judged, and its file, if one side has several, is one that GOLDEN names.
IsChosen chosen_by(const GateOptions& o, const GateFiles& found, const Baseline& baseline) {
  std::set<std::string> producers, files, theirs;
  for (const GateFile& file : found.files) {
    producers.insert(file.producer);
    files.insert(file.golden.path);
  }
  for (const BaselineEntry& e : baseline.entries) theirs.insert(e.file);
  const bool by_file = files.size() > 1 || theirs.size() > 1;
  return [=, &o](const BaselineEntry& e) {
    // The file of the baseline's case may have disappeared from the folder, or from what the glob
    // matches. So the path is compared, and not the files that exist.
    const auto chooses_file = [&](const std::string& golden) {
      return golden == e.file || source_reads(golden, e.file);
    };
    return o.files.filter.takes(e.name) && producers.count(e.producer) != 0 &&
           (!by_file || e.file.empty() || files.count(e.file) != 0 ||
            std::ranges::any_of(o.files.golden, chooses_file));
  };
}

}  // namespace

int apply_baseline(const GateOptions& o, const Context& context, const GateFiles& found,
                   const std::optional<Baseline>& baseline, bool unreadable, GateReport& report) {
  if (!baseline) return 0;
  const IsChosen is_chosen = chosen_by(o, found, *baseline);
  if (!o.update_baseline) {
    const BaselineComparison compared = compare_with_baseline(report, *baseline, is_chosen);
    report.notes.insert(report.notes.end(), compared.notes.begin(), compared.notes.end());
    for (CaseReport& c : report.cases) {
      const std::string option = " --baseline " + shell_word(o.baseline);
      if (c.remark == Remark::kWorse) c.reproduce += option;
      if (c.remark != Remark::kDisappeared) continue;
      const std::string golden =
          !c.file.empty() ? " " + shell_word(c.file) : found.files.front().golden.text();
      c.reproduce = formatted(
          "{} gate{} --case {}{}{}", context.program, golden, shell_word(exact_glob(c.name)),
          c.producer.empty() ? "" : " --recorded " + shell_word(c.producer), option);
    }
    if (compared.compared > 0 || baseline->entries.empty()) return 0;
    print_error(
        formatted("error: the baseline {} has no case that was judged; check that the names and "
                  "the producer ({}) are the same",
                  o.baseline, found.files.front().producer));
    return exit_code(Outcome::kNotComparable);
  }
  if (unreadable || report_outcome(report) != Outcome::kPass) {
    print_error(formatted("error: the baseline {} was not written, because not all cases pass",
                          o.baseline));
    return 0;
  }
  const Baseline fresh = updated(*baseline, report, is_chosen, o.repeat);
  write_file(o.baseline, wire::baseline_json(fresh));
  report.notes.push_back(formatted("the baseline {} now has {}", o.baseline,
                                   counted(std::ssize(fresh.entries), "case")));
  return 0;
}

bool apply_known_failures(const GateOptions& o, GateReport& report) {
  if (o.known_failures.empty()) return false;
  const std::vector<KnownFailure> list = wire::read_known_failures(o.known_failures);
  const std::vector<std::string> unused = mark_known_failures(report, list, today());
  for (CaseReport& c : report.cases) {
    if (c.remark != Remark::kNone)
      c.reproduce += " --known-failures " + shell_word(o.known_failures);
  }
  if (!unused.empty()) {
    const bool one = unused.size() == 1;
    report.notes.push_back(formatted(
        "{}: {} '{}'{}", o.known_failures,
        one ? std::string("no judged case matches")
            : formatted("{} entries match no judged case, the first is", unused.size()),
        unused.front(),
        o.strict ? "" : formatted("; --strict makes {}", one ? "it a failure" : "them failures")));
  }
  return o.strict && !unused.empty();
}

}  // namespace assay::tools
