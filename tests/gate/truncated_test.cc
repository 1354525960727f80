// Tests outputs that are truncated instead of rounded. Their elements have a mean error of half an
// ulp towards zero, which no right result has. Also tests sums of few bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/gate/gate.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"

namespace assay {
namespace {

using testing::HasSubstr;
using Values = std::vector<double>;

// Returns the float32 result of a case on a machine, rounded or truncated to a narrower output.
Tensor narrowed(const Case& c, const Machine& machine, const Format& output, bool truncates) {
  Case wide = c;
  wide.attributes["output_dtype"] = std::string("float32");
  const Tensor result = emulate(wide, machine);
  Values values = result.view().values();
  for (double& v : values) {
    double nearest = round_to(output, v);
    if (truncates && std::abs(nearest) > std::abs(v)) {
      const std::uint64_t bits = encode(output, std::abs(nearest));
      nearest = std::copysign(decode(output, *at_ordinal(output, *ordinal(output, bits) - 1)), v);
    }
    v = nearest;
  }
  return Tensor::from_values(output, result.shape(), values);
}

struct Setting {
  const char *op, *dtype;
  std::vector<std::int64_t> sizes;
};

Case generated(const Setting& setting, std::uint64_t seed) {
  Recipe recipe{&format_named(setting.dtype), setting.sizes};
  recipe.seed = seed;
  Case c = generate_case(setting.op, recipe);
  c.attributes["output_dtype"] = std::string(setting.dtype);
  if (c.op.starts_with("reduce_")) c.attributes["axis"] = std::int64_t{1};
  c.output().golden = golden_result(c);
  return c;
}

TEST(Truncated, OutputsFailAndRoundedOnesPass) {
  const Machine& machine = machine_named("cpu_fma");
  for (const char* dtype : {"float16", "bfloat16"}) {
    for (const Setting& setting :
         {Setting{"matmul", dtype, {24, 96, 20}}, Setting{"attention", dtype, {64, 65, 32}},
          Setting{"attention", dtype, {2, 120, 65, 30}}, Setting{"softmax", dtype, {16, 200}},
          Setting{"layernorm", dtype, {16, 200}}, Setting{"rmsnorm", dtype, {16, 200}},
          Setting{"reduce_sum", dtype, {400, 50}}, Setting{"reduce_mean", dtype, {400, 50}}}) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        SCOPED_TRACE(formatted("{} {} seed {}", setting.op, dtype, seed));
        const Case c = generated(setting, seed);
        const auto report = [&](bool truncates) {
          return gate_case(c, narrowed(c, machine, format_named(dtype), truncates));
        };
        const CaseReport rounded = report(false);
        EXPECT_EQ(rounded.outcome(), Outcome::kPass) << rounded.because();
        EXPECT_EQ(report(true).outcome(), Outcome::kFail);
      }
    }
  }
}

// Attention rounds its weights, and these errors are as large as the errors that truncation adds to
// an element. Truncation shows only because all elements lie on one side.
TEST(Truncated, AttentionFailsByItsMeanError) {
  const Case c = generated({"attention", "float16", {2, 120, 65, 30}}, 1);
  const CaseReport report =
      gate_case(c, narrowed(c, machine_named("cpu_fma"), format_named("float16"), true));
  EXPECT_EQ(report.verdicts[0].mismatches, 0);
  EXPECT_THAT(report.because(), HasSubstr("mean error towards or away from zero, in ulp, <= "));
}

// All golden results lie a quarter ulp above a number of the format. All right results then err by
// a quarter ulp towards zero.
TEST(Truncated, RightResultsThatAllLieOnOneSidePass) {
  Values x;
  for (int i = 0; i < 300; ++i) {
    const double exact = 1 + 0x1p-7 * static_cast<double>(i % 100) + 0x1p-9;
    x.insert(x.end(), {exact - 0.5 - 0x1p-9, 0.5 + 0x1p-9});
  }
  Case c;
  c.name = "quarter";
  c.op = "reduce_sum";
  c.inputs["x"] = Tensor::from_values(format_named("float32"), {300, 2}, x);
  c.attributes = {{"axis", std::int64_t{1}}, {"output_dtype", std::string("bfloat16")}};
  c.output().golden = golden_result(c);
  const CaseReport report = gate_emulated(c, machine_named("cpu_fma"), {});
  EXPECT_EQ(report.outcome(), Outcome::kPass) << report.because();
}

// In products of 8-bit floats, the sums of some machines keep 13 mantissa bits. A result that only
// such sums explain is therefore trusted only if its machine is named.
TEST(ShortSums, AreTrustedOnlyWhereTheMachineIsNamed) {
  for (const char* dtype : {"float8_e4m3fn", "float8_e5m2"}) {
    for (const bool scaled : {false, true}) {
      Case c = generated({scaled ? "scaled_matmul" : "matmul", dtype, {16, 512, 24}}, 3);
      c.attributes["output_dtype"] = std::string("float32");
      c.output().golden = golden_result(c);
      SCOPED_TRACE(formatted("{} {}", c.op, dtype));
      const Tensor by_hopper = emulate(c, machine_named("hopper"));
      const Tensor in_float32 = Tensor::from_values(
          format_named("float32"), c.output().golden->shape(), c.output().golden->view().values());
      for (const std::vector<std::string>& standards :
           {std::vector<std::string>{}, std::vector<std::string>{"expected_error"}}) {
        GateRequest request;
        request.bounds.standards = standards;
        EXPECT_EQ(gate_case(c, in_float32, request).outcome(), Outcome::kPass);
        const CaseReport nameless = gate_case(c, by_hopper, request);
        EXPECT_EQ(nameless.outcome(), Outcome::kUntrusted);
        EXPECT_THAT(nameless.because(),
                    HasSubstr("no machine is named, and the output is right only if its sums keep "
                              "as few as 13 bits, as those of some machines do; name the machine "
                              "that computed it. As sums "
                              "of float32 it would fail: "));
        request.machine = &machine_named("hopper");
        EXPECT_EQ(gate_case(c, by_hopper, request).outcome(), Outcome::kPass);
      }
    }
  }
}

}  // namespace
}  // namespace assay
