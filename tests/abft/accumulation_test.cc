// Compares the accumulation term with emulated machines: its assumptions on rounding errors, no
// alarm on clean products, and its bound of a single element. (tests/machine/accumulation_test.cc
// compares the bounds of sums with the dot oracle.)

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "abft/checked.h"
#include "abft/products.h"
#include "assay/machine/dot.h"

namespace assay::abft {
namespace {

using testing_checks::options_of;
using testing_products::Distribution;
using testing_products::normal;
using testing_products::Product;
using testing_products::uniform;

const Machine& machine_of(const char* name) {
  return std::strchr(name, ',') != nullptr ? machine_variant(name) : machine_named(name);
}

// Returns the product C of a machine, as its accumulators hold it or rounded once.
Product product_of(const DotModel& model, const char* out, const Distribution& d, std::int64_t m,
                   std::int64_t n, std::int64_t k, std::uint64_t stream) {
  const Format& f = format_named(model.input);
  Random random(8128, stream);
  const auto draw = [&](std::int64_t rows, std::int64_t columns) {
    std::vector<double> values(static_cast<std::size_t>(rows * columns));
    for (double& v : values) v = d.draw(random);
    return Tensor::from_values(f, {rows, columns}, values);
  };
  Product p{m, n, k, draw(m, k), draw(k, n), {}};
  const std::vector<double> a = p.a.view().values(), b = p.b.view().values();
  std::vector<float> sums(static_cast<std::size_t>(m * n), 0.0f);
  dot_matmul(model, m, n, k, a.data(), b.data(), sums.data(), 1);
  p.c =
      Tensor::from_values(format_named(out), {m, n}, std::vector<double>(sums.begin(), sums.end()));
  return p;
}

struct Seen {
  double rms_z = 0, mean_z = 0, worst_ratio = 0;
};
// Returns rms z, mean z and the largest D/T over the checks of several products. By default, a
// check sums 16 columns and is not confirmed.
Seen look(const char* machine, const char* input, const char* out, const Distribution& d,
          std::int64_t k, int products, const char* spec = "rounding_variance,confirm=0") {
  const DotModel& model = dot_model(machine_of(machine), format_named(input));
  AbftOptions options = options_of(spec);
  options.model = &model;
  double squares = 0, sum = 0, checks = 0;
  Seen seen;
  for (int i = 0; i < products; ++i) {
    const Product p = product_of(model, out, d, 32, 64, k, static_cast<std::uint64_t>(i));
    const AbftVerdict v = AbftChecker::of_product(p.a, p.b, options).check(p.c.view());
    EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
    const auto count = static_cast<double>(v.measured);
    squares += v.rms_z * v.rms_z * count;
    sum += v.mean_z * count;
    checks += count;
    seen.worst_ratio = std::max(seen.worst_ratio, v.worst_ratio);
  }
  seen.rms_z = std::sqrt(squares / checks);
  seen.mean_z = sum / checks;
  return seen;
}

// For accumulators that round to nearest, z has the assumed distribution, whatever the mean of the
// data. Its mean differs from 0 only by chance, which moves rms z by some 4 percent here.
TEST(Accumulation, NearestRoundingsAreAsAssumed) {
  struct Row {
    const char *machine, *input;
    std::int64_t deepest;
  };
  for (const Row& row : {Row{"cpu_fma", "float32", 4096}, Row{"cpu_mul_add", "float32", 1024},
                         Row{"ascend910b", "float32", 4096}, Row{"ascend910b", "float16", 4096},
                         Row{"ascend910b,order=pairwise", "float16", 256},
                         Row{"ascend910b,order=sequential", "float16", 256}}) {
    for (const std::int64_t k : {256, 1024, 4096}) {
      if (k > row.deepest) continue;
      for (const Distribution& d : {normal("0", 0, 1), normal("1", 1, 1), uniform("u", -1, 1)}) {
        SCOPED_TRACE(std::string(row.machine) + " " + row.input + " K " + std::to_string(k) + " " +
                     d.name);
        const Seen seen = look(row.machine, row.input, "float32", d, k, k == 4096 ? 2 : 3);
        EXPECT_GT(seen.rms_z, 0.75);
        EXPECT_LT(seen.rms_z, 1.1);
        EXPECT_LT(std::abs(seen.mean_z), 0.25);
        EXPECT_LT(seen.worst_ratio, 0.6);
      }
    }
  }
}

// Tests accumulators that truncate. With data around 0, rms z stays about 1. With data of another
// mean, the estimated bias is accurate only to some percent, which z shows and T allows for.
TEST(Accumulation, TruncatedSumsStayBelowTheThreshold) {
  struct Row {
    const char *machine, *input;
  };
  for (const Row& row :
       {Row{"hopper", "bfloat16"}, Row{"hopper", "float16"}, Row{"hopper", "tfloat32"},
        Row{"ampere", "float16"}, Row{"ampere", "bfloat16"}, Row{"volta", "float16"},
        Row{"hopper,promotion_interval=128", "float8_e4m3fn"},
        Row{"ada,promotion_interval=128", "float8_e5m2"},
        Row{"ascend910b,rounding=toward_zero", "float32"}}) {
    for (const std::int64_t k : {256, 2048}) {
      for (const char* spec :
           {"rounding_variance,confirm=0", "rounding_variance,confirm=0,groups=0"}) {
        SCOPED_TRACE(std::string(row.machine) + " " + row.input + " K " + std::to_string(k));
        for (const Distribution& d :
             {normal("0", 0, 1), normal("1", 1, 1), uniform("u", -1, 1), uniform("n", 0.9, 1.1)}) {
          const Seen seen = look(row.machine, row.input, "float32", d, k, 1, spec);
          EXPECT_LT(seen.worst_ratio, 0.8) << d.name;
          if (d.name == "0") {
            EXPECT_GT(seen.rms_z, 0.35);
            EXPECT_LT(seen.rms_z, 1.6);
          }
        }
      }
    }
  }
}

// Without the estimated bias of the truncating accumulator, checks of a right product fail, so that
// the estimate is needed.
TEST(Accumulation, TheBiasIsThere) {
  const DotModel& model = dot_model(machine_named("hopper"), format_named("float16"));
  const Product p = product_of(model, "float32", normal("1", 1, 1), 32, 64, 1024, 1);
  AbftOptions options = options_of("rounding_variance,confirm=0");
  const AbftVerdict blind = AbftChecker::of_product(p.a, p.b, options).check(p.c.view());
  EXPECT_EQ(blind.outcome, Outcome::kFail);
  // Rounding toward zero makes the positive sums too small.
  EXPECT_LT(blind.mean_z, -5);
  options.model = &model;
  const AbftVerdict v = AbftChecker::of_product(p.a, p.b, options).check(p.c.view());
  EXPECT_EQ(v.outcome, Outcome::kPass);
  EXPECT_LT(std::abs(v.mean_z), std::abs(blind.mean_z));
  // A bias that the threshold allows for needs no note.
  EXPECT_TRUE(v.notes.empty()) << v.notes[0];
}

// Each element that a machine computed is inside its own bound. An element that is off by 2^-6 of
// its value is outside.
TEST(Accumulation, ElementsOfMachinesAreInside) {
  struct Row {
    const char *machine, *input, *out;
  };
  for (const Row& row :
       {Row{"hopper", "bfloat16", "float32"}, Row{"hopper", "float16", "float32"},
        Row{"hopper", "tfloat32", "float32"}, Row{"volta", "float16", "float32"},
        Row{"ampere", "float16", "float16"}, Row{"ascend910b", "float32", "float32"},
        Row{"hopper,promotion_interval=128", "float8_e4m3fn", "bfloat16"}}) {
    SCOPED_TRACE(std::string(row.machine) + " " + row.input);
    const DotModel& model = dot_model(machine_of(row.machine), format_named(row.input));
    AbftOptions options = options_of("rounding_variance");
    options.model = &model;
    for (const Distribution& d : {normal("0", 0, 1), uniform("n", 0.9, 1.1)}) {
      const Product p = product_of(model, row.out, d, 8, 16, 700, 3);
      const AbftChecker checker = AbftChecker::of_product(p.a, p.b, options);
      const std::vector<double> c = p.c.view().values();
      for (std::int64_t e = 0; e < 128; ++e) {
        const double value = c[static_cast<std::size_t>(e)];
        const Format& f = p.c.format();
        EXPECT_FALSE(checker.element_bound(e / 16, e % 16, value, f).outside);
        // With 13 mantissa bits, the worst-case error is a quarter of the sum, so that a larger
        // change is needed.
        const bool narrow = model.mantissa_bits.value == 13;
        const double off = narrow ? 2 * value + 40 : value * (1 + 0x1p-6) + 1;
        EXPECT_TRUE(checker.element_bound(e / 16, e % 16, off, f).outside);
      }
    }
  }
}

// The units here flush subnormals, and products and factors are near the smallest normal number. No
// clean result is above its threshold or outside its bound. Thresholds that ignore flushes raise
// alarms.
TEST(Accumulation, UnitsThatFlushRaiseNoAlarm) {
  const Distribution small{"small", [](Random& random) {
                             return random.normal() *
                                    std::ldexp(1.0, static_cast<int>(random.below(6)) - 66);
                           }};
  const Distribution subnormal{
      "subnormal",
      [](Random& random) { return random.normal() * (random.below(2) == 0 ? 0x1p-127 : 0x1p10); }};
  int alarms = 0;
  for (const char* unit : {"cpu_fma", "ascend910b", "ascend910b,rounding=toward_zero"}) {
    for (const char* flush : {",flush_sums=1", ",flush_inputs=1", ",flush_inputs=1,flush_sums=1"}) {
      const DotModel& model =
          dot_model(machine_variant(std::string(unit) + flush), format_named("float32"));
      DotModel keeps = model;
      keeps.flush_inputs.value = keeps.flush_sums.value = false;
      for (const Distribution* d : {&small, &subnormal}) {
        SCOPED_TRACE(std::string(unit) + flush + " " + d->name);
        const Product p = product_of(model, "float32", *d, 16, 32, 100, 9);
        for (const char* spec :
             {"rounding_variance,confirm=0", "rounding_variance,confirm=0,groups=0"}) {
          AbftOptions options = options_of(spec);
          options.model = &model;
          const AbftVerdict v = AbftChecker::of_product(p.a, p.b, options).check(p.c.view());
          EXPECT_EQ(v.flagged, 0) << v.because;
          options.model = &keeps;
          alarms += AbftChecker::of_product(p.a, p.b, options).check(p.c.view()).flagged > 0;
        }
        AbftOptions options = options_of("rounding_variance");
        options.model = &model;
        const AbftChecker checker = AbftChecker::of_product(p.a, p.b, options);
        const std::vector<double> c = p.c.view().values();
        for (std::int64_t e = 0; e < 16 * 32; ++e) {
          const double value = c[static_cast<std::size_t>(e)];
          ASSERT_FALSE(checker.element_bound(e / 32, e % 32, value, p.c.format()).outside);
        }
      }
    }
  }
  EXPECT_GT(alarms, 6);
}

// The error of an input that a unit takes for 0 is certain and not random. Each check therefore
// allows for the full sizes of the products with a subnormal factor, on either side.
TEST(Accumulation, FlushedProductsAreAllowedForAsTheyAre) {
  const Format& f = format_named("float32");
  const Tensor a =
      Tensor::from_values(f, {2, 3}, std::vector<double>{0x1p-127, 1, -4, 2, -0x1p-130, 0x1p-126});
  const Tensor b = Tensor::from_values(
      f, {3, 5},
      std::vector<double>{3, -5, 7, 0, 2,                         // with 2^-127 and 2
                          2, 4, 1, -1, 5,                         // with 1 and -2^-130
                          0x1p-130, 7, 0x1p-128, 1, -0x1p-127});  // with -4 and 2^-126
  AbftOptions options = options_of("rounding_variance,groups=2");
  options.model = &dot_model(machine_variant("cpu_fma,flush_inputs=1"), f);
  const AbftChecker checker = AbftChecker::of_product(a, b, options);
  const double wanted[2][3] = {
      {0x1p-127 * (3 + 5) + 4 * 0x1p-130, 0x1p-127 * 7 + 4 * 0x1p-128, 0x1p-127 * 2 + 4 * 0x1p-127},
      {0x1p-130 * (2 + 4) + 0x1p-126 * 0x1p-130, 0x1p-130 * (1 + 1) + 0x1p-126 * 0x1p-128,
       0x1p-130 * 5 + 0x1p-126 * 0x1p-127}};
  ASSERT_EQ(checker.groups_per_row(), 3);
  for (std::int64_t i = 0; i < 2; ++i) {
    BoundForm forms[3];
    checker.forms(i, f, forms);
    for (int g = 0; g < 3; ++g) EXPECT_DOUBLE_EQ(forms[g].constant, wanted[i][g]) << i << " " << g;
  }
}

}  // namespace
}  // namespace assay::abft
