// Tests the gate's default verdicts on a quantiser's codes. A code may differ from the golden one
// only if the exact quotient lies within the derived error of the middle between two codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/gate/gate.h"
#include "assay/op/operator.h"
#include "assay/op/quantize.h"
#include "emulated.h"

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Values = std::vector<double>;

constexpr std::int64_t kColumns = 64;

// Normal numbers in rows of different sizes.
Tensor numbers(std::int64_t count, std::uint64_t seed) {
  Values x;
  Random random(seed, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<double>(i / kColumns % 7);
    x.push_back(static_cast<double>(static_cast<float>(random.normal() * (1 + row))));
  }
  return Tensor::from_values(format_named("float32"), {count / kColumns, kColumns}, x);
}

Case quantize(Tensor x, const char* scaling, const char* scales) {
  Case c;
  c.name = "q";
  c.op = "quantize";
  c.inputs["x"] = std::move(x);
  c.attributes = {{"output_dtype", std::string("int8")},
                  {"scaling", std::string(scaling)},
                  {"scales", std::string(scales)}};
  c.output().golden = golden_result(c);
  return c;
}

// Returns for each element the amax of its block.
Values sizes_of(const Case& c) {
  const Values x = c.inputs.at("x").view().values();
  const std::string scaling = *c.text("scaling");
  const std::size_t block = scaling == "tensor" ? x.size() : scaling == "row" ? kColumns : 32;
  Values sizes(x.size());
  for (std::size_t first = 0; first < x.size(); first += block) {
    double amax = 0;
    for (std::size_t i = first; i < first + block; ++i) amax = std::max(amax, std::abs(x[i]));
    for (std::size_t i = first; i < first + block; ++i) sizes[i] = amax;
  }
  return sizes;
}

double exact_scale(const Case& c, double amax) {
  if (*c.text("scales") == "free") return amax / 127;
  return std::exp2(std::ceil(std::log2(amax / 127)));
}

using Code = std::function<double(double x, double scale)>;

Tensor coded(const Case& c, const Code& code, std::size_t shift = 0) {
  const Values x = c.inputs.at("x").view().values(), sizes = sizes_of(c);
  Values codes;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double scale = exact_scale(c, sizes[(i + shift) % x.size()]);
    codes.push_back(std::clamp(code(x[i], scale), -128.0, 127.0));
  }
  return Tensor::from_values(format_named("int8"), c.inputs.at("x").shape(), codes);
}

float by_division(double x, double scale) {
  return static_cast<float>(x) / static_cast<float>(scale);
}
float by_inverse(double x, double scale) {
  return static_cast<float>(x) * (1.0F / static_cast<float>(scale));
}
float by_largest(double x, double scale) {
  return static_cast<float>(x) * (127.0F / static_cast<float>(127 * scale));
}
double even(double q) { return std::nearbyint(q); }

std::int64_t differing(const Tensor& a, const Tensor& b) {
  const Values x = a.view().values(), y = b.view().values();
  std::int64_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) count += x[i] != y[i] ? 1 : 0;
  return count;
}

struct Kernel {
  const char* name;
  bool right;
  Code code;
};

const Kernel kKernels[] = {
    {"float64", true, [](double x, double s) { return even(x / s); }},
    {"float32 division", true, [](double x, double s) { return even(by_division(x, s)); }},
    {"float32 inverse", true, [](double x, double s) { return even(by_inverse(x, s)); }},
    {"float32 127 / amax", true, [](double x, double s) { return even(by_largest(x, s)); }},
    {"half away", true, [](double x, double s) { return std::round(by_division(x, s)); }},
    {"truncating", false, [](double x, double s) { return std::trunc(by_division(x, s)); }},
    {"floor", false, [](double x, double s) { return std::floor(by_division(x, s)); }},
    {"ceiling", false, [](double x, double s) { return std::ceil(by_division(x, s)); }},
    {"off by one", false, [](double x, double s) { return even(x / s) + 1; }},
};

TEST(QuantizeGate, OnlyCodesNearAHalfMayDiffer) {
  for (const std::int64_t count : {512, 4096, 65536}) {
    for (const char* scaling : {"tensor", "row", "1x32"}) {
      for (const char* scales : {"free", "power_of_two"}) {
        const Case c = quantize(numbers(count, 11), scaling, scales);
        for (const Kernel& kernel : kKernels) {
          SCOPED_TRACE(formatted("{} {} {} {}", count, scaling, scales, kernel.name));
          const Tensor output = coded(c, kernel.code);
          const CaseReport report = gate_case(c, output, {.metrics = false});
          const Verdict& v = report.verdicts.at(0);
          EXPECT_EQ(v.outcome, kernel.right ? Outcome::kPass : Outcome::kFail) << v.because;
          std::printf("%6lld %-7s %-12s %-19s %6lld codes differ, %6lld miss\n",
                      static_cast<long long>(count), scaling, scales, kernel.name,
                      static_cast<long long>(differing(output, *c.output().golden)),
                      static_cast<long long>(v.mismatches));
        }
        if (std::string(scaling) != "tensor") {
          // Each block takes the scales of the next block, which is wrong.
          const Tensor swapped =
              coded(c, kKernels[0].code, std::string(scaling) == "row" ? kColumns : 32);
          EXPECT_EQ(gate_case(c, swapped).outcome(), Outcome::kFail);
        }
        for (const Machine& machine : machines()) {
          const CaseReport report = gate_emulated(c, machine, {.metrics = false});
          EXPECT_EQ(report.outcome(), Outcome::kPass) << machine.name << report.because();
        }
      }
    }
  }
}

// The quotients are as near to a half as float32 allows. Right kernels differ there, and pass.
TEST(QuantizeGate, RightKernelsThatDifferNearAHalfPass) {
  Random random(5, 0);
  Values x;
  for (std::int64_t row = 0; row < 64; ++row) {
    const auto amax = static_cast<double>(static_cast<float>(1 + random.uniform()));
    x.push_back(amax);
    for (std::int64_t i = 1; i < kColumns; ++i) {
      const double half = (static_cast<double>(2 * i) + 0.5) * amax / 127;
      x.push_back(static_cast<double>(static_cast<float>(half < amax ? half : -half / 2)));
    }
  }
  const Case c =
      quantize(Tensor::from_values(format_named("float32"), {64, kColumns}, x), "row", "free");
  for (const Kernel& kernel : kKernels) {
    // Near a half, a wrong kernel may give right codes.
    if (!kernel.right) continue;
    const Tensor output = coded(c, kernel.code);
    const CaseReport report = gate_case(c, output, {.metrics = false});
    EXPECT_EQ(report.outcome(), Outcome::kPass) << kernel.name << report.because();
    const std::int64_t count = differing(output, *c.output().golden);
    if (&kernel != &kKernels[0]) {
      EXPECT_GT(count, 0) << kernel.name;
    }
    std::printf("near halves: %-19s %5lld codes differ, %5lld miss\n", kernel.name,
                static_cast<long long>(count),
                static_cast<long long>(report.verdicts.at(0).mismatches));
  }
}

// In each element but the first, x / scale is exactly a whole number and a half, because amax is
// 127 and the scale is 1.
TEST(QuantizeGate, HalfAwayFromZeroPassesAtTiesAndIsNamed) {
  Values x;
  for (int i = 0; i < 64; ++i) x.push_back((i % 2 == 0 ? 1 : -1) * (i + 0.5));
  x.front() = 127;
  for (const char* scales : {"free", "power_of_two"}) {
    const Case c =
        quantize(Tensor::from_values(format_named("float32"), {1, kColumns}, x), "tensor", scales);
    const CaseReport right = gate_case(c, coded(c, [](double v, double s) { return even(v / s); }));
    EXPECT_EQ(right.outcome(), Outcome::kPass);
    EXPECT_THAT(right.verdicts[0].notes, Not(Contains(HasSubstr("half away"))));
    const Tensor away = coded(c, [](double v, double s) { return std::round(v / s); });
    EXPECT_EQ(differing(away, *c.output().golden), 31);
    const CaseReport report = gate_case(c, away);
    EXPECT_EQ(report.outcome(), Outcome::kPass)
        << report.verdicts[0].bound.standard << testing::PrintToString(report.verdicts[0].notes);
    EXPECT_THAT(report.verdicts[0].notes,
                Contains(HasSubstr("31 of 31 quotients that lie exactly between an even code and "
                                   "the next are rounded half away from zero")));
  }
}

// The 910B converts float32 to int8 through float16. Its quotients are up to half a float16 ulp
// off.
TEST(QuantizeGate, AWayByFloat16PassesOnlyWhereTheMachineHasIt) {
  const Case c = quantize(numbers(65536, 3), "row", "free");
  const Tensor output = coded(c, [](double x, double s) {
    return even(round_to(format_named("float16"), static_cast<double>(by_division(x, s))));
  });
  EXPECT_GT(differing(output, *c.output().golden), 0);
  EXPECT_EQ(gate_case(c, output).outcome(), Outcome::kFail);
  EXPECT_EQ(gate_case(c, output, {.machine = &machine_named("hopper")}).outcome(), Outcome::kFail);
  const GateRequest ascend{.machine = &machine_named("ascend910b")};
  EXPECT_EQ(gate_case(c, output, ascend).outcome(), Outcome::kPass);
  const GateRequest asked{.bounds = {.standards = {"accumulation(ascend910b)"}}};
  EXPECT_EQ(gate_case(c, output, asked).outcome(), Outcome::kPass);
  EXPECT_EQ(gate_case(c, output, {.bounds = {.standards = {"accumulation"}}}).outcome(),
            Outcome::kFail);
  const Tensor truncated =
      coded(c, [](double x, double s) { return std::trunc(by_division(x, s)); });
  EXPECT_EQ(gate_case(c, truncated, ascend).outcome(), Outcome::kFail);
}

// Returns the code of each element by a kernel. The kernel first rounds the scale to `scale_in`, or
// uses it as it is if that is null.
Tensor float_coded(const Case& c, const Format& codes, const Format* scale_in,
                   const std::function<double(double quotient)>& code) {
  const Values x = c.inputs.at("x").view().values(), sizes = sizes_of(c);
  Values values;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double scale = static_cast<double>(static_cast<float>(sizes[i] / max_finite(codes)));
    if (scale_in != nullptr) scale = round_to(*scale_in, scale);
    const double most = max_finite(codes);
    values.push_back(std::clamp(code(static_cast<double>(by_division(x[i], scale))), -most, most));
  }
  return Tensor::from_values(codes, c.inputs.at("x").shape(), values);
}

// Returns the number that truncation gives in the format of the codes.
double truncated(const Format& codes, double quotient) {
  const double nearest = round_to(codes, quotient);
  if (std::abs(nearest) <= std::abs(quotient)) return nearest;
  const std::uint64_t bits = encode(codes, std::abs(nearest));
  const double below = decode(codes, *at_ordinal(codes, *ordinal(codes, bits) - 1));
  return std::copysign(below, quotient);
}

// Covers every float format for codes, and several formats of the golden result.
TEST(QuantizeGate, FloatCodesAreThoseOfARightQuotient) {
  std::size_t place = 0;
  for (const Format& codes : formats()) {
    if (!is_code_format(codes) || !codes.is_float()) continue;
    SCOPED_TRACE(std::string(codes.name));
    Case c = quantize(numbers(16384, 5), "row", "free");
    c.attributes["output_dtype"] = std::string(codes.name);
    const Tensor exact = golden_result(c);
    // No bound of elements exists for such formats, because float32 does not divide by their
    // scales.
    const bool has_wide_scales = max_finite(codes) > 1e30;
    const auto nearest = [&](double q) { return round_to(codes, q); };
    for (const Format* golden : {&format_named("float64"), &format_named("float32"), &codes}) {
      SCOPED_TRACE(formatted("golden {}", golden->name));
      c.output().golden = Tensor::from_values(*golden, exact.shape(), exact.view().values());
      const auto report = [&](const Tensor& output) {
        return gate_case(c, output, {.metrics = false});
      };
      const CaseReport right = report(float_coded(c, codes, nullptr, nearest));
      EXPECT_EQ(right.outcome(), Outcome::kPass) << right.because();
      EXPECT_EQ(right.verdicts[0].bound.standard, has_wide_scales ? "default" : "accumulation");
      if (has_wide_scales) continue;
      EXPECT_EQ(report(float_coded(c, codes, &format_named("bfloat16"), nearest)).outcome(),
                Outcome::kFail);
      EXPECT_EQ(
          report(float_coded(c, codes, nullptr, [&](double q) { return truncated(codes, q); }))
              .outcome(),
          Outcome::kFail);
      for (const Machine& machine : machines()) {
        // A share is every fifth machine, so that other machines meet each format.
        if (walks_a_share() && place++ % 5 != 0) continue;
        const CaseReport emulated = gate_emulated(c, machine, {.metrics = false});
        EXPECT_EQ(emulated.outcome(), Outcome::kPass) << machine.name << emulated.because();
      }
    }
  }
}

// A block has a NaN, and another has an infinity. The golden result says what each element becomes,
// and other blocks keep their bounds.
TEST(QuantizeGate, BlocksWithNaNKeepTheBoundsOfOthers) {
  Values x = numbers(512, 5).view().values();
  x[3] = std::numeric_limits<double>::quiet_NaN();
  x[kColumns + 7] = std::numeric_limits<double>::infinity();
  Case c = quantize(numbers(512, 5), "row", "free");
  c.inputs.at("x") = Tensor::from_values(format_named("float32"), {8, kColumns}, x);
  c.attributes["output_dtype"] = std::string("float8_e4m3fn");
  c.output().golden = golden_result(c);
  const CaseReport right = gate_emulated(c, machine_named("hopper"), {});
  EXPECT_EQ(right.outcome(), Outcome::kPass) << right.because();
  EXPECT_EQ(right.verdicts[0].bound.standard, "accumulation");
  Values codes = emulate(c, machine_named("hopper")).view().values();
  codes[3 * kColumns] *= 2;
  const Tensor wrong = Tensor::from_values(format_named("float8_e4m3fn"), {8, kColumns}, codes);
  EXPECT_EQ(gate_case(c, wrong).verdicts[0].mismatches, 1);
}

// A quotient of fewer bits, as a chain of casts gives it, passes only if the case names this chain.
TEST(QuantizeGate, AQuotientOfFewerBitsPassesOnlyWhereTheCaseSaysIt) {
  for (const char* dtype : {"int8", "float8_e4m3fn"}) {
    Case c = quantize(numbers(65536, 3), "row", "free");
    c.attributes["output_dtype"] = std::string(dtype);
    c.output().golden = golden_result(c);
    Case chain = c;
    chain.attributes["quotient_dtype"] = std::string("bfloat16");
    const Tensor output = emulate(chain, machine_named("hopper"));
    EXPECT_EQ(gate_case(c, output).outcome(), Outcome::kFail) << dtype;
    const CaseReport report = gate_case(chain, output);
    EXPECT_EQ(report.outcome(), Outcome::kPass) << dtype << report.because();
    chain.attributes["quotient_dtype"] = std::string("float64");
    EXPECT_THAT(gate_case(chain, output).verdicts[0].notes,
                Contains(HasSubstr("quotient_dtype is float64; a quotient is rounded to float32")));
  }
}

// Scales are judged by a derived tolerance.
TEST(QuantizeGate, ScalesHaveATolerance) {
  Case c = quantize(numbers(512, 5), "row", "free");
  c.attributes["result"] = std::string("scales");
  c.attributes["quantized_dtype"] = std::string("int8");
  c.attributes["output_dtype"] = std::string("float32");
  c.output().golden = golden_result(c);
  const CaseReport report = gate_emulated(c, machine_named("hopper"), {});
  EXPECT_EQ(report.outcome(), Outcome::kPass);
  EXPECT_EQ(report.verdicts[0].bound.standard, "derived");
  // A request for the bounds of elements fails, because a quantiser has these only for codes.
  const CaseReport asked =
      gate_emulated(c, machine_named("hopper"), {.bounds = {.standards = {"accumulation"}}});
  EXPECT_THAT(asked.because(), HasSubstr("only for codes"));
}

}  // namespace
}  // namespace assay
