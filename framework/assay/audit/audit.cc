#include "assay/audit/audit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <set>

#include "assay/audit/corruption_search.h"
#include "assay/base/float_environment.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2::audit {
namespace {

constexpr double kConfidence = 0.95;
constexpr std::string_view kFewUlps = "ulp(2)";

// Tests if an output differs from the right one by more than the yardstick allows, and also by more
// than 2 ulp. The second condition is needed because the tolerance for a narrow dtype may be below
// one ulp.
class Yardstick {
 public:
  Yardstick(const std::string& standard, const Format& format) {
    for (const std::string_view name : {std::string_view(standard), kFewUlps}) {
      if (name == kFewUlps && !format.is_float()) continue;
      std::optional<Bound> bound = standard_bound(name, format);
      if (!bound) continue;
      bound->nan_equal = true;  // the right output may have NaN, which must equal itself
      bounds_.push_back(std::move(*bound));
    }
  }
  bool refuses(const Tensor& output, const Tensor& clean) const {
    return std::ranges::all_of(bounds_, [&](const Bound& bound) {
      return judge(output, clean, bound,
                   {.metrics = false,
                    .worst = 0,
                    .threads = 1,
                    .blindness = false,
                    .patterns = false})
                 .outcome == Outcome::kFail;
    });
  }

 private:
  std::vector<Bound> bounds_;
};

bool says_failed(const std::string& said) {
  std::string lower = said;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("fail") != std::string::npos || lower.find("error") != std::string::npos ||
         lower.find("mismatch") != std::string::npos;
}

// Returns why a target passes an obviously wrong output, as far as this can be found out.
std::string why_passed(const Subject& subject, const Tensor& wrong, const Answer& clean,
                       const Answer& answer, Target& target) {
  if (says_failed(answer.said) && !says_failed(clean.said)) {
    return "it prints that it failed, and ends as if it had passed: mend its exit status, or give "
           "a fail-regex that matches what it prints";
  }
  if (target.reads_files()) {
    if (target.judge({subject, wrong, FileChange::kMissingGolden}).passed) {
      return "it passes without the golden file, too: it does not look at it, as where a file is "
             "compared with itself";
    }
    if (target.judge({subject, wrong, FileChange::kMissing}).passed) {
      return "it passes without the output file, too: it does not look at it";
    }
  }
  return "it passes whatever the output is";
}

struct Job {
  std::size_t subject, corruption;
  std::uint64_t draw;
};
// The result of a job, which makes one wrong output. `passed` has one value for each target, which
// is empty if the target was not called.
struct Tried {
  std::int64_t changed = 0;
  bool beyond = false;
  std::vector<std::optional<bool>> passed;
};

class Audit {
 public:
  Audit(const std::vector<Subject>& subjects, const std::vector<std::unique_ptr<Target>>& targets,
        const AuditOptions& options)
      : subjects_(subjects), targets_(targets), options_(options) {
    for (const Subject& subject : subjects) {
      yardsticks_.emplace_back(options.yardstick, subject.clean.format());
    }
    for (const Corruption& row : corruptions()) {
      const bool asked =
          options.only.empty() || std::ranges::any_of(options.only, [&](const auto& glob) {
            return glob_match(glob, row.name);
          });
      if (asked) result_.corruptions.push_back(&row);
    }
    for (const std::string& glob : options.only) {
      const std::vector<std::string> known = names_of(corruptions());
      if (std::ranges::none_of(known,
                               [&](const std::string& name) { return glob_match(glob, name); })) {
        refuse(unknown_word("corruption", glob, known));
      }
    }
    for (const auto& target : targets) result_.targets.push_back({.name = target->name()});
    asked_.assign(targets.size(), std::vector<char>(subjects.size(), 0));
  }

  AuditResult run() {
    const auto start = std::chrono::steady_clock::now();
    result_.yardstick = options_.yardstick;
    result_.subjects = static_cast<std::int64_t>(subjects_.size());
    look_first();
    try_all();
    if (options_.searches) search();
    result_.trials = trials_;
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  Answer ask(std::size_t target, const Trial& trial) {
    ++trials_;
    return targets_[target]->judge(trial);
  }

  void report_progress() {
    if (!options_.progress) return;
    const std::lock_guard lock(mutex_);
    options_.progress(++done_, total_);
  }

  // Checks for each subject and target that the right output passes and an obviously wrong one does
  // not.
  void look_first() {
    const std::size_t pairs = subjects_.size() * targets_.size();
    std::vector<std::optional<Finding>> found(pairs);
    total_ = static_cast<std::int64_t>(pairs);
    parallel_for(total_, options_.threads, [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      found[at] = finding(subjects_[at / targets_.size()], at % targets_.size());
      report_progress();
    });
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::size_t subject = i / targets_.size(), target = i % targets_.size();
      TargetResult& of = result_.targets[target];
      if (found[i]) {
        of.findings.push_back(std::move(*found[i]));
      } else {
        asked_[target][subject] = 1;
        ++of.audited;
      }
    }
  }

  std::optional<Finding> finding(const Subject& subject, std::size_t target) {
    const FloatEnvironment environment;
    const auto because = [&](Finding::Kind kind, std::string words) {
      return Finding{kind, subject.title(), std::move(words)};
    };
    if (std::string why = targets_[target]->why_not(subject); !why.empty()) {
      return because(Finding::Kind::kNotComparable, std::move(why));
    }
    const Answer clean = ask(target, {subject, subject.clean});
    if (!clean.passed) return because(Finding::Kind::kRefusesRight, clean.because);
    const Tensor wrong = obviously_wrong(subject.clean);
    if (changed_elements(subject.clean, wrong) == 0) {
      return because(Finding::Kind::kNotComparable, "the output has no element");
    }
    const Answer answer = ask(target, {subject, wrong});
    if (!answer.passed) return std::nullopt;
    return because(Finding::Kind::kPassesWrong,
                   why_passed(subject, wrong, clean, answer, *targets_[target]));
  }

  bool is_asked(std::size_t subject) const {
    return std::ranges::any_of(asked_, [&](const auto& of) { return of[subject] != 0; });
  }

  void try_all() {
    std::vector<Job> jobs;
    for (std::size_t s = 0; s < subjects_.size(); ++s) {
      if (!is_asked(s)) continue;
      for (std::size_t c = 0; c < result_.corruptions.size(); ++c) {
        const int draws = result_.corruptions[c]->is_drawn ? options_.draws : 1;
        for (int d = 0; d < draws; ++d) {
          jobs.push_back({s, c, options_.seed + static_cast<std::uint64_t>(d)});
        }
      }
    }
    std::vector<Tried> tried(jobs.size());
    total_ += static_cast<std::int64_t>(jobs.size());
    parallel_for(static_cast<std::int64_t>(jobs.size()), options_.threads, [&](std::int64_t i) {
      const FloatEnvironment environment;
      try_one(jobs[static_cast<std::size_t>(i)], tried[static_cast<std::size_t>(i)]);
      report_progress();
    });
    for (std::size_t t = 0; t < targets_.size(); ++t) count(t, jobs, tried);
  }

  // Returns the output of a job. Empty if the corruption does not apply to the subject.
  std::optional<Tensor> made(const Job& job) const {
    const Subject& subject = subjects_[job.subject];
    const Corruption& row = *result_.corruptions[job.corruption];
    return row.file != FileChange::kNone ? subject.clean : row.apply(subject, job.draw);
  }

  void try_one(const Job& job, Tried& tried) {
    const Subject& subject = subjects_[job.subject];
    const Corruption& row = *result_.corruptions[job.corruption];
    const auto output = made(job);
    if (!output) return;
    tried.changed = row.file != FileChange::kNone ? subject.clean.size()
                                                  : changed_elements(subject.clean, *output);
    if (tried.changed == 0) return;
    tried.beyond =
        row.file != FileChange::kNone || yardsticks_[job.subject].refuses(*output, subject.clean);
    tried.passed.resize(targets_.size());
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      if (asked_[t][job.subject] == 0) continue;
      if (row.file != FileChange::kNone && !targets_[t]->reads_files()) continue;
      // If the golden file and the output's file are equal, a check cannot know which one it was
      // given.
      if (row.file == FileChange::kGolden && !targets_[t]->golden_file_differs(subject)) continue;
      tried.passed[t] = ask(t, {subject, *output, row.file}).passed;
    }
  }

  void count(std::size_t target, const std::vector<Job>& jobs, const std::vector<Tried>& tried) {
    TargetResult& of = result_.targets[target];
    of.corruptions.resize(result_.corruptions.size());
    of.classes.resize(corruption_classes().size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (tried[i].changed == 0 || !tried[i].passed[target]) continue;
      const bool passed = *tried[i].passed[target], escaped = passed && tried[i].beyond;
      const Corruption& row = *result_.corruptions[jobs[i].corruption];
      const auto place = std::ranges::find(corruption_classes(), row.of, &CorruptionClass::name);
      for (Caught* sum :
           {&of.corruptions[jobs[i].corruption],
            &of.classes[static_cast<std::size_t>(place - corruption_classes().begin())]}) {
        ++sum->tried;
        sum->caught += passed ? 0 : 1;
        sum->escaped += escaped ? 1 : 0;
      }
      if (escaped) add_escape(target, jobs[i], tried[i].changed);
    }
    of.score = score_of(of.classes);
  }

  void add_escape(std::size_t target, const Job& job, std::int64_t changed) {
    const Subject& subject = subjects_[job.subject];
    const Corruption& row = *result_.corruptions[job.corruption];
    Escape& escape = result_.escapes.emplace_back();
    escape.target = target;
    escape.subject = subject.title();
    escape.corruption = row.name;
    escape.draw = job.draw;
    escape.is_drawn = row.is_drawn;
    escape.changed = changed;
    escape.size = subject.clean.size();
    escape.meaning = row.meaning;
    if (!options_.save) return;
    const FloatEnvironment environment;
    // the output is made again, because keeping all outputs would take much memory
    const auto output = made(job);
    options_.save(escape, {subject, *output, row.file});
  }

  // Runs the searches with the first subject of each dtype that a target is audited with.
  void search() {
    struct Task {
      std::size_t target, subject;
      std::vector<Subject> sizes = {};
    };
    std::vector<Task> tasks;
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      std::set<std::string_view> seen;
      for (std::size_t s = 0; s < subjects_.size(); ++s) {
        if (asked_[t][s] == 0 || !seen.insert(subjects_[s].clean.format().name).second) continue;
        tasks.push_back({t, s, sizes_of(subjects_[s])});
      }
    }
    struct Found {
      std::vector<Sight> sights;
      std::vector<SizeSeries> sizes;
      Blindness blindness;
    };
    std::vector<Found> found(tasks.size());
    total_ += static_cast<std::int64_t>(tasks.size());
    parallel_for(static_cast<std::int64_t>(tasks.size()), options_.threads, [&](std::int64_t i) {
      const FloatEnvironment environment;
      const Task& task = tasks[static_cast<std::size_t>(i)];
      const Subject& subject = subjects_[task.subject];
      Target& target = *targets_[task.target];
      found[static_cast<std::size_t>(i)] = {
          sights_of(subject, target), series_of(task.sizes, target), blindness_of(subject, target)};
      report_progress();
    });
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      TargetResult& of = result_.targets[tasks[i].target];
      const auto append = [](auto& to, auto& from) {
        to.insert(to.end(), std::make_move_iterator(from.begin()),
                  std::make_move_iterator(from.end()));
      };
      append(of.sights, found[i].sights);
      append(of.sizes, found[i].sizes);
      of.blindness.push_back(std::move(found[i].blindness));
    }
  }

  const std::vector<Subject>& subjects_;
  const std::vector<std::unique_ptr<Target>>& targets_;
  const AuditOptions& options_;
  std::vector<Yardstick> yardsticks_;  // one for each subject
  // True if the target is audited with the subject, by the indices of both.
  std::vector<std::vector<char>> asked_;
  AuditResult result_;
  std::atomic<std::int64_t> trials_{0};
  std::mutex mutex_;  // protects the members below
  std::int64_t done_ = 0, total_ = 0;
};

}  // namespace

bool SizeSeries::flips() const {
  return std::ranges::any_of(points,
                             [&](const Point& p) { return p.passed != points.front().passed; });
}

std::optional<Score> score_of(const std::vector<Caught>& classes) {
  double sum = 0, below = 0, above = 0, counted = 0;
  for (const Caught& c : classes) {
    if (c.tried == 0) continue;
    const double share = static_cast<double>(c.caught) / static_cast<double>(c.tried);
    const campaign::Interval one = campaign::wilson({c.caught, c.tried}, kConfidence);
    sum += share;
    below += (share - one.low) * (share - one.low);
    above += (one.high - share) * (one.high - share);
    ++counted;
  }
  if (counted == 0) return std::nullopt;
  return Score{sum / counted,
               {std::max(0.0, (sum - std::sqrt(below)) / counted),
                std::min(1.0, (sum + std::sqrt(above)) / counted)}};
}

AuditResult run_audit(const std::vector<Subject>& subjects,
                      const std::vector<std::unique_ptr<Target>>& targets,
                      const AuditOptions& options) {
  return Audit(subjects, targets, options).run();
}

}  // namespace assay::audit
