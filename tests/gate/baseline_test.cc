// Tests what a baseline keeps of a report, which later reports are worse, and which failures are
// known. The tests call the functions directly, with reports made by hand.
#include "assay/gate/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/gate/known_failures.h"
#include "gate/reports.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using testing_reports::passed;
using testing_reports::report_with;

bool every(const BaselineEntry&) { return true; }
bool none(const BaselineEntry&) { return false; }

// Each metric has its own name in the baseline, and the used share of the bound is one of them.
TEST(Baseline, KeepsTheMetricsOfWhatPasses) {
  CaseReport failed = passed("failed", 1), unread = passed("unread", 1), bare = passed("bare", 1);
  failed.verdicts[0].outcome = Outcome::kFail;
  unread.error = "its file ends too early";
  bare.verdicts[0].metrics.reset();
  const Baseline baseline = baseline_of(report_with({passed("x", 3, 0.25), failed, unread, bare}));
  ASSERT_EQ(baseline.entries.size(), 1u);
  const BaselineEntry& entry = baseline.entries[0];
  EXPECT_EQ(entry.name, "x");
  EXPECT_EQ(entry.file, "a.h5");
  EXPECT_EQ(entry.producer, "npu");
  EXPECT_EQ(entry.standard, "torch");
  EXPECT_EQ(entry.repeats, 1);
  std::map<std::string, double> kept;
  for (const auto& [metric, value] : entry.metrics) {
    EXPECT_EQ(value.low, value.high) << metric;
    kept[metric] = value.high;
  }
  const std::map<std::string, double> wanted = {
      {"max_abs_error", 12}, {"rmse", 3}, {"p99_ulp", 6}, {"worst_ratio", 0.25}};
  EXPECT_EQ(kept, wanted);
}

// If a case's name lies in only one file, the case is found again by its name, whatever the file is
// called now. If several files have the name, it is found by its file.
TEST(Baseline, FindsACaseAgain) {
  GateReport later = report_with({passed("x", 1)}, "b.h5");
  BaselineComparison compared =
      compare_with_baseline(later, baseline_of(report_with({passed("x", 1)})), every);
  EXPECT_EQ(compared.compared, 1u);
  EXPECT_THAT(compared.notes, IsEmpty());
  EXPECT_EQ(later.cases.size(), 1u) << "nothing has disappeared";

  std::vector<CaseReport> both = {passed("x", 1), passed("x", 2)};
  both[0].file = "a.h5";
  both[1].file = "b.h5";
  const Baseline of_both = baseline_of(report_with(both));
  both[1].file = "c.h5";
  later = report_with(both);
  later.files = {"a.h5", "c.h5"};
  compared = compare_with_baseline(later, of_both, every);
  EXPECT_EQ(compared.compared, 1u);
  ASSERT_EQ(later.cases.size(), 3u);
  EXPECT_EQ(later.cases[0].remark, Remark::kNone) << "compared with its own file's, not the other";
  EXPECT_EQ(later.cases[2].remark, Remark::kDisappeared);
  EXPECT_EQ(later.cases[2].file, "b.h5");
  later = report_with({both[0]});
  (void)compare_with_baseline(later, of_both, none);
  EXPECT_EQ(later.cases.size(), 1u) << "what the run did not choose has not disappeared";
}

// Repeats widen the recorded range of each metric. If the standard has changed, the worst ratio to
// its bound replaces the recorded range instead.
TEST(Baseline, RepeatsWidenTheEntries) {
  const Baseline first = baseline_of(report_with({passed("x", 1, 0.5)}));
  const Baseline second = updated(first, report_with({passed("x", 3, 0.25)}), every, true);
  ASSERT_EQ(second.entries.size(), 1u);
  const auto value = [](const Baseline& b, const char* metric) {
    const BaselineValue v = b.entries.at(0).metrics.at(metric);
    return std::pair(v.low, v.high);
  };
  EXPECT_EQ(second.entries[0].repeats, 2);
  EXPECT_EQ(value(second, "rmse"), std::pair(1.0, 3.0));
  EXPECT_EQ(value(second, "worst_ratio"), std::pair(0.25, 0.5));
  const Baseline other =
      updated(first, report_with({passed("x", 3, 0.25, "triton_ascend")}), every, true);
  EXPECT_EQ(value(other, "rmse"), std::pair(1.0, 3.0));
  EXPECT_EQ(value(other, "worst_ratio"), std::pair(0.25, 0.25));
  const Baseline anew = updated(second, report_with({passed("x", 2)}), every, false);
  EXPECT_EQ(anew.entries.at(0).repeats, 1);
  EXPECT_EQ(value(anew, "rmse"), std::pair(2.0, 2.0));
  // A case that the report lacks stays in the baseline only if the run did not choose it.
  EXPECT_EQ(updated(first, report_with({}), none, false).entries.size(), 1u);
  EXPECT_EQ(updated(first, report_with({}), every, false).entries.size(), 0u);
}

// A metric may exceed the largest value of the repeats by the range of the repeats. After a single
// run it may exceed the value by a tenth.
TEST(Baseline, GrowsByItsNoiseAlone) {
  const Baseline once = baseline_of(report_with({passed("x", 2)}));
  const Baseline twice = updated(once, report_with({passed("x", 3)}), every, true);
  const auto remark = [](const Baseline& baseline, double errors) {
    GateReport report = report_with({passed("x", errors)});
    (void)compare_with_baseline(report, baseline, every);
    return report.cases.at(0).remark_text;
  };
  EXPECT_EQ(remark(once, 2.19), "");
  EXPECT_THAT(remark(once, 2.21), HasSubstr("RMSE is 2.21 and was 2, more than its noise (10 %"));
  EXPECT_EQ(remark(twice, 3.99), "");
  EXPECT_THAT(remark(twice, 4.01), HasSubstr("more than its noise (what its 2 repeats differ by)"));
}

// If a theory gives the expected errors, a metric may grow by as much as the root mean square may
// differ between right results. Squares may be between a quarter and four times the expected ones,
// so that two root mean squares may differ by a factor of 4. Other metrics do not use the theory.
TEST(Baseline, GrowsByItsExpectedError) {
  const auto remark = [](double errors, double least) {
    CaseReport c = passed("x", errors);
    c.verdicts[0].metrics->max_abs_error = c.verdicts[0].metrics->p99_ulps = 1;
    LimitReading reading;
    reading.limit = {.statistic = Statistic::kErrorSquares, .limit = 4, .parameter = least};
    c.verdicts[0].readings = {reading};
    GateReport report = report_with({c});
    (void)compare_with_baseline(report, baseline_of(report_with({passed("x", 2)})), every);
    return report.cases.at(0).remark_text;
  };
  EXPECT_EQ(remark(7.99, 0.25), "");
  EXPECT_THAT(remark(8.01, 0.25), HasSubstr("more than its noise (what its expected error allows"));
  EXPECT_EQ(remark(2.19, 0), "") << "where the least is not known, by a tenth";
  EXPECT_THAT(remark(2.21, 0), HasSubstr("more than its noise (10 %"));
}

// The theory of squared errors does not allow a larger largest error. Other limits do not allow a
// larger root mean square.
TEST(Baseline, OtherMetricsAndLimitsKnowNothingOfExpectedErrors) {
  const auto remark = [](Statistic statistic, double largest, double rms) {
    CaseReport c = passed("x", 2);
    c.verdicts[0].metrics->max_abs_error = largest;
    c.verdicts[0].metrics->rmse = rms;
    LimitReading reading;
    reading.limit = {.statistic = statistic, .limit = 4, .parameter = 0.25};
    c.verdicts[0].readings = {reading};
    GateReport report = report_with({c});
    (void)compare_with_baseline(report, baseline_of(report_with({passed("x", 2)})), every);
    return report.cases.at(0).remark_text;
  };
  EXPECT_EQ(remark(Statistic::kErrorSquares, 8, 4), "");
  EXPECT_THAT(remark(Statistic::kErrorSquares, 16, 2), HasSubstr("more than its noise (10 %"));
  EXPECT_THAT(remark(Statistic::kShareUlps, 8, 4),
              HasSubstr("RMSE is 4 and was 2, more than its noise (10 %"));
}

// If the standard has changed, errors are still compared, but the used share of the bound is not.
TEST(Baseline, ComparesTheShareOfOneBoundAlone) {
  const auto remark = [](double errors, double share, const std::string& standard) {
    GateReport report = report_with({passed("x", errors, share, standard)});
    const BaselineComparison compared =
        compare_with_baseline(report, baseline_of(report_with({passed("x", 2, 0.25)})), every);
    EXPECT_EQ(compared.notes.size(), standard == "torch" ? 0u : 1u);
    return report.cases.at(0).remark_text;
  };
  EXPECT_THAT(remark(2, 0.5, "torch"), HasSubstr("largest error / bound is 0.5 and was 0.25"));
  EXPECT_EQ(remark(2, 0.5, "triton_ascend"), "");
  EXPECT_THAT(remark(4, 0.5, "triton_ascend"), HasSubstr("RMSE is 4 and was 2"));
}

TEST(KnownFailures, DaysOfTheCalendar) {
  for (const char* day : {"2027-01-31", "2028-02-29", "0001-12-01"}) EXPECT_TRUE(is_date(day));
  for (const char* text :
       {"", "2027-1-31", "2027-01-3", "2027/01/31", "2027-01/31", "2027-02-29", "2027-00-10",
        "2027-13-01", "2027-01-00", "20270131", "2027-01-311", "tomorrow"}) {
    EXPECT_FALSE(is_date(text)) << text;
  }
}

TEST(KnownFailures, AreExcusedUntilTheirDay) {
  CaseReport failed = passed("softmax/x", 1);
  failed.verdicts[0].outcome = Outcome::kFail;
  failed.verdicts[0].because = "too far off";
  const KnownFailure entry = {.cases = "softmax/*",
                              .reason = "issue 7",
                              .expires = "2027-01-31",
                              .output = {},
                              .standard = {}};
  const auto marked = [&](const CaseReport& c, const std::string& today) {
    GateReport report = report_with({c});
    EXPECT_THAT(mark_known_failures(report, {entry}, today), IsEmpty());
    return report.cases[0].remark;
  };
  EXPECT_EQ(marked(failed, "2027-01-31"), Remark::kKnownFailure);
  EXPECT_EQ(marked(failed, "2027-02-01"), Remark::kExpired);
  EXPECT_EQ(marked(passed("softmax/x", 1), "2027-01-31"), Remark::kUnexpectedPass);
  GateReport other = report_with({passed("matmul/x", 1)});
  EXPECT_THAT(mark_known_failures(other, {entry}, "2027-01-31"), ElementsAre("softmax/*"));
}

// An entry with an output holds for only that output. An entry without one holds for every output.
TEST(KnownFailures, OfOneOutput) {
  CaseReport values = passed("topk/x", 1), indices = values;
  values.output = "values";
  indices.output = "indices";
  for (CaseReport* c : {&values, &indices}) c->verdicts[0].outcome = Outcome::kFail;
  const auto marked = [&](const std::string& output) {
    GateReport report = report_with({values, indices});
    const KnownFailure entry = {.cases = "topk/*",
                                .reason = "issue 7",
                                .expires = "2027-01-31",
                                .output = output,
                                .standard = {}};
    const auto unused = mark_known_failures(report, {entry}, "2027-01-31");
    EXPECT_EQ(unused.empty(), output != "other");
    return std::pair(report.cases[0].remark, report.cases[1].remark);
  };
  EXPECT_EQ(marked("values"), std::pair(Remark::kKnownFailure, Remark::kNone));
  EXPECT_EQ(marked("ind*"), std::pair(Remark::kNone, Remark::kKnownFailure));
  EXPECT_EQ(marked(""), std::pair(Remark::kKnownFailure, Remark::kKnownFailure));
  EXPECT_EQ(marked("other"), std::pair(Remark::kNone, Remark::kNone));
}

// If several entries hold for one failure, the text names the one that holds longest. If several
// hold equally long, it names the first of them.
TEST(KnownFailures, OfSeveralTheLongestIsNamed) {
  CaseReport failed = passed("softmax/x", 1);
  failed.verdicts[0].outcome = Outcome::kFail;
  const auto entry = [](const char* reason, const char* expires) {
    return KnownFailure{
        .cases = "softmax/*", .reason = reason, .expires = expires, .output = {}, .standard = {}};
  };
  const auto said = [&](const std::vector<KnownFailure>& entries) {
    GateReport report = report_with({failed});
    (void)mark_known_failures(report, entries, "2027-01-31");
    return report.cases[0].remark_text;
  };
  const KnownFailure soon = entry("issue 7", "2027-02-01"), late = entry("issue 8", "2027-03-01"),
                     as_late = entry("issue 9", "2027-03-01");
  EXPECT_THAT(said({soon, late}), HasSubstr("known until 2027-03-01 (issue 8)"));
  EXPECT_THAT(said({late, soon}), HasSubstr("known until 2027-03-01 (issue 8)"));
  EXPECT_THAT(said({late, as_late}), HasSubstr("(issue 8)"));
  EXPECT_THAT(said({as_late, late}), HasSubstr("(issue 9)"));
}

// Covers every pair of outcomes of a standard and of the checksums. A failure is excused if each
// failed verdict is listed. A listed case passes unexpectedly only if all of its verdicts pass. Any
// other case gets no remark.
TEST(KnownFailures, OfStandardsAndChecksums) {
  constexpr Outcome kAll[] = {Outcome::kPass, Outcome::kFail, Outcome::kUntrusted,
                              Outcome::kNotComparable};
  const std::vector<std::vector<std::string>> lists = {
      {""}, {"torch"}, {"abft"}, {"torch", "abft"}, {"numpy"}, {"numpy", "torch"}};
  for (const Outcome elements : kAll) {
    for (const Outcome checksums : kAll) {
      for (const std::vector<std::string>& standards : lists) {
        CaseReport c = passed("x", 1);
        c.verdicts[0].outcome = elements;
        c.abft.emplace().outcome = checksums;
        std::vector<KnownFailure> list;
        for (const std::string& standard : standards) {
          list.push_back({.cases = "x",
                          .reason = "issue 7",
                          .expires = "2027-01-31",
                          .output = {},
                          .standard = standard});
        }
        const auto lists_it = [&](const std::string& name) {
          return std::any_of(standards.begin(), standards.end(),
                             [&](const std::string& s) { return s.empty() || s == name; });
        };
        const bool of_elements = lists_it("torch"), of_checksums = lists_it("abft");
        const bool fails = elements == Outcome::kFail || checksums == Outcome::kFail;
        const bool excused = (elements != Outcome::kFail || of_elements) &&
                             (checksums != Outcome::kFail || of_checksums);
        const bool passes = elements == Outcome::kPass && checksums == Outcome::kPass;
        const Remark wanted = fails && excused                          ? Remark::kKnownFailure
                              : passes && (of_elements || of_checksums) ? Remark::kUnexpectedPass
                                                                        : Remark::kNone;
        GateReport report = report_with({c});
        (void)mark_known_failures(report, list, "2027-01-01");
        EXPECT_EQ(report.cases[0].remark, wanted)
            << outcome_word(elements) << " " << outcome_word(checksums) << " " << standards[0];
        (void)mark_known_failures(report = report_with({c}), list, "2027-02-01");
        EXPECT_EQ(report.cases[0].remark,
                  wanted == Remark::kKnownFailure ? Remark::kExpired : wanted);
      }
    }
  }
}

// The gate passes with cases that pass and with known failures. It does not pass with a case that
// could not be read, even if its failure is known, and not with an unexpected pass.
TEST(CaseReport, PassesWithWhatIsKnown) {
  for (const Outcome outcome :
       {Outcome::kPass, Outcome::kFail, Outcome::kUntrusted, Outcome::kNotComparable}) {
    CaseReport c = passed("x", 1);
    c.verdicts[0].outcome = outcome;
    EXPECT_EQ(c.passes(), outcome == Outcome::kPass);
    for (const Remark remark : {Remark::kWorse, Remark::kUnexpectedPass, Remark::kExpired}) {
      c.remark = remark;
      EXPECT_FALSE(c.passes());
    }
    c.remark = Remark::kKnownFailure;
    EXPECT_TRUE(c.passes());
    c.error = "its file ends too early";
    EXPECT_FALSE(c.passes());
  }
}

// Cases are listed with the worst outcome first, and the exit status follows the worst outcome.
TEST(CaseReport, RanksAndExitStatuses) {
  const auto rank = [](Outcome outcome) {
    CaseReport c = passed("x", 1);
    c.verdicts[0].outcome = outcome;
    return c.rank();
  };
  EXPECT_LT(rank(Outcome::kFail), rank(Outcome::kNotComparable));
  EXPECT_LT(rank(Outcome::kNotComparable), rank(Outcome::kUntrusted));
  EXPECT_LT(rank(Outcome::kUntrusted), rank(Outcome::kPass));
  CaseReport unread = passed("x", 1);
  unread.error = "its file ends too early";
  EXPECT_LT(unread.rank(), rank(Outcome::kFail));
  CaseReport known = passed("x", 1);
  known.remark = Remark::kKnownFailure;
  EXPECT_GT(known.rank(), rank(Outcome::kUntrusted));
  EXPECT_LT(known.rank(), rank(Outcome::kPass));
  EXPECT_EQ(exit_code(Outcome::kPass), 0);
  EXPECT_EQ(exit_code(Outcome::kFail), 1);
  EXPECT_EQ(exit_code(Outcome::kNotComparable), 3);
  EXPECT_EQ(exit_code(Outcome::kUntrusted), 4);
}

// A note tells how many cases are not in the baseline, with the same words for one case and for
// several.
TEST(Baseline, NotesWhatItDoesNotHave) {
  const Baseline baseline = baseline_of(report_with({passed("x", 1)}));
  GateReport one = report_with({passed("x", 1), passed("y", 1)});
  EXPECT_THAT(compare_with_baseline(one, baseline, every).notes,
              ElementsAre("1 case is not in the baseline; update the baseline to add it"));
  GateReport two = report_with({passed("x", 1), passed("y", 1), passed("z", 1)});
  EXPECT_THAT(compare_with_baseline(two, baseline, every).notes,
              ElementsAre("2 cases are not in the baseline; update the baseline to add them"));
}

// A case that passes now without metrics, for example by its checksums only, is not compared: there
// is no metric that could be worse.
TEST(Baseline, WhatHasNoMetricsIsNotCompared) {
  const Baseline baseline = baseline_of(report_with({passed("x", 1), passed("y", 1)}));
  GateReport later = report_with({passed("x", 1), passed("y", 1)});
  later.cases[0].verdicts[0].metrics.reset();
  later.cases[1].verdicts.clear();
  const BaselineComparison compared = compare_with_baseline(later, baseline, every);
  EXPECT_EQ(compared.compared, 2u);
  EXPECT_THAT(compared.notes, IsEmpty());
  ASSERT_EQ(later.cases.size(), 2u) << "nothing has disappeared";
  for (const CaseReport& c : later.cases) EXPECT_EQ(c.remark, Remark::kNone) << c.name;
}

}  // namespace
}  // namespace assay
