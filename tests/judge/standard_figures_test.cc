// Compares every number and flag of every standard with tests/judge/standard_figures.txt. That file
// holds the figures as they were read from the publications, which docs/interop.md lists. A row
// that is only in the file or only in the table is also found.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <span>
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

// Returns by how much the tolerances of a standard grow with the number of accumulations.
double growth_of(const Standard& s, const Format& f, std::int64_t accumulations) {
  const double twice = accumulations >= 2048 ? 2 : 1;
  switch (s.growth) {
    case Growth::kTwiceFrom2048:
      return twice;
    case Growth::kAtb:
      return f.name == "float32" && accumulations >= 16384 ? 2 * twice : twice;
    case Growth::kLinear:
      return static_cast<double>(accumulations);
    default:
      return 1;
  }
}

// The bound for a dtype has the figures of its row, or of the row of every float, times the growth.
// An integer without a row must be equal. Every other dtype without a row has no bound.
TEST(StandardFigures, BoundsAreTheRowsTimesTheirGrowth) {
  std::int64_t bounds = 0, none = 0;
  for (const Standard& s : standards()) {
    for (const std::span<const Format> table : {formats(), complex_formats()}) {
      for (const Format& f : table) {
        for (const std::int64_t k : {1, 2047, 2048, 16384}) {
          SCOPED_TRACE(formatted("{} of {}, {} accumulations", s.name, f.name, k));
          const ToleranceRow* row = nullptr;
          std::vector<const LimitRow*> limits;
          for (const std::string_view dtype : {f.name, std::string_view("*")}) {
            if (row != nullptr || !limits.empty() || (dtype == "*" && !f.is_float())) break;
            for (const ToleranceRow& r : s.rows) row = r.dtype == dtype ? &r : row;
            for (const LimitRow& r : s.limits) {
              if (r.dtype == dtype) limits.push_back(&r);
            }
          }
          const auto bound = standard_bound(s.name, f, k);
          const bool is_whole = !f.is_float() && !f.is_complex();
          const bool has_row = row != nullptr || !limits.empty();
          ASSERT_EQ(bound.has_value(), has_row || is_whole);
          ++(bound ? bounds : none);
          if (!bound) continue;
          EXPECT_EQ(bound->standard, s.name);
          EXPECT_EQ(bound->round_expected, s.round_expected);
          EXPECT_EQ(bound->nan_equal, s.nan_equal);
          EXPECT_EQ(bound->nan_accepts, s.nan_accepts);
          EXPECT_EQ(bound->infinity, s.infinity);
          EXPECT_EQ(bound->max_mismatches, s.max_mismatches);
          EXPECT_EQ(bound->as_published, false);
          if (!has_row) {
            EXPECT_EQ(bound->text(), "equality");
            continue;
          }
          const double growth = growth_of(s, f, k);
          ASSERT_EQ(bound->limits.size(), limits.size());
          for (std::size_t i = 0; i < limits.size(); ++i) {
            const Limit &own = bound->limits[i], &published = limits[i]->limit;
            EXPECT_EQ(own.statistic, published.statistic);
            EXPECT_EQ(own.limit, published.limit * (limits[i]->grows ? growth : 1));
            EXPECT_EQ(own.parameter, published.parameter);
            EXPECT_EQ(own.second, published.second);
            EXPECT_EQ(own.group, published.group);
          }
          if (row == nullptr) {
            EXPECT_EQ(bound->rule, Rule::kStatistics);
            continue;
          }
          const double unit = growth * (row->in_epsilon ? 2 * unit_roundoff(f) : 1);
          EXPECT_EQ(bound->rule, row->rule.value_or(s.rule));
          EXPECT_EQ(bound->rtol, row->rtol * unit);
          EXPECT_EQ(bound->atol, row->atol * unit);
          EXPECT_EQ(bound->small_atol, row->small_atol * unit);
          EXPECT_EQ(bound->small_value, row->small_value);
          EXPECT_EQ(bound->floor, row->floor);
          EXPECT_EQ(bound->ulps, row->ulps);
          EXPECT_EQ(bound->or_ulps, row->or_ulps);
          EXPECT_EQ(bound->max_mismatch_fraction,
                    row->share > 0 ? std::optional(row->share) : s.max_mismatch_fraction);
        }
        // If the number is not known, the smallest tolerance holds, or none.
        if (s.growth == Growth::kLinear) continue;
        const auto unknown = standard_bound(s.name, f, 0), one = standard_bound(s.name, f, 1);
        ASSERT_EQ(unknown.has_value(), one.has_value());
        if (one) {
          EXPECT_EQ(unknown->text(), one->text());
        }
      }
    }
  }
  EXPECT_GT(bounds, 1000);
  EXPECT_GT(none, 1000);
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
