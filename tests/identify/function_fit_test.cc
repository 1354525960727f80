// Finds how a recorded function was computed. Emulated results are found again, and an H200's
// recorded results keep the documented bounds. Wrong results do neither.
#include "assay/identify/function_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "error_of.h"

namespace assay::identify {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Case case_of(const std::string& op, const Tensor& x) {
  Case c;
  c.name = "t";
  c.op = op;
  c.inputs["x"] = x;
  return c;
}

// Returns every finite value of a 16-bit format in a range, in the order of their bits: the
// positive values first.
Tensor all_values(const char* dtype, double low, double high) {
  const Format& f = format_named(dtype);
  std::vector<double> values;
  for (std::uint64_t bits = 0; bits < 0x10000; ++bits) {
    const double v = decode(f, bits);
    if (std::isfinite(v) && v >= low && v <= high) values.push_back(v);
  }
  return Tensor::from_values(f, {static_cast<std::int64_t>(values.size())}, values);
}

Tensor some_values(const char* dtype) {
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i) values.push_back(std::sin(i * 0.7) * std::exp2(i % 5) + 16.01);
  return Tensor::from_values(format_named(dtype), {3000}, values);
}

const FunctionBound& bound_of(const FunctionReport& report, const std::string& name) {
  for (const FunctionBound& bound : report.bounds) {
    if (bound.name.rfind(name, 0) == 0) return bound;
  }
  throw std::runtime_error("no bound " + name);
}

struct Recording {
  Case test_case;
  Tensor output;
};
Recording recorded(const std::string& name) {
  const DatasetFile file(ASSAY_SOURCE_DIR "/datasets/samples/hopper_functions.h5");
  Recording r{file.read(name), {}};
  r.output = r.test_case.output().recorded.at("h200").tensor;
  return r;
}

// -- What was emulated is found -------------------------------------------------------------------

TEST(FunctionFit, FindsTheMachineThatEmulatedIt) {
  for (const char* op : {"exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "silu", "gelu"}) {
    for (const char* dtype : {"float16", "bfloat16", "float32"}) {
      for (const char* machine : {"exact", "ascend910b", "hopper"}) {
        SCOPED_TRACE(formatted("{} {} {}", op, dtype, machine));
        const Case c = case_of(op, some_values(dtype));
        const FunctionReport report = identify_function(c, emulate(c, machine_named(machine)));
        EXPECT_EQ(report.outcome(), "found");
        EXPECT_THAT(report.fits, Contains(Field(&FunctionCandidate::machine, machine)));
        EXPECT_EQ(report.elements, 3000);
        if (machine == std::string("exact")) {
          EXPECT_EQ(report.inversions, 0);
          EXPECT_LE(report.errors.largest, 0.5);
          EXPECT_EQ(report.errors.inexact, 0);
        }
      }
    }
  }
}

TEST(FunctionFit, FindsTheParameters) {
  Case c = case_of("gelu", all_values("bfloat16", -6, 6));
  c.attributes["approximate"] = std::string("tanh");
  const Tensor output = emulate(c, machine_named("ascend910b"));
  c.attributes.erase("approximate");
  const FunctionReport report = identify_function(c, output);
  EXPECT_EQ(report.outcome(), "found");
  EXPECT_THAT(report.fits,
              Contains(Field(&FunctionCandidate::name, "ascend910b, approximate=tanh")));
  for (const FunctionCandidate& fit : report.fits) {
    EXPECT_EQ(std::get<std::string>(fit.parameters.at("approximate")), "tanh") << fit.name;
  }

  Case narrow = case_of("sigmoid", all_values("float16", -8, 8));
  narrow.attributes["compute_dtype"] = std::string("float32");
  const Tensor wide = emulate(narrow, machine_named("ascend910b"));
  narrow.attributes.clear();
  const FunctionReport of_wide = identify_function(narrow, wide);
  EXPECT_THAT(of_wide.fits,
              Contains(Field(&FunctionCandidate::name, "ascend910b, compute_dtype=float32")));
  EXPECT_THAT(of_wide.fits, Not(Contains(Field(&FunctionCandidate::name, "ascend910b"))));
}

TEST(FunctionFit, FindsAWrongLastRounding) {
  const Case c = case_of("exp", all_values("bfloat16", -20, 20));
  const Tensor exact = golden_result(c);
  std::vector<double> cut;
  for (const double v : exact.view().values()) {
    cut.push_back(round_to(format_named("bfloat16"), v, Rounding::kTowardZero));
  }
  const FunctionReport report =
      identify_function(c, Tensor::from_values(format_named("bfloat16"), exact.shape(), cut));
  EXPECT_THAT(report.fits,
              ElementsAre(Field(&FunctionCandidate::name, "the exact value, rounded toward zero")));
}

// -- Recordings -----------------------------------------------------------------------------------

// Returns the largest distance from the exact function, computed in 200 bits, in ulps of the
// correctly rounded result.
double largest_by_mpfr(const Recording& r, int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)) {
  mpfr_t x, y;
  mpfr_inits2(200, x, y, nullptr);
  const std::vector<double> xs = r.test_case.input("x").view().values(),
                            ys = r.output.view().values();
  double largest = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    mpfr_set_d(x, xs[i], MPFR_RNDN);
    function(y, x, MPFR_RNDN);
    const float nearest = mpfr_get_flt(y, MPFR_RNDN);
    if (!std::isfinite(nearest) || !std::isfinite(ys[i])) continue;
    int exponent = -125;
    if (std::abs(nearest) >= std::numeric_limits<float>::min()) std::frexp(nearest, &exponent);
    mpfr_sub_d(y, y, ys[i], MPFR_RNDN);
    mpfr_mul_2si(y, y, 24 - exponent, MPFR_RNDN);
    largest = std::max(largest, std::abs(mpfr_get_d(y, MPFR_RNDN)));
  }
  mpfr_clears(x, y, nullptr);
  return largest;
}

TEST(FunctionFit, ErrorsOfAnH200AreThoseThatMpfrFinds) {
  struct One {
    const char* name;
    int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
    double least, most;  // among its 2^32 results: 1.931, 0.864, 1.514, 1.815, 0.5
  };
  for (const One& one : {One{"exp", mpfr_exp, 1.93, 1.94}, One{"log", mpfr_log, 0.86, 0.87},
                         One{"rsqrt", mpfr_rec_sqrt, 1.51, 1.52},
                         One{"tanh", mpfr_tanh, 1.81, 1.82}, One{"sqrt", mpfr_sqrt, 0.49, 0.5}}) {
    const Recording r = recorded(std::string("float32/") + one.name);
    const double largest = largest_by_mpfr(r, one.function);
    const FunctionReport report = identify_function(r.test_case, r.output);
    EXPECT_NEAR(report.errors.largest, largest, 1e-6) << one.name;
    EXPECT_GT(largest, one.least) << one.name;
    EXPECT_LE(largest, one.most) << one.name;
    EXPECT_EQ(report.inversions, 0) << one.name;
    EXPECT_EQ(report.special, 0) << one.name;
    EXPECT_EQ(report.ranges.size(), 16u);
    double widest = 0;
    for (const FunctionRange& range : report.ranges) {
      EXPECT_LE(range.low, range.high);
      widest = std::max(widest, range.errors.largest);
    }
    EXPECT_EQ(widest, report.errors.largest) << one.name;
  }
}

TEST(FunctionFit, AnH200KeepsTheDocumentedBounds) {
  const Recording exp = recorded("float32/exp");
  const FunctionReport report = identify_function(exp.test_case, exp.output);
  EXPECT_EQ(report.outcome(), "bounded");
  EXPECT_EQ(bound_of(report, "cuda: expf in float32, 2 ulps (documented)").outside, 0);
  EXPECT_EQ(bound_of(report, "cuda_fast: __expf").outside, 0);
  EXPECT_GT(bound_of(report, "libm: expf").outside, 0);
  const Recording root = recorded("float32/sqrt");
  EXPECT_EQ(identify_function(root.test_case, root.output).outcome(), "found");
  for (const char* name : {"bfloat16/exp", "float16/log", "float16/rsqrt", "float32/tanh",
                           "float64/exp", "float64/tanh"}) {
    const Recording r = recorded(name);
    const FunctionReport one = identify_function(r.test_case, r.output);
    EXPECT_NE(one.outcome(), "none") << name;
    const char* dtype = std::string(name).rfind("float64", 0) == 0 ? "in float64" : "in float32";
    const auto cuda = std::find_if(one.bounds.begin(), one.bounds.end(), [&](const auto& bound) {
      return bound.name.rfind("cuda: ", 0) == 0 && bound.name.find(dtype) != std::string::npos;
    });
    ASSERT_NE(cuda, one.bounds.end()) << name;
    EXPECT_EQ(cuda->outside, 0) << name;
  }
  for (const char* op : {"sigmoid", "silu", "gelu", "gelu_tanh"}) {
    const Recording r = recorded(std::string("float32/") + op);
    const FunctionReport one = identify_function(r.test_case, r.output);
    EXPECT_EQ(bound_of(one, r.test_case.op + " of cuda").outside, 0) << op;
  }
}

TEST(FunctionFit, FastFunctionsAreToldFromDefaultOnes) {
  const Recording r = recorded("fast/float32/exp");
  const FunctionReport report = identify_function(r.test_case, r.output);
  EXPECT_EQ(report.outcome(), "bounded");
  EXPECT_GT(bound_of(report, "cuda: expf").outside, 100);
  EXPECT_EQ(bound_of(report, "cuda_fast: __expf in float32, 2 + floor(1.173 |x|) ulps").outside, 0);
  EXPECT_NEAR(report.errors.largest, 63.8, 0.1);
  const Recording log = recorded("fast/float32/log");
  const FunctionReport of_log = identify_function(log.test_case, log.output);
  EXPECT_GT(bound_of(of_log, "cuda: logf").outside, 100);
  EXPECT_EQ(bound_of(of_log, "cuda_fast: __logf").outside, 0);
}

// -- Wrong ones -----------------------------------------------------------------------------------

TEST(FunctionFit, NoiseEndsInNothing) {
  const Case c = case_of("tanh", all_values("bfloat16", 0.001, 3));
  Tensor output = emulate(c, machine_named("hopper"));
  for (std::int64_t i = 50; i < output.size(); i += 200) {
    output.set_bits(i, output.bits_at(i) + 2);
  }
  const FunctionReport report = identify_function(c, output);
  EXPECT_EQ(report.outcome(), "none");
  EXPECT_THAT(report.fits, IsEmpty());
  ASSERT_EQ(report.nearest.size(), 3u);
  const std::int64_t moved = (output.size() - 50 + 199) / 200;
  EXPECT_EQ(report.nearest[0].differ, moved);
  EXPECT_EQ(report.nearest[0].first, 50);
  EXPECT_EQ(report.errors.inexact, moved);
  EXPECT_GT(report.inversions, 0);
  EXPECT_THAT(function_text(report, c, output), HasSubstr("not monotonic at "));
}

TEST(FunctionFit, CountsWhatIsNoNumberAndWhatIsFlushed) {
  const Format& f = format_named("float32");
  const Tensor x = Tensor::from_values(f, {6}, std::vector<double>{-90, -100, 1, 1, 89, -1});
  const Case c = case_of("exp", x);
  const double e = static_cast<double>(std::exp(1.0f));
  const Tensor output = Tensor::from_values(
      f, {6}, std::vector<double>{0, 0, e, e + 0x1p-20, std::nan(""), kInfinity});
  const FunctionReport report = identify_function(c, output);
  EXPECT_EQ(report.flushed, 2);
  EXPECT_EQ(report.special, 2);
  EXPECT_EQ(report.special_at, 4);
  EXPECT_EQ(report.unsteady, 1);
  EXPECT_EQ(report.unsteady_at, 1);
  EXPECT_EQ(report.errors.elements, 4);
  EXPECT_EQ(report.outcome(), "none");
}

TEST(FunctionFit, Text) {
  const Format& f = format_named("float16");
  const Tensor x = Tensor::from_values(f, {3}, std::vector<double>{0, 1, 2});
  const Case c = case_of("sqrt", x);
  const Tensor right = emulate(c, machine_named("exact"));
  EXPECT_THAT(function_text(identify_function(c, right), c, right),
              testing::StartsWith("t: found of 3 elements\n"
                                  "  every bit: the exact value, rounded once\n"));
  EXPECT_THAT(function_text(identify_function(c, right), c, right),
              HasSubstr("  within cuda: sqrtf in float32, 0 ulps (documented)\n"));
}

TEST(FunctionFit, Refuses) {
  const Tensor x = Tensor::from_values(format_named("float16"), {3}, std::vector<double>{0, 1, 2});
  Case c = case_of("add", x);
  EXPECT_FALSE(is_identifiable_function(c));
  EXPECT_EQ(error_of([&] { identify_function(c, x); }),
            "case t: add is not a function of each element that can be identified; these can: exp, "
            "log, sqrt, rsqrt, tanh, sigmoid, silu, gelu");
  c.op = "exp";
  EXPECT_EQ(error_of([&] {
              identify_function(c, Tensor::from_values(format_named("float16"), {1, 3},
                                                       std::vector<double>{1, 2, 3}));
            }),
            "case t: the output is [1, 3], x is [3]");
  EXPECT_THAT(error_of([&] {
                identify_function(c, Tensor::from_values(format_named("float32"), {3},
                                                         std::vector<double>{1, 2, 3}));
              }),
              HasSubstr("the output is float32, the case's output dtype is float16"));
}

}  // namespace
}  // namespace assay::identify
