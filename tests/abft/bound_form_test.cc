// Tests thresholds as forms, that is as sums over the elements of C. Forms are compared with values
// by hand. Every reading must equal the threshold's published formula (abft/oracle.h), and its
// form, its statistics and its checksum put together, whatever element changes.
#include "assay/abft/bound_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "abft/oracle.h"
#include "assay/abft.h"
#include "assay/abft/check_tally.h"
#include "assay/abft/rounding_tail.h"
#include "assay/abft/row_reader.h"
#include "assay/base/constants.h"
#include "assay/base/index.h"
#include "error_of.h"

namespace assay::abft {
namespace {

using testing_oracle::Made;
using testing_oracle::Problem;
using testing_oracle::random_product;
using testing_oracle::Real;

TEST(BoundForm, EveryPartByHand) {
  const OutputStats s{
      .sum = 1, .absolute = 30, .largest = 8, .ulp = 5, .ulp_square = 48, .square = 100};
  EXPECT_EQ(BoundForm{}.threshold(s), 0);
  EXPECT_TRUE(std::isnan(BoundForm{}.variance(s)));
  EXPECT_EQ((BoundForm{.constant = 3}.threshold(s)), 3);
  EXPECT_EQ((BoundForm{.constant = 3, .per_largest = 2}.threshold(s)), 19);
  EXPECT_EQ((BoundForm{.per_absolute = 0.5}.threshold(s)), 15);
  BoundForm rounding{.kappa = 3, .ulp_weight = 1.0 / 12, .half_ulps = 0.5, .has_variance = true};
  // The threshold is half of the sum of ulps, because that is less than 3 * sqrt(4).
  EXPECT_EQ(rounding.threshold(s), 2.5);
  EXPECT_EQ(rounding.variance(s), 4);
  rounding.kappa = 1;
  EXPECT_EQ(rounding.threshold(s), 2);
  OutputStats known = s;
  known.tail = 1.5;
  EXPECT_EQ(rounding.threshold(known), 2);
  EXPECT_EQ((BoundForm{.constant = 3}.threshold(known)), 3);
  BoundForm likely = rounding;
  likely.kappa = 4;
  EXPECT_EQ(likely.threshold(known), 1.5);
  EXPECT_EQ(likely.threshold(s), 2.5);
  EXPECT_EQ(likely.tail_bound(known), 2.5);
  rounding.deviations = 2;
  rounding.accumulation = 4;
  rounding.per_square = 0.125;
  rounding.per_ulp_square = 0.5;
  EXPECT_EQ(rounding.threshold(s), 2 + 2 * std::sqrt(4 + 12.5 + 24));
  EXPECT_EQ(rounding.variance(s), 4 + 4 + 12.5 + 24);
}

TEST(BoundForm, BranchTakesTheSmallestPeakOfAllRows) {
  BoundForm form{.per_largest = 2, .per_absolute = 1, .branch = 5, .columns = 20};
  OutputStats s{.absolute = 30, .largest = 8};  // peak 8 / 1.5
  EXPECT_EQ(form.threshold(s), 16);
  s.largest = 7.5;  // 5 is not above 5
  EXPECT_EQ(form.threshold(s), 30);
  s.largest = 8;
  form.least_peak = 5;
  EXPECT_EQ(form.threshold(s), 30);
  form.least_peak = 5.1;
  EXPECT_EQ(form.threshold(s), 16);
  // The peak of a row of zeros is NaN.
  form.least_peak = kNan;
  EXPECT_EQ(form.threshold(s), 30);
  EXPECT_EQ(form.threshold(OutputStats{}), 0);
}

TEST(BoundForm, StatisticsThatAreNotFiniteGiveNoFiniteThreshold) {
  const BoundForm forms[] = {{.per_largest = 2},
                             {.per_absolute = 2},
                             {.per_largest = 2, .per_absolute = 1, .branch = 5, .columns = 4},
                             {.kappa = 3, .ulp_weight = 0.125, .half_ulps = 0.5},
                             {.deviations = 3, .per_square = 1},
                             {.deviations = 3, .per_ulp_square = 1}};
  for (const double bad : {kNan, kInfinity}) {
    const OutputStats s{bad, bad, bad, bad, bad, bad};
    for (const BoundForm& form : forms) EXPECT_FALSE(std::isfinite(form.threshold(s)));
    EXPECT_EQ((BoundForm{.constant = 7}.threshold(s)), 7);
    const Reading r =
        reading_of({.constant = 7}, s, 1, Arithmetic::kFloat64, format_named("bfloat16"));
    EXPECT_TRUE(r.flagged());  // by its difference
  }
}

bool same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

// The threshold and sigma that a published formula gives for columns [first, last) of row i. They
// lie between two limits if the formula uses bounds of its terms. `width` is the width of a group,
// or 0 for whole rows.
struct Range {
  // sigma is -1 if the threshold has no sigma.
  Real low, high, sigma_low = -1, sigma_high = -1;
};
using ByFormula = std::function<Range(const Problem& p, std::int64_t i, std::int64_t first,
                                      std::int64_t last, std::int64_t width)>;

Real sum_of_biases(const Problem& p, std::int64_t i, std::int64_t first, std::int64_t last) {
  Real sum = 0;
  for (std::int64_t j = first; j < last; ++j) sum += std::abs(p.bias_at(i, j));
  return sum;
}

Range by_variance(const Problem& p, std::int64_t i, std::int64_t first, std::int64_t last,
                  std::int64_t width) {
  const std::int64_t groups = width == 0 ? 1 : (p.n() + width - 1) / width;
  testing_oracle::Variance how{testing_oracle::kappa_for(static_cast<Real>(p.m() * groups), 1e-9L),
                               1, width};
  const testing_oracle::Limit tight = rounding_variance(p, i, first, last, how);
  how.loose = p.grid.precision < 24;
  const testing_oracle::Limit loose = rounding_variance(p, i, first, last, how);
  const Real d = difference(p, i, first, last).value;
  return {tight.threshold_of(d), loose.threshold_of(d), tight.sigma, loose.sigma};
}

// Returns the limits of residual_compensated before any residual sum R is added. For float32
// results, there is no R. Sums of ulps and squares over 256 elements and more are accurate to
// 2^-19.
Range by_residual(const Problem& p, std::int64_t i, std::int64_t first, std::int64_t last,
                  std::int64_t width) {
  const std::int64_t groups = width == 0 ? 1 : (p.n() + width - 1) / width;
  // Each group has two checks: its sum, and the size of its residual sum R.
  const testing_oracle::Limit limit = residual_compensated(
      p, i, first, last, testing_oracle::kappa_for(static_cast<Real>(2 * p.m() * groups), 1e-9L));
  const Real band = last - first < 256 ? 0 : 0x1p-19L;
  return {limit.threshold * (1 - band), limit.threshold * (1 + band), limit.sigma * (1 - band),
          limit.sigma * (1 + band)};
}

Range exactly(Real threshold) { return {threshold, threshold}; }

// Returns the threshold of torch_npu and mindspore for a row that is checked without the others.
// The peak of the row (its largest size over its mean size) then decides.
Range of_one_row(const Problem& p, std::int64_t i, Real times) {
  Problem one = p;
  one.c.rows = 1;
  one.c.values.assign(p.c.values.begin() + i * p.n(), p.c.values.begin() + (i + 1) * p.n());
  return exactly(mean_or_max(one, 0, times));
}

Real e_max_of(const Problem& p, Real bf16, Real fp16, Real fp32) {
  return p.grid.precision == 8 ? bf16 : p.grid.precision == 11 ? fp16 : fp32;
}

const std::map<std::string_view, ByFormula>& formulas() {
  using std::int64_t;
  static const std::map<std::string_view, ByFormula> all = {
      {"rounding_variance", by_variance},
      {"residual_compensated", by_residual},
      {"v_abft",
       [](const Problem& p, int64_t i, int64_t first, int64_t last, int64_t) {
         return exactly(v_abft(
             p, i, first, last,
             {e_max_of(p, 8e-3L, 1e-3L, 2.2e-6L), 2.5L, testing_oracle::Sigma::kBound, {}, {}}));
       }},
      {"aclnn",
       [](const Problem& p, int64_t i, int64_t first, int64_t last, int64_t) {
         return exactly(
             v_abft(p, i, first, last,
                    {e_max_of(p, 1e-3L, 0, 2e-5L), 4, testing_oracle::Sigma::kBound, {}, {}}));
       }},
      {"a_abft", [](const Problem& p, int64_t i, int64_t, int64_t,
                    int64_t) { return exactly(a_abft(p, i, p.grid.roundoff())); }},
      {"a_abft_original",
       [](const Problem& p, int64_t i, int64_t, int64_t, int64_t) {
         return exactly(a_abft_original(p, largest_product(p, i)));
       }},
      {"sea_abft",
       [](const Problem& p, int64_t i, int64_t first, int64_t last, int64_t) {
         return exactly(sea_abft(p, i) + 2 * p.grid.roundoff() * sum_of_biases(p, i, first, last));
       }},
      {"analytic",
       [](const Problem& p, int64_t i, int64_t first, int64_t last, int64_t) {
         const Real growth = static_cast<Real>(p.k()) * p.grid.roundoff();
         return exactly(analytic(p, i, 0) +
                        growth / (1 - growth) * sum_of_biases(p, i, first, last));
       }},
      {"torch_npu",
       [](const Problem& p, int64_t i, int64_t, int64_t, int64_t) { return of_one_row(p, i, 5); }},
      {"mindspore",
       [](const Problem& p, int64_t i, int64_t, int64_t, int64_t) { return of_one_row(p, i, 1); }}};
  return all;
}

void expect_within(double got, Real low, Real high) {
  EXPECT_GE(got, static_cast<double>(low * (1 - 1e-10L)));
  EXPECT_LE(got, static_cast<double>(high * (1 + 1e-10L)));
}

// Tests one threshold, by groups and by whole rows.
void readings_are_by_formula(const Threshold& t, std::int64_t n) {
  const ByFormula& formula = formulas().at(t.name);
  std::uint64_t stream = 40;
  for (const char* dtype : {"bfloat16", "float16", "float32"}) {
    for (const std::vector<double>& bias :
         {std::vector<double>{}, std::vector<double>(at(n), 2.5)}) {
      SCOPED_TRACE(std::string(t.name) + " " + dtype);
      // aclnn has no e_max for float16
      if (t.name == "aclnn" && std::string(dtype) == "float16") continue;
      if (t.takes_residuals && std::string(dtype) == "float32") continue;  // is not cast
      Made made = random_product(4, n, 50, dtype, dtype, 6, ++stream, bias);
      Problem& p = made.problem;
      AbftOptions options;
      options.spec = parse_threshold(t.name);
      if (n > 256) options.spec.groups = 0;
      const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options, bias);
      EXPECT_EQ(checker.rows(), 4);
      EXPECT_EQ(checker.columns(), n);
      EXPECT_EQ(checker.depth(), 50);
      EXPECT_EQ(checker.spec().threshold, options.spec.threshold);
      // rounding_variance and the thresholds like it check groups of 16. All others check whole
      // rows or 256 columns.
      const bool grouped =
          n <= 256 && (t.name == "rounding_variance" || t.name == "residual_compensated");
      const std::int64_t width = grouped ? 16 : n;
      const auto groups = at((n + width - 1) / width);
      EXPECT_EQ(checker.group_width(), width);
      ASSERT_EQ(at(checker.groups_per_row()), groups);
      // These thresholds sum in float32, so that D is less exact by a factor of 2^29.
      const bool in_float32 = t.name == "aclnn" || t.name == "torch_npu" || t.name == "mindspore";
      const Format& f = made.c.format();
      std::vector<Reading> readings(groups);
      std::vector<BoundForm> forms(groups);
      std::vector<OutputStats> stats(groups);
      for (std::int64_t i = 0; i < 4; ++i) {
        checker.forms(i, f, forms.data());
        // A form is computed before C changes, and holds for any change of C.
        for (const int bit : {-1, 2, f.mantissa_bits(), f.bits - 1}) {
          if (bit >= 0) made.c.set_bits(n * i + 20, made.c.bits_at(n * i + 20) ^ (1u << bit));
          p.c(i, 20) = decode(f, made.c.bits_at(n * i + 20));
          const std::byte* row = made.c.bytes() + n * i * f.storage_bytes;
          checker.read_row(i, row, f, readings.data());
          checker.stats(f, row, stats.data(), forms.data());
          for (std::size_t g = 0; g < groups; ++g) {
            const std::int64_t first = static_cast<std::int64_t>(g) * width,
                               last = std::min(first + width, n);
            const Reading& read = readings[g];
            const testing_oracle::Difference d = difference(p, i, first, last);
            EXPECT_NEAR(read.difference, static_cast<double>(d.value),
                        static_cast<double>(d.noise * (in_float32 ? 0x1p29L : 1)));
            const Range wanted = formula(p, i, first, last, grouped ? 16 : 0);
            expect_within(read.threshold, wanted.low, wanted.high);
            EXPECT_TRUE(read.checkable);
            if (wanted.sigma_low < 0) {
              EXPECT_TRUE(std::isnan(read.variance));
            } else {
              expect_within(std::sqrt(read.variance), wanted.sigma_low, wanted.sigma_high);
            }
            const double expected = checker.expected(i, static_cast<std::int64_t>(g), f);
            const auto reading = [&](const OutputStats& s) {
              return reading_of(forms[g], s, expected, checker.spec().arithmetic, f);
            };
            OutputStats without_tail = stats[g];
            without_tail.tail = kNan;
            Reading r = reading(without_tail);
            if (r.difference > forms[g].tail_from * r.threshold) r = reading(stats[g]);
            ASSERT_TRUE(same(r.difference, read.difference));
            ASSERT_TRUE(same(r.threshold, read.threshold)) << r.threshold;
            ASSERT_TRUE(same(r.variance, read.variance));
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(BoundForm, ReadingsAreByTheirFormulas) {
  EXPECT_EQ(formulas().size(), thresholds().size());
  for (const Threshold& t : thresholds()) {
    ASSERT_EQ(formulas().count(t.name), 1u) << t.name << " has no formula here";
    readings_are_by_formula(t, 37);
    // Long rows of 16-bit elements are computed in another way.
    readings_are_by_formula(t, 301);
  }
}

// Each row of the table of thresholds has the functions that it needs.
TEST(Thresholds, HaveTheirCode) {
  for (const Threshold& t : thresholds()) {
    EXPECT_NE(t.form, nullptr) << t.name;
    // Forms that read sizes or peaks say so. For the others, these statistics may be left out.
    const Made made = random_product(2, 20, 9, "bfloat16", "bfloat16", 2, 5);
    AbftOptions options;
    options.spec = parse_threshold(t.name);
    const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options);
    std::vector<BoundForm> forms(at(checker.groups_per_row()));
    checker.forms(0, made.c.format(), forms.data());
    EXPECT_EQ(forms[0].branch > 0, t.reads_peaks) << t.name;
    EXPECT_EQ(forms[0].per_largest > 0 || forms[0].per_absolute > 0, t.reads_sizes) << t.name;
    EXPECT_EQ(forms[0].has_variance, t.by_variance) << t.name;
  }
}

TEST(OutputStats, OfEveryGroup) {
  for (const char* dtype : {"bfloat16", "float16", "float32"}) {
    const Format& f = format_named(dtype);
    const Made made = random_product(1, 45, 8, dtype, dtype, 10, 3);
    std::vector<OutputStats> stats(3);
    output_stats(f, made.c.bytes(), 45, 16, stats.data());
    for (std::int64_t g = 0; g < 3; ++g) {
      Real sum = 0, absolute = 0, largest = 0, ulp = 0, ulp_square = 0, square = 0;
      for (std::int64_t j = 16 * g; j < std::min<std::int64_t>(45, 16 * g + 16); ++j) {
        const Real c = made.problem.c(0, j), u = made.problem.grid.ulp(c);
        sum += c;
        absolute += std::abs(c);
        largest = std::max(largest, std::abs(c));
        ulp += u;
        ulp_square += u * u;
        square += c * c;
      }
      const auto near = [](double got, Real wanted, Real size) {
        EXPECT_NEAR(got, static_cast<double>(wanted), static_cast<double>(size) * 1e-14);
      };
      const OutputStats& s = stats[at(g)];
      near(s.sum, sum, absolute);
      near(s.absolute, absolute, absolute);
      EXPECT_EQ(s.largest, static_cast<double>(largest));
      near(s.ulp, ulp, ulp);
      near(s.ulp_square, ulp_square, ulp_square);
      near(s.square, square, square);
    }
  }
}

TEST(OutputStats, AreTheSameWhateverElseIsAskedFor) {
  for (const char* dtype : {"bfloat16", "float16", "float32", "float64"}) {
    const Format& f = format_named(dtype);
    for (const std::int64_t n : {45, 300}) {
      const Made made = random_product(1, n, 8, dtype, dtype, 10, 3);
      for (const std::int64_t width : {std::int64_t{16}, n}) {
        std::vector<OutputStats> all(at((n + width - 1) / width)), some(all.size());
        output_stats(f, made.c.bytes(), n, width, all.data());
        for (int asked = 0; asked < 16; ++asked) {
          const StatsUsed used{.largest = (asked & 9) != 0,
                               .absolute = (asked & 8) != 0,
                               .square = (asked & 2) != 0,
                               .ulps = (asked & 4) != 0};
          output_stats(f, made.c.bytes(), n, width, some.data(), used);
          for (std::size_t g = 0; g < all.size(); ++g) {
            EXPECT_EQ(some[g].sum, all[g].sum);
            EXPECT_EQ(some[g].absolute, used.absolute ? all[g].absolute : 0);
            EXPECT_EQ(some[g].largest, used.largest ? all[g].largest : 0);
            EXPECT_EQ(some[g].square, used.square ? all[g].square : 0);
            EXPECT_EQ(some[g].ulp, used.ulps ? all[g].ulp : 0);
            EXPECT_EQ(some[g].ulp_square, used.ulps ? all[g].ulp_square : 0);
          }
        }
      }
    }
  }
}

TEST(BoundForm, CallersMistakes) {
  const Made made = random_product(3, 5, 4, "bfloat16", "bfloat16", 0, 3);
  const AbftChecker checker = AbftChecker::of_product(made.a, made.b, {});
  const double elements[5] = {}, residual = 0;
  BoundForm form;
  Reading reading;
  OutputStats sums;
  ElementBound bounds[5];
  using Call = std::function<void(std::int64_t row, const Format&)>;
  const std::map<std::string, Call> of_a_row = {
      {"read_row",
       [&](std::int64_t row, const Format& f) { checker.read_row(row, elements, f, &reading); }},
      {"read_residual",
       [&](std::int64_t row, const Format& f) {
         checker.read_residual(row, elements, f, &residual, &reading);
       }},
      {"residual_forms",
       [&](std::int64_t row, const Format& f) { checker.residual_forms(row, f, &form); }},
      {"forms", [&](std::int64_t row, const Format& f) { checker.forms(row, f, &form); }},
      {"expected", [&](std::int64_t row, const Format& f) { (void)checker.expected(row, 0, f); }},
      {"element_bound",
       [&](std::int64_t row, const Format& f) { (void)checker.element_bound(row, 4, 1.0, f); }},
      {"element_bounds",
       [&](std::int64_t row, const Format& f) { checker.element_bounds(row, 0, 5, f, bounds); }}};
  const std::map<std::string, Call> of_all = {
      {"explained", [&](std::int64_t, const Format& f) { (void)checker.explained(f); }},
      {"peak", [&](std::int64_t, const Format& f) { (void)checker.peak(elements, f); }},
      {"stats", [&](std::int64_t, const Format& f) { checker.stats(f, elements, &sums); }}};
  const Format& bf16 = format_named("bfloat16");
  for (const auto& calls : {of_a_row, of_all}) {
    for (const auto& entry : calls) {
      SCOPED_TRACE(entry.first);
      EXPECT_EQ(error_of([&] { entry.second(0, bf16); }), "no error");
      EXPECT_EQ(error_of([&] { entry.second(2, bf16); }), "no error");
      EXPECT_EQ(error_of([&] { entry.second(0, format_named("float64")); }),
                "outputs of float64 cannot be checked, because their checksums need more precision "
                "than float64");
    }
  }
  for (const auto& entry : of_a_row) {
    SCOPED_TRACE(entry.first);
    EXPECT_EQ(error_of([&] { entry.second(-1, bf16); }), "row -1 of 3");
    EXPECT_EQ(error_of([&] { entry.second(3, bf16); }), "row 3 of 3");
  }
  EXPECT_EQ(error_of([&] { (void)checker.element_bound(0, 5, 1.0, bf16); }), "column 5 of 5");
  EXPECT_EQ(error_of([&] { (void)checker.element_bound(0, -1, 1.0, bf16); }), "column -1 of 5");
}

// If no bound of the elements is given for a golden result, the check allows for its unknown
// accumulation. That is 2^-16 of the root mean square for each element, in addition to the
// roundings of its format.
TEST(GoldenForms, AllowTwoToTheMinus16OfTheRootMeanSquare) {
  const Made made = random_product(3, 20, 30, "bfloat16", "bfloat16", 0, 3);
  const AbftChecker checker = AbftChecker::of_golden(made.c, {});
  // The 20 columns are a group of 16 and a group of 4.
  std::vector<BoundForm> forms(2);
  checker.forms(1, made.c.format(), forms.data());
  for (const BoundForm& form : forms) {
    EXPECT_DOUBLE_EQ(form.kappa * std::sqrt(form.per_square), 0x1p-16);
  }
}

// Two thresholds need the smallest peak of all rows, which a caller has to find first.
TEST(Peaks, AreLookedAtByTwoThresholdsOfFloats) {
  const Made made = random_product(3, 20, 30, "bfloat16", "bfloat16", 0, 3);
  for (const Threshold& threshold : thresholds()) {
    AbftOptions options;
    options.spec = parse_threshold(threshold.name);
    const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options);
    EXPECT_EQ(checker.looks_at_peaks(format_named("bfloat16")),
              threshold.name == "torch_npu" || threshold.name == "mindspore")
        << threshold.name;
    EXPECT_FALSE(checker.looks_at_peaks(format_named("int32"))) << threshold.name;
  }
}

// The peak of a row is its largest size divided by its mean size. Zeros have no peak.
TEST(Peaks, AreTheLargestOverTheMean) {
  const Made made = random_product(3, 4, 30, "bfloat16", "bfloat16", 0, 3);
  const AbftChecker checker = AbftChecker::of_product(made.a, made.b, {});
  for (const char* dtype : {"bfloat16", "float16", "float32"}) {
    const Format& f = format_named(dtype);
    const auto peak = [&](const std::vector<double>& row) {
      return checker.peak(Tensor::from_values(f, {4}, row).bytes(), f);
    };
    EXPECT_EQ(peak({1, -6, 0, 1}), 3) << dtype;
    EXPECT_EQ(peak({2, 2, -2, 2}), 1) << dtype;
    EXPECT_EQ(peak({0, 0, 0, -8}), 4) << dtype;
    EXPECT_EQ(peak({0, 0, 0, 0}), -kInfinity) << dtype;
  }
}

TEST(ElementBound, OfAGoldenResultAlone) {
  const Made made = random_product(3, 20, 30, "bfloat16", "bfloat16", 0, 3);
  const AbftChecker checker = AbftChecker::of_golden(made.c, {});
  const Format& f = made.c.format();
  const double reference = made.problem.c(1, 17);
  // The sum of squares of columns 16 to 19, which are the group of column 17.
  Real square = 0;
  for (std::int64_t j = 16; j < 20; ++j) square += made.problem.c(1, j) * made.problem.c(1, j);
  const double slack = 0x1p-16 * static_cast<double>(std::sqrt(square / 4));
  const ElementBound b = checker.element_bound(1, 17, reference, f);
  EXPECT_EQ(b.reference, reference);
  EXPECT_FALSE(b.outside);
  EXPECT_NEAR(b.bound, ulp_of(f, std::abs(reference) + slack) / 2 + slack, b.bound * 1e-12);
  EXPECT_TRUE(checker.element_bound(1, 17, kNan, f).outside);
  EXPECT_TRUE(checker.element_bound(1, 17, kInfinity, f).outside);
  EXPECT_TRUE(checker.element_bound(1, 17, reference + 2 * b.bound, f).outside);
}

// Bounds of several elements at once, from any column of a row on, are the same as those of each
// single element.
TEST(ElementBound, OfSeveralElementsFromAnyColumnOn) {
  const std::int64_t m = 3, n = 40, k = 30;
  for (const char* out : {"bfloat16", "float32"}) {
    const Made made = random_product(m, n, k, "bfloat16", out, 0, 8);
    const AbftChecker checker = AbftChecker::of_product(made.a, made.b, {});
    const Format& f = made.c.format();
    for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>(0, 40),
                                       {0, 1},
                                       {1, 39},
                                       {16, 16},
                                       {17, 5},
                                       {39, 1}}) {
      for (std::int64_t row = 0; row < m; ++row) {
        SCOPED_TRACE(testing::Message() << out << " " << row << " " << first << " " << count);
        std::vector<ElementBound> bounds(at(count));
        checker.element_bounds(row, first, count, f, bounds.data());
        for (std::int64_t j = 0; j < count; ++j) {
          const std::int64_t column = first + j;
          Real reference = made.problem.bias_at(row, column);
          for (std::int64_t kk = 0; kk < k; ++kk) {
            reference += Real(made.problem.a(row, kk)) * made.problem.b(kk, column);
          }
          const double wanted = static_cast<double>(reference);
          EXPECT_NEAR(bounds[at(j)].reference, wanted, 1e-14 * std::abs(wanted));
          const ElementBound alone =
              checker.element_bound(row, column, made.problem.c(row, column), f);
          EXPECT_EQ(bounds[at(j)].reference, alone.reference);
          EXPECT_EQ(bounds[at(j)].bound, alone.bound);
          EXPECT_EQ(bounds[at(j)].worst_bound, alone.worst_bound);
          EXPECT_FALSE(alone.outside);
        }
      }
    }
  }
}

// Tests tail_from: if D/T is above it, the tail is computed. It is 1/3 for up to 32 columns. For
// more columns, it is 1.7 / kappa (T is then a little less than sqrt(3) deviations), if that is
// smaller.
TEST(BoundForm, FromWhereTheTailIsComputedByHand) {
  const Made made = random_product(2, 66, 9, "bfloat16", "bfloat16", 0, 3);
  for (const int width : {1, 31, 32, 33, 66}) {
    for (const double kappa : {3.0, 4.5, 5.0, 5.2, 8.5}) {
      AbftOptions options;
      options.spec.groups = width;
      options.spec.kappa = kappa;
      const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options);
      std::vector<BoundForm> forms(at(checker.groups_per_row()));
      checker.forms(1, made.c.format(), forms.data());
      const double third = 1.0 / 3;
      EXPECT_EQ(forms[0].tail_from, width <= 32 || kappa < 5.1 ? third : 1.7 / kappa)
          << width << " " << kappa;
    }
  }
}

// With loose readings, T is exact only if D is above the exact T. Otherwise T is the bound of the
// tail, however close D is. Without loose readings, T is exact unless D is at most a third of that
// bound. Each element of the golden result may be 1/64 off.
TEST(RowReader, ReadingsThatNeedNoTailAreLoose) {
  const Format& bf16 = format_named("bfloat16");
  std::vector<double> row;
  double ulps = 0, squares = 0;
  for (int j = 0; j < 20; ++j) {
    row.push_back(1.25 * std::ldexp(1.0, j % 5 == 0 ? 3 : j % 3));
    ulps += ulp_of(bf16, row.back());
    squares += ulp_of(bf16, row.back()) * ulp_of(bf16, row.back());
  }
  const Tensor c = Tensor::from_values(bf16, {1, 20}, row);
  const double constant = 20.0 / 64, kappa = 5;
  for (const bool coarse : {false, true}) {
    const double variance = squares / (coarse ? 8 : 12);
    const double exact = constant + rounding_tail(bf16, row, kappa, coarse).value;
    const double bound = constant + std::min(kappa * std::sqrt(variance), ulps / 2);
    ASSERT_LT(exact, 0.99 * bound);
    for (const double part : {0.0, 0.1, 0.3, 0.36, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0001, 1.2}) {
      SCOPED_TRACE(testing::Message() << "coarse " << coarse << ", D/T " << part);
      std::vector<double> golden = row;
      golden[7] += part * exact;
      const Tensor expected = Tensor::from_values(format_named("float64"), {1, 20}, golden);
      CheckedProduct product;
      product.options.spec = parse_threshold("rounding_variance,groups=0");
      product.options.spec.coarse = coarse;
      product.options.golden_tolerance = [](double) { return 1.0 / 64; };
      product.from_golden = true;
      product.golden = MatrixRows(expected.view());
      product.m = 1;
      product.n = 20;
      const RowReader reader(product, bf16, kappa);
      const MatrixRows elements(c.view());
      const bool small = part * exact <= bound / 3;
      Reading closest, loosest;
      LooseReadings loose;
      reader.read(0, elements.storage(), elements.row(0), &closest);
      reader.read(0, elements.storage(), elements.row(0), &loosest, nullptr, &loose);
      EXPECT_NEAR(closest.threshold, small ? bound : exact, 1e-9);
      EXPECT_NEAR(loosest.threshold, part < 1 ? bound : exact, 1e-9);
      EXPECT_EQ(closest.flagged(), part > 1);
      EXPECT_EQ(loosest.flagged(), part > 1);
      ASSERT_EQ(loose.kept.size(), small || part > 1 ? 0u : 1u);
      for (const LooseReading& r : loose.kept) {
        EXPECT_NEAR(r.difference, part * exact, 1e-9);
        EXPECT_GE(r.most, part * (1 - 1e-9));
        EXPECT_LE(r.most, 1);
        // The reader does not keep this reading if another check is known to have as large a D/T.
        LooseReadings others{.known = r.most};
        reader.read(0, elements.storage(), elements.row(0), &loosest, nullptr, &others);
        EXPECT_TRUE(others.kept.empty());
        EXPECT_NEAR(loosest.threshold, bound, 1e-9);
      }
    }
  }
}

// The largest D/T of all is exact. Closer readings are taken only of checks that may have the
// largest D/T.
TEST(CheckTally, SettlesWhatMayBeTheLargest) {
  struct Asked {
    std::vector<double> most;
    double worst = 0;
  };
  const auto settle = [](double worst, double known) {
    CheckTally tally;
    tally.worst_ratio = worst;
    tally.loose.known = known;
    for (const double most : {0.5, 0.9, 0.7, 0.8, 0.4}) {
      LooseReading r;
      r.most = most;
      tally.loose.kept.push_back(r);
    }
    Asked asked;
    tally.settle_worst([&](const LooseReading& r, double ratio) {
      EXPECT_EQ(ratio, std::max(tally.worst_ratio, known));
      asked.most.push_back(r.most);
      Reading exact;
      exact.difference = r.most - 0.15;
      exact.threshold = 1;
      return exact;
    });
    EXPECT_TRUE(tally.loose.kept.empty());
    asked.worst = tally.worst_ratio;
    return asked;
  };
  EXPECT_EQ(settle(0, 0).most, (std::vector<double>{0.9, 0.8}));
  EXPECT_EQ(settle(0, 0).worst, 0.75);
  EXPECT_EQ(settle(0.85, 0).most, (std::vector<double>{0.9}));
  EXPECT_EQ(settle(0.85, 0).worst, 0.85);
  // A larger D/T that is known from another tally does not become the largest one of this tally.
  EXPECT_EQ(settle(0.3, 0.85).most, (std::vector<double>{0.9}));
  EXPECT_EQ(settle(0.3, 0.85).worst, 0.75);
  EXPECT_TRUE(settle(0.3, 0.95).most.empty());
  EXPECT_EQ(settle(0.3, 0.95).worst, 0.3);
}

// In whole verdicts, the worst ratio of many blocks of rows is that of all checks with exact
// thresholds, with one thread and with several.
TEST(RowReader, TheWorstOfManyBlocksIsThatOfExactReadings) {
  const Made made = random_product(400, 96, 40, "bfloat16", "bfloat16", 0, 3);
  for (const int width : {16, 0, 20}) {
    AbftOptions options;
    options.spec.groups = width;
    const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options);
    std::vector<Reading> readings(at(checker.groups_per_row()));
    double worst = 0;
    for (std::int64_t i = 0; i < checker.rows(); ++i) {
      checker.read_row(i, made.c.bytes() + i * 96 * 2, made.c.format(), readings.data(), 0);
      for (const Reading& r : readings) worst = std::max(worst, ratio_of(r));
    }
    for (const int threads : {1, 3}) {
      AbftOptions many = options;
      many.threads = threads;
      const AbftVerdict v = AbftChecker::of_product(made.a, made.b, many).check(made.c);
      EXPECT_EQ(v.outcome, Outcome::kPass);
      EXPECT_EQ(v.worst_ratio, worst) << width << " " << threads;
    }
  }
}

}  // namespace
}  // namespace assay::abft
