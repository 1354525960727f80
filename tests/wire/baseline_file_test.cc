// Tests baselines and lists of known failures: the contents of the files, and the errors in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/wire/baseline.h"
#include "assay/wire/known_failures_file.h"
#include "error_of.h"

namespace assay::wire {
namespace {

// Holds a file with a text, which is removed after the test.
class ListFile : public testing::Test {
 protected:
  ~ListFile() override { std::filesystem::remove(path_); }

  const std::string& with(const std::string& text) const {
    write_file(path_, text);
    return path_;
  }
  // Returns the error of a reader for the text, without the path before it.
  template <typename Read>
  std::string error(const std::string& text, Read read) const {
    const std::string message = error_of([&] { (void)read(with(text)); });
    return std::string(without_prefix(message, path_ + ": "));
  }

  std::string path_ = formatted("{}/list_{}.json", testing::TempDir(), ::getpid());
};

using BaselineFile = ListFile;
using KnownFailuresFile = ListFile;

std::string baseline_with(const std::string& entry) {
  return R"({"schema": 2, "baseline": [{"case": "ok", "metrics": {}}, )" + entry + "]}";
}

TEST_F(BaselineFile, EveryKey) {
  const Baseline b = read_baseline(with(R"({"schema": 2, "baseline": [
      {"file": "g.h5", "case": "mm/a", "output_name": "y", "producer": "h200", "standard": "torch",
       "repeats": 3,
       "metrics": {"rmse": [0.25, 0.5], "max_abs_error": 1, "p99_ulp": 0, "worst_ratio": "inf"}},
      {"case": "b", "metrics": {"rmse": ["inf", "inf"]}}]})"));
  ASSERT_EQ(b.entries.size(), 2u);
  const BaselineEntry& e = b.entries[0];
  EXPECT_EQ(e.file, "g.h5");
  EXPECT_EQ(e.name, "mm/a");
  EXPECT_EQ(e.output, "y");
  EXPECT_EQ(e.producer, "h200");
  EXPECT_EQ(e.standard, "torch");
  EXPECT_EQ(e.repeats, 3);
  ASSERT_EQ(e.metrics.size(), 4u);
  EXPECT_EQ(e.metrics.at("rmse").low, 0.25);
  EXPECT_EQ(e.metrics.at("rmse").high, 0.5);
  EXPECT_EQ(e.metrics.at("max_abs_error").low, 1);
  EXPECT_EQ(e.metrics.at("max_abs_error").high, 1);
  EXPECT_EQ(e.metrics.at("worst_ratio").high, kInfinity);
  EXPECT_EQ(b.entries[1].repeats, 1);
  EXPECT_EQ(b.entries[1].file + b.entries[1].output + b.entries[1].producer, "");
  EXPECT_EQ(b.entries[1].metrics.at("rmse").low, kInfinity);
  EXPECT_TRUE(read_baseline(with(R"({"schema": 2, "baseline": []})")).entries.empty());
}

TEST_F(BaselineFile, NoBaseline) {
  const auto said = [&](const std::string& text) { return error(text, read_baseline); };
  EXPECT_EQ(said("[]"), "an object {...} is expected");
  EXPECT_THAT(said("{"), testing::StartsWith("is no JSON: "));
  EXPECT_EQ(said("{}"), "is no baseline");
  EXPECT_EQ(said(R"({"schema": 1, "baseline": []})"),
            "has schema 1: it was written by an older assay");
  EXPECT_EQ(said(R"({"schema": "1", "baseline": []})"),
            "has schema \"1\"; this assay reads schema 2");
  EXPECT_EQ(said(R"({"schema": 2})"), "'baseline' must be a list of cases");
  EXPECT_EQ(said(R"({"schema": 2, "baseline": {}})"), "'baseline' must be a list of cases");
  EXPECT_EQ(said(R"({"schema": 1, "cases": []})"), "unknown key 'cases'; known: schema, baseline");
  const std::string nowhere = path_ + "/none";
  EXPECT_THAT(failure_of([&] { (void)read_baseline(nowhere); }),
              testing::StartsWith(nowhere + ": cannot be read: "));
}

TEST_F(BaselineFile, WrongEntries) {
  const auto said = [&](const std::string& entry) {
    return error(baseline_with(entry), read_baseline);
  };
  EXPECT_EQ(said("3"), "entry 2: an object {...} is expected");
  EXPECT_EQ(said(R"({"metrics": {}})"), "entry 2: 'case' is missing");
  EXPECT_EQ(said(R"({"case": "a"})"), "entry 2: 'metrics' is missing");
  EXPECT_EQ(said(R"({"case": "a", "metrics": []})"),
            "entry 2: metrics: an object {...} is expected");
  EXPECT_EQ(said(R"({"case": 1, "metrics": {}})"), "entry 2: 'case' must be a string");
  EXPECT_EQ(said(R"({"case": "a", "metric": {}})"),
            "entry 2: unknown key 'metric': did you mean 'metrics'?; known: file, case, "
            "source_name, output_name, producer, standard, repeats, metrics");
  EXPECT_EQ(said(R"({"case": "a", "metrics": {"rmsd": 1}})"),
            "entry 2: metrics: unknown key 'rmsd': did you mean 'rmse'?; known: max_abs_error, "
            "rmse, p99_ulp, worst_ratio");
  for (const char* repeats : {"0", "1000001"}) {
    EXPECT_EQ(said(formatted(R"({{"case": "a", "repeats": {}, "metrics": {{}}}})", repeats)),
              "entry 2: 'repeats' must be from 1 to 1000000");
  }
  EXPECT_EQ(said(R"({"case": "a", "repeats": 1.5, "metrics": {}})"),
            "entry 2: 'repeats' must be a whole number");
}

TEST_F(BaselineFile, WrongMetrics) {
  const auto said = [&](const std::string& rmse) {
    return error(baseline_with(R"({"case": "a", "metrics": {"rmse": )" + rmse + "}}"),
                 read_baseline);
  };
  EXPECT_EQ(said("-1"), "entry 2: rmse: a number of at least 0 is expected, not -1");
  EXPECT_EQ(said("\"nan\""), "entry 2: rmse: a number of at least 0 is expected, not \"nan\"");
  EXPECT_EQ(said("null"), "entry 2: rmse: a number of at least 0 is expected, not null");
  EXPECT_EQ(said("[0, \"-inf\"]"),
            "entry 2: rmse: a number of at least 0 is expected, not \"-inf\"");
  for (const char* list : {"[]", "[1]", "[1, 2, 3]"}) {
    EXPECT_EQ(said(list),
              "entry 2: rmse: a number, or the least and the most of repeats, is expected");
  }
  EXPECT_EQ(said("[2, 1]"), "entry 2: rmse: the least comes before the most");
}

TEST_F(KnownFailuresFile, EveryKey) {
  const auto list = read_known_failures(with(R"({"schema": 1, "known_failures": [
      {"cases": "mm/*", "reason": "overflow, ticket 7", "expires": "2027-01-31",
       "output": "h?00", "standard": "torch"},
      {"expires": "2028-02-29", "cases": "b", "reason": "r"}]})"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].cases, "mm/*");
  EXPECT_EQ(list[0].reason, "overflow, ticket 7");
  EXPECT_EQ(list[0].expires, "2027-01-31");
  EXPECT_EQ(list[0].output, "h?00");
  EXPECT_EQ(list[0].standard, "torch");
  EXPECT_EQ(list[1].expires, "2028-02-29");
  EXPECT_EQ(list[1].output + list[1].standard, "");
  EXPECT_TRUE(read_known_failures(with(R"({"schema": 1, "known_failures": []})")).empty());
}

TEST_F(KnownFailuresFile, WhatIsWrongIsNamed) {
  const auto said = [&](const std::string& text) { return error(text, read_known_failures); };
  EXPECT_EQ(said("[]"), "an object {...} is expected");
  EXPECT_EQ(said("{}"), "'schema' must be 1");
  EXPECT_EQ(said(R"({"schema": 2, "known_failures": []})"), "'schema' must be 1");
  EXPECT_EQ(said(R"({"schema": 1})"), "'known_failures' must be a list");
  EXPECT_EQ(said(R"({"schema": 1, "known_failures": {}})"), "'known_failures' must be a list");
  EXPECT_EQ(said(R"({"schema": 1, "known_failure": []})"),
            "unknown key 'known_failure': did you mean 'known_failures'?; known: schema, "
            "known_failures");
  const auto entry = [&](const std::string& text) {
    return said(R"({"schema": 1, "known_failures": [)" + text + "]}");
  };
  EXPECT_EQ(entry("3"), "entry 1: an object {...} is expected");
  EXPECT_EQ(entry(R"({"reason": "r", "expires": "2027-01-31"})"),
            "entry 1: 'cases' is missing, a glob of case names");
  EXPECT_EQ(entry(R"({"cases": "*", "expires": "2027-01-31"})"),
            "entry 1: 'reason' is missing; why is the failure accepted?");
  EXPECT_EQ(entry(R"({"cases": "*", "reason": "r"})"),
            "entry 1: 'expires' must be a day as in \"2027-01-31\", not missing");
  for (const char* day : {"", "2027-02-29", "2027-1-31", "31.01.2027", "2027-01-31 "}) {
    EXPECT_EQ(entry(formatted(R"({{"cases": "*", "reason": "r", "expires": "{}"}})", day)),
              formatted("entry 1: 'expires' must be a day as in \"2027-01-31\", not \"{}\"", day));
  }
  EXPECT_EQ(entry(R"({"cases": ["a"], "reason": "r", "expires": "2027-01-31"})"),
            "entry 1: 'cases' must be a string");
  EXPECT_EQ(entry(R"({"cases": "a", "reason": "r", "expires": "2027-01-31"},
                     {"case": "b"})"),
            "entry 2: unknown key 'case': did you mean 'cases'?; known: cases, reason, expires, "
            "output, standard");
  EXPECT_THAT(failure_of([&] { (void)read_known_failures("/no/such/file"); }),
              testing::StartsWith("/no/such/file: cannot be read: "));
}

}  // namespace
}  // namespace assay::wire
