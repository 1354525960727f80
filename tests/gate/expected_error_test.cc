// Tests the standard `expected_error`. Right results of every operator and machine pass. Wrong
// arithmetic fails even if the operator's own bound passes it, and the text names the cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/cases/product.h"
#include "assay/gate/bound_width.h"
#include "assay/gate/gate.h"
#include "assay/gate/likely_arithmetic.h"
#include "assay/machine/dot.h"
#include "assay/matchers/elementwise.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "assay/op/sum_bound.h"
#include "emulated.h"
#include "error_of.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Lt;
using testing::Not;
using testing::StartsWith;

struct Drawn {
  const char* op;
  const char* dtype;
  std::vector<std::int64_t> sizes;
  const char* distribution = "normal";
  std::map<std::string, Attribute> attributes = {};
};

Case drawn(const Drawn& what, std::uint64_t seed = 0) {
  Recipe recipe{&format_named(what.dtype), what.sizes, what.attributes};
  recipe.distribution = parse_distribution(what.distribution);
  recipe.seed = seed;
  Case c = generate_case(what.op, recipe);
  c.output().golden = golden_result(c);
  return c;
}

Case drawn_product(const char* output = "float32", const char* distribution = "normal",
                   std::uint64_t seed = 0) {
  return drawn(
      {"matmul", "float32", {64, 512, 64}, distribution, {{"output_dtype", std::string(output)}}},
      seed);
}

Verdict judged(const Case& c, const Tensor& output, const char* standard = "expected_error",
               const Machine* machine = nullptr) {
  GateRequest request{.bounds = {.standards = {standard}}};
  request.machine = machine;
  return gate_case(c, output, request).verdicts.at(0);
}

// Returns what a machine computes for the case if these attributes are set, which makes it wrong.
Tensor wrong(const Case& c, const std::map<std::string, Attribute>& attributes,
             const char* machine) {
  Case other = c;
  for (const auto& [name, value] : attributes) other.attributes[name] = value;
  return emulate(other, machine_named(machine));
}

Tensor with_inputs_in(const Case& c, const char* narrow, const Machine& machine) {
  Case other = c;
  for (auto& [name, input] : other.inputs) {
    std::vector<double> values = input.view().values();
    for (double& v : values) v = round_to(format_named(narrow), v);
    input = Tensor::from_values(input.format(), input.shape(), values);
  }
  return emulate(other, machine);
}

// Returns the product with all sums in an accumulator of this format.
Tensor summed_in(const Case& c, const char* accumulator) {
  DotModel model = dot_model(machine_named("ascend910b"), c.input("a").format());
  model.accumulator.value = accumulator;
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> a = c.input("a").view().values(), b = c.input("b").view().values();
  std::vector<float> sums(static_cast<std::size_t>(s.m * s.n), 0.0f);
  dot_matmul(model, s.m, s.n, s.k, a.data(), b.data(), sums.data());
  return Tensor::from_values(output_format(c), s.output,
                             std::vector<double>(sums.begin(), sums.end()));
}

// Returns the product with K in parts. The sum of each part is rounded to a format.
Tensor split_in(const Case& c, std::int64_t parts, const char* narrow) {
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> a = c.input("a").view().values(), b = c.input("b").view().values();
  std::vector<double> sums(static_cast<std::size_t>(s.m * s.n), 0.0);
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      for (std::int64_t p = 0; p < parts; ++p) {
        double part = 0;
        for (std::int64_t k = p * s.k / parts; k < (p + 1) * s.k / parts; ++k) {
          part +=
              a[static_cast<std::size_t>(i * s.k + k)] * b[static_cast<std::size_t>(k * s.n + j)];
        }
        sums[static_cast<std::size_t>(i * s.n + j)] += round_to(format_named(narrow), part);
      }
    }
  }
  return Tensor::from_values(output_format(c), s.output, sums);
}

const Machine& ascend() { return machine_named("ascend910b"); }

// -- Right results --

TEST(ExpectedError, RightResultsOfEveryOperatorPass) {
  const std::vector<Drawn> all = {
      {"matmul", "float16", {9, 130, 17}},
      {"matmul", "bfloat16", {9, 130, 17}, "normal,mean=1"},
      {"matmul", "float16", {9, 130, 17}, "normal", {{"output_dtype", std::string("float32")}}},
      {"matmul",
       "bfloat16",
       {8, 96, 8},
       "uniform,low=0.9,high=1.1",
       {{"output_dtype", std::string("float32")}}},
      {"matmul", "float16", {9, 130, 17}, "student_t,nu=2", {{"split_k", std::int64_t{32}}}},
      {"matmul", "float16", {1, 1, 1}},
      {"matmul", "float16", {8, 64, 8}, "identical_columns"},
      {"matmul", "float16", {8, 64, 8}, "integers"},
      {"matmul", "float16", {8, 64, 8}, "subnormals"},
      {"dot", "float16", {40, 48}},
      {"scaled_matmul",
       "float8_e4m3fn",
       {9, 300, 17},
       "normal",
       {{"a_scaling", std::string("1x128")}, {"b_scaling", std::string("128x128")}}},
      {"add", "float32", {300}},
      {"mul", "float16", {300}, "lognormal"},
      {"div", "bfloat16", {300}},
      {"fma", "float32", {300}},
      {"reduce_sum", "float32", {30, 70}, "normal", {{"axis", std::int64_t{1}}}},
      {"reduce_sum",
       "float16",
       {30, 700},
       "normal",
       {{"axis", std::int64_t{1}},
        {"order", std::string("lanes")},
        {"lanes", std::int64_t{32}},
        {"block_size", std::int64_t{128}},
        {"sum_dtype", std::string("float16")},
        {"second_order", std::string("lanes")},
        {"second_lanes", std::int64_t{2}},
        {"output_dtype", std::string("float32")}}},
      {"reduce_mean",
       "float32",
       {30, 700},
       "normal,mean=1",
       {{"axis", std::int64_t{1}},
        {"order", std::string("halves")},
        {"lanes", std::int64_t{8}},
        {"block_size", std::int64_t{128}}}},
      {"reduce_mean", "float16", {30, 70}, "normal", {{"axis", std::int64_t{0}}}},
      {"reduce_max", "bfloat16", {30, 70}, "normal", {{"axis", std::int64_t{1}}}},
      {"softmax", "float32", {20, 60}},
      {"layernorm", "float16", {20, 60}, "normal,mean=1"},
      {"rmsnorm", "float32", {20, 60}, "outlier_channels"},
      {"attention", "float16", {24, 40, 16}},
  };
  int judged_by_theory = 0;
  for (const Drawn& what : all) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const Case c = drawn(what, seed);
      for (const char* name : {"ascend910b", "hopper", "cpu_fma"}) {
        Tensor output;
        try {
          output = emulate(c, machine_named(name));
        } catch (const std::invalid_argument&) {
          continue;
        }
        SCOPED_TRACE(c.name + " by " + name);
        const Verdict named = judged(c, output, "expected_error", &machine_named(name));
        EXPECT_THAT(named.outcome, testing::AnyOf(Outcome::kPass, Outcome::kUntrusted))
            << named.because;
        // The verdict without a machine must not fail either, if sums then have as many bits as the
        // machine's.
        const bool half_unit = std::string(name) == "ascend910b" && !is_product(c);
        if (!half_unit) {
          const Verdict any = judged(c, output);
          EXPECT_THAT(any.outcome, testing::AnyOf(Outcome::kPass, Outcome::kUntrusted))
              << any.because;
        }
        judged_by_theory += named.notes.empty() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(judged_by_theory, 120);  // of some 170
}

// Returns float32 sums of float32 products, in orders that no machine's model has.
Tensor summed_in_order(const Case& c, const char* order) {
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> a = c.input("a").view().values(), b = c.input("b").view().values();
  std::vector<double> sums;
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      std::vector<float> terms;
      for (std::int64_t k = 0; k < s.k; ++k) {
        terms.push_back(static_cast<float>(a[static_cast<std::size_t>(i * s.k + k)]) *
                        static_cast<float>(b[static_cast<std::size_t>(k * s.n + j)]));
      }
      const std::string word = order;
      if (word == "reversed") std::reverse(terms.begin(), terms.end());
      if (word == "largest first") {
        std::sort(terms.begin(), terms.end(),
                  [](float x, float y) { return std::abs(x) > std::abs(y); });
      }
      while (word == "pairs" && terms.size() > 1) {
        std::vector<float> next;
        for (std::size_t k = 0; k < terms.size(); k += 2) {
          next.push_back(k + 1 < terms.size() ? terms[k] + terms[k + 1] : terms[k]);
        }
        terms = next;
      }
      float sum = 0;
      for (const float term : terms) sum += term;
      sums.push_back(static_cast<double>(sum));
    }
  }
  return Tensor::from_values(output_format(c), s.output, sums);
}

TEST(ExpectedError, SumsInAnyOrderPass) {
  for (const char* distribution : {"normal", "normal,mean=1", "student_t,nu=2", "lognormal,sigma=2",
                                   "uniform,low=0.9,high=1.1", "identical_columns", "correlated"}) {
    for (const std::int64_t k : {7, 300}) {
      const Case c = drawn({"matmul", "float32", {16, k, 16}, distribution});
      for (const char* order : {"ascending", "reversed", "largest first", "pairs"}) {
        const Verdict v = judged(c, summed_in_order(c, order));
        EXPECT_EQ(v.outcome, Outcome::kPass) << c.name << ", " << order << ": " << v.because;
        EXPECT_THAT(v.notes, IsEmpty());
      }
    }
  }
}

TEST(ExpectedError, FindsTheSquaresThatTheoryExpects) {
  for (const char* output : {"float32", "float16", "bfloat16"}) {
    const Case c = drawn_product(output);
    const Verdict v = judged(c, emulate(c, ascend()), "expected_error(ascend910b)");
    EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
    ASSERT_EQ(v.readings.size(), std::string(output) == "float32" ? 1u : 2u);
    // The value is the mean of 4096 squares of independent errors. It is within 0.12 of 1 except
    // for one in ten million.
    EXPECT_NEAR(v.readings[0].value, 1, 0.12) << output;
    // Errors that are a third larger have 1.78 times the square, which this limit finds.
    EXPECT_LT(v.readings[0].limit.limit, 1.7);
    EXPECT_THAT(v.notes, IsEmpty());
  }
}

// -- Wrong arithmetic --

// For float32 outputs, every kind of wrong arithmetic is found and named.
TEST(ExpectedError, TellsWrongArithmeticInFloat32Outputs) {
  for (const char* distribution : {"normal", "normal,mean=1"}) {
    const Case c = drawn_product("float32", distribution);
    const auto says = [&](const Tensor& output) {
      const Verdict v = judged(c, output, "expected_error(ascend910b)");
      EXPECT_EQ(v.outcome, Outcome::kFail);
      return v.because;
    };
    EXPECT_THAT(says(with_inputs_in(c, "tfloat32", ascend())),
                HasSubstr("; errors like those of tfloat32 or float16 inputs"));
    EXPECT_THAT(says(with_inputs_in(c, "bfloat16", ascend())),
                HasSubstr("; errors like those of bfloat16 inputs"));
    EXPECT_THAT(says(summed_in(c, "float16")),
                HasSubstr("; errors like those of float16 accumulation"));
    EXPECT_THAT(says(split_in(c, 2, "bfloat16")),
                HasSubstr("; errors like those of K in 2 parts that are rounded to "
                          "bfloat16"));
  }
}

// Tests sums in an accumulator of 14 bits, as some units have for 8-bit floats.
TEST(ExpectedError, TellsSumsOfFewBits) {
  const Case c = drawn_product();
  DotModel model = dot_model(ascend(), c.input("a").format());
  model.mantissa_bits.value = 13;
  model.rounding.value = Rounding::kTowardZero;
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> a = c.input("a").view().values(), b = c.input("b").view().values();
  std::vector<float> sums(static_cast<std::size_t>(s.m * s.n), 0.0f);
  dot_matmul(model, s.m, s.n, s.k, a.data(), b.data(), sums.data());
  const Tensor output = Tensor::from_values(output_format(c), s.output,
                                            std::vector<double>(sums.begin(), sums.end()));
  EXPECT_THAT(judged(c, output, "expected_error(ascend910b)").because,
              HasSubstr("errors as large as those of sums of 14 bits"));
}

// Returns the golden result plus `times` the errors of an output.
Tensor with_errors_of(const Case& c, const Tensor& output, double times) {
  std::vector<double> values = c.output().golden->view().values();
  const std::vector<double> wrong_values = output.view().values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] += times * (wrong_values[i] - values[i]);
  }
  return Tensor::from_values(output_format(c), output.shape(), values);
}

// A cause is named only if it explains most of the errors, or if its errors have about the same
// size.
TEST(ExpectedError, NamesNothingThatIsFarOff) {
  const Case c = drawn_product();
  const auto says = [&](const Tensor& output) {
    return judged(c, output, "expected_error(ascend910b)").because;
  };
  const Tensor sums = summed_in(c, "bfloat16");
  EXPECT_THAT(says(with_errors_of(c, sums, 1.5)),
              HasSubstr("errors like those of bfloat16 accumulation"));
  EXPECT_THAT(says(with_errors_of(c, sums, 2.5)),
              AllOf(HasSubstr("expected error"), Not(HasSubstr("errors as large as")),
                    Not(HasSubstr("errors like"))));
  const Tensor inputs = with_inputs_in(c, "tfloat32", ascend());
  EXPECT_THAT(says(with_errors_of(c, inputs, 0.75)), HasSubstr("errors like those of tfloat32"));
  EXPECT_THAT(says(with_errors_of(c, inputs, 0.62)), Not(HasSubstr("errors like those of")));
}

// The operator's own bound passes these outputs, and expected_error does not. By default both
// judge.
TEST(ExpectedError, SeesWhatTheOperatorsBoundDoesNot) {
  const Case c = drawn({"matmul", "float32", {16, 4096, 16}});
  const Tensor tf32 = with_inputs_in(c, "tfloat32", ascend());
  EXPECT_EQ(judged(c, tf32, "accumulation").outcome, Outcome::kPass);
  const Verdict both = gate_case(c, tf32, {.machine = &ascend()}).verdicts.front();
  EXPECT_EQ(both.outcome, Outcome::kFail);
  EXPECT_EQ(both.bound.standard, "expected_error");
  EXPECT_EQ(both.bound.origin, "operator");
  EXPECT_THAT(both.because, HasSubstr("; errors like those of tfloat32 or float16 inputs"));
  EXPECT_THAT(both.notes, testing::Contains("the bound of accumulation holds: it is the operator's "
                                            "own bound, for all data"));
  const Tensor right = emulate(c, ascend());
  const Verdict pass = gate_case(c, right, {.machine = &ascend()}).verdicts.front();
  EXPECT_EQ(pass.bound.standard, "accumulation");
  EXPECT_EQ(pass.because,
            "all 256 elements within the bound of accumulation and within the expected error");
  const Verdict v = judged(c, tf32, "expected_error");
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_THAT(v.because, HasSubstr("differ by more than the expected error"));
}

// In 16-bit outputs, wrong arithmetic raises the root mean square of the errors by a third or by
// far less. The standard still finds it.
TEST(ExpectedError, TellsWrongArithmeticInHalfOutputs) {
  for (const char* output : {"float16", "bfloat16"}) {
    // The formats have the same number of bytes, so that a share is one of them.
    if (walks_a_share() && output != std::string("float16")) continue;
    const Case c = drawn_product(output);
    for (const Tensor& wrong_output : {with_inputs_in(c, "bfloat16", ascend()),
                                       summed_in(c, "float16"), split_in(c, 4, "bfloat16")}) {
      EXPECT_EQ(judged(c, wrong_output, "expected_error(ascend910b)").outcome, Outcome::kFail);
    }
  }
}

TEST(ExpectedError, TellsAMissingPromotion) {
  const Case c = drawn({"matmul",
                        "float8_e4m3fn",
                        {64, 512, 64},
                        "normal",
                        {{"promotion_interval", std::int64_t{128}}}});
  EXPECT_EQ(judged(c, emulate(c, machine_named("hopper")), "expected_error(hopper)").outcome,
            Outcome::kPass);
  const Tensor never = wrong(c, {{"promotion_interval", std::int64_t{0}}}, "hopper");
  const Verdict v = judged(c, never, "expected_error(hopper)");
  EXPECT_EQ(v.outcome, Outcome::kFail) << v.because;
  EXPECT_THAT(v.because, HasSubstr("errors as large as those of a missing promotion"));
}

TEST(ExpectedError, TellsInputsOfFewerBitsOfOtherOperators) {
  for (const Drawn& what : std::vector<Drawn>{
           {"softmax", "float32", {20, 60}},
           {"layernorm", "float32", {20, 60}},
           {"reduce_sum", "float32", {30, 70}, "normal", {{"axis", std::int64_t{1}}}},
           {"attention", "float32", {24, 40, 16}}}) {
    const Case c = drawn(what);
    const Verdict v = judged(c, with_inputs_in(c, "bfloat16", ascend()), "expected_error");
    EXPECT_EQ(v.outcome, Outcome::kFail) << c.name;
    EXPECT_THAT(v.because, HasSubstr("errors like those of bfloat16 inputs")) << c.name;
  }
}

// -- What is noted --

TEST(ExpectedError, NotesMorePrecisionThanClaimed) {
  const Case c = drawn_product();
  const Verdict v = judged(c, emulate(c, machine_named("exact")), "expected_error(ascend910b)");
  EXPECT_EQ(v.outcome, Outcome::kPass);
  EXPECT_THAT(v.notes, ElementsAre(StartsWith("computed in more precision than claimed: squared "
                                              "errors are ")));
  // Without a machine, no precision is claimed that an exact result could exceed.
  EXPECT_THAT(judged(c, emulate(c, machine_named("exact"))).notes, IsEmpty());
  // Right results that are exactly representable have no error, so that they show no precision.
  const Case exact = drawn({"matmul", "float16", {8, 64, 8}, "integers"});
  EXPECT_THAT(judged(exact, emulate(exact, ascend()), "expected_error(ascend910b)").notes,
              IsEmpty());
}

TEST(ExpectedError, FallsBackWhereTheoryDoesNotHold) {
  // All factors are equal, so that the errors of the sums have one sign and are not chance.
  Case c = drawn({"matmul", "float32", {4, 3000, 4}});
  for (auto& [name, input] : c.inputs) {
    input = Tensor::from_values(
        input.format(), input.shape(),
        std::vector<double>(static_cast<std::size_t>(input.size()), round_to(input.format(), 0.1)));
  }
  c.output().golden = golden_result(c);
  const Verdict v = judged(c, emulate(c, machine_named("cpu_fma")), "expected_error(cpu_fma)");
  EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
  EXPECT_THAT(v.bound.text(), "the bound of accumulation");
  EXPECT_THAT(v.notes,
              ElementsAre(StartsWith(
                  "judged by the operator's own bound, because the expected error is not known: "
                  "right results of these operands, computed by cpu_fma, have larger errors: ")));
}

TEST(ExpectedError, SaysWhatItDoesNotKnow) {
  Case c = drawn({"gelu", "float32", {50}});
  const Verdict v = judged(c, emulate(c, ascend()));
  EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
  EXPECT_THAT(v.notes, ElementsAre(HasSubstr("the expected error is known for matmul, dot, ")));
  c = drawn({"matmul", "float16", {4, 8, 4}});
  c.output().golden = Tensor::from_values(format_named("float32"), c.output().golden->shape(),
                                          c.output().golden->view().values());
  EXPECT_THAT(
      judged(c, emulate(c, ascend())).notes,
      testing::Contains(HasSubstr("the golden result has no more precision than the output")));
}

TEST(ExpectedError, NeedsTheCase) {
  const Tensor x = Tensor::from_values(format_named("float32"), {2}, std::vector<double>{1, 2});
  const std::vector<Verdict> verdicts =
      gate_tensors(x, x, {.bounds = {.standards = {"expected_error"}}});
  EXPECT_EQ(verdicts[0].outcome, Outcome::kNotComparable);
  EXPECT_EQ(verdicts[0].because,
            "standard expected_error needs the expected error of each element, which is computed "
            "from the case's operands and a machine; give a case with operands, and a machine");
  EXPECT_THAT(error_of([&] { (void)judged(drawn_product(), x, "expected_error(hoper)"); }),
              HasSubstr("did you mean 'hopper'"));
}

TEST(ExpectedError, IsAMatcherToo) {
  const Case c = drawn_product();
  const Tensor right = emulate(c, ascend());
  EXPECT_THAT(right, MeetsStandard("expected_error(ascend910b)", c));
  EXPECT_THAT(with_inputs_in(c, "tfloat32", ascend()),
              Not(MeetsStandard("expected_error(ascend910b)", c)));
}

// -- The theory's parts --

// An element that is not close to a tie has one right rounding, whatever the rest of the row is.
TEST(ErrorTest, KnowsTheRoundingOfEachElement) {
  ExpectedErrors errors;
  errors.resize(3);
  errors.last = &format_named("bfloat16");
  errors.variance = {1e-12, 1e-12, 0};
  const double tie = 1 + 0x1p-8;
  const Tensor golden =
      Tensor::from_values(format_named("float64"), {3}, std::vector<double>{1.001, tie, 1});
  const ErrorTest test = error_test(errors, golden, *errors.last);
  EXPECT_NEAR(test.bounds->view().value_at(0), 0.001, 1e-15);
  EXPECT_EQ(test.bounds->view().value_at(1), 0x1p-8);
  EXPECT_EQ(test.bounds->view().value_at(2), 0);
  ASSERT_TRUE(test.squares);
}

}  // namespace

// If the error before the last rounding reaches over many numbers of the format, the last rounding
// adds an error of its own: its variance is a twelfth of a squared ulp.
TEST(ErrorTest, CountsTheLastRounding) {
  ExpectedErrors errors;
  errors.resize(1);
  errors.last = &format_named("bfloat16");
  const Tensor golden = Tensor::from_values(format_named("float64"), {1}, std::vector<double>{1.5});
  for (const double ulps : {2.0, 5.0, 8.0}) {
    const double deviation = ulps * 0x1p-7;
    errors.variance = {deviation * deviation};
    const double expected = std::sqrt(ulps * ulps + 1.0 / 12) * 0x1p-7;
    EXPECT_NEAR(expected_rms(errors, golden, *errors.last), expected, 1e-6 * expected) << ulps;
  }
}

// Half of 1e-9 is shared by both sides of n elements. With the bound exp(-kappa^2 / 2) of a
// normal's tail, kappa = sqrt(2 ln(4 n / 1e-9)). Deviations count 1.15 times, and the mean may be
// off by the drift.
TEST(ErrorTest, BoundsOfElementsByHand) {
  ExpectedErrors errors;
  errors.resize(4);
  errors.variance = {1, 0.25, 1, 0};
  errors.mean = {0, 0, -3, 0};
  errors.drift = {0, 0, 0.5, 0.125};
  const Tensor golden =
      Tensor::from_values(format_named("float64"), {4}, std::vector<double>{0, 0, 0, 1});
  const ErrorTest test = error_test(errors, golden, format_named("float32"));
  const double kappa = std::sqrt(2 * (std::log(16.0) + 9 * std::log(10.0)));
  const double by_hand[] = {1.15 * kappa, 1.15 * kappa / 2, 3.5 + 1.15 * kappa, 0.125};
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(test.bounds->view().value_at(i), by_hand[i], 1e-13) << i;
  }
  EXPECT_LE(4 * std::erfc(kappa / std::sqrt(2.0)), kErrorBudget / 2);
}

// The square of an element is weighted by its expected square. That is a twelfth of a squared ulp
// for the last rounding, plus the parts of chance and of the mean.
TEST(ErrorTest, WeightsByHand) {
  ExpectedErrors errors;
  errors.resize(3);
  errors.last = &format_named("bfloat16");
  constexpr double kUlp = 0x1p-7, kSquare = kUlp * kUlp;
  errors.variance = {kSquare / 16, kSquare, kSquare};
  errors.mean = {0, 0, -kUlp / 2};
  errors.drift = {0, 0, kUlp / 4};
  const Tensor golden =
      Tensor::from_values(format_named("float64"), {3}, std::vector<double>{1.5, 1.5, 1.5});
  const ErrorTest test = error_test(errors, golden, *errors.last);
  const auto weight = [&](std::int64_t i) { return test.weights->view().value_at(i); };
  EXPECT_NEAR(weight(0) / weight(1), (1.0 / 12 + 1) / (1.0 / 12 + 1.0 / 16), 1e-9);
  EXPECT_NEAR(weight(1) / weight(2), (1.0 / 12 + 1 + 9.0 / 16) / (1.0 / 12 + 1), 1e-9);
}

// An element that chance may carry beyond the largest number has no expected square. It does not
// change those of the others.
TEST(ErrorTest, LeavesOutWhatMayOverflow) {
  ExpectedErrors errors;
  errors.resize(2);
  errors.last = &format_named("float16");
  errors.variance = {4 * 0x1p-20, 400};  // two ulps, and 20
  const Tensor golden =
      Tensor::from_values(format_named("float64"), {2}, std::vector<double>{1.5, 65500});
  const ErrorTest test = error_test(errors, golden, *errors.last);
  const double expected = std::sqrt((4 + 1.0 / 12) / 2) * 0x1p-10;
  EXPECT_NEAR(expected_rms(errors, golden, *errors.last), expected, 1e-6 * expected);
  ASSERT_TRUE(test.squares);
  EXPECT_THAT(test.squares->limit, AllOf(Gt(1), Lt(1000)));
}

// Several conversions are named together if they leave nearly the same squared errors. A conversion
// that leaves 1.13 times the least is not named.
TEST(LikelyArithmetic, NamesTheConversionThatLeavesLeast) {
  // The first element separates the three formats of 11 and 12 bits from those of fewer bits. The
  // second lies below float16's normal range, so that only float16 drops its last bit.
  constexpr double kSmall = 0x1p-15 + 0x1p-25;
  Case c;
  c.name = "x";
  c.op = "matmul";
  const Format& single = format_named("float32");
  c.inputs["a"] = Tensor::from_values(single, {1, 1}, std::vector<double>{1});
  // There are many pairs of such elements, because two elements could agree by chance.
  constexpr std::size_t kPairs = 16;
  const Shape shape = {1, 2 * static_cast<std::int64_t>(kPairs)};
  const auto pairs = [](double first, double second) {
    std::vector<double> values;
    for (std::size_t i = 0; i < kPairs; ++i) values.insert(values.end(), {first, second});
    return values;
  };
  c.inputs["b"] = Tensor::from_values(single, shape, pairs(1 + 0x1p-10 + 0x1p-13, kSmall));
  const Tensor golden = golden_result(c);
  ErrorTest test;
  test.weights = std::make_shared<const Tensor>(
      Tensor::from_values(format_named("float64"), shape, pairs(1, 1)));
  const auto named = [&](double part) {
    const Tensor output =
        Tensor::from_values(single, shape, pairs(1 + 0x1p-10, 0x1p-15 + part * 0x1p-25));
    return likely_arithmetic(c, ascend(), output, golden, test, 1);
  };
  // The two kinds of conversions leave squared errors of 81 and 49, then of 33^2 and 31^2 (1.13
  // times), then of 65^2 and 63^2 (1.06 times).
  EXPECT_EQ(named(9.0 / 16), "errors like those of tfloat32 or hfloat32 inputs");
  EXPECT_EQ(named(33.0 / 64), "errors like those of tfloat32 or hfloat32 inputs");
  EXPECT_EQ(named(65.0 / 128), "errors like those of tfloat32 or hfloat32 or float16 inputs");
  EXPECT_EQ(named(7.0 / 16), "errors like those of float16 inputs");
}

// The size of the errors does not matter. The weights of squares are below 1 for large numbers, and
// the inputs are beyond the range of float8_e4m3fn and float16.
TEST(LikelyArithmetic, IsFoundAmongLargeNumbers) {
  for (const char* scale : {"normal,scale=64", "normal,scale=1000", "normal,scale=1e6"}) {
    const Case c = drawn(
        {"matmul", "float32", {16, 512, 16}, scale, {{"output_dtype", std::string("bfloat16")}}});
    EXPECT_THAT(judged(c, summed_in(c, "bfloat16"), "expected_error(ascend910b)").because,
                HasSubstr("errors like those of bfloat16 accumulation"))
        << scale;
  }
}

// Accumulators of few bits round to nearest, even on a machine whose own accumulators truncate.
TEST(LikelyArithmetic, IsFoundOnAMachineThatTruncates) {
  const Case c = drawn(
      {"matmul", "float16", {24, 512, 24}, "normal", {{"output_dtype", std::string("float32")}}});
  EXPECT_THAT(judged(c, summed_in(c, "float16"), "expected_error(hopper)").because,
              HasSubstr("errors like those of float16 accumulation"));
}

}  // namespace assay
