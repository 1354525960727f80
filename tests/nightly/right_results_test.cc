// Right results of every operator, judged by the default gate: 4,000 of each, more than 100,000 in
// all. Shapes, data, parameters and machines are drawn. None of them may fail. Each that does not
// pass is printed with the commands that make and judge it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/gate/gate.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "gate/generated_operators.h"

namespace assay {
namespace {

constexpr int kResults = 4000;

// Returns the first seed. Another value of the environment variable ASSAY_PROOF_SEED gives other
// data.
std::uint64_t first_seed() {
  const char* word = std::getenv("ASSAY_PROOF_SEED");
  return word == nullptr ? 0 : std::strtoull(word, nullptr, 10) << 32;
}

template <typename T>
const T& one_of(const std::vector<T>& all, Random& random) {
  return all[random.below(all.size())];
}

// A number from `least` to `most`, whose logarithm is uniform.
std::int64_t size_between(double least, double most, Random& random) {
  return std::llround(least * std::pow(most / least, random.uniform()));
}

std::vector<std::int64_t> drawn_sizes(const std::string& op, Random& random) {
  const auto up_to = [&](double most) { return size_between(1, most, random); };
  if (op == "dot") return {up_to(20), up_to(600)};
  if (op == "deform_roi_pool") return {up_to(2), up_to(3), up_to(12), up_to(12), up_to(5)};
  if (op == "attention") return {up_to(12), up_to(100), up_to(40)};
  if (op == "matmul" || op == "scaled_matmul") {
    std::vector<std::int64_t> sizes = {up_to(10), up_to(600), up_to(10)};
    if (random.uniform() < 0.2) sizes.insert(sizes.begin(), up_to(3));
    return sizes;
  }
  return {up_to(6), up_to(600)};
}

std::string drawn_distribution(const std::string& op, Random& random) {
  const bool is_positive = op == "log" || op == "sqrt" || op == "rsqrt";
  static const std::vector<std::string> positive = {
      "folded_normal", "folded_normal,scale=", "lognormal,sigma=2", "uniform,low=0.5,high=2",
      "uniform,low=0.99,high=1.01"};
  static const std::vector<std::string> any = {"normal",
                                               "normal,scale=",
                                               "normal,mean=1",
                                               "uniform",
                                               "uniform,low=-2,high=2",
                                               "lognormal,sigma=2",
                                               "student_t,nu=2",
                                               "outlier_channels,factor=30",
                                               "subnormals",
                                               "integers,low=-8,high=8",
                                               "correlated,rho=0.99",
                                               "sparse",
                                               "one_hot",
                                               "hilbert",
                                               "identical_columns",
                                               "constant_columns",
                                               "block_constant"};
  std::string words = one_of(is_positive ? positive : any, random);
  if (words.ends_with("scale=")) {
    words += short_number(std::exp2(std::round(24 * random.uniform() - 12)));
  }
  return words;
}

// A case of an operator, and the command line that makes it.
struct Drawn {
  Case c;
  std::string distribution, generate;
};

// Throws Refusal if the operator does not take what was drawn.
Drawn drawn(const Operator& op, std::uint64_t seed, Random& random) {
  static const std::vector<std::string> dtypes = {
      "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "int8"};
  const std::string dtype = one_of(dtypes, random);
  Recipe recipe{&format_named(dtype), drawn_sizes(op.name, random)};
  const std::string distribution = drawn_distribution(op.name, random);
  recipe.distribution = parse_distribution(distribution);
  recipe.seed = seed;
  recipe.threads = 1;
  recipe.attributes = one_of(variants_of(op), random);
  if (op.name == "cast") recipe.attributes["output_dtype"] = std::string("bfloat16");
  if (op.name == "quantize") recipe.attributes["output_dtype"] = std::string("float8_e4m3fn");
  if (op.name == "deform_roi_pool") {
    recipe.attributes["pooled_height"] = std::int64_t{2};
    recipe.attributes["pooled_width"] = std::int64_t{3};
  }
  std::string sizes, parameters;
  for (const std::int64_t n : recipe.sizes) sizes += (sizes.empty() ? "" : ",") + std::to_string(n);
  for (const auto& [name, value] : recipe.attributes) {
    parameters += formatted(" --parameter {}={}", name, attribute_text(value));
  }
  Drawn made{generate_case(op.name, recipe), distribution,
             formatted("assay generate {} --dtype {} --shape {} --distribution {} --seed {}{}",
                       op.name, dtype, sizes, distribution, seed, parameters)};
  made.c.output().golden = golden_result(made.c, 1);
  return made;
}

// Properties of a case that decide if a machine's result is right and can be judged.
struct Sizes {
  double largest = 0;  // the largest magnitude of an operand
  double longest = 1;  // the largest extent, and so the largest number of terms in a sum
  // The largest value of the narrowest format that a machine may compute in.
  double limit = max_finite(format_named("float32"));
};

Sizes sizes_of(const Case& c) {
  Sizes sizes;
  const auto computes_in = [&](const Format& f) {
    if (f.storage_bytes >= 2 && f.is_float()) sizes.limit = std::min(sizes.limit, max_finite(f));
  };
  for (const auto& [name, input] : c.inputs) {
    computes_in(input.format());
    for (const double v : input.view().values())
      sizes.largest = std::max(sizes.largest, std::abs(v));
    for (const std::int64_t n : input.shape()) {
      sizes.longest = std::max(sizes.longest, static_cast<double>(n));
    }
  }
  for (const auto& [name, value] : c.attributes) {
    if (const auto* word = std::get_if<std::string>(&value); word && name.ends_with("_dtype")) {
      computes_in(format_named(*word));
    }
  }
  return sizes;
}

// True if no step of the operator leaves the range of the arithmetic, whatever a machine computes
// in. If a step does, a machine's result is not right. A golden result with NaN has no right result
// on machines that turn NaN into 0.
bool stays_in_range(const Case& c) {
  const Sizes sizes = sizes_of(c);
  double most = sizes.largest * sizes.largest * sizes.longest;
  for (const double v : c.output().golden->view().values()) {
    if (!std::isfinite(v)) return false;
    most = std::max(most, std::abs(v));
  }
  return most <= sizes.limit / 2;
}

// True if a quarter of the golden result is 0 or subnormal in the output's dtype. For such a
// result, `untrusted` is an honest answer.
bool is_mostly_tiny(const Case& c) {
  const std::vector<double> golden = c.output().golden->view().values();
  const double least = output_format(c).is_float() ? min_normal(output_format(c)) : 1;
  const auto tiny =
      std::count_if(golden.begin(), golden.end(), [&](double v) { return std::abs(v) < least; });
  return 4 * tiny >= static_cast<std::ptrdiff_t>(golden.size());
}

// True if the machine is defined to turn subnormal operands, or subnormal results, into 0.
bool flushes(const Case& c, const Machine& machine, const std::string& distribution) {
  if (distribution != "subnormals") return false;
  return (machine.name == "cdna2" && (c.op == "attention" || is_product(c))) ||
         (machine.name == "ascend910b" && c.op == "tanh");
}

// The right result of a machine, and the commands that judge it.
struct RightResult {
  Case c;
  Tensor output;
  std::string reproduce;
};

// Returns nothing if the operator or the machine does not take what was drawn, or if the machine's
// result is not right or cannot be judged.
std::optional<RightResult> right_result(const Operator& op, const Machine& machine,
                                        std::uint64_t seed, Random& random) {
  try {
    Drawn d = drawn(op, seed, random);
    if (!stays_in_range(d.c) || is_mostly_tiny(d.c)) return {};
    if (flushes(d.c, machine, d.distribution)) return {};
    Tensor output = emulate(d.c, machine, 1);
    return RightResult{
        std::move(d.c), std::move(output),
        formatted("{} --out c.h5; assay gate c.h5 --machine {}", d.generate, machine.name)};
  } catch (const std::invalid_argument&) {
    return {};
  }
}

class RightByDefault : public testing::TestWithParam<std::string> {};

TEST_P(RightByDefault, NoneFails) {
  const Operator& op = *find_operator(GetParam());
  int judged = 0, untrusted = 0;
  std::map<std::string, int> failed;  // by machine
  for (std::uint64_t index = 0; judged < kResults && index < 100 * kResults; ++index) {
    const std::uint64_t seed = first_seed() + index;
    Random random(seed, stream_of(op.name));
    const Machine& machine = machines()[random.below(machines().size())];
    const std::optional<RightResult> right = right_result(op, machine, seed, random);
    if (!right) continue;
    ++judged;
    const CaseReport report = gate_case(right->c, right->output, {.patterns = false, .threads = 1},
                                        {std::string(machine.name), {}});
    if (report.outcome() == Outcome::kPass) continue;
    if (report.outcome() == Outcome::kUntrusted) {
      ++untrusted;
    } else {
      ++failed[std::string(machine.name)];
    }
    std::printf("%s\n  %s\n", report.because().c_str(), right->reproduce.c_str());
  }
  for (const auto& [machine, count] : failed) {
    ADD_FAILURE() << count << " right results of " << machine << " fail";
  }
  std::printf("%s: %d right results, %d untrusted\n", op.name.c_str(), judged, untrusted);
  EXPECT_EQ(judged, kResults);
  // If the terms of a result cancel, its bound may be as wide as the result. A few right results
  // are therefore untrusted.
  EXPECT_LE(untrusted, kResults / 100);
}

INSTANTIATE_TEST_SUITE_P(Table, RightByDefault, testing::ValuesIn(generated_operators()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace assay
