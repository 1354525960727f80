// Compares quantiles of the errors of many elements with the sorted errors. The judge finds a
// quantile by the histogram of the metrics, or from a sample if the histogram does not hold it. The
// tests include data for which either shows little or misleads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/index.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/judge/statistic_table.h"
#include "assay/judge/verdict.h"
#include "emulated.h"
#include "oracle.h"
#include "sorting.h"

namespace assay {
namespace {

using oracle::vector_of;

// From 2^18 elements on, a sample is drawn.
constexpr std::int64_t kElements = (std::int64_t{1} << 18) + 7;

struct Errors {
  const char* name;
  std::function<double(std::int64_t i, Random& random)> error;
  // If set, every fourth expected value is 0, for which the histogram has no relative error.
  bool at_zeros = false;
};

// True if the sample takes element i: it takes 16 consecutive elements of every 8192.
bool is_sampled(std::int64_t i) {
  const std::int64_t first = i / 8192 * 8192;
  const std::uint64_t chance = static_cast<std::uint64_t>(first) * 0x9e3779b97f4a7c15u >> 55;
  return (i - first) / 16 == static_cast<std::int64_t>(chance);
}

const Errors kErrors[] = {
    {"normal", [](std::int64_t, Random& random) { return std::abs(random.normal()); }},
    {"none", [](std::int64_t, Random&) { return 0.0; }},
    {"equal", [](std::int64_t, Random&) { return 0.5; }},
    {"half of them zero",
     [](std::int64_t, Random& random) { return random.below(2) == 0 ? 0 : random.uniform(); }},
    {"few sizes",
     [](std::int64_t, Random& random) { return static_cast<double>(random.below(5)) / 4; }},
    {"rising", [](std::int64_t i, Random&) { return static_cast<double>(i) * 0x1p-18; }},
    {"one far", [](std::int64_t i, Random&) { return i == 77 ? 1e30 : 0x1p-10; }},
    {"other where nobody samples",
     [](std::int64_t i, Random& random) { return is_sampled(i) ? 8 : random.uniform(); }},
    {"far apart", [](std::int64_t i, Random&) { return i % 3 == 0 ? 0x1p90 : 0x1p-99; }},
    {"normal, also at zeros",
     [](std::int64_t, Random& random) { return std::abs(random.normal()) * 0x1p-60; }, true},
    {"at zeros, and other where nobody samples",
     [](std::int64_t i, Random& random) { return is_sampled(i) ? 8 : random.uniform(); }, true},
};

// The errors collected from merged parts are those of all elements: each error between the two
// bounds has its rank, and no other error is kept.
TEST(QuantileErrors, OfPartsAreThoseOfAll) {
  Random random(5, 2);
  std::int64_t found = 0, missing = 0;
  const double bounds[][2] = {{0, 0}, {0, 0.25}, {0.25, 0.25}, {0.25, 0.5}, {0.5, kInfinity}};
  for (const auto& bound : bounds) {
    const double low = bound[0], high = bound[1];
    std::vector<double> sorted;
    QuantileErrors all{false, 0.5, {low, high}};
    for (const std::size_t n : {40u, 3u, 77u}) {
      QuantileErrors part = {false, 0.5, {low, high}};
      std::vector<float> a(n), e(n, 1.0F);
      for (float& value : a) {
        value = 1.0F + static_cast<float>(random.below(4)) / 4;
        if (random.below(3) == 0) value += static_cast<float>(random.uniform()) / 4;
        sorted.push_back(static_cast<double>(value - 1.0F));
      }
      part.add(a.data(), e.data(), n);
      all.merge(part);
    }
    sort_numbers(sorted);
    const auto elements = static_cast<std::int64_t>(sorted.size());
    const auto within = [&](double error) { return low <= error && error <= high; };
    for (std::int64_t n = 0; n < elements; ++n) {
      const auto two = all.at(n, elements);
      const double at_n = sorted[at(n)], next = n + 1 < elements ? sorted[at(n + 1)] : kInfinity;
      ASSERT_EQ(two.has_value(), within(at_n) && (within(next) || n + 1 == elements))
          << low << " to " << high << ", " << n;
      ++(two ? found : missing);
      if (two) {
        EXPECT_EQ(*two, TwoErrors(at_n, next));
      }
    }
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(missing, 100);
}

TEST(QuantileOfMany, IsThatOfTheSortedErrors) {
  for (const Errors& errors : kErrors) {
    for (const char* dtype : {"float32", "float64", "bfloat16"}) {
      // One of the three dtypes is enough, because all three take minutes.
      if (walks_a_share() && dtype != std::string("float32")) continue;
      Random random(3, 8);
      std::vector<double> e(at(kElements)), a(at(kElements));
      for (std::int64_t i = 0; i < kElements; ++i) {
        e[at(i)] = static_cast<double>(1 + random.below(4)) * (random.below(2) == 0 ? 1 : -1);
        if (errors.at_zeros && i % 4 == 1) e[at(i)] = 0;
        a[at(i)] = e[at(i)] + errors.error(i, random);
      }
      const Tensor actual = vector_of(dtype, a), expected = vector_of(dtype, e);
      a = actual.view().values(), e = expected.view().values();
      std::vector<double> absolute(at(kElements)), relative(at(kElements));
      for (std::size_t i = 0; i < a.size(); ++i) {
        absolute[i] = std::abs(a[i] - e[i]);
        relative[i] = absolute[i] / (e[i] == 0 ? 0x1p-52 : std::abs(e[i]));
      }
      sort_numbers(absolute);
      sort_numbers(relative);
      std::vector<Limit> limits;
      std::vector<double> wanted;
      for (const double q : {0.0, 0.25, 0.5, 0.99, 0.9999995, 1.0}) {
        const double rank = q * static_cast<double>(kElements - 1), below = std::floor(rank);
        const auto of = [&](const std::vector<double>& sorted) {
          const double low = sorted[static_cast<std::size_t>(below)];
          if (rank == below) return low;
          return low + (rank - below) * (sorted[static_cast<std::size_t>(below) + 1] - low);
        };
        limits.push_back({.statistic = Statistic::kQuantileAbs, .limit = 1, .parameter = q});
        wanted.push_back(of(absolute));
        limits.push_back({.statistic = Statistic::kQuantileRelative, .limit = 1, .parameter = q});
        wanted.push_back(of(relative));
      }
      // Reads all limits at once, or each one separately, as for a standard with a single limit.
      const std::size_t together = dtype == std::string("bfloat16") ? 1 : limits.size();
      for (std::size_t first = 0; first < limits.size(); first += together) {
        const auto r = judge_statistics(actual, expected, {}, false,
                                        std::span(limits).subspan(first, together));
        for (std::size_t i = 0; i < together; ++i) {
          EXPECT_EQ(r.readings.at(i).value, wanted[first + i])
              << errors.name << " " << dtype << ": " << limits[first + i].text();
        }
        // If no metrics are requested, the pass that judges also finds the quantiles.
        Bound bound;
        bound.rule = Rule::kStatistics;
        bound.limits = std::vector(limits.begin() + static_cast<std::ptrdiff_t>(first),
                                   limits.begin() + static_cast<std::ptrdiff_t>(first + together));
        const Verdict quick = judge(actual, expected, bound,
                                    {.metrics = false, .blindness = false, .patterns = false});
        for (std::size_t i = 0; i < together; ++i) {
          EXPECT_EQ(quick.readings.at(i).value, wanted[first + i])
              << errors.name << " " << dtype << ": " << limits[first + i].text();
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay
