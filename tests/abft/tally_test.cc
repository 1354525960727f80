// Tests how counts of several matrices are added, and when a fault of all of C is reported as one
// fault. Also tests the variance of a check's own sums, the order of flags, and the limits of z.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "abft/checked.h"
#include "assay/abft/check_tally.h"
#include "assay/base/index.h"
#include "assay/base/text.h"

namespace assay::abft {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

// Returns counts that all differ, so that an exchange of two counts would be found.
template <typename Counts>
Counts counted() {
  Counts one;
  one.checks = 1;
  one.flagged = 2;
  one.not_checkable = 3;
  one.uninformative = 4;
  one.confirmed_clean = 5;
  one.narrow = 6;
  one.blind = 7;
  one.right_specials = 8;
  one.special_checks = 9;
  return one;
}

void expect_twice_the_counts(const AbftVerdict& v) {
  EXPECT_EQ(v.checks, 2);
  EXPECT_EQ(v.flagged, 4);
  EXPECT_EQ(v.not_checkable, 6);
  EXPECT_EQ(v.uninformative, 8);
  EXPECT_EQ(v.confirmed_clean, 10);
  EXPECT_EQ(v.narrow, 12);
  EXPECT_EQ(v.blind, 14);
  EXPECT_EQ(v.right_specials, 16);
  EXPECT_EQ(v.special_checks, 18);
}

TEST(Tally, MatricesOfABatchAreAdded) {
  AbftVerdict one = counted<AbftVerdict>();
  one.worst_ratio = 0.5;
  one.measured = 10;
  one.rms_z = 0.5;
  one.mean_z = 0.25;
  AbftVerdict all, first = one, second = one;
  second.worst_ratio = 0.75;
  add_counts(all, first);
  add_counts(all, second);
  expect_twice_the_counts(all);
  EXPECT_EQ(all.worst_ratio, 0.75);
  EXPECT_EQ(all.measured, 20);
  EXPECT_DOUBLE_EQ(all.rms_z, 0.5);
  EXPECT_DOUBLE_EQ(all.mean_z, 0.25);
}

// The parts of one matrix, which threads count separately, are added in the same way.
TEST(Tally, PartsOfAMatrixAreAdded) {
  CheckTally all, part = counted<CheckTally>();
  part.worst_ratio = 0.5;
  all.add(part);
  part.worst_ratio = 0.25;
  all.add(part);
  AbftVerdict v;
  set_counts(v, all);
  expect_twice_the_counts(v);
  EXPECT_EQ(v.worst_ratio, 0.5);
}

// Some flags hold for a batch if they hold for one matrix, and others only if they hold for all.
TEST(Tally, WhatIsSaidOfMatricesIsSaidOfTheBatch) {
  for (const bool first_has : {false, true}) {
    for (const bool second_has : {false, true}) {
      AbftVerdict all, first, second;
      first.from_golden = first.columns_are_off = first.all_looked_at = first.calibrated =
          first_has;
      second.from_golden = second.columns_are_off = second.all_looked_at = second.calibrated =
          second_has;
      all.all_looked_at = all.calibrated = true;
      add_counts(all, first);
      add_counts(all, second);
      EXPECT_EQ(all.from_golden, first_has || second_has);
      EXPECT_EQ(all.columns_are_off, first_has || second_has);
      EXPECT_EQ(all.all_looked_at, first_has && second_has);
      EXPECT_EQ(all.calibrated, first_has && second_has);
    }
  }
}

// A constant is added to each column, as by a wrong bias. The note on constants appears if it is
// added in every row, but not if it is added in every second row.
TEST(Tally, EachColumnIsOffByAConstant) {
  const testing_oracle::Made made =
      testing_oracle::random_product(16, 32, 24, "float32", "float32", 4, 3, {});
  for (const std::int64_t step : {1, 2}) {
    Tensor c = made.c;
    for (std::int64_t i = 0; i < 16; i += step) {
      for (std::int64_t j = 0; j < 32; ++j) {
        const double value = c.view().value_at(i * 32 + j) + static_cast<double>(1 << 12);
        c.set_bits(i * 32 + j, encode(c.format(), value));
      }
    }
    const AbftVerdict v = testing_checks::checked(made.a, made.b, c);
    EXPECT_EQ(v.outcome, Outcome::kFail);
    EXPECT_EQ(v.flagged, 32 / step);
    EXPECT_EQ(v.columns_are_off, step == 1);
    if (step == 1) {
      EXPECT_THAT(v.notes, Contains(StartsWith("each column differs by a constant")));
    } else {
      EXPECT_THAT(v.notes, Not(Contains(StartsWith("each column differs by a constant"))));
    }
  }
}

// If some elements are not finite, no constant is reported.
TEST(Tally, NoColumnIsOffByAConstantBesideAnInfinity) {
  const testing_oracle::Made made =
      testing_oracle::random_product(16, 32, 24, "float32", "float32", 4, 3, {});
  for (const bool special : {false, true}) {
    Tensor c = made.c;
    for (std::int64_t e = 0; e < 16 * 32; ++e) {
      c.set_bits(e, encode(c.format(), c.view().value_at(e) + 4096));
    }
    if (special) c.set_bits(31, encode(c.format(), HUGE_VAL));
    const AbftVerdict v = testing_checks::checked(made.a, made.b, c);
    EXPECT_EQ(v.flagged, 32);
    EXPECT_EQ(v.columns_are_off, !special);
  }
}

// Two elements that are each right to half an ulp may be one ulp apart. If the expected values of a
// column differ by at most two ulps, an equal error does not show that the column is off by a
// constant. Here one ulp is 1.
TEST(Tally, ColumnsOfNearlyOneValueAreNotOffByAConstant) {
  const Format& half = format_named("float16");
  AbftOptions options;
  options.golden_tolerance = [](double) { return 0.0; };
  for (const double last : {1026.0, 1027.0}) {
    const std::vector<double> expected = {1024, 1024, last}, found = {1028, 1028, last + 4};
    const Tensor golden = Tensor::from_values(half, {3, 1}, expected);
    const Tensor c = Tensor::from_values(half, {3, 1}, found);
    const AbftVerdict v = AbftChecker::of_golden(golden, options).check(c);
    EXPECT_EQ(v.outcome, Outcome::kFail);
    EXPECT_EQ(v.columns_are_off, last == 1027) << last;
  }
}

// In a tall product, each of the few columns has enough rows to show a constant. Two rows are too
// few, however many columns they have.
TEST(Tally, FewColumnsOfManyRowsAreOffToo) {
  for (const std::int64_t columns : {2, 40}) {
    const std::int64_t rows = columns == 2 ? 40 : 2;
    const testing_oracle::Made made =
        testing_oracle::random_product(rows, columns, 24, "float32", "float32", 4, 3, {});
    Tensor c = made.c;
    for (std::int64_t e = 0; e < rows * columns; ++e) {
      c.set_bits(e, encode(c.format(), c.view().value_at(e) + 4096));
    }
    const AbftVerdict v = testing_checks::checked(made.a, made.b, c);
    EXPECT_EQ(v.outcome, Outcome::kFail);
    EXPECT_EQ(v.columns_are_off, columns == 2);
  }
}

// Thresholds scale with the products. Operands that are 1024 times as large have errors that are as
// many times as large, including those of the check's own sums.
TEST(Tally, ThresholdsScaleWithTheOperands) {
  const testing_oracle::Made made =
      testing_oracle::random_product(4, 48, 64, "float32", "float32", 4, 5, {});
  const auto scaled = [](const Tensor& t, double by) {
    std::vector<double> values = t.view().values();
    for (double& v : values) v *= by;
    return Tensor::from_values(t.format(), t.shape(), values);
  };
  for (const char* arithmetic : {"float64", "float32"}) {
    const AbftOptions options =
        testing_checks::options_of(formatted("rounding_variance,arithmetic={}", arithmetic));
    const auto readings = [&](double by) {
      const Tensor a = scaled(made.a, by), c = scaled(made.c, by);
      const AbftChecker checker = AbftChecker::of_product(a, made.b, options);
      std::vector<Reading> read(static_cast<std::size_t>(checker.groups_per_row()));
      checker.read_row(1, c.bytes() + 48 * 4, c.format(), read.data());
      return read;
    };
    const std::vector<Reading> small = readings(1), large = readings(1024);
    for (std::size_t g = 0; g < small.size(); ++g) {
      EXPECT_NEAR(large[g].threshold / small[g].threshold, 1024, 1e-9) << arithmetic;
      EXPECT_NEAR(large[g].variance / small[g].variance, 0x1p20, 1e-6) << arithmetic;
    }
  }
}

// The parts of the variance of a check's own sums, over columns [first, first + 16) of row 0, with
// K = 64: the sum of the squares of all products, the sum of the squares of C, and the part of the
// chain of additions over k.
struct OwnSums {
  double products = 0, squares = 0, chain = 0;

  OwnSums(const testing_oracle::Made& made, std::int64_t first) {
    const std::int64_t k = 64, n = made.b.shape()[1];
    double sum = 0;
    for (std::int64_t column = first; column < first + 16; ++column) {
      for (std::int64_t kk = 0; kk < k; ++kk) {
        const double p = made.a.view().value_at(kk) * made.b.view().value_at(kk * n + column);
        sum += p;
        products += p * p;
      }
      const double c = made.c.view().value_at(column);
      squares += c * c;
    }
    chain = 64 * (sum * sum / 3 + 16 * products / 6);
  }
  double of_float32() const { return 0x1p-48 / 3 * (2 * 16 * (products + squares) + chain); }
};

// The check's own chain over k adds products without the bias of C.
TEST(Tally, VarianceOfOwnSumsIsThatOfTheProductsWithoutTheirBias) {
  const std::int64_t n = 16, k = 64;
  const std::vector<double> bias(static_cast<std::size_t>(n), 100.0);
  const testing_oracle::Made made =
      testing_oracle::random_product(4, n, k, "bfloat16", "float32", 4, 6, bias);
  const auto variance = [&](const char* arithmetic) {
    const AbftChecker checker = AbftChecker::of_product(
        made.a, made.b,
        testing_checks::options_of(formatted("rounding_variance,arithmetic={}", arithmetic)), bias);
    Reading read;
    checker.read_row(0, made.c.bytes(), made.c.format(), &read);
    return read.variance;
  };
  const double wanted = OwnSums(made, 0).of_float32();
  EXPECT_NEAR(variance("float32") - variance("float64"), wanted, 1e-6 * wanted);
}

// Sums in float32, and in pairs of bfloat16, have larger errors than those in float64: by the
// variance of their roundings.
TEST(Tally, VarianceOfOwnSumsByHand) {
  const std::int64_t n = 48, k = 64;
  const testing_oracle::Made made =
      testing_oracle::random_product(4, n, k, "bfloat16", "float32", 4, 6, {});
  const auto variances = [&](const char* arithmetic) {
    const AbftChecker checker = AbftChecker::of_product(
        made.a, made.b,
        testing_checks::options_of(formatted("rounding_variance,arithmetic={}", arithmetic)));
    std::vector<Reading> read(static_cast<std::size_t>(checker.groups_per_row()));
    checker.read_row(0, made.c.bytes(), made.c.format(), read.data());
    return read;
  };
  const std::vector<Reading> exact = variances("float64"), single = variances("float32"),
                             pairs = variances("hi_lo");
  for (std::size_t g = 0; g < exact.size(); ++g) {
    const OwnSums own(made, 16 * static_cast<std::int64_t>(g));
    const double of_single = own.of_float32();
    EXPECT_NEAR(single[g].variance - exact[g].variance, of_single, 1e-6 * of_single);
    const double of_pairs = 0x1p-48 / 3 * own.chain + 0x1p-34 / 3 * 16 * own.products;
    EXPECT_NEAR(pairs[g].variance - single[g].variance, of_pairs, 1e-6 * of_pairs);
  }
}

// The largest ratio comes first. Flags with equal ratios are in the order of matrix, row and
// columns.
TEST(Tally, TheOrderOfFlags) {
  const auto flag = [](double difference, double threshold, std::int64_t batch, std::int64_t index,
                       std::int64_t first) {
    AbftFlag f;
    f.batch = batch, f.index = index, f.first = first;
    f.reading.difference = difference, f.reading.threshold = threshold;
    return f;
  };
  const std::vector<AbftFlag> ordered = {
      flag(INFINITY, 1, 9, 9, 9), flag(8, 1, 5, 5, 5), flag(4, 1, 0, 0, 16), flag(8, 2, 0, 1, 0),
      flag(4, 1, 0, 1, 16),       flag(4, 1, 1, 0, 0), flag(9, 3, 0, 0, 0),  flag(3, 2, 0, 0, 0)};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      EXPECT_EQ(larger(ordered[i], ordered[j]), i < j) << i << " " << j;
    }
  }
}

// The test for constant columns reads 8 rows, evenly spaced in C. It reads as many columns as 2^19
// products a row allow, but at least 16. Other rows and columns do not count. The expected values
// are (i + 1) (j + 1) 1000. If `constant` is true, 4096 is added. Otherwise a multiple is added
// that grows with i.
TEST(Tally, WhichRowsAndColumnsAreAskedWhetherColumnsAreOff) {
  const auto are_off = [](std::int64_t m, std::int64_t n, std::int64_t k,
                          const std::function<bool(std::int64_t, std::int64_t)>& constant) {
    std::vector<double> a(at(m * k), 0.0), b(at(k * n), 0.0), c;
    for (std::int64_t i = 0; i < m; ++i) a[at(i * k)] = static_cast<double>(i + 1);
    for (std::int64_t j = 0; j < n; ++j) b[at(j)] = 1000 * static_cast<double>(j + 1);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const double off = constant(i, j) ? 4096 : 4096 * static_cast<double>(i + 2);
        c.push_back(a[at(i * k)] * b[at(j)] + off);
      }
    }
    const Format& f = format_named("float32");
    const AbftVerdict v = testing_checks::checked(Tensor::from_values(f, {m, k}, a),
                                                  Tensor::from_values(f, {k, n}, b),
                                                  Tensor::from_values(f, {m, n}, c));
    EXPECT_EQ(v.flagged, v.checks);
    return v.columns_are_off;
  };
  EXPECT_TRUE(are_off(16, 4, 1, [](auto i, auto) { return i % 2 == 0; }));
  EXPECT_FALSE(are_off(16, 4, 1, [](auto i, auto) { return i % 2 != 0; }));
  EXPECT_TRUE(are_off(17, 4, 1, [](auto i, auto) { return i % 2 == 0; }));
  EXPECT_FALSE(are_off(18, 4, 1, [](auto i, auto) { return i % 2 == 0; }));
  EXPECT_TRUE(are_off(3, 4, 1, [](auto, auto) { return true; }));
  // 2^19 / 2^14 = 32 columns are read. First 19 of them are off by the constant, which is more than
  // half, and then only 16.
  EXPECT_TRUE(are_off(3, 40, 1 << 14, [](auto, auto j) { return j >= 13 && j < 32; }));
  EXPECT_FALSE(are_off(3, 40, 1 << 14, [](auto, auto j) { return j >= 16; }));
  // 16 columns are read. First 8 of them are off by the constant, which is only half, then 9.
  EXPECT_FALSE(are_off(3, 40, 1 << 16, [](auto, auto j) { return j < 8 || j == 16; }));
  EXPECT_TRUE(are_off(3, 40, 1 << 16, [](auto, auto j) { return j < 8 || j == 15; }));
}

// For n checks, the limit of the mean square of z is the quantile of chi-square over n by Wilson
// and Hilferty, (1 - 2 / (9 n) + q sqrt(2 / (9 n)))^3. The limit of mean z is q / sqrt(n), with q =
// 4.75. From 30 checks on, only larger values are noted.
TEST(CalibrationNote, IsOfWhatOneInAMillionExceeds) {
  for (const std::int64_t count : {30, 31, 100, 1000, 100000}) {
    const auto n = static_cast<double>(count);
    const double rms = std::pow(1 - 2 / (9 * n) + 4.75 * std::sqrt(2 / (9 * n)), 1.5),
                 mean = 4.75 / std::sqrt(n);
    EXPECT_EQ(calibration_note(count, rms * (1 - 1e-9), 0), "") << count;
    EXPECT_THAT(
        calibration_note(count, rms * (1 + 1e-9), 0),
        StartsWith(formatted("rms z {} over {} checks is above {}: the reason may be truncating",
                             short_number(rms), grouped(count), short_number(rms))));
    for (const double sign : {1.0, -1.0}) {
      EXPECT_EQ(calibration_note(count, 1, sign * mean * (1 - 1e-9)), "") << count;
      EXPECT_THAT(
          calibration_note(count, 1, sign * mean * (1 + 1e-9)),
          StartsWith(formatted(
              "mean z {} over {} checks differs from 0 by more than {}: the reason may be casts",
              short_number(sign * mean), grouped(count), short_number(mean))));
    }
  }
  EXPECT_EQ(calibration_note(29, 100, 100), "");
}

}  // namespace
}  // namespace assay::abft
