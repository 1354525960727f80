// The thresholds that are worst-case bounds, sea_abft and analytic, raise no alarm on clean
// products of any machine. This includes subnormal data, and products or outputs that underflow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/gate/gate.h"
#include "assay/op/operator.h"

namespace assay {
namespace {

using Values = std::vector<double>;

struct HardData {
  const char* name;
  // Draws element i of an operand of this format.
  std::function<double(Random&, const Format&, std::int64_t i)> draw;
};

// Returns about the square root of a size, so that products have that size.
double root_of(double size) { return std::exp2(std::round(std::log2(size) / 2)); }

const HardData kHardData[] = {
    {"normal", [](Random& r, const Format&, std::int64_t) { return r.normal(); }},
    {"subnormals", [](Random& r, const Format& f,
                      std::int64_t) { return min_subnormal(f) * std::round(r.normal() * 3); }},
    {"products near float32's underflow",
     [](Random& r, const Format&, std::int64_t) { return r.normal() * root_of(0x1p-149); }},
    {"products near float16's underflow",
     [](Random& r, const Format&, std::int64_t) { return r.normal() * root_of(0x1p-24); }},
    {"products near the dtype's underflow",
     [](Random& r, const Format& f, std::int64_t) {
       return r.normal() * root_of(min_subnormal(f));
     }},
    {"the smallest normal numbers",
     [](Random& r, const Format& f, std::int64_t) { return r.normal() * min_normal(f); }},
    {"zeros and one tiny value",
     [](Random&, const Format& f, std::int64_t i) { return i == 2 ? min_subnormal(f) * 3 : 0.0; }},
    {"cancellation",
     [](Random& r, const Format&, std::int64_t i) {
       return (i % 2 == 0 ? 1 : -1) * (1 + 0x1p-10 * r.uniform());
     }},
    {"one sign", [](Random& r, const Format&, std::int64_t) { return 1 + r.uniform(); }},
    {"many magnitudes",
     [](Random& r, const Format& f, std::int64_t) {
       const double low = std::log2(min_subnormal(f));
       return std::exp2(low * r.uniform()) * (r.uniform() < 0.5 ? -1 : 1);
     }},
};

Tensor drawn(const HardData& data, const Format& f, const Shape& shape, std::uint64_t stream) {
  Random random(7, stream);
  Values values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    values.push_back(data.draw(random, f, i));
  }
  return Tensor::from_values(f, shape, values);
}

const char* const kSpecs[] = {"sea_abft", "analytic", "sea_abft,columns=1", "analytic,columns=1"};

TEST(WorstCaseChecks, NoAlarmOnCleanData) {
  std::int64_t checked = 0;
  std::map<std::string, std::int64_t> alarms;
  for (const Machine& machine : machines()) {
    for (const DotModel& row : machine.dots) {
      const Format& f = format_named(row.input);
      if (!f.is_float()) continue;
      for (const char* output : {"float16", "bfloat16", "float32", "float64"}) {
        for (const HardData& data : kHardData) {
          for (const std::int64_t k : {1, 3, 40, 150}) {
            Case c;
            c.name = formatted("{} {} {} {} {}", machine.name, f.name, output, data.name, k);
            c.op = "matmul";
            c.inputs["a"] = drawn(data, f, {4, k}, static_cast<std::uint64_t>(k));
            c.inputs["b"] = drawn(data, f, {k, 5}, static_cast<std::uint64_t>(k) + 1000);
            c.attributes = {{"output_dtype", std::string(output)}};
            Tensor result;
            try {
              result = emulate(c, machine);
            } catch (const std::invalid_argument&) {
              // The machine has no unit for this product.
              continue;
            }
            for (const char* spec : kSpecs) {
              const CaseReport report = gate_case(
                  c, result,
                  {.elements = false, .checksums = parse_threshold(spec), .machine = &machine});
              const Outcome outcome = report.outcome();
              checked += outcome == Outcome::kPass ? 1 : 0;
              if (outcome != Outcome::kFail) continue;
              ++alarms[formatted("{} {}", machine.name, spec)];
              ADD_FAILURE() << c.name << " " << spec << ": " << report.because();
            }
          }
        }
      }
    }
  }
  std::printf("%lld checks passed\n", static_cast<long long>(checked));
  for (const auto& [name, count] : alarms) {
    std::printf("%s: %lld alarms\n", name.c_str(), static_cast<long long>(count));
  }
  EXPECT_GT(checked, 5000);
}

// On normal data, allowing for subnormal numbers does not enlarge the thresholds of the formulas,
// so that a fault is found.
TEST(WorstCaseChecks, SeeAFaultOnNormalDataAndInSubnormals) {
  for (const char* spec : kSpecs) {
    for (const char* dtype : {"float16", "bfloat16"}) {
      Case c;
      c.name = "fault";
      c.op = "matmul";
      c.inputs["a"] = drawn(kHardData[0], format_named(dtype), {4, 40}, 1);
      c.inputs["b"] = drawn(kHardData[0], format_named(dtype), {40, 5}, 2);
      c.attributes = {{"output_dtype", std::string(dtype)}};
      Tensor result = emulate(c, machine_named("ascend910b"));
      Values values = result.view().values();
      values[7] += 1000;
      result = Tensor::from_values(result.format(), result.shape(), values);
      const GateRequest request{.elements = false,
                                .checksums = parse_threshold(spec),
                                .machine = &machine_named("ascend910b")};
      EXPECT_EQ(gate_case(c, result, request).outcome(), Outcome::kFail) << spec << dtype;
    }
  }
  // All sums underflow in float16, so that a wrong element of a normal size is a fault.
  Case c;
  c.name = "tiny";
  c.op = "matmul";
  c.inputs["a"] = drawn(kHardData[3], format_named("float16"), {4, 40}, 1);
  c.inputs["b"] = drawn(kHardData[3], format_named("float16"), {40, 5}, 2);
  c.attributes = {{"output_dtype", std::string("float16")}};
  Tensor result = emulate(c, machine_named("ascend910b"));
  Values values = result.view().values();
  values[7] += 0.25;
  result = Tensor::from_values(result.format(), result.shape(), values);
  const GateRequest request{.elements = false,
                            .checksums = parse_threshold("analytic"),
                            .machine = &machine_named("ascend910b")};
  EXPECT_EQ(gate_case(c, result, request).outcome(), Outcome::kFail);
}

}  // namespace
}  // namespace assay
