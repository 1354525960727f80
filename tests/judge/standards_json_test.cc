// Tests standards as a file: the meaning of each key, and a file of the published ones, which reads
// back the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/judge/standards_file.h"
#include "document.h"

namespace assay {
namespace {

constexpr Limit limit_of(Statistic statistic, double most, double parameter = 0,
                         double second = 0) {
  return {.statistic = statistic, .limit = most, .parameter = parameter, .second = second};
}

TEST(StandardsJson, EveryKey) {
  static constexpr ToleranceRow kRows[] = {
      {.dtype = "float16", .rtol = 0.5, .atol = 0.25, .share = 0.125, .or_ulps = 3},
      {.dtype = "bfloat16", .rtol = 0.5, .floor = 2, .rule = Rule::kLargest},
      {.dtype = "float32", .rtol = 1, .floor = 1e-4, .in_epsilon = true, .rule = Rule::kSymmetric},
      {.dtype = "float64", .rtol = 1, .atol = 2, .rule = Rule::kEither},
      {.dtype = "int8", .ulps = 4, .rule = Rule::kUlps},
      {.dtype = "bool", .rule = Rule::kBits},
      {.dtype = "*", .atol = 1, .small_value = 1e-3, .small_atol = 1e-5}};
  const Limit grouped_one = {.statistic = Statistic::kMaxAbs, .limit = 1, .group = 1};
  const Limit grouped_two = {.statistic = Statistic::kMare, .limit = 2, .group = 1};
  const Limit other_group = {.statistic = Statistic::kRmse, .limit = 3, .group = 2};
  const Limit at_most = {.statistic = Statistic::kMere, .limit = 0.5, .sense = LimitSense::kAtMost};
  const std::vector<LimitRow> limits = {
      {.dtype = "float16", .limit = limit_of(Statistic::kMere, 0.01)},
      {.dtype = "float16", .limit = limit_of(Statistic::kShareUlps, 0.1, 4)},
      {.dtype = "float16", .limit = limit_of(Statistic::kSmallErrors, 2, 1e-3, 1e-5)},
      {.dtype = "float16", .limit = limit_of(Statistic::kMare, 0.25), .grows = true},
      {.dtype = "hfloat32", .limit = at_most},
      {.dtype = "hfloat32", .limit = grouped_one},
      {.dtype = "hfloat32", .limit = grouped_two},
      {.dtype = "hfloat32", .limit = other_group}};
  Standard s;
  s.name = "own";
  s.source = "measured";
  s.publication = {.repository = "a/b", .commit = "0f", .path = "c.py", .date = "2026-03-01"};
  s.round_expected = true;
  s.rows = kRows;
  s.limits = limits;
  s.growth = Growth::kLinear;
  s.nan_accepts = true;
  s.infinity = Infinity::kSaturating;
  s.max_mismatches = 7;
  s.max_mismatch_fraction = 0.5;
  const std::string text = standards_json({&s, 1});
  EXPECT_EQ(text.back(), '\n');
  const auto json = parsed(text);
  EXPECT_EQ(json, parsed(R"({"standards": [{"name": "own", "why": "measured",
      "repository": "a/b", "commit": "0f", "path": "c.py", "date": "2026-03-01",
      "round_expected": true, "nan": "accept", "infinity": "saturating", "max_mismatches": 7,
      "max_mismatch_fraction": 0.5, "growth": "linear",
      "dtypes": {
        "float16": {"rtol": 0.5, "atol": 0.25, "or_ulp": 3, "share": 0.125,
          "limits": {"mere": 0.01, "share_ulp": {"below": 0.1, "parameter": 4.0},
                     "small_errors": {"at_most": 2.0, "parameter": [1e-3, 1e-5]},
                     "mare": {"below": 0.25, "grows": true}}},
        "bfloat16": {"rtol": 0.5, "rule": "largest", "floor": 2.0},
        "float32": {"rtol": 1.0, "rule": "symmetric", "floor": 1e-4, "in_epsilon": true},
        "float64": {"rtol": 1.0, "atol": 2.0, "rule": "either"},
        "int8": {"ulp": 4},
        "bool": {"bits": true},
        "*": {"rtol": 0.0, "atol": 1.0, "small_value": 1e-3, "small_atol": 1e-5},
        "hfloat32": {"limits": {"mere": {"at_most": 0.5}},
                     "any_of": [{"max_abs_error": 1.0, "mare": 2.0}, {"rmse": 3.0}]}}}]})"));
}

TEST(StandardsJson, WhatIsNotSaidIsNotWritten) {
  static constexpr ToleranceRow kRow[] = {{.dtype = "*", .rtol = 1}};
  Standard s;
  s.name = "own";
  s.source = "w";
  s.rows = kRow;
  EXPECT_EQ(parsed(standards_json({&s, 1}))["standards"][0],
            parsed(R"({"name": "own", "why": "w", "round_expected": false, "nan": "never",
                       "dtypes": {"*": {"rtol": 1.0, "atol": 0.0}}})"));
  s.nan_equal = true;
  EXPECT_EQ(parsed(standards_json({&s, 1}))["standards"][0]["nan"], "equal");
  EXPECT_EQ(parsed(standards_json({})), parsed(R"({"standards": []})"));
}

// Every published standard is written under another name and read back. The bounds are the same for
// every dtype and any number of accumulations.
TEST(StandardsJson, OfThePublishedOnesIsReadAsTheyAre) {
  auto document = parsed(standards_json(standards()));
  ASSERT_EQ(document["standards"].size(), standards().size());
  for (auto& one : document["standards"]) {
    one["name"] = "own_" + one["name"].get<std::string>();
  }
  const auto custom = parse_standards(document.dump(), "published.json");
  std::int64_t bounds = 0;
  for (const Standard& s : standards()) {
    for (const Format& f : formats()) {
      for (const std::int64_t accumulations : {1, 2048, 20000}) {
        const auto given = standard_bound(s.name, f, accumulations);
        const auto read = standard_bound("own_" + std::string(s.name), f, accumulations, custom);
        ASSERT_EQ(given.has_value(), read.has_value()) << s.name << " " << f.name;
        if (!given) continue;
        ++bounds;
        SCOPED_TRACE(formatted("{} {}", s.name, f.name));
        if (given->limits.empty()) {
          EXPECT_EQ(read->text(), given->text());
        }
        EXPECT_EQ(read->rule, given->rule);
        EXPECT_EQ(read->rtol, given->rtol);
        EXPECT_EQ(read->atol, given->atol);
        EXPECT_EQ(read->ulps, given->ulps);
        EXPECT_EQ(read->or_ulps, given->or_ulps);
        EXPECT_EQ(read->floor, given->floor);
        EXPECT_EQ(read->small_value, given->small_value);
        EXPECT_EQ(read->small_atol, given->small_atol);
        EXPECT_EQ(read->nan_equal, given->nan_equal);
        EXPECT_EQ(read->nan_accepts, given->nan_accepts);
        EXPECT_EQ(read->round_expected, given->round_expected);
        EXPECT_EQ(read->infinity, given->infinity);
        EXPECT_EQ(read->max_mismatches, given->max_mismatches);
        EXPECT_EQ(read->max_mismatch_fraction, given->max_mismatch_fraction);
        ASSERT_EQ(read->limits.size(), given->limits.size());
        for (const Limit& limit : given->limits) {
          const auto same = [&](const Limit& other) {
            return other.statistic == limit.statistic && other.limit == limit.limit &&
                   other.parameter == limit.parameter && other.second == limit.second &&
                   other.how() == limit.how() && (other.group == 0) == (limit.group == 0);
          };
          EXPECT_TRUE(std::any_of(read->limits.begin(), read->limits.end(), same)) << limit.text();
        }
      }
    }
  }
  EXPECT_GT(bounds, 1000);
}

}  // namespace
}  // namespace assay
