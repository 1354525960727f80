// Compares verdicts of every format under every rule with recorded ones, to find any change of a
// count, a ratio, a metric or a word. The values are recorded, not derived (those of oracle.h are
// derived). A failure says how to record them again.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "assay/judge/pieces.h"
#include "assay/judge/standards.h"
#include "verdict_lines.h"

namespace assay {
namespace {

using lines::golden_values;
using lines::json_line;
using lines::output_values;
using lines::short_line;

// Returns a tensor of values. Values that the format does not hold are first replaced by values
// that it holds.
Tensor stored(const Format& f, const Shape& shape, std::vector<double> values) {
  for (double& v : values) {
    if (f.is_float()) {
      if (std::isnan(v) && f.specials == Specials::kFinite) v = 0;
      continue;
    }
    const double least = f.is_signed() ? -max_finite(f) : 0;
    v = std::clamp(std::nearbyint(v), least, max_finite(f));
  }
  return Tensor::from_values(f, shape, values);
}

std::vector<std::pair<std::string, Bound>> bounds_of_all_rules() {
  std::vector<std::pair<std::string, Bound>> all = {
      {"sum", oracle::tolerance(1e-4, 1e-3)},
      {"sum, exact", oracle::tolerance(1e-4, 1e-3, false, true)},
      {"equality", oracle::tolerance(0, 0)},
      {"2 ulp", oracle::within_ulps(2)},
      {"0 ulp", oracle::within_ulps(0)},
      {"bits", oracle::same_bits()}};
  Bound b = oracle::tolerance(1e-4, 1e-3);
  b.rule = Rule::kLargest;
  b.floor = 0.125;
  all.emplace_back("largest", b);
  b.rule = Rule::kSymmetric;
  all.emplace_back("symmetric", b);
  b.rule = Rule::kEither;
  b.or_ulps = 1;
  all.emplace_back("either or an ulp", b);
  b = oracle::tolerance(1e-4, 1e-3, false);
  b.small_value = 0.01;
  b.small_atol = 1e-6;
  b.max_mismatch_fraction = 0.125;
  all.emplace_back("small values", b);
  b = oracle::tolerance(1e-3, 4e-3, false, true);
  b.infinity = Infinity::kSaturating;
  b.max_mismatches = 100;
  all.emplace_back("saturating", b);
  b = oracle::tolerance(1e-3, 4e-3);
  b.infinity = Infinity::kFewer;
  b.nan_accepts = true;
  all.emplace_back("fewer", b);
  b = oracle::same_bits();
  b.nan_equal = true;
  all.emplace_back("bits, NaN equal", b);
  return all;
}

TEST(RecordedVerdicts, OfEveryFormatUnderEveryRule) {
  std::vector<std::string> recorded;
  for (const Format& f : formats()) {
    const Shape shape = {7, 3, 53};
    const std::int64_t n = element_count(shape);
    for (const bool specials : {false, true}) {
      const std::vector<double> golden = golden_values(f, n, 11, specials);
      const Tensor expected = f.is_float()
                                  ? Tensor::from_values(format_named("float64"), shape, golden)
                                  : stored(f, shape, golden);
      const Tensor actual = stored(f, shape, output_values(f, golden, 12, specials));
      for (const auto& [name, bound] : bounds_of_all_rules()) {
        JudgeOptions options;
        options.worst = 3;
        options.mismatch_map = true;
        // Other recorded lines have the patterns, so that one bound is enough here.
        options.patterns = name == "sum";
        const Verdict v = judge(actual, expected, bound, options);
        recorded.push_back(formatted("{}{}, {}: {}", f.name, specials ? " with specials" : "", name,
                                     short_line(v)));
        options.metrics = false;
        const Verdict quick = judge(actual, expected, bound, options);
        EXPECT_EQ(quick.outcome, v.outcome) << recorded.back();
        EXPECT_EQ(quick.mismatches, v.mismatches) << recorded.back();
        EXPECT_EQ(quick.blind, v.blind) << recorded.back();
        EXPECT_EQ(quick.because, v.because) << recorded.back();
      }
    }
  }
  expect_recorded("judge/recorded/verdicts.txt", recorded);
}

TEST(RecordedVerdicts, OfComplexElements) {
  std::vector<std::string> recorded;
  const Shape shape = {3, 401};
  for (const Format& f : complex_formats()) {
    const Format& part = part_format(f);
    for (const bool specials : {false, true}) {
      const std::vector<double> golden = golden_values(part, 2 * 1203, 21, specials);
      const Tensor expected = Tensor::from_values(format_named("complex128"), shape, golden);
      const Tensor actual =
          Tensor::from_values(f, shape, output_values(part, golden, 22, specials));
      for (const auto& [name, bound] : bounds_of_all_rules()) {
        const Verdict v = judge(actual, expected, bound);
        recorded.push_back(formatted("{}{}, {}: {}", f.name, specials ? " with specials" : "", name,
                                     name == "sum" ? json_line(v) : short_line(v)));
      }
    }
  }
  expect_recorded("judge/recorded/complex.txt", recorded);
}

// All metrics, number by number. The data have several parts on two threads, sizes whose squares
// overflow float64, integers that float64 does not hold, and formats without ordinals.
TEST(RecordedVerdicts, WithAllMetrics) {
  struct {
    const char* dtype;
    std::int64_t n;
    double times;
    bool specials;
  } const rows[] = {{"float32", 1, 1, false},           {"float32", 5000, 1, true},
                    {"float32", 70000, 1, true},        {"float32", 4096, 1, false},
                    {"float16", 1025, 1, true},         {"bfloat16", 70001, 1, true},
                    {"float64", 3000, 1, true},         {"float64", 3000, 0x1p600, false},
                    {"float64", 3000, 0x1p-600, false}, {"float64", 70000, 0x1p600, true},
                    {"hifloat8", 2049, 1, true},        {"float8_e8m0fnu", 2049, 1, false},
                    {"float8_e4m3fn", 4100, 1, true},   {"float6_e2m3fn", 500, 1, false},
                    {"int8", 3000, 1, false},           {"int64", 3000, 0x1p40, false},
                    {"uint64", 70000, 0x1p43, false},   {"bool", 600, 1, false}};
  std::vector<std::string> recorded;
  for (const auto& row : rows) {
    const Format& f = format_named(row.dtype);
    std::vector<double> golden = golden_values(f, row.n, 31, row.specials);
    for (double& v : golden) v *= row.times;
    std::vector<double> output = output_values(f, golden, 32, row.specials);
    const Shape shape = {row.n};
    const Tensor expected = f.is_float() && !f.is_float64()
                                ? Tensor::from_values(format_named("float64"), shape, golden)
                                : stored(f, shape, golden);
    const Tensor actual = stored(f, shape, output);
    for (const bool round : {true, false}) {
      JudgeOptions options;
      options.threads = 2;
      const Verdict v = judge(actual, expected, oracle::tolerance(1e-5, 1e-4, round), options);
      recorded.push_back(formatted("{} {} times {}{}: {}", row.dtype, row.n, row.times,
                                   round ? " rounded" : "", json_line(v)));
    }
    // Also judges with the same golden result in the output's own format, whose elements are read
    // in place.
    const Tensor same = stored(f, shape, golden);
    const Verdict v = judge(actual, same, oracle::tolerance(1e-5, 1e-4));
    recorded.push_back(formatted("{} {} times {} in its own format: {}", row.dtype, row.n,
                                 row.times, json_line(v)));
  }
  expect_recorded("judge/recorded/metrics.txt", recorded);
}

// The caller gives bounds of single elements, with and without a part for chance.
TEST(RecordedVerdicts, OfElementsOwnBounds) {
  std::vector<std::string> recorded;
  const Shape shape = {40, 60};
  for (const char* dtype : {"float32", "float16", "float8_e4m3fn"}) {
    const Format& f = format_named(dtype);
    const std::vector<double> golden = golden_values(f, 2400, 41, true);
    std::vector<double> own = golden_values(f, 2400, 43, false);
    for (double& v : own) v = std::abs(v) * 0x1p-10;
    const Tensor bounds = Tensor::from_values(format_named("float64"), shape, own);
    const Tensor expected = Tensor::from_values(format_named("float64"), shape, golden);
    const Tensor actual = Tensor::from_values(f, shape, output_values(f, golden, 42, true));
    for (const char* standard : {"accumulation", "expected_error"}) {
      for (const bool finite : {false, true}) {
        Bound bound = oracle::bound_of(standard, dtype);
        if (finite) bound.infinity = Infinity::kSign;
        JudgeOptions options;
        options.element_bounds = bounds.view();
        const Verdict v = judge(actual, expected, bound, options);
        recorded.push_back(formatted("{} {}{}: {}", dtype, standard, finite ? " with infinity" : "",
                                     short_line(v)));
      }
    }
  }
  expect_recorded("judge/recorded/own_bounds.txt", recorded);
}

// Judges outputs by every standard: outputs that are only rounded, a little off, and far off.
TEST(RecordedVerdicts, OfEveryStandard) {
  std::vector<std::string> recorded;
  const Shape shape = {14, 50};
  const std::int64_t n = element_count(shape);
  for (const Standard& s : standards()) {
    for (const char* dtype : {"float32", "bfloat16", "float8_e5m2"}) {
      const Format& f = format_named(dtype);
      const auto bound = standard_bound(s.name, f, 100);
      if (!bound) continue;
      for (const double off : {0.0, 0x1p-12, 0x1p-6, 0.25}) {
        for (const bool specials : {false, true}) {
          if (specials && off != 0x1p-12) continue;
          const std::vector<double> golden = golden_values(f, n, 51, specials);
          const Tensor expected = Tensor::from_values(format_named("float64"), shape, golden);
          const Tensor actual =
              Tensor::from_values(f, shape, output_values(f, golden, 52, false, off));
          const Tensor reference_implementation =
              Tensor::from_values(f, shape, output_values(f, golden, 53, false, 0x1p-11));
          JudgeOptions options;
          options.reference_implementation = reference_implementation.view();
          options.metrics = options.patterns = false;
          const Verdict v = judge(actual, expected, *bound, options);
          recorded.push_back(formatted("{} {} off {}{}: {}", s.name, dtype, off,
                                       specials ? " with specials" : "", short_line(v)));
        }
      }
    }
  }
  expect_recorded("judge/recorded/standards.txt", recorded);
}

}  // namespace
}  // namespace assay
