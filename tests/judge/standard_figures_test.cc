// Compares every number and flag of every standard with tests/judge/standard_figures.txt. That file
// holds the figures as they were read from the publications, which docs/interop.md lists. A row
// that is only in the file or only in the table is also found.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/judge/standards.h"
#include "recorded.h"

namespace assay {
namespace {

std::string figure(double value) {
  int exponent = 0;
  if (value > 0 && value < 0.125 && std::frexp(value, &exponent) == 0.5) {
    return formatted("2^{}", exponent - 1);
  }
  return formatted("{}", value);
}

void add_figure(std::string& line, std::string_view name, double value) {
  if (value != 0) line += formatted(" {} {}", name, figure(value));
}

std::string_view rule_name(Rule rule) {
  switch (rule) {
    case Rule::kTolerance:
      return "sum";
    case Rule::kUlps:
      return "ulps";
    case Rule::kBits:
      return "bits";
    case Rule::kLargest:
      return "largest";
    case Rule::kSymmetric:
      return "symmetric";
    case Rule::kEither:
      return "either";
    case Rule::kStatistics:
      return "statistics";
    default:
      return "another";
  }
}

std::string line_of(const ToleranceRow& row) {
  std::string line = formatted("  {}:", row.dtype);
  add_figure(line, "rtol", row.rtol);
  add_figure(line, "atol", row.atol);
  add_figure(line, "floor", row.floor);
  add_figure(line, "small_value", row.small_value);
  add_figure(line, "small_atol", row.small_atol);
  if (row.in_epsilon) line += " in_epsilon";
  add_figure(line, "share", row.share);
  if (row.ulps != 0) line += formatted(" ulps {}", row.ulps);
  if (row.or_ulps != 0) line += formatted(" or_ulps {}", row.or_ulps);
  if (row.rule) line += formatted(" by {}", rule_name(*row.rule));
  return line;
}

std::string line_of(const LimitRow& row) {
  const Limit& limit = row.limit;
  std::string line = formatted("  {}: {} {} {}", row.dtype, statistic_name(limit.statistic),
                               row_of(limit.how()).name, figure(limit.limit));
  add_figure(line, "parameter", limit.parameter);
  add_figure(line, "second", limit.second);
  if (limit.group != 0) line += formatted(" group {}", limit.group);
  if (row.grows) line += " grows";
  return line;
}

std::string line_of(const Standard& s) {
  std::string line =
      formatted("{}: {}", s.name, rule_name(s.rows.empty() ? Rule::kStatistics : s.rule));
  if (s.round_expected) line += ", expected value rounded";
  if (s.nan_equal) line += ", NaN equal";
  if (s.nan_accepts) line += ", NaN accepts";
  if (s.growth != Growth::kNone) line += formatted(", grows {}", growth_word(s.growth));
  if (s.infinity != Infinity::kSign) line += formatted(", infinity {}", infinity_word(s.infinity));
  if (s.max_mismatches || s.max_mismatch_fraction) line += ", budget";
  return line;
}

TEST(StandardFigures, AreThosePublished) {
  std::vector<std::string> lines;
  for (const Standard& s : standards()) {
    lines.push_back(line_of(s));
    for (const ToleranceRow& row : s.rows) lines.push_back(line_of(row));
    for (const LimitRow& row : s.limits) lines.push_back(line_of(row));
  }
  expect_recorded("judge/standard_figures.txt", lines);
}

// small_value_limit() has the figures of the standard cann_small_values, for every float format
// that has them.
TEST(StandardFigures, OfSmallValuesAreThoseOfTheirStandard) {
  for (const Format& f : formats()) {
    const auto bound = f.is_float() ? standard_bound("cann_small_values", f) : std::nullopt;
    const Limit* const limit = small_value_limit(f);
    ASSERT_EQ(limit != nullptr, bound.has_value()) << f.name;
    if (limit == nullptr) continue;
    EXPECT_EQ(limit->parameter, bound->limits.at(0).parameter) << f.name;
    EXPECT_EQ(limit->second, bound->limits.at(0).second) << f.name;
  }
}

// Tests the growth of a standard's tolerance on both sides of each step.
TEST(StandardFigures, GrowthBeginsWhereItIsPublished) {
  struct {
    const char *standard, *dtype;
    std::int64_t accumulations;
    double times;
  } const rows[] = {{"atb", "float16", 0, 1},         {"atb", "float16", 2047, 1},
                    {"atb", "float16", 2048, 2},      {"atb", "float16", 16384, 2},
                    {"atb", "float32", 2047, 1},      {"atb", "float32", 2048, 2},
                    {"atb", "float32", 16383, 2},     {"atb", "float32", 16384, 4},
                    {"catlass", "float32", 2047, 1},  {"catlass", "float32", 2048, 2},
                    {"catlass", "float32", 16384, 2}, {"hipblaslt", "float16", 1, 1},
                    {"hipblaslt", "float16", 7, 7},   {"rocblas_sum", "float64", 3, 3},
                    {"torch", "float32", 1 << 20, 1}};
  for (const auto& row : rows) {
    const Format& f = format_named(row.dtype);
    const Standard& standard = *find_standard(row.standard);
    double rtol = 0, atol = 0;
    for (const ToleranceRow& own : standard.rows) {
      if (own.dtype == f.name) rtol = own.rtol, atol = own.atol;
    }
    const Bound bound = *standard_bound(row.standard, f, row.accumulations);
    EXPECT_EQ(bound.rtol, row.times * rtol) << row.standard << row.accumulations;
    EXPECT_EQ(bound.atol, row.times * atol) << row.standard << row.accumulations;
  }
  const auto balance = [](const char* dtype, std::int64_t accumulations) {
    return standard_bound("atb@2025", format_named(dtype), accumulations)->limits.at(0).limit;
  };
  EXPECT_EQ(balance("bfloat16", 2047), 0x1p-7);
  EXPECT_EQ(balance("bfloat16", 2048), 0x1p-6);
  EXPECT_EQ(balance("float16", 1 << 20), 0x1p-10);
}

}  // namespace
}  // namespace assay
