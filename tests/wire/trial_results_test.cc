// Tests the JSON of trials: what is written is read back, and what is wrong is refused.
#include "assay/wire/trial_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "assay/base/text.h"
#include "assay/trial/case_text.h"
#include "error_of.h"

namespace assay::wire {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

TrialReport example() {
  TrialReport r;
  r.op = "softmax";
  r.kernel = "./run \x1b[31m {inputs}";
  r.machine = "hopper";
  r.dtypes = {"float32", "float16"};
  r.output_dtype = "float32";
  r.parameters = {{"axis", "0"}};
  r.standards = {"torch"};
  r.rtol = 1e-3;
  r.contract.unordered = true;
  r.limits = {1000, 16000};
  r.seed = ~std::uint64_t{0};
  r.shard = 1;
  r.shards = 3;
  r.next = 77;
  r.listed = {1, 2, 3, 4};
  r.random = {50, 6, 7, 8};
  r.not_supported = {{"rank 3", 10}};
  r.not_judged = {{"why \"not\"", 12}};
  r.coverage = {{"sizes", {{"1", 4}, {"a prime", 9}}}};
  r.left_out = {"inputs with strides"};
  r.unchecked = {TrialFinding::kStale, TrialFinding::kBatchVariant};
  r.was_interrupted = true;
  r.seconds = 1.5;
  TrialFailure f;
  f.finding = TrialFinding::kNotFinite;
  f.text = "1 of 2 elements is NaN";
  f.causes = {"one", "two"};
  f.draw = 5;
  f.drawn = "float32 2x3";
  f.reduced = "x=float32[1,2]{0:1.5} axis=0 inputs=padded";
  f.test_case = trial::parse_case("softmax", f.reduced).test_case;
  f.output = trial::parse_tensor("float32[1,2]{0:nan,1:-inf}", "output");
  f.nonzero = 1;
  f.tries = 20;
  f.is_minimal = true;
  f.repeat = "assay trial softmax --on '...'";
  r.failures = {f};
  return r;
}

TEST(TrialResults, AreReadAsTheyWereWritten) {
  const TrialReport r = example();
  const std::string text = trial_json(r, {"assay trial", "0.2"});
  const TrialReport read = parse_trial_results(text, "r.json");
  EXPECT_EQ(trial_json(read, {"assay trial", "0.2"}), text);
  EXPECT_EQ(read.op, r.op);
  EXPECT_EQ(read.seed, r.seed);
  EXPECT_EQ(read.next, 77);
  EXPECT_EQ(read.shard, 1);
  EXPECT_EQ(read.random.passed, 50);
  EXPECT_EQ(read.coverage, r.coverage);
  EXPECT_EQ(read.unchecked, r.unchecked);
  EXPECT_EQ(read.contract.unordered, true);
  ASSERT_EQ(read.failures.size(), 1u);
  EXPECT_EQ(read.failures[0].finding, TrialFinding::kNotFinite);
  EXPECT_EQ(read.failures[0].test_case.input("x").shape(), (Shape{1, 2}));
  EXPECT_EQ(trial::tensor_text(read.failures[0].output), "float32[1,2]{*:nan,1:-inf}");
}

TEST(TrialResults, JoinedShardsHaveTheirNextInputs) {
  TrialReport r = example();
  r.next = -1;
  r.shard_nexts = {30, 77};
  const std::string text = trial_json(r, {"assay trial", "0.2"});
  EXPECT_EQ(Json::parse(text)["next"], Json({30, 77}));
  const TrialReport read = parse_trial_results(text, "r.json");
  EXPECT_EQ(read.next, -1);
  EXPECT_EQ(read.shard_nexts, r.shard_nexts);
  EXPECT_EQ(trial_json(read, {"assay trial", "0.2"}), text);
}

TEST(TrialResults, AJudgedFailureHasItsVerdict) {
  TrialReport r = example();
  judge_again(r.failures[0], {});
  const Json json = Json::parse(trial_json(r, {"", ""}));
  EXPECT_EQ(json["failures"][0]["verdict"]["outcome"], "fail");
  EXPECT_EQ(json["failures"][0]["verdict"]["worst"].size(), 2u);
  // The verdict is not read. It is computed again.
  EXPECT_FALSE(parse_trial_results(json.dump(), "r").failures[0].report.has_value());
}

// The exact softmax of infinity is NaN. A NaN there is right, as in the trial, also under a
// tolerance.
TEST(TrialResults, ANaNThatIsRightIsNoMismatch) {
  TrialReport r = example();
  TrialFailure& f = r.failures[0];
  f.test_case = trial::parse_case("softmax", "x=float32[1,3]{1:inf}").test_case;
  f.output = trial::parse_tensor("float32[1,3]{*:nan,2:0}", "output");
  GateRequest request;
  request.bounds.rtol = 1e-3;
  judge_again(f, request);
  EXPECT_THAT(f.report->because(), StartsWith("1 of 3 elements (33.3 %) differs by more than"));
}

TEST(TrialResults, WhatIsWrongIsRefused) {
  const std::string text = trial_json(example(), {"assay trial", "0.2"});
  const auto refusal = [&](const std::function<void(Json&)>& change) {
    Json json = Json::parse(text);
    change(json);
    return error_of([&] { (void)parse_trial_results(json.dump(), "r.json"); });
  };
  EXPECT_EQ(error_of([] { (void)parse_trial_results("[]", "r.json"); }),
            "r.json: is not a result of `assay trial`: 'schema' must be \"assay-trial-1\"");
  EXPECT_THAT(error_of([] { (void)parse_trial_results("{", "r.json"); }), StartsWith("r.json: "));
  EXPECT_EQ(refusal([](Json& j) { j["schema"] = "assay-trial-2"; }),
            "r.json: is not a result of `assay trial`: 'schema' must be \"assay-trial-1\"");
  // Each key is needed, and its kind is checked.
  const Json whole = Json::parse(text);
  for (const auto& [key, value] : whole.items()) {
    if (key == "assay" || key == "command" || key == "outcome" || key == "because" ||
        key == "fails_fewer_than_one_in" || key == "seconds") {
      continue;
    }
    EXPECT_THAT(refusal([&, k = key](Json& j) { j.erase(k); }), StartsWith("r.json: ")) << key;
    EXPECT_THAT(refusal([&, k = key](Json& j) { j[k] = Json::array({Json::array({1})}); }),
                StartsWith("r.json: "))
        << key;
  }
  EXPECT_EQ(refusal([](Json& j) { j["listed"]["passed"] = -1; }),
            "r.json: 'listed': 'passed' must be a whole number from 0 to 2^53");
  EXPECT_EQ(refusal([](Json& j) { j["listed"]["passed"] = 1e300; }),
            "r.json: 'listed': 'passed' must be a whole number from 0 to 2^53");
  EXPECT_EQ(refusal([](Json& j) { j["shard"] = 4; }), "r.json: 'shard' must be from 1 to 'shards'");
  EXPECT_EQ(refusal([](Json& j) { j["failures"][0]["finding"] = "boredom"; }),
            "r.json: failure 1: there is no finding 'boredom'");
  EXPECT_THAT(refusal([](Json& j) { j["failures"][0]["reduced"] = "x=float32[9999999999]{}"; }),
              StartsWith("r.json: failure 1: "));
  EXPECT_THAT(refusal([](Json& j) { j["failures"][0]["reduced"] = "x=float32[-1]{}"; }),
              StartsWith("r.json: failure 1: "));
  EXPECT_THAT(refusal([](Json& j) { j["failures"][0]["output"] = "float32[2]{7:1}"; }),
              HasSubstr("there is no element 7"));
  EXPECT_EQ(refusal([](Json& j) { j["operator"] = "nothing"; }),
            "r.json: failure 1: unknown operator 'nothing'");
}

}  // namespace
}  // namespace assay::wire
