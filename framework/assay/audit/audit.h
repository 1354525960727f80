// Audits checks: which wrong outputs do they pass? Calls each check with right outputs, wrong ones,
// and ones that are less and less wrong.
//
//   std::vector<std::unique_ptr<Target>> targets = ...;
//   AuditResult result = run_audit(subjects, targets, {.draws = 10});
//   result.targets[0].score->share;
//
// First the right output must pass, and an obviously wrong one must not. If that does not hold, it
// is reported as a finding, and nothing else is tried with that target and subject.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/audit/target.h"
#include "assay/campaign/rate_statistics.h"

namespace assay::inline v0_2::audit {

// A wrong output that a target passed, although it differs from the right one by more than the
// yardstick allows.
struct Escape {
  std::size_t target = 0;  // index into the targets of run_audit()
  std::string subject;
  std::string corruption;
  std::uint64_t draw = 0;
  bool is_drawn = false;
  std::int64_t changed = 0, size = 0;  // numbers of elements
  std::string meaning;
  // The caller sets these: the file to which the output was saved, and the command that judges it
  // again.
  std::string saved = {}, repeat = {};
};

struct AuditOptions {
  int draws = 4;           // number of outputs for each corruption that is drawn
  std::uint64_t seed = 0;  // number of the first draw
  int threads = 0;         // 0 means default_threads(). The results do not depend on it.
  std::vector<std::string> only = {};  // globs of the corruptions to try, or empty for all
  // Also search for the smallest error, the size and the blind elements.
  bool searches = true;
  // A wrong output counts as escaped if it differs from the right one by more than this standard
  // allows, and by more than 2 ulp. A standard that does not have the dtype is not applied.
  std::string yardstick = std::string(kDefaultStandard);
  // Only one thread at a time calls these functions.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
  std::function<void(Escape& escape, const Trial& trial)> save = {};
};

// The reason why a target cannot be audited with a subject.
struct Finding {
  enum class Kind : std::uint8_t {
    kRefusesRight,  // the target does not pass the right output
    kPassesWrong,   // the target passes an obviously wrong output
    kNotComparable  // the target cannot judge the outputs of this subject
  };
  Kind kind = Kind::kRefusesRight;
  std::string subject;
  std::string because;
};

// Counts outputs of one corruption. `tried` counts those that differ in value from the right
// output, or whose files were changed. `caught` counts those that did not pass. `escaped` counts
// those that passed although they are wrong by the yardstick. A changed file always counts as
// wrong.
struct Caught {
  std::int64_t tried = 0, caught = 0, escaped = 0;
};

// The mean over all classes of the share of outputs that did not pass. Its 95 percent interval is
// computed from the Wilson intervals of the classes by the method of variance estimates recovery
// (Zou and Donner, Statistics in Medicine 27, 2008).
struct Score {
  double share = 0;
  campaign::Interval interval = {};
};
std::optional<Score> score_of(const std::vector<Caught>& classes);

// The smallest error of one kind that a target, which is an audited check, does not pass. It is
// searched for in one subject of each dtype, which is the right output of one case.
struct Sight {
  std::string kind, subject, dtype;
  std::optional<std::int64_t> least;  // empty if the target passes all errors up to `most`
  std::int64_t most = 0;
};
struct SightKind {
  std::string_view name, heading, meaning;
};
std::span<const SightKind> sight_kinds();

// The verdicts of a target on one kind of wrong output at several sizes of the output.
struct SizeSeries {
  std::string corruption, subject, dtype;
  struct Point {
    std::int64_t size;
    bool passed;
  };
  std::vector<Point> points;
  bool flips() const;  // true if the verdict depends on the size
};

struct Blindness {
  std::string subject, dtype;
  // Numbers of elements of the right output. The target still passes it if its `blind` smallest
  // nonzero elements become 0.
  std::int64_t blind = 0, nonzero = 0;
};

struct TargetResult {
  std::string name;
  std::vector<Finding> findings = {};
  std::vector<Caught> corruptions = {};  // one for each of AuditResult::corruptions, in their order
  std::vector<Caught> classes = {};  // one for each class of corruption_classes(), in their order
  std::optional<Score> score = {};   // empty if no corruption was tried
  std::vector<Sight> sights = {};
  std::vector<SizeSeries> sizes = {};
  std::vector<Blindness> blindness = {};
  std::int64_t audited = 0;  // number of subjects for which there is no finding
};

struct AuditResult {
  std::vector<const Corruption*> corruptions;  // the corruptions that were tried
  std::vector<TargetResult> targets;
  std::vector<Escape> escapes;
  std::string yardstick;
  std::int64_t subjects = 0, trials = 0;  // `trials` is the number of verdicts of all targets
  double seconds = 0;
};

// Audits the targets with the subjects. Throws Refusal if the yardstick is not known, or if a glob
// in `only` matches no corruption.
AuditResult run_audit(const std::vector<Subject>& subjects,
                      const std::vector<std::unique_ptr<Target>>& targets,
                      const AuditOptions& options);

}  // namespace assay::audit
