// Eight threads share matchers, cases and views. Each thread gets the answers that one thread gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "assay/base/sanitized.h"
#include "assay/gate/gate.h"
#include "assay/matchers/abft_close.h"
#include "assay/matchers/elementwise.h"
#include "assay/matchers/metric.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "every_standard.h"

namespace assay {
namespace {

// The thread sanitizer follows what happens before what, so that four threads show the same races.
constexpr int kThreads = kThreadSanitizer ? 4 : 8;

// Asks something about a shared output, and returns the answer in words.
using Question = std::function<std::string()>;

template <typename Matcher>
Question matched(Matcher matcher, const TensorView& output) {
  return [matcher = std::move(matcher), output] {
    testing::StringMatchResultListener listener;
    const bool matches = matcher.MatchAndExplain(output, &listener);
    return std::string(matches ? "matches: " : "does not: ") + listener.str();
  };
}

std::string words(const CaseReport& report) {
  std::string all;
  for (const Verdict& v : report.verdicts) {
    all += v.because + "; " + std::to_string(v.mismatches) + " " + std::to_string(v.worst_ratio) +
           "; ";
  }
  return all;
}

// A product with a wrong element, so that the texts are long.
Case product(const char* dtype) {
  Recipe recipe;
  recipe.dtype = &format_named(dtype);
  recipe.sizes = {24, 160, 20};
  Case c = generate_case("matmul", recipe);
  c.output().golden = golden_result(c);
  Tensor output = emulate(c, machine_named("ascend910b"));
  output.set_bits(7, encode(output.format(), 100.0));
  c.output().recorded["device"].tensor = std::move(output);
  return c;
}

void expect_the_same_in_all_threads(const std::vector<Question>& questions) {
  std::vector<std::string> alone;
  for (const Question& ask : questions) alone.push_back(ask());
  std::vector<std::vector<std::string>> heard(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      // Each thread begins with another question, so that different questions meet.
      for (std::size_t i = 0; i < questions.size(); ++i) {
        heard[t].push_back(questions[(i + 3 * t) % questions.size()]());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < kThreads; ++t) {
    for (std::size_t i = 0; i < questions.size(); ++i) {
      EXPECT_EQ(heard[t][i], alone[(i + 3 * t) % questions.size()]);
    }
  }
}

TEST(SharedByThreads, MatchersAndViews) {
  for (const char* dtype : {"float16", "float32"}) {
    const Case c = product(dtype);
    const TensorView output = c.output().recorded.at("device").tensor;
    const Tensor& golden = *c.output().golden;
    std::vector<Question> questions = {matched(CloseTo(c), output),
                                       matched(CloseTo(golden), output),
                                       matched(WithinUlps(golden, 4), output),
                                       matched(BitEqual(c), output),
                                       matched(AbftClose(c), output),
                                       matched(AbftClose(c.input("a"), c.input("b")), output),
                                       matched(SnrAtLeast(golden, 40), output),
                                       matched(CosineAtLeast(golden, 0.999), output)};
    for (const std::string& standard : every_standard(12)) {
      questions.push_back(matched(MeetsStandard(standard, c), output));
    }
    expect_the_same_in_all_threads(questions);
  }
}

TEST(SharedByThreads, CasesAndMachines) {
  const Case c = product("bfloat16");
  const TensorView output = c.output().recorded.at("device").tensor;
  std::vector<Question> questions;
  for (const std::string& standard : every_standard(8, 3)) {
    GateRequest request;
    request.bounds.standards = {standard};
    questions.push_back([&c, output, request] { return words(gate_case(c, output, request)); });
  }
  for (const char* machine : {"ascend910b", "hopper", "exact"}) {
    questions.push_back(
        [&c, machine] { return words(gate_emulated(c, machine_named(machine), {})); });
  }
  expect_the_same_in_all_threads(questions);
}

}  // namespace
}  // namespace assay
