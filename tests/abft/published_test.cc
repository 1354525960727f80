// Compares the published thresholds and their variants with their formulas in long double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "abft/checked.h"
#include "abft/oracle.h"
#include "assay/abft.h"
#include "assay/abft/terms.h"
#include "assay/base/index.h"

namespace assay::abft {
namespace {

using testing_checks::options_of;
using testing_oracle::Made;
using testing_oracle::Problem;
using testing_oracle::random_product;
using testing_oracle::Real;
using testing_oracle::Sample;
using testing_oracle::Sigma;

// Returns the threshold T of columns [first, last) of row i.
using Formula =
    std::function<Real(const Problem&, std::int64_t i, std::int64_t first, std::int64_t last)>;

// Compares the thresholds of all checks by rows with the formula, and tests that a verdict counts
// the differences above them.
void expect_formula(const Made& made, const std::string& spec, std::int64_t width,
                    const Formula& formula) {
  SCOPED_TRACE(spec);
  const Problem& p = made.problem;
  const AbftChecker checker =
      AbftChecker::of_product(made.a, made.b, options_of(spec + ",arithmetic=float64"), p.bias);
  const std::int64_t groups = (p.n() + width - 1) / width;
  ASSERT_EQ(checker.groups_per_row(), groups);
  std::vector<BoundForm> forms(at(groups));
  std::vector<OutputStats> stats(at(groups));
  const Format& f = made.c.format();
  for (std::int64_t i = 0; i < p.m(); ++i) {
    checker.forms(i, f, forms.data());
    checker.stats(f, made.c.bytes() + i * p.n() * f.storage_bytes, stats.data());
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t first = g * width, last = std::min(first + width, p.n());
      BoundForm& form = forms[at(g)];
      if (form.branch > 0) {
        for (std::int64_t r = 0; r < p.m(); ++r) {
          OutputStats other;
          output_stats(f, made.c.bytes() + r * p.n() * f.storage_bytes, p.n(), p.n(), &other);
          const double peak = peak_of(other, static_cast<double>(p.n()));
          if (r != i) form.least_peak = peak >= form.least_peak ? form.least_peak : peak;
        }
      }
      const auto wanted = static_cast<double>(formula(p, i, first, last));
      ASSERT_NEAR(form.threshold(stats[at(g)]), wanted, wanted * 1e-11) << "row " << i;
      EXPECT_TRUE(std::isnan(form.variance(stats[at(g)])));
    }
  }
}

struct Shape3 {
  std::int64_t m, n, k;
};
constexpr Shape3 kShapes[] = {{3, 1, 1}, {4, 33, 17}, {5, 70, 130}};

void for_each_product(const std::function<void(const Made&)>& use) {
  std::uint64_t stream = 600;
  for (const Shape3& s : kShapes) {
    for (const char* dtype : {"bfloat16", "float16", "float32"}) {
      SCOPED_TRACE(dtype);
      use(random_product(s.m, s.n, s.k, dtype, dtype, 5, ++stream));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Published, VAbftSigmas) {
  for_each_product([](const Made& made) {
    const std::int64_t n = made.problem.n();
    for (const auto& [name, sigma] :
         {std::pair{"bound", Sigma::kBound}, std::pair{"extreme", Sigma::kExtreme},
          std::pair{"deviation", Sigma::kDeviation}}) {
      const Sigma rule = sigma;
      expect_formula(made, std::string("v_abft,e_max=0.01,c=3,sigma=") + name, n,
                     [&](const Problem& p, std::int64_t i, std::int64_t first, std::int64_t last) {
                       return v_abft(p, i, first, last, {0.01L, 3, rule, {}, {}});
                     });
    }
  });
}

// The deviation of equal values is 0, even if their rounded mean differs from them by 2^-53 of
// their size.
TEST(Published, ADeviationOfEqualValuesIsNone) {
  for (const double value : {0.1, -0.1, 0.7, 1e6 / 3}) {
    for (const std::int64_t n : {3, 6, 10, 25}) {
      const std::vector<double> row(at(n), value);
      const Tensor one =
          Tensor::from_values(format_named("float64"), {1, 1}, std::vector<double>{1});
      const Tensor b = Tensor::from_values(format_named("float64"), {1, n}, row);
      const Operands o{MatrixRows(one.view()), MatrixRows(b.view()), {}, {}};
      VAbftHow how;
      how.width = n;
      how.sigma = Spread::kDeviation;
      const std::vector<device::VAbftSums> terms = v_abft_terms(o, how, 1);
      ASSERT_EQ(terms.size(), 1u);
      EXPECT_LE(terms[0].mixed, 1e-13 * std::abs(value)) << value << " " << n;
    }
  }
}

TEST(Published, VAbftInBlocksAndSampled) {
  for_each_product([](const Made& made) {
    const std::int64_t n = made.problem.n();
    const auto formula = [](Real e_max, Real c, Sample a, Sample b) {
      return [=](const Problem& p, std::int64_t i, std::int64_t first, std::int64_t last) {
        return v_abft(p, i, first, last, {e_max, c, Sigma::kBound, a, b});
      };
    };
    expect_formula(made, "v_abft,e_max=0.01,c=2,blocks=32", std::min<std::int64_t>(n, 32),
                   formula(0.01L, 2, {}, {}));
    expect_formula(made, "v_abft,e_max=0.01,c=2,sample_a=4/32,sample_b=3/5", n,
                   formula(0.01L, 2, {4, 32}, {3, 5}));
    const Formula raised = [&](const Problem& p, std::int64_t i, std::int64_t first,
                               std::int64_t last) {
      return 1.5L * formula(0.01L, 2, {16, 32}, {16, 32})(p, i, first, last);
    };
    expect_formula(made, "v_abft,e_max=0.01,c=2,sample_a=16/32,sample_b=16/32,raise=1.5", n,
                   raised);
    // With recheck=1, a check above the threshold of the sample is computed again without sampling.
    // It must be above both thresholds, that is above the larger one.
    expect_formula(made, "v_abft,e_max=0.01,c=2,sample_a=16/32,sample_b=16/32,raise=1.5,recheck=1",
                   n, [&](const Problem& p, std::int64_t i, std::int64_t first, std::int64_t last) {
                     return std::max(raised(p, i, first, last),
                                     formula(0.01L, 2, {}, {})(p, i, first, last));
                   });
  });
  const std::vector<double> bias(20, 3.5);
  const Made biased = random_product(3, 20, 30, "bfloat16", "bfloat16", 2, 8, bias);
  expect_formula(biased, "v_abft,e_max=0.01,c=2,blocks=8", 8,
                 [](const Problem& p, std::int64_t i, std::int64_t first, std::int64_t last) {
                   return v_abft(p, i, first, last, {0.01L, 2, Sigma::kBound, {}, {}});
                 });
}

TEST(Published, VAbftVariantsAndAclnn) {
  const Made wide = random_product(3, 300, 64, "bfloat16", "bfloat16", 2, 8);
  const Made f32 = random_product(3, 300, 64, "float32", "float32", 2, 9);
  const Made mixed = random_product(3, 300, 64, "bfloat16", "float32", 2, 9);
  const auto formula = [](Real e_max, Real c, Sample a = {}) {
    return [=](const Problem& p, std::int64_t i, std::int64_t first, std::int64_t last) {
      return v_abft(p, i, first, last, {e_max, c, Sigma::kBound, a, {}});
    };
  };
  expect_formula(wide, "aclnn", 256, formula(1e-3L, 4));
  // e_max is that of the operands' format, not of the output's.
  expect_formula(mixed, "aclnn", 256, formula(1e-3L, 4));
  expect_formula(f32, "aclnn", 256, formula(2e-5L, 4));
  const Real root = std::sqrt(64 / 1024.0L);
  expect_formula(f32, "v_abft,variant=april", 300, formula(2e-6L * root, 2.5L));
  expect_formula(f32, "v_abft,variant=h100", 300, formula(1.5L * (4.1e-9L * 8 + 9.4e-8L), 2.5L));
  expect_formula(f32, "v_abft,variant=sampling", 300,
                 [&](const Problem& p, std::int64_t i, std::int64_t first, std::int64_t last) {
                   return std::max(formula(2e-6L * root, 3, {4, 32})(p, i, first, last),
                                   formula(2e-6L * root, 3)(p, i, first, last));
                 });
}

TEST(Published, AAbftOfFourComponents) {
  for_each_product([](const Made& made) {
    expect_formula(made, "a_abft,variant=components", made.problem.n(),
                   [](const Problem& p, std::int64_t i, std::int64_t, std::int64_t) {
                     return a_abft_components(p, i);
                   });
  });
}

TEST(Published, AAbftOriginal) {
  for_each_product([](const Made& made) {
    const std::int64_t n = made.problem.n();
    for (const bool matrix : {false, true}) {
      expect_formula(made, matrix ? "a_abft_original,variant=matrix" : "a_abft_original", n,
                     [=](const Problem& p, std::int64_t i, std::int64_t, std::int64_t) {
                       return a_abft_original(p, largest_product(p, i, matrix));
                     });
    }
  });
}

// y, the bound from the `top` largest factors, is never below the largest product. It is closer to
// the product for longer lists. The last part compares y with values computed by hand.
TEST(Published, TopValuesBoundTheLargestProduct) {
  const Made made = random_product(6, 20, 100, "float32", "float32", 12, 4);
  std::vector<double> last(6, INFINITY);
  for (const int top : {1, 3, 10, 50, 100, 1000, 0}) {
    const AbftChecker checker = AbftChecker::of_product(
        made.a, made.b, options_of("a_abft_original,top=" + std::to_string(top)));
    for (std::int64_t i = 0; i < 6; ++i) {
      BoundForm form;
      checker.forms(i, made.c.format(), &form);
      const auto least =
          static_cast<double>(a_abft_original(made.problem, largest_product(made.problem, i)));
      EXPECT_GE(form.constant, least * (1 - 1e-12)) << top;
      EXPECT_LE(form.constant, last[at(i)] * (1 + 1e-12)) << top;
      if (top == 0 || top >= 100) {
        EXPECT_NEAR(form.constant, least, least * 1e-12);
      }
      last[at(i)] = form.constant;
    }
  }
  // a = (8, 1, 4, 2), and the sums of b are (1, 16, 2, 4). The two largest are {8, 4} of a and {16,
  // 4} of b. The candidates are 8 * 4 for index 0 (the element of a times the least in the list of
  // b), 4 * 16 for index 1, 4 * 4, 4 * 4, and 4 * 4 for no index. The largest is 64.
  const Tensor a = testing_oracle::tensor_of("float32", {1, 4, {8, 1, 4, 2}});
  const Tensor b = testing_oracle::tensor_of("float32", {4, 1, {1, 16, 2, 4}});
  const AbftChecker checker = AbftChecker::of_product(a, b, options_of("a_abft_original,top=2"));
  BoundForm form;
  checker.forms(0, format_named("float32"), &form);
  EXPECT_DOUBLE_EQ(form.constant, 3 * std::sqrt((4 * 5 * 4.5 + 8) / 24) * 0x1p-23 * 64);
}

TEST(Published, SeaAbft) {
  for_each_product([](const Made& made) {
    expect_formula(made, "sea_abft", made.problem.n(),
                   [](const Problem& p, std::int64_t i, std::int64_t, std::int64_t) {
                     return sea_abft(p, i);
                   });
  });
}

TEST(Published, Analytic) {
  for_each_product([](const Made& made) {
    for (const int lambda : {0, 1, 6}) {
      expect_formula(made, lambda == 0 ? "analytic" : "analytic,lambda=" + std::to_string(lambda),
                     made.problem.n(),
                     [=](const Problem& p, std::int64_t i, std::int64_t, std::int64_t) {
                       return analytic(p, i, lambda);
                     });
    }
  });
  // If K u >= 1, the analytic threshold does not exist, and the verdict is "not comparable": a
  // check must not pass what it cannot judge.
  const Made deep = random_product(2, 3, 256, "bfloat16", "bfloat16", 0, 5);
  const AbftVerdict v =
      AbftChecker::of_product(deep.a, deep.b, options_of("analytic")).check(deep.c.view());
  EXPECT_EQ(v.outcome, Outcome::kNotComparable);
  EXPECT_EQ(v.because,
            "the threshold analytic has no bound if K u is 1 or more, with K = 256 products in a "
            "sum and the unit roundoff u = 0.00390625; give lambda");
}

TEST(Published, MeanOrMax) {
  for (const bool peaked : {false, true}) {
    Made made = random_product(5, 64, 40, "bfloat16", "bfloat16", 0, 21);
    Problem& p = made.problem;
    if (peaked) {  // one large element a row: max is far above 5 times the mean
      for (std::int64_t i = 0; i < 5; ++i) p.c(i, 7 * i) = 4096;
      made.c = tensor_of("bfloat16", p.c);
    }
    for (const auto& [name, times] : {std::pair{"torch_npu", 5}, std::pair{"mindspore", 1}}) {
      const int factor = times;
      expect_formula(made, name, 64,
                     [=](const Problem& q, std::int64_t i, std::int64_t, std::int64_t) {
                       return mean_or_max(q, i, factor);
                     });
      // The verdict covers all rows: its largest D/T is that of the formula.
      const AbftVerdict v =
          AbftChecker::of_product(made.a, made.b,
                                  options_of(std::string(name) + ",arithmetic=float64"))
              .check(made.c.view());
      Real ratio = 0;
      for (std::int64_t i = 0; i < 5; ++i) {
        ratio = std::max(ratio, difference(p, i, 0, 64).value / mean_or_max(p, i, factor));
      }
      EXPECT_NEAR(v.worst_ratio, static_cast<double>(ratio), static_cast<double>(ratio) * 1e-9);
    }
    // All elements of one row become equal, so that its peak is only 1. The threshold then uses the
    // mean for all rows.
    if (!peaked) continue;
    const double flat = p.c(4, 28);
    for (std::int64_t j = 0; j < 64; ++j) p.c(4, j) = flat;
    made.c = tensor_of("bfloat16", p.c);
    const AbftVerdict v =
        AbftChecker::of_product(made.a, made.b, options_of("mindspore")).check(made.c.view());
    Real ratio = 0;
    for (std::int64_t i = 0; i < 5; ++i) {
      ratio = std::max(ratio, difference(p, i, 0, 64).value / mean_or_max(p, i, 1));
    }
    EXPECT_NEAR(v.worst_ratio, static_cast<double>(ratio), static_cast<double>(ratio) * 1e-4);
  }
}

}  // namespace
}  // namespace assay::abft
