// Compares the difference D, the threshold T and z = D / sigma of every check with the formulas in
// long double, on every SIMD target.
#include "assay/abft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "abft/checked.h"
#include "abft/oracle.h"
#include "assay/base/index.h"
#include "assay/base/sanitized.h"
#include "assay/format/convert.h"
#include "assay/tensor/eigen.h"
#include "simd/target_fixture.h"

namespace assay::abft {
namespace {

using testing_checks::options_of;
using testing_oracle::Difference;
using testing_oracle::Limit;
using testing_oracle::Made;
using testing_oracle::Problem;
using testing_oracle::random_product;
using testing_oracle::Real;

struct Size {
  std::int64_t m, n, k;
};
// Sizes of products: odd ones, one row, one column, K = 1, and more rows than one block of the
// product has.
constexpr Size kSizes[] = {{1, 1, 1},    {1, 37, 5},   {7, 1, 9},   {5, 16, 1},
                           {13, 33, 31}, {3, 70, 259}, {101, 17, 3}};

DotModel model_of(int chunk) {
  return {"bfloat16",
          {chunk, Provenance::kAssumed},
          {"float32", Provenance::kAssumed},
          {Rounding::kNearestEven, Provenance::kAssumed}};
}

// Returns the limits of a check, the tight one first. A checker may use any limit from the tight
// one to the loose one.
using Limits = std::function<std::array<Limit, 2>(const Problem&, std::int64_t row,
                                                  std::int64_t first, std::int64_t last)>;

// The number of checks by rows (or by columns), their largest D/T and the sums of z^2.
struct Totals {
  std::int64_t checks = 0, z_count = 0;
  // The first value is by the loose limit, the second one by the tight limit.
  Real ratio[2] = {0, 0}, z_square[2] = {0, 0};
};

void expect_near(Real actual, Real low, Real high, Real slack) {
  EXPECT_GE(actual, low - slack);
  EXPECT_LE(actual, high + slack);
}

Totals add_up(const Problem& p, std::int64_t width, bool output, const Limits& limits) {
  Totals t;
  for (std::int64_t i = 0; i < p.m(); ++i) {
    for (std::int64_t first = 0; first < p.n(); first += width) {
      const std::int64_t last = std::min(first + width, p.n());
      const Difference d = difference(p, i, first, last, output);
      const auto limit = limits(p, i, first, last);
      ++t.checks;
      for (std::size_t which = 0; which < 2; ++which) {
        const Limit& l = limit[1 - which];
        if (d.value > 0)
          t.ratio[which] = std::max(t.ratio[which], d.value / l.threshold_of(d.value));
        if (l.sigma > 0) t.z_square[which] += d.value / l.sigma * (d.value / l.sigma);
      }
    }
  }
  return t;
}

// Compares every reading of every row with the limits. Then compares a verdict on checks by rows,
// and a verdict on checks by rows and columns.
void expect_oracle(const Made& made, const std::string& spec, std::int64_t width,
                   const DotModel* model, const Limits& limits, bool output = false) {
  SCOPED_TRACE(spec);
  const Problem& p = made.problem;
  AbftOptions options = options_of(spec);
  options.model = model;
  const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options, p.bias);
  const std::int64_t groups = (p.n() + width - 1) / width;
  ASSERT_EQ(checker.groups_per_row(), groups);
  const bool by_row = made.c.format().storage_bytes > 1;
  std::vector<Reading> readings(at(groups));
  for (std::int64_t i = 0; i < p.m() && by_row; ++i) {
    checker.read_row(i, made.c.bytes() + i * p.n() * made.c.format().storage_bytes, made.c.format(),
                     readings.data());
    for (std::int64_t g = 0; g < groups; ++g) {
      const Reading& r = readings[at(g)];
      const std::int64_t first = g * width, last = std::min(first + width, p.n());
      const Difference d = difference(p, i, first, last, output);
      const auto limit = limits(p, i, first, last);
      SCOPED_TRACE("row " + std::to_string(i) + " group " + std::to_string(g));
      ASSERT_TRUE(r.checkable);
      ASSERT_NEAR(r.difference, static_cast<double>(d.value), static_cast<double>(d.noise));
      const Real most = limit[1].threshold_of(d.value);
      expect_near(r.threshold, limit[0].threshold_of(d.value), most, most * 1e-10L);
      if (limit[0].sigma > 0) {
        const Real noise = d.noise / limit[0].sigma;
        expect_near(r.z(), d.value / limit[1].sigma, d.value / limit[0].sigma,
                    noise + d.value / limit[0].sigma * 1e-12L);
      } else if (limit[0].sigma < 0) {
        EXPECT_TRUE(std::isnan(r.z()));  // no sigma
      }
      EXPECT_EQ(r.flagged(), !(r.difference <= r.threshold));
      if (testing::Test::HasFailure()) return;
    }
  }
  for (const bool columns : {false, true}) {
    SCOPED_TRACE(columns ? "with columns" : "rows");
    options.spec.columns = columns;
    options.spec.confirm = false;
    if (columns && options.spec.threshold->name == "rounding_variance" && !options.spec.kappa) {
      // With columns, more checks share the false-alarm budget, which changes kappa.
      // TheBudgetIsSharedByRowsAndColumns tests this.
      continue;
    }
    const AbftVerdict v =
        AbftChecker::of_product(made.a, made.b, options, p.bias).check(made.c.view());
    Totals t = add_up(p, width, output, limits);
    if (columns) {
      const Problem turned = p.transposed();
      const std::int64_t asked = options.spec.group_width();
      const Totals more =
          add_up(turned, asked == 0 ? turned.n() : std::min<std::int64_t>(asked, turned.n()),
                 output, limits);
      t.checks += more.checks;
      for (const int which : {0, 1}) {
        t.ratio[which] = std::max(t.ratio[which], more.ratio[which]);
        t.z_square[which] += more.z_square[which];
      }
    }
    EXPECT_EQ(v.checks, t.checks);
    EXPECT_EQ(v.not_checkable, 0);
    expect_near(v.worst_ratio, t.ratio[0], t.ratio[1], t.ratio[1] * 1e-4L + 1e-9L);
    if (std::isfinite(v.rms_z)) {
      const auto checks = static_cast<Real>(t.checks);
      expect_near(v.rms_z, std::sqrt(t.z_square[0] / checks), std::sqrt(t.z_square[1] / checks),
                  std::sqrt(t.z_square[1] / checks) * 1e-4L + 1e-9L);
    }
    if (testing::Test::HasFailure()) return;
  }
}

Limits variance_limits(Real kappa, int chunk, std::int64_t groups, bool coarse = false) {
  return [=](const Problem& p, std::int64_t i, std::int64_t first, std::int64_t last) {
    testing_oracle::Variance how{kappa, chunk, groups, coarse, false};
    const Limit tight = rounding_variance(p, i, first, last, how);
    how.loose = p.grid.precision < 24;
    return std::array{tight, how.loose ? rounding_variance(p, i, first, last, how) : tight};
  };
}

class AbftOracle : public simd::OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(OnTarget, AbftOracle, testing::ValuesIn(simd::available_targets()),
                         simd::target_of);

TEST_P(AbftOracle, RoundingVariance) {
  std::uint64_t stream = 0;
  for (const Size& size : kSizes) {
    for (const char* dtype : {"bfloat16", "float16", "float32"}) {
      const int octaves = dtype[0] == 'b' ? 12 : 4;
      const Made made = random_product(size.m, size.n, size.k, dtype, dtype, octaves, ++stream);
      for (const int groups : {1, 3, 16, 0}) {
        const std::int64_t width = groups == 0 ? size.n : std::min<std::int64_t>(groups, size.n);
        const Real checks = static_cast<Real>(size.m * ((size.n + width - 1) / width));
        for (const int chunk : {1, 4, 16}) {
          SCOPED_TRACE(std::string(dtype) + " chunk " + std::to_string(chunk));
          const DotModel model = model_of(chunk);
          expect_oracle(made, "rounding_variance,groups=" + std::to_string(groups), width, &model,
                        variance_limits(testing_oracle::kappa_for(checks, 1e-9L), chunk, groups));
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(AbftOracle, RoundingVarianceWithItsParameters) {
  const std::vector<double> bias = {3, -20, 0.5, 1e-3, 7, 0, 100, -3, 2, 11, 0.25};
  for (const char* dtype : {"bfloat16", "float16", "float32"}) {
    const Made made = random_product(9, 11, 40, dtype, dtype, 6, 77, bias);
    for (const int groups : {1, 4, 0}) {
      const std::int64_t width = groups == 0 ? 11 : groups;
      const std::string spec = "rounding_variance,kappa=2.5,groups=" + std::to_string(groups);
      expect_oracle(made, spec, width, nullptr, variance_limits(2.5L, 1, groups));
      expect_oracle(made, spec + ",coarse=1", width, nullptr,
                    variance_limits(2.5L, 1, groups, true));
      // The checks of float32 outputs need float64 sums, so that they do not take
      // arithmetic=output.
      if (dtype[5] != '3') {
        expect_oracle(made, spec + ",arithmetic=output", width, nullptr,
                      variance_limits(2.5L, 1, groups), true);
      }
    }
    const Real checks = 9 * 3;
    expect_oracle(made, "rounding_variance,groups=4,delta=0.001", 4, nullptr,
                  variance_limits(testing_oracle::kappa_for(checks, 1e-3L), 1, 4));
  }
}

TEST_P(AbftOracle, VAbft) {
  std::uint64_t stream = 100;
  for (const Size& size : kSizes) {
    struct Row {
      const char *in, *out, *spec;
      Real e_max, c;
    };
    const Real depth = std::sqrt(static_cast<Real>(size.k) / 1024);
    for (const Row& row :
         {Row{"bfloat16", "bfloat16", "v_abft", 8e-3L, 2.5L},
          Row{"float16", "float16", "v_abft", 1e-3L, 2.5L},
          Row{"float32", "float32", "v_abft", 2.2e-6L, 2.5L},
          Row{"bfloat16", "bfloat16", "v_abft,variant=recalibrated", 8e-3L, 5.39L},
          Row{"float16", "float16", "v_abft,variant=recalibrated", 1e-3L, 5.39L},
          Row{"float32", "float32", "v_abft,variant=recalibrated", 1.377e-6L * depth, 5.39L},
          Row{"bfloat16", "bfloat16", "v_abft,e_max=0.03125,c=4.5", 0.03125L, 4.5L},
          Row{"float8_e4m3fn", "float8_e4m3fn", "v_abft", 3.0L / 16, 4},
          Row{"float8_e5m2", "float8_e5m2", "v_abft", 3.0L / 8, 4},
          Row{"float8_e4m3fn", "bfloat16", "v_abft", 8e-3L, 2.5L},
          Row{"float16", "bfloat16", "v_abft,arithmetic=output", 8e-3L, 2.5L},
          Row{"float32", "float32", "v_abft,arithmetic=output", 2.2e-6L, 2.5L}}) {
      const bool narrow = std::string(row.in).find("float8") == 0;
      const Made made =
          random_product(size.m, size.n, narrow ? std::min<std::int64_t>(size.k, 9) : size.k,
                         row.in, row.out, narrow ? 0 : 4, ++stream);
      const bool output = std::string(row.spec).find("output") != std::string::npos;
      expect_oracle(
          made, row.spec, size.n, nullptr,
          [&](const Problem& p, std::int64_t i, std::int64_t, std::int64_t) {
            // The threshold v_abft needs the depth of a sum. Here it is K for checks of rows and of
            // columns.
            const Limit limit{v_abft(p, i, row.e_max, row.c), -1};
            return std::array{limit, limit};
          },
          output);
      if (HasFailure()) return;
    }
  }
}

TEST_P(AbftOracle, AAbft) {
  std::uint64_t stream = 200;
  const Limits limits = [](const Problem& p, std::int64_t i, std::int64_t, std::int64_t) {
    // eps_low is that of the output's format, bfloat16.
    const Limit limit{a_abft(p, i, 0x1p-8L), -1};
    return std::array{limit, limit};
  };
  for (const Size& size : kSizes) {
    for (const char* in : {"bfloat16", "float16", "float32"}) {
      const Made made = random_product(size.m, size.n, size.k, in, "bfloat16", 5, ++stream);
      expect_oracle(made, "a_abft", size.n, nullptr, limits);
      expect_oracle(made, "a_abft,arithmetic=output", size.n, nullptr, limits, true);
      if (HasFailure()) return;
    }
  }
}

// The readings are the same, bit for bit, however the matrices lie in memory.
struct Laid {
  std::vector<std::byte> bytes;
  TensorView view;
};
Laid laid_out(const Tensor& t, const std::string& how) {
  const std::int64_t m = t.shape()[0], n = t.shape()[1], size = t.format().storage_bytes;
  std::int64_t row = n, column = 1, start = 0;
  if (how == "column_major") row = 1, column = m;
  if (how == "padded") row = n + 3;
  if (how == "every_second") row = 2 * n + 1, column = 2;
  if (how == "backwards") row = -n, column = -1, start = m * n - 1;
  if (how == "rows_backwards") row = -(n + 1), start = (m - 1) * (n + 1);
  Laid laid;
  laid.bytes.assign(at((start + 1 + std::max<std::int64_t>(row, 0) * (m - 1) +
                        std::max<std::int64_t>(column, 0) * (n - 1)) *
                       size),
                    std::byte{0x7f});
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::memcpy(laid.bytes.data() + (start + i * row + j * column) * size,
                  t.bytes() + (i * n + j) * size, at(size));
    }
  }
  laid.view = view_bytes(laid.bytes.data() + start * size, t.format(), t.shape(), {row, column});
  return laid;
}

std::vector<double> figures(const AbftVerdict& v) {
  std::vector<double> all = {static_cast<double>(v.checks), static_cast<double>(v.flagged),
                             static_cast<double>(v.confirmed_clean), v.worst_ratio,
                             std::isnan(v.rms_z) ? -1 : v.rms_z};
  for (const AbftFlag& flag : v.flags) {
    all.insert(all.end(), {static_cast<double>(flag.index), static_cast<double>(flag.first),
                           flag.reading.difference, flag.reading.threshold,
                           flag.is_column ? 1.0 : 0.0, flag.element ? flag.element->reference : 0});
  }
  return all;
}

TEST_P(AbftOracle, LayoutsAndThreadsMakeNoDifference) {
  std::uint64_t stream = 300;
  for (const Size& size : {Size{1, 1, 1}, Size{13, 33, 31}, Size{131, 21, 7}, Size{3, 70, 259}}) {
    for (const char* dtype : {"bfloat16", "float16", "float32", "float8_e5m2"}) {
      Made made = random_product(size.m, size.n, size.k, dtype, dtype, 0, ++stream);
      made.c.set_bits(made.c.size() / 2, made.c.bits_at(made.c.size() / 2) ^ 0x40);
      for (const char* spec : {"rounding_variance,columns=1,kappa=1", "rounding_variance,groups=0",
                               "v_abft,columns=1,e_max=0.001", "a_abft"}) {
        const AbftOptions one = options_of(spec, 1);
        const auto wanted =
            figures(AbftChecker::of_product(made.a, made.b, one).check(made.c.view()));
        const auto golden = parse_threshold(spec).threshold->name == "rounding_variance";
        const auto of_golden = figures(AbftChecker::of_golden(made.c, one).check(made.c.view()));
        EXPECT_EQ(
            figures(
                AbftChecker::of_product(made.a, made.b, options_of(spec, 2)).check(made.c.view())),
            wanted);
        for (const char* how :
             {"column_major", "padded", "every_second", "backwards", "rows_backwards"}) {
          SCOPED_TRACE(std::string(how) + " " + dtype + " " + spec);
          const Laid a = laid_out(made.a, how), b = laid_out(made.b, how),
                     c = laid_out(made.c, how);
          if (!kThreadSanitizer) {  // which finds nothing in a single thread
            EXPECT_EQ(figures(AbftChecker::of_product(a.view, b.view, one).check(c.view)), wanted);
            EXPECT_EQ(figures(AbftChecker::of_product(a.view, made.b, one).check(made.c.view())),
                      wanted);
          }
          if (golden) {
            EXPECT_EQ(figures(AbftChecker::of_golden(c.view, options_of(spec, 2)).check(c.view)),
                      of_golden);
          }
        }
      }
    }
  }
}

TEST(AbftEigen, ColumnMajorMatricesAndBlocks) {
  const Made made = random_product(13, 33, 31, "float32", "float32", 0, 400);
  Eigen::MatrixXf a(13, 31), b(33, 35), c(13, 33);
  for (int i = 0; i < 13; ++i) {
    for (int j = 0; j < 31; ++j) a(i, j) = static_cast<float>(made.problem.a(i, j));
    for (int j = 0; j < 33; ++j) c(i, j) = static_cast<float>(made.problem.c(i, j));
  }
  for (int i = 0; i < 31; ++i) {
    for (int j = 0; j < 33; ++j) b(i + 1, j + 2) = static_cast<float>(made.problem.b(i, j));
  }
  const auto block = b.block(1, 2, 31, 33);
  const AbftOptions options = options_of("rounding_variance");
  const auto wanted =
      figures(AbftChecker::of_product(made.a, made.b, options).check(made.c.view()));
  EXPECT_EQ(figures(AbftChecker::of_product(view(a), view(block), options).check(view(c))), wanted);
}

// If a check's D is below a lower bound of the tail, the verdict does not compute the tail. The
// verdict must still equal that of the readings, which always compute it.
TEST(AbftTail, VerdictsAreThoseOfTheReadings) {
  for (const char* spec : {"rounding_variance,confirm=0", "rounding_variance,groups=0,confirm=0",
                           "rounding_variance,coarse=1,confirm=0"}) {
    const Made made = random_product(64, 96, 64, "bfloat16", "bfloat16", 0, 405);
    const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options_of(spec));
    Tensor wrong = made.c;
    Random random(405, 0);
    // Flips one of the bits 2 to 5 in several elements of every row.
    for (std::int64_t i = 0; i < 64; ++i) {
      for (std::int64_t j = 0; j < 96; j += 8 + static_cast<std::int64_t>(random.below(16))) {
        wrong.set_bits(i * 96 + j, wrong.bits_at(i * 96 + j) ^ (4u << random.below(4)));
      }
    }
    std::vector<Reading> readings(at(checker.groups_per_row()));
    std::int64_t flagged = 0;
    double largest = 0;
    for (std::int64_t i = 0; i < 64; ++i) {
      checker.read_row(i, wrong.bytes() + i * 96 * 2, wrong.format(), readings.data());
      for (std::size_t g = 0; g < readings.size(); ++g) {
        largest = std::max(largest, ratio_of(readings[g]));
        flagged += readings[g].flagged() ? 1 : 0;
      }
    }
    const AbftVerdict v = checker.check(wrong.view());
    EXPECT_EQ(v.flagged, flagged) << spec;
    EXPECT_GT(flagged, 5) << spec;
    EXPECT_LT(flagged, v.checks) << spec;
    EXPECT_EQ(v.worst_ratio, largest) << spec;
  }
}

// For float32, the threshold is kappa times a deviation that is known exactly.
TEST(AbftBudget, TheBudgetIsSharedByRowsAndColumns) {
  Made made = random_product(20, 40, 8, "float32", "float32", 0, 401);
  for (const bool columns : {false, true}) {
    AbftOptions options = options_of("rounding_variance,delta=1e-6");
    options.spec.columns = columns;
    const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options);
    const std::int64_t checks = 20 * 3 + (columns ? 40 * 2 : 0);
    const Limits limits =
        variance_limits(testing_oracle::kappa_for(static_cast<Real>(checks), 1e-6L), 1, 16);
    Reading readings[3];
    checker.read_row(4, made.c.bytes() + 4 * 160, made.c.format(), readings);
    const auto clean = static_cast<double>(limits(made.problem, 4, 16, 32)[0].threshold);
    EXPECT_NEAR(readings[1].threshold, clean, clean * 1e-12);
    Tensor wrong = made.c;
    wrong.set_bits(4 * 40 + 20, wrong.bits_at(4 * 40 + 20) ^ 0x80000000u);
    Problem p = made.problem;
    p.c = testing_oracle::matrix_of(wrong);
    const AbftVerdict v = checker.check(wrong.view());
    EXPECT_EQ(v.checks, checks);
    ASSERT_EQ(v.flags.size(), columns ? 2u : 1u);
    for (const AbftFlag& flag : v.flags) {
      const auto limit = flag.is_column ? limits(p.transposed(), 20, 0, 16) : limits(p, 4, 16, 32);
      const auto threshold = static_cast<double>(limit[0].threshold);
      EXPECT_NEAR(flag.reading.threshold, threshold, threshold * 1e-12);
    }
  }
}

// The operands have 16 bits and the result is float32, like an accumulator that is written out.
TEST(AbftMixed, NarrowOperandsWideResult) {
  for (const char* in : {"bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"}) {
    const Made made = random_product(17, 35, 50, in, "float32", 0, 402);
    SCOPED_TRACE(in);
    expect_oracle(made, "rounding_variance,groups=5", 5, nullptr,
                  variance_limits(testing_oracle::kappa_for(17 * 7, 1e-9L), 1, 5));
    EXPECT_EQ(AbftChecker::of_product(made.a, made.b, {}).check(made.c.view()).outcome,
              Outcome::kPass);
  }
}

// On clean data, rms z is at most 1 and close to it, whatever the chunk.
TEST(AbftCalibration, RmsZOfCleanData) {
  const Made bf16 = random_product(96, 96, 256, "bfloat16", "bfloat16", 0, 403);
  const AbftVerdict v = AbftChecker::of_product(bf16.a, bf16.b, {}).check(bf16.c.view());
  EXPECT_EQ(v.outcome, Outcome::kPass);
  EXPECT_EQ(v.confirmed_clean, 0);
  // With 576 checks, the standard error of rms z is 0.03.
  EXPECT_NEAR(v.rms_z, 1, 0.1);
  const Made f32 = random_product(96, 96, 256, "float32", "float32", 0, 404);
  const AbftVerdict w = AbftChecker::of_product(f32.a, f32.b, {}).check(f32.c.view());
  EXPECT_EQ(w.outcome, Outcome::kPass);
  EXPECT_GT(w.rms_z, 0.6);
  EXPECT_LT(w.rms_z, 1.1);
}

}  // namespace
}  // namespace assay::abft
