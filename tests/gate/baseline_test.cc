// What a baseline keeps of a report, which later reports are worse, and which failures are known:
// asked of the functions themselves, with reports made by hand.
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

// Each metric stands under its own name, the used share of the bound among them.
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

// A case is found again by its name where the name lies in one file alone, whatever the file is
// called now; where several files have it, by its file.
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

// Repeats widen what is known of each metric; a share of another standard's bound is none of them.
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
  // Of cases that the report lacks those stay that the run did not choose.
  EXPECT_EQ(updated(first, report_with({}), none, false).entries.size(), 1u);
  EXPECT_EQ(updated(first, report_with({}), every, false).entries.size(), 0u);
}

// A metric may exceed the largest that repeats gave by as much as they differ; of a single run by a
// tenth.
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

// By a theory of its errors, by as much as their root mean square may differ between right results:
// of squares between a quarter and four times what is expected, by a factor of 4. Other metrics
// know nothing of that.
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

// The theory of squared errors is no leave for the largest error, and no other limit one for the
// root mean square.
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

// By another standard errors are compared as ever, and the used share of the bound is not.
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

// An entry of an output speaks of that one alone, one without of every output.
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

// Of several entries that hold for one failure the one that holds longest is named, and of those
// the first.
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

// Of every outcome of a standard and of the checksums: a failure is excused where each failed
// verdict is listed, a pass of what is listed is none where all of the case passes, and anything
// else stays what it is.
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

// The gate passes with what passes and with failures that are known, not with what could not be
// read, whatever was known of it, nor with a pass that should not be one.
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

// The worst outcome of a case comes first where cases are listed, and its exit status says it.
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

// One case that is new is as much of a note as several.
TEST(Baseline, NotesWhatItDoesNotHave) {
  const Baseline baseline = baseline_of(report_with({passed("x", 1)}));
  GateReport one = report_with({passed("x", 1), passed("y", 1)});
  EXPECT_THAT(compare_with_baseline(one, baseline, every).notes,
              ElementsAre("1 case is not in the baseline; --update-baseline takes it up"));
  GateReport two = report_with({passed("x", 1), passed("y", 1), passed("z", 1)});
  EXPECT_THAT(compare_with_baseline(two, baseline, every).notes,
              ElementsAre("2 cases are not in the baseline; --update-baseline takes them up"));
}

// A case that passes now without metrics, as by its checksums alone, has nothing to be worse by.
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
