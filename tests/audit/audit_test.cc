// Tests the table of corruptions, and an audit of targets whose weakness is known.
#include "assay/audit/audit.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/audit/corruption_search.h"
#include "assay/fault/change.h"
#include "assay/fault/fault_text.h"
#include "assay/fault/mutation.h"

namespace assay::audit {
namespace {

using testing::ElementsAre;

Subject subject_of(const std::string& dtype, const Shape& shape, double factor = 1) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    values.push_back(i == 3 ? 0 : factor * std::sin(static_cast<double>(i)) * 8);
  }
  const Format& f = format_named(dtype);
  Subject s;
  s.test_case.name = dtype;
  s.test_case.op = "external";
  s.test_case.attributes["output_dtype"] = dtype;
  s.clean = Tensor::from_values(f, shape, values);
  s.test_case.output().golden = s.clean;
  s.other = Tensor::from_values(f, shape, std::vector<double>(values.size(), 3));
  return s;
}

// A target that judges by a function of the right and the tried output.
class Judge : public Target {
 public:
  using Passes = std::function<bool(const Tensor& clean, const Tensor& output)>;
  explicit Judge(Passes passes) : passes_(std::move(passes)) {}
  const std::string& name() const override { return name_; }
  std::string why_not(const Subject&) override { return ""; }
  Answer judge(const Trial& trial) override {
    return {passes_(trial.subject.clean, trial.output), "said so", ""};
  }

 private:
  std::string name_ = "judge";
  Passes passes_;
};

AuditResult audit_of(const std::vector<Subject>& subjects, Judge::Passes passes,
                     AuditOptions options = {}) {
  std::vector<std::unique_ptr<Target>> targets;
  targets.push_back(std::make_unique<Judge>(std::move(passes)));
  return run_audit(subjects, targets, options);
}

const Corruption& row(const std::string& name) {
  for (const Corruption& c : corruptions()) {
    if (c.name == name) return c;
  }
  throw std::invalid_argument(name);
}

TEST(Corruptions, NamesClassesAndMeanings) {
  std::set<std::string> names;
  std::set<std::string_view> classes;
  for (const CorruptionClass& c : corruption_classes()) classes.insert(c.name);
  for (const Corruption& c : corruptions()) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_EQ(classes.count(c.of), 1u) << c.name;
    EXPECT_FALSE(c.meaning.empty()) << c.name;
    EXPECT_EQ(c.file == FileChange::kNone, c.apply != nullptr) << c.name;
  }
}

TEST(Corruptions, HoldAllMutationsAndAllFaultsOfAnOutput) {
  for (const fault::Mutation& m : fault::mutations())
    EXPECT_EQ(row(std::string(m.name)).name, m.name);
  for (const fault::ChangeRow& change : fault::change_rows()) {
    bool found = false;
    for (const Corruption& c : corruptions()) {
      found = found || c.name.substr(0, c.name.find(',')) == change.name;
    }
    EXPECT_TRUE(found) << change.name;
  }
}

TEST(Corruptions, KeepDtypeAndShapeAndComeAgain) {
  for (const char* dtype : {"float32", "float16", "bfloat16", "float64", "int8", "int32", "bool",
                            "float8_e4m3fn", "float8_e8m0fnu", "float4_e2m1fn"}) {
    for (const Shape& shape : {Shape{20, 18}, Shape{2, 3, 4}, Shape{7}, Shape{}}) {
      const Subject s = subject_of(dtype, shape);
      for (const Corruption& c : corruptions()) {
        if (!c.apply) continue;
        const auto one = c.apply(s, 5), again = c.apply(s, 5);
        ASSERT_EQ(one.has_value(), again.has_value()) << dtype << " " << c.name;
        if (!one) continue;
        EXPECT_EQ(&one->format(), &s.clean.format()) << c.name;
        EXPECT_EQ(one->shape(), shape) << c.name;
        // The same draw gives the same output. changed_elements() counts two NaN as equal.
        EXPECT_EQ(changed_elements(*one, *again), 0) << c.name;
      }
    }
  }
}

TEST(Corruptions, DoWhatTheySay) {
  const Subject s = subject_of("float32", {20, 18});
  const auto changed = [&](const std::string& name) {
    const auto made = row(name).apply(s, 1);
    return made ? changed_elements(s.clean, *made) : -1;
  };
  const std::vector<double> right = s.clean.view().values();
  const auto negative = std::count_if(right.begin(), right.end(), [](double v) { return v < 0; });
  EXPECT_EQ(changed("all_nan"), 360);
  EXPECT_EQ(changed("one_nan"), 1);
  EXPECT_TRUE(std::isnan(row("nan_at_smallest").apply(s, 0)->view().value_at(0)));
  EXPECT_EQ(changed("wrong_negatives"), negative);
  EXPECT_EQ(changed("wrong_positives"), 360 - 2 - negative);
  EXPECT_EQ(changed("scaled"), 358);
  EXPECT_EQ(changed("first_batch"), 360 - 18);
  EXPECT_EQ(changed("last_tile"), 4 * 2);
  EXPECT_EQ(changed("tail"), 360 % 16);
  EXPECT_EQ(changed("after_100"), 260);
  EXPECT_EQ(changed("last_element"), 1);
  EXPECT_EQ(changed("stale"), 360);
  EXPECT_EQ(changed("flip,bit=30"), 1);
  // float32 has no bit 32, so that this flip is refused.
  EXPECT_EQ(changed("flip,bit=32"), -1);
  const auto cancelled = row("cancelling").apply(s, 0)->view().values();
  double sum = 0, error = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    sum += cancelled[i] - right[i];
    error += std::fabs(cancelled[i] - right[i]);
  }
  EXPECT_NEAR(sum, 0, 1e-3);
  EXPECT_GT(error, 300);
  const auto transposed = row("transposed").apply(s, 0)->view().values();
  EXPECT_EQ(transposed[1], right[18 * 1]);
  EXPECT_EQ(transposed[20], right[1]);
}

TEST(Corruptions, ObviouslyWrongIsWrongEverywhere) {
  for (const char* dtype : {"float32", "bfloat16", "int8", "uint8", "bool", "float8_e8m0fnu"}) {
    const Subject s = subject_of(dtype, {64});
    EXPECT_EQ(changed_elements(s.clean, obviously_wrong(s.clean)), 64) << dtype;
  }
}

TEST(Search, FindsTheSmallestThatIsRefused) {
  for (const std::int64_t limit : {1, 2, 3, 4, 37, 38, 63, 64, 65, 1000}) {
    int asked = 0;
    const auto found = smallest_refused(1000, [&](std::int64_t k) {
      ++asked;
      return k < limit;
    });
    EXPECT_EQ(found.value_or(-1), limit);
    EXPECT_LE(asked, 21);
  }
  EXPECT_FALSE(smallest_refused(1000, [](std::int64_t) { return true; }).has_value());
}

TEST(Audit, ScoreIsTheMeanOverClasses) {
  const auto score = score_of({{10, 10, 0}, {1000, 500, 0}, {0, 0, 0}});
  ASSERT_TRUE(score);
  EXPECT_EQ(score->share, 0.75);
  // Wilson's interval of 10 of 10 is 0.7225 to 1, and that of 500 of 1000 is 0.5 -+ 0.03094.
  EXPECT_NEAR(score->interval.low, 0.75 - std::hypot(1 - 0.722467, 0.030938) / 2, 1e-5);
  EXPECT_NEAR(score->interval.high, 0.75 + 0.030938 / 2, 1e-5);
  EXPECT_FALSE(score_of({{0, 0, 0}}));
}

TEST(Audit, AnExactTargetCatchesAll) {
  const std::vector<Subject> subjects = {subject_of("float32", {20, 18}),
                                         subject_of("bfloat16", {64})};
  const AuditResult result = audit_of(subjects, [](const Tensor& clean, const Tensor& output) {
    return changed_elements(clean, output) == 0;
  });
  const TargetResult& t = result.targets[0];
  EXPECT_EQ(t.audited, 2);
  EXPECT_EQ(t.score->share, 1);
  EXPECT_TRUE(result.escapes.empty());
  ASSERT_EQ(t.blindness.size(), 2u);
  EXPECT_EQ(t.blindness[0].blind, 0);
  for (const Sight& s : t.sights) EXPECT_EQ(s.least.value_or(-1), 1) << s.kind;
  for (const SizeSeries& s : t.sizes) EXPECT_FALSE(s.flips());
}

TEST(Audit, FindsTheUlpsThatATargetSees) {
  const AuditResult result =
      audit_of({subject_of("float32", {64})}, [](const Tensor& clean, const Tensor& output) {
        for (std::int64_t i = 0; i < clean.size(); ++i) {
          const auto apart = ulp_distance(clean.format(), clean.bits_at(i), output.bits_at(i));
          if (!apart || *apart >= 38) return false;
        }
        return true;
      });
  const TargetResult& t = result.targets[0];
  EXPECT_EQ(t.sights[0].kind, "all_ulp");
  EXPECT_EQ(t.sights[0].least.value_or(-1), 38);
  EXPECT_EQ(t.sights[1].kind, "one_ulp");
  EXPECT_EQ(t.sights[1].least.value_or(-1), 38);
}

TEST(Audit, CountsBlindElements) {
  const AuditResult result =
      audit_of({subject_of("float64", {64})}, [](const Tensor& clean, const Tensor& output) {
        for (std::int64_t i = 0; i < clean.size(); ++i) {
          const double error = clean.view().value_at(i) - output.view().value_at(i);
          if (!(std::fabs(error) <= 4)) return false;
        }
        return true;
      });
  std::int64_t below = 0;  // counts elements with |8 sin i| <= 4 that are not 0
  for (int i = 0; i < 64; ++i) below += i != 3 && i != 0 && std::fabs(8 * std::sin(i)) <= 4 ? 1 : 0;
  EXPECT_EQ(result.targets[0].blindness[0].blind, below);
  EXPECT_EQ(result.targets[0].blindness[0].nonzero, 62);
}

TEST(Audit, WhatRefusesTheRightOutputOrPassesEverythingIsNotTried) {
  const std::vector<Subject> subjects = {subject_of("float32", {64})};
  const auto refuses = audit_of(subjects, [](const Tensor&, const Tensor&) { return false; });
  ASSERT_EQ(refuses.targets[0].findings.size(), 1u);
  EXPECT_EQ(refuses.targets[0].findings[0].kind, Finding::Kind::kRefusesRight);
  EXPECT_EQ(refuses.targets[0].findings[0].because, "said so");
  const auto passes = audit_of(subjects, [](const Tensor&, const Tensor&) { return true; });
  ASSERT_EQ(passes.targets[0].findings.size(), 1u);
  EXPECT_EQ(passes.targets[0].findings[0].kind, Finding::Kind::kPassesWrong);
  EXPECT_EQ(passes.targets[0].findings[0].because, "it passes whatever the output is");
  EXPECT_FALSE(passes.targets[0].score);
  EXPECT_EQ(passes.trials, 2);
}

TEST(Audit, ChangesWithinTheYardstickAreCaughtOrNotButNotLetThrough) {
  // Passes outputs whose elements are all within 0.1 |right| + 0.1.
  const auto loose = [](const Tensor& clean, const Tensor& output) {
    for (std::int64_t i = 0; i < clean.size(); ++i) {
      const double right = clean.view().value_at(i);
      if (!(std::fabs(output.view().value_at(i) - right) <= 0.1 * std::fabs(right) + 0.1))
        return false;
    }
    return true;
  };
  const std::vector<Subject> subjects = {subject_of("float32", {20, 18})};
  AuditOptions options{.draws = 1, .only = {"one_ulp", "scaled"}, .searches = false};
  const AuditResult strict = audit_of(subjects, loose, options);
  // A factor of 1.01 is more than 1e-5 off. One ulp is not.
  ASSERT_EQ(strict.escapes.size(), 1u);
  EXPECT_EQ(strict.escapes[0].corruption, "scaled");
  EXPECT_EQ(strict.targets[0].score->share, 0);
  options.yardstick = "deepgemm";
  EXPECT_EQ(audit_of(subjects, loose, options).escapes.size(), 0u);
}

TEST(Audit, OneUlpIsNeverLetThrough) {
  // In bfloat16, one ulp is more than triton_ascend's 0.5 percent.
  AuditOptions options{.only = {"one_ulp", "scaled"}, .searches = false};
  const auto loose = [](const Tensor& clean, const Tensor& output) {
    const double right = clean.view().value_at(1);
    return std::fabs(output.view().value_at(1) - right) <= 0.1 * std::fabs(right);
  };
  const AuditResult result = audit_of({subject_of("bfloat16", {64})}, loose, options);
  EXPECT_EQ(result.targets[0].corruptions[0].tried + result.targets[0].corruptions[1].tried, 2);
  for (const Escape& e : result.escapes) EXPECT_NE(e.corruption, "one_ulp");
}

// A target that judges files, made of functions.
class FileJudge : public Target {
 public:
  std::function<Answer(const Trial& trial)> answer;
  std::string not_asked;
  const std::string& name() const override { return name_; }
  bool reads_files() const override { return true; }
  std::string why_not(const Subject&) override { return not_asked; }
  Answer judge(const Trial& trial) override { return answer(trial); }

 private:
  std::string name_ = "files";
};

AuditResult audit_of_files(const std::function<Answer(const Trial&)>& answer,
                           const AuditOptions& options = {}, const std::string& not_asked = "",
                           const Subject& subject = subject_of("float32", {64})) {
  auto target = std::make_unique<FileJudge>();
  target->answer = answer;
  target->not_asked = not_asked;
  std::vector<std::unique_ptr<Target>> targets;
  targets.push_back(std::move(target));
  return run_audit({subject}, targets, options);
}

// Tests the reason that is given for a target that passes obviously wrong outputs, as far as it can
// be found.
TEST(Audit, WhyEverythingPasses) {
  const auto because = [](const std::function<Answer(const Trial&)>& answer) {
    const AuditResult result = audit_of_files(answer);
    EXPECT_EQ(result.targets[0].findings.size(), 1u);
    EXPECT_EQ(result.targets[0].findings[0].kind, Finding::Kind::kPassesWrong);
    EXPECT_EQ(result.targets[0].audited, 0);
    return result.targets[0].findings[0].because;
  };
  for (const char* said : {"1 of 64 FAILED", "Error: far off", "mismatch at 3"}) {
    EXPECT_EQ(because([&](const Trial& trial) -> Answer {
                const bool right = changed_elements(trial.subject.clean, trial.output) == 0;
                return {true, "exit status 0", right ? "64 passed" : said};
              }),
              "it prints that it failed, and ends as if it had passed: mend its exit status, or "
              "give a fail-regex that matches what it prints")
        << said;
  }
  // This target always prints the same text.
  EXPECT_EQ(because([](const Trial& trial) -> Answer {
              return {trial.file == FileChange::kNone, "", "0 failed"};
            }),
            "it passes whatever the output is");
  EXPECT_EQ(because([](const Trial&) -> Answer {
              return {true, "", ""};
            }),
            "it passes without the golden file, too: it does not look at it, as where a file is "
            "compared with itself");
  EXPECT_EQ(because([](const Trial& trial) -> Answer {
              return {trial.file != FileChange::kMissingGolden, "", ""};
            }),
            "it passes without the output file, too: it does not look at it");
}

TEST(Audit, WhatCannotBeAsked) {
  const auto exact = [](const Trial& trial) -> Answer {
    return {changed_elements(trial.subject.clean, trial.output) == 0, "", ""};
  };
  const AuditResult none = audit_of_files(exact, {}, "it has no rule for this dtype");
  ASSERT_EQ(none.targets[0].findings.size(), 1u);
  EXPECT_EQ(none.targets[0].findings[0].kind, Finding::Kind::kNotComparable);
  EXPECT_EQ(none.targets[0].findings[0].subject, "float32");
  EXPECT_EQ(none.targets[0].findings[0].because, "it has no rule for this dtype");
  EXPECT_EQ(none.trials, 0);
  const AuditResult empty = audit_of_files(exact, {}, "", subject_of("float32", {0}));
  ASSERT_EQ(empty.targets[0].findings.size(), 1u);
  EXPECT_EQ(empty.targets[0].findings[0].kind, Finding::Kind::kNotComparable);
  EXPECT_EQ(empty.targets[0].findings[0].because, "the output has no element");
}

TEST(Audit, UnknownCorruptions) {
  AuditOptions options;
  options.only = {"one_*", "one_ulps"};
  try {
    (void)audit_of(
        {subject_of("float32", {64})}, [](const Tensor&, const Tensor&) { return true; }, options);
    FAIL() << "nothing was thrown";
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(),
                testing::StartsWith("unknown corruption 'one_ulps': did you mean 'one_ulp'?; "
                                    "known: "));
  }
}

// Each corruption that is let through is given to the caller, with the output as it was tried.
TEST(Audit, EscapesAreSaved) {
  AuditOptions options{.draws = 3, .seed = 5, .only = {"one_nan", "scaled"}, .searches = false};
  std::vector<std::string> saved;
  options.save = [&](Escape& escape, const Trial& trial) {
    EXPECT_EQ(changed_elements(trial.subject.clean, trial.output), escape.changed);
    EXPECT_EQ(escape.size, 64);
    saved.push_back(escape.corruption);
    escape.saved = "here";
  };
  std::vector<std::pair<std::int64_t, std::int64_t>> progress;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    progress.emplace_back(done, total);
  };
  // This target passes NaN and a factor of 1.01.
  const AuditResult result = audit_of(
      {subject_of("float32", {64})},
      [](const Tensor& clean, const Tensor& output) {
        for (std::int64_t i = 0; i < clean.size(); ++i) {
          const double right = clean.view().value_at(i), got = output.view().value_at(i);
          if (std::fabs(got - right) > 0.1 * std::fabs(right)) return false;
        }
        return true;
      },
      options);
  ASSERT_FALSE(result.escapes.empty());
  EXPECT_EQ(saved.size(), result.escapes.size());
  for (const Escape& e : result.escapes) EXPECT_EQ(e.saved, "here");
  EXPECT_EQ(std::count(saved.begin(), saved.end(), "scaled"), 1);
  EXPECT_GE(std::count(saved.begin(), saved.end(), "one_nan"), 1);
  // Progress counts the trials from 1, each once, on whichever thread it ran.
  ASSERT_FALSE(progress.empty());
  for (std::size_t i = 0; i < progress.size(); ++i) {
    EXPECT_EQ(progress[i].first, static_cast<std::int64_t>(i + 1));
  }
  EXPECT_EQ(progress.back().first, progress.back().second);
}

}  // namespace
}  // namespace assay::audit
