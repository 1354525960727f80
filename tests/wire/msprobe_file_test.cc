// Tests dumps of msprobe: the calls with their tensors, and files that are not a dump.
#include "assay/wire/msprobe_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "error_of.h"

namespace assay::wire {
namespace {

std::vector<std::string> words_of(const std::vector<MsprobeTensor>& tensors) {
  std::vector<std::string> words;
  for (const MsprobeTensor& t : tensors)
    words.push_back(t.place + " " + t.dtype + " " + t.data_name);
  return words;
}

TEST(MsprobeFile, CallsAndTheirTensors) {
  const auto calls = parse_msprobe(R"({"task": "tensor", "level": "L1", "data": {
      "Torch.b.0.forward": {
        "input_args": [
          {"type": "torch.Tensor", "dtype": "torch.float32", "data_name": "b.in.0.pt"},
          {"type": "int", "value": 3},
          [{"dtype": "torch.int64", "data_name": "b.in.2.0.pt"}, null,
           [{"dtype": "torch.bool", "data_name": "b.in.2.2.0.pt"}]]],
        "input_kwargs": {"weight": {"dtype": "torch.float16", "data_name": "w.pt"}, "dim": 1,
                         "more": [{"dtype": "torch.float16", "data_name": "m.pt"}]},
        "output": [{"dtype": "torch.bfloat16", "data_name": "b.out.pt"}]},
      "Torch.a.0.backward": {
        "input": [{"dtype": "torch.float32", "data_name": "a.in.pt"}],
        "output": {"dtype": "torch.float32", "data_name": ""}},
      "Torch.c.0.forward": {}}})",
                                   "dump.json");
  using testing::ElementsAre;
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].name, "Torch.b.0.forward") << "in the order of the calls";
  EXPECT_THAT(words_of(calls[0].inputs),
              ElementsAre("input_0 torch.float32 b.in.0.pt", "input_2_0 torch.int64 b.in.2.0.pt",
                          "input_2_2_0 torch.bool b.in.2.2.0.pt", "input_weight torch.float16 w.pt",
                          "input_more_0 torch.float16 m.pt"));
  EXPECT_THAT(words_of(calls[0].outputs), ElementsAre("output_0 torch.bfloat16 b.out.pt"));
  EXPECT_EQ(calls[1].name, "Torch.a.0.backward");
  EXPECT_THAT(words_of(calls[1].inputs), ElementsAre("input_0 torch.float32 a.in.pt"));
  EXPECT_THAT(words_of(calls[1].outputs), ElementsAre("output torch.float32 "));
  EXPECT_TRUE(calls[2].inputs.empty() && calls[2].outputs.empty());
}

// If only statistics were dumped, no tensor has a file name, so that a call has no inputs.
TEST(MsprobeFile, StatisticsAreNoTensors) {
  const auto calls = parse_msprobe(
      R"({"data": {"f": {"input_args": [{"dtype": "torch.float32", "Max": 1.0}],
                         "input_kwargs": 3}}})",
      "dump.json");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_TRUE(calls[0].inputs.empty());
}

TEST(MsprobeFile, WhatIsWrongIsNamed) {
  const auto error = [](const std::string& text) {
    return error_of([&] { (void)parse_msprobe(text, "d"); });
  };
  for (const char* text : {"[]", "{}", R"({"data": []})", "3"}) {
    EXPECT_EQ(error(text), "d: has no object 'data' of calls") << text;
  }
  EXPECT_THAT(error("{"), testing::StartsWith("d: is no JSON: "));
  EXPECT_EQ(error(R"({"data": {"f": 3}})"), "d: f: an object is expected");
  EXPECT_EQ(error(R"({"data": {"f": {"output": [{"data_name": 3}]}}})"),
            "d: f: 'data_name' must be a string");
  EXPECT_EQ(error(R"({"data": {"f": {"input": [{"dtype": 3, "data_name": "x"}]}}})"),
            "d: f: 'dtype' must be a string");
  EXPECT_EQ(error(R"({"data": {"f": {}, "f": {}}})"), "d: has the key 'f' twice in one object");
  const auto nested = [](std::size_t depth) {
    return R"({"data": {"f": {"input": )" + std::string(depth, '[') + std::string(depth, ']') +
           "}}}";
  };
  EXPECT_EQ(error(nested(17)), "no error");
  EXPECT_EQ(error(nested(18)), "d: f: its arguments are nested too deeply");
}

}  // namespace
}  // namespace assay::wire
