// What does a check let through? Its verdict on right outputs, on wrong ones, and on ones that are
// less and less wrong.
//
//   std::vector<std::unique_ptr<Target>> targets = ...;
//   AuditResult result = run_audit(subjects, targets, {.draws = 10});
//   result.targets[0].score->share;
//
// First the right output must pass and an obviously wrong one must not; where that is not so it is
// the finding, and nothing else is asked about that subject.
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

namespace assay::audit {

// A wrong output that a target passed, although it differs from the right one by more than the
// yardstick allows.
struct Escape {
  std::size_t target = 0;  // of run_audit()'s
  std::string subject;
  std::string corruption;
  std::uint64_t draw = 0;
  bool is_drawn = false;
  std::int64_t changed = 0, size = 0;  // elements
  std::string meaning;
  std::string saved = {}, repeat = {};  // the caller's: where it was written, what judges it again
};

struct AuditOptions {
  int draws = 4;                       // of each corruption that is drawn
  std::uint64_t seed = 0;              // draws are numbered from here on
  int threads = 0;                     // 0: default_threads(); no result depends on it
  std::vector<std::string> only = {};  // globs: corruptions of these names alone; empty: all
  bool searches = true;                // the smallest error, the size and the blind elements
  // What counts as let through: a wrong output that differs from the right one by more than this
  // standard allows, where it knows the dtype, and by more than 2 ulp.
  std::string yardstick = std::string(kDefaultStandard);
  // Called by one thread at a time.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
  std::function<void(Escape& escape, const Trial& trial)> save = {};
};

// Where a target cannot be audited, and why.
struct Finding {
  enum class Kind : std::uint8_t {
    kRefusesRight,  // it does not pass the right output
    kPassesWrong,   // it passes an obviously wrong one
    kNotComparable  // it says nothing of such outputs
  };
  Kind kind = Kind::kRefusesRight;
  std::string subject;
  std::string because;
};

// Of the outputs of one corruption that have another value than the right one: how many there were,
// how many of them did not pass, and how many passed that are wrong by the yardstick.
struct Caught {
  std::int64_t tried = 0, caught = 0, escaped = 0;
};

// The mean over classes of the share that was caught. Its interval (95 percent) comes of the Wilson
// intervals of the classes by the method of variance estimates recovery (Zou and Donner, Statistics
// in Medicine 27, 2008).
struct Score {
  double share = 0;
  campaign::Interval interval = {};
};
std::optional<Score> score_of(const std::vector<Caught>& classes);

// The smallest error of a kind that a target does not pass; of one subject a dtype.
struct Sight {
  std::string kind, subject, dtype;
  std::optional<std::int64_t> least;  // empty: it passes them all, the largest being `most`
  std::int64_t most = 0;
};
struct SightKind {
  std::string_view name, heading, meaning;
};
std::span<const SightKind> sight_kinds();

// What a target says of one wrong output at several sizes.
struct SizeSeries {
  std::string corruption, subject, dtype;
  struct Point {
    std::int64_t size;
    bool passed;
  };
  std::vector<Point> points;
  bool flips() const;  // the verdict depends on the size
};

struct Blindness {
  std::string subject, dtype;
  std::int64_t blind = 0, nonzero = 0;  // elements; the smallest ones may be 0, and it passes
};

struct TargetResult {
  std::string name;
  std::vector<Finding> findings = {};
  std::vector<Caught> corruptions = {};  // one a row of AuditResult::corruptions
  std::vector<Caught> classes = {};      // one a row of corruption_classes()
  std::optional<Score> score = {};       // empty where nothing was tried
  std::vector<Sight> sights = {};
  std::vector<SizeSeries> sizes = {};
  std::vector<Blindness> blindness = {};
  std::int64_t audited = 0;  // subjects without a finding
};

struct AuditResult {
  std::vector<const Corruption*> corruptions;  // that were tried
  std::vector<TargetResult> targets;
  std::vector<Escape> escapes;
  std::string yardstick;
  std::int64_t subjects = 0, trials = 0;  // trials: verdicts that targets gave
  double seconds = 0;
};

// Throws std::invalid_argument on an unknown yardstick, and where `only` names nothing.
AuditResult run_audit(const std::vector<Subject>& subjects,
                      const std::vector<std::unique_ptr<Target>>& targets,
                      const AuditOptions& options);

}  // namespace assay::audit
