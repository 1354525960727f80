// A user's program that prints assay's verdicts on NaN, infinity and subnormal numbers.
// consumer_test.py builds it with -O2 and with -Ofast, with every compiler, and expects the same
// text. Numbers are given by their bits, because a compiler may assume that this file has only
// finite numbers. The first line says whether the process flushes subnormals to zero. With the
// argument `upward`, the program first sets the rounding mode to upward.
#include <assay/abft.h>
#include <assay/format.h>
#include <assay/matchers.h>
#include <assay/operator.h>
#include <assay/report.h>
#include <gmock/gmock.h>

#include <cfenv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::uint32_t kNan = 0x7fc00000, kInf = 0x7f800000, kMinusInf = 0xff800000,
                        kOne = 0x3f800000, kSmallest = 1, kSubnormal = 0x00300000,
                        kNormal = 0x00800000;

std::vector<float> floats(const std::vector<std::uint32_t>& bits) {
  std::vector<float> values(bits.size());
  std::memcpy(values.data(), bits.data(), bits.size() * sizeof(float));
  return values;
}

template <typename Matcher>
void say(const char* name, const std::vector<float>& out, const Matcher& matcher) {
  testing::StringMatchResultListener listener;
  const bool matched =
      testing::SafeMatcherCast<const std::vector<float>&>(matcher).MatchAndExplain(out, &listener);
  std::printf("%s: %s, %s\n", name, matched ? "match" : "no match", listener.str().c_str());
}

void say(const char* name, const assay::Tensor& t) {
  std::printf("%s:", name);
  for (std::int64_t i = 0; i < t.size(); ++i) {
    std::printf(" %llx", static_cast<unsigned long long>(t.bits_at(i)));
  }
  std::printf("\n");
}

void matchers() {
  const auto golden = floats({kOne, kNan, kInf, kMinusInf, kSmallest, kSubnormal, 0});
  const std::vector<std::pair<const char*, std::vector<float>>> outputs = {
      {"the same", golden},
      {"nan for one", floats({kNan, kNan, kInf, kMinusInf, kSmallest, kSubnormal, 0})},
      {"one for nan", floats({kOne, kOne, kInf, kMinusInf, kSmallest, kSubnormal, 0})},
      {"one for inf", floats({kOne, kNan, kOne, kMinusInf, kSmallest, kSubnormal, 0})},
      {"inf of the other sign", floats({kOne, kNan, kInf, kInf, kSmallest, kSubnormal, 0})},
      {"zero for a subnormal", floats({kOne, kNan, kInf, kMinusInf, kSmallest, 0, 0})},
      {"a subnormal for zero", floats({kOne, kNan, kInf, kMinusInf, kSmallest, kSubnormal, 5})}};
  for (const auto& [name, out] : outputs) {
    say(name, out, assay::CloseTo(golden));
    say(name, out, assay::CloseTo(golden).equal_nan());
    say(name, out, assay::CloseTo(golden).rtol(0).atol(0).equal_nan());
    say(name, out, assay::WithinUlps(golden, 4));
    say(name, out, assay::BitEqual(golden));
    say(name, out, assay::SnrAtLeast(golden, 40));
    say(name, out, assay::SnrAtLeast(golden, 40).equal_nan());
  }
  const auto small = floats({kSmallest, kSubnormal, kNormal, 7});
  const auto other = floats({3, kSubnormal + 1, kNormal, 9});
  say("subnormal numbers", other, assay::SnrAtLeast(small, 60));
  say("subnormal numbers", other, assay::CosineAtLeast(small, 0.999));
  say("subnormal numbers", other, assay::RelativeL2AtMost(small, 1e-6));
  say("subnormal numbers", other, assay::WithinUlps(small, 1));
  say("subnormal numbers", other, assay::WithinUlps(small, 2));
}

assay::Case product(std::uint32_t a_bits, std::uint32_t b_bits) {
  assay::Case c;
  c.name = "product";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string("float32");
  // A product of a 3 x 4 and a 4 x 2 matrix. Each of them has one element that the caller chooses,
  // such as a NaN or a subnormal number.
  std::vector<std::uint32_t> a(12, kOne), b(8, 0x00600000);
  a[5] = a_bits;
  b[2] = b_bits;
  const std::vector<float> a_values = floats(a), b_values = floats(b);
  c.inputs["a"] = assay::copy_of(assay::view(a_values, {3, 4}));
  c.inputs["b"] = assay::copy_of(assay::view(b_values, {4, 2}));
  return c;
}

void operators() {
  for (const std::uint32_t bits : {kOne, kNan, kInf, kMinusInf, kSmallest, kSubnormal}) {
    const assay::Case c = product(bits, kSubnormal);
    for (const char* machine : {"ascend910b", "cpu_fma"}) {
      const assay::Tensor out = assay::emulate(c, assay::machine_named(machine));
      say(machine, out);
      const assay::AbftVerdict v = assay::abft_check(c, out.view(), {});
      std::printf("abft: %s\n", assay::explain(v).c_str());
      testing::StringMatchResultListener listener;
      const bool matched = testing::SafeMatcherCast<const assay::Tensor&>(
                               assay::AbftClose(c.inputs.at("a"), c.inputs.at("b")))
                               .MatchAndExplain(out, &listener);
      std::printf("AbftClose: %s, %s\n", matched ? "match" : "no match", listener.str().c_str());
    }
    say("golden", assay::golden_result(c));
  }
  assay::Recipe recipe{&assay::format_named("float16"), {4, 16}};
  recipe.distribution = assay::parse_distribution("normal,mean=1e-7,deviation=1e-7");
  for (const char* op : {"softmax", "exp", "mul"}) {
    const assay::Case c = assay::generate_case(op, recipe);
    for (const auto& [name, input] : c.inputs) say(name.c_str(), input);
    say("golden", assay::golden_result(c));
    say("emulated", assay::emulate(c, assay::machine_named("ascend910b")));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "upward") std::fesetround(FE_UPWARD);
  volatile double smallest = 0x1p-1022, half = 0.5;
  const volatile double halved = smallest * half;
  std::uint64_t bits = 0;
  std::memcpy(&bits, const_cast<const double*>(&halved), sizeof bits);
  std::puts(bits == 0 ? "flushes" : "gradual");
  matchers();
  operators();
  return 0;
}
