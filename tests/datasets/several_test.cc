// Tests that cases with several outputs, lists and absent inputs are written, read, copied and
// computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "assay/datasets/runner/file_gate.h"
#include "assay/datasets/store/dataset_file.h"
#include "files.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor floats(const std::vector<double>& values, const char* dtype = "float32") {
  return Tensor::from_values(format_named(dtype), {static_cast<std::int64_t>(values.size())},
                             values);
}

Case several(const std::string& name = "c") {
  Case c;
  c.name = name;
  c.op = "external";
  c.inputs["x"] = floats({1, 2, 3});
  c.inputs["l/0"] = floats({1});
  c.inputs["l/1"] = floats({2, 3}, "bfloat16");
  c.absent_inputs = {"bias"};
  CaseOutput& y = c.outputs["y"];
  y.golden = floats({2, 4, 6}, "float64");
  y.attributes = {{"rtol", 1e-3}, {"atol", 0.0}, {"output_dtype", std::string("float32")}};
  y.recorded["npu"].tensor = floats({2, 4, 6});
  y.recorded["npu"].machine = "ascend910b";
  CaseOutput& h = c.outputs["h"];
  h.golden = floats({1, 2}, "float16");
  h.recorded["npu"].tensor = floats({1, 2}, "float16");
  h.recorded["npu"].epilogue.accumulator = floats({1, 2});
  c.outputs["scratch"].golden = Golden::absent();
  c.outputs["scratch"].recorded["npu"].tensor = floats({0});
  return c;
}

class Several : public testing::Test {
 protected:
  std::string write(const std::vector<Case>& cases, const char* name = "s.h5") const {
    const std::string path = directory_ / name;
    DatasetWriter writer(path);
    for (const Case& c : cases) writer.write(c);
    writer.commit();
    return path;
  }
  static std::int64_t schema_of(const std::string& path) {
    return std::get<std::int64_t>(DatasetFile(path).attributes().at("assay_schema"));
  }
  OwnDirectory directory_;
};

void expect_same(const Case& read, const Case& c) {
  EXPECT_EQ(read.absent_inputs, c.absent_inputs);
  ASSERT_EQ(read.inputs.size(), c.inputs.size());
  for (const auto& [name, tensor] : c.inputs) {
    EXPECT_EQ(bytes_of(read.inputs.at(name)), bytes_of(tensor)) << name;
  }
  ASSERT_EQ(read.outputs.size(), c.outputs.size());
  for (const auto& [name, output] : c.outputs) {
    const CaseOutput& of = read.outputs.at(name);
    EXPECT_EQ(of.attributes, output.attributes) << name;
    ASSERT_EQ(bool(of.golden), bool(output.golden)) << name;
    if (of.golden) {
      EXPECT_EQ(bytes_of(*of.golden), bytes_of(*output.golden)) << name;
    }
    EXPECT_EQ(of.golden.is_absent(), output.golden.is_absent()) << name;
    ASSERT_EQ(of.recorded.size(), output.recorded.size()) << name;
    for (const auto& [producer, theirs] : output.recorded) {
      const RecordedResult& ours = of.recorded.at(producer);
      EXPECT_EQ(ours.machine, theirs.machine) << name;
      EXPECT_EQ(bytes_of(ours.tensor), bytes_of(theirs.tensor)) << name;
      EXPECT_EQ(ours.epilogue.accumulator.empty(), theirs.epilogue.accumulator.empty()) << name;
    }
  }
}

TEST_F(Several, AreReadAsTheyWereWritten) {
  const std::string path = write({several()});
  const DatasetFile file(path);
  EXPECT_EQ(schema_of(path), 2);
  expect_same(file.read("c"), several());
  const StoredCase info = file.info("c");
  EXPECT_EQ(info.outputs.at("y").golden->dtype, "float64");
  EXPECT_EQ(info.outputs.at("y").recorded.at("npu").machine, "ascend910b");
  EXPECT_FALSE(info.outputs.at("h").recorded.at("npu").epilogue.accumulator.empty());
  EXPECT_TRUE(info.outputs.at("scratch").golden.is_absent());
  EXPECT_THAT(file.producers_of("c"), ElementsAre("npu"));
  EXPECT_EQ(bytes_of(file.read_output("c", "npu", "h")), bytes_of(floats({1, 2}, "float16")));
  EXPECT_FALSE(file.read_epilogue("c", "npu", "h").empty());
  EXPECT_TRUE(file.read_epilogue("c", "npu", "y").empty());
  EXPECT_TRUE(file.result_place("c", "", "y"));
  EXPECT_NE(file.result_place("c", "", "y"), file.result_place("c", "npu", "y"));
  EXPECT_FALSE(file.result_place("c", ""));
}

TEST_F(Several, AnOutputThatIsNotThereIsNamed) {
  const std::string path = write({several()});
  const DatasetFile file(path);
  const std::string at = path + ": /cases/c: ";
  EXPECT_EQ(file_error_of([&] { (void)file.read_output("c", "npu"); }),
            at + "has several outputs; name one of them: h, scratch, y");
  EXPECT_EQ(file_error_of([&] { (void)file.read_output("c", "npu", "z"); }),
            at + "has no output 'z'; its outputs are h, scratch, y");
  EXPECT_EQ(file_error_of([&] { (void)file.read_output("c", "gpu", "y"); }),
            at + "has no recorded output 'y' of 'gpu'; it has npu");
}

// A case is written in schema 1 if its only output has no name and no input is a list or absent,
// unless another case of the file needs schema 2.
TEST_F(Several, WhatNeedsNoMoreIsSchema1) {
  Case one;
  one.name = "one";
  one.op = "external";
  one.inputs["x"] = floats({1});
  one.output().golden = floats({1}, "float64");
  one.output().recorded["npu"].tensor = floats({1});
  EXPECT_EQ(schema_of(write({one})), 1);
  EXPECT_EQ(schema_of(write({one, several()})), 2);
  const DatasetFile both(write({one, several()}));
  EXPECT_FALSE(both.read("one").names_outputs());
  EXPECT_EQ(
      file_error_of([&] { (void)both.read_output("one", "npu", "y"); }),
      both.path() + ": /cases/one: has no output 'y'; it has only one output, without a name");
  one.absent_inputs = {"bias"};
  EXPECT_EQ(schema_of(write({one})), 2);
}

TEST_F(Several, CopiesKeepWhatIsNotReplaced) {
  const std::string from = write({several()}), to = directory_ / "copy.h5";
  {
    const DatasetFile file(from);
    DatasetWriter writer(to);
    writer.copy(file, "c");
    writer.put_output("c", "npu", floats({9, 9, 9}).view(), {{"x_note", "new"}}, "y");
    writer.put_output("c", "gpu", floats({3, 3}, "float16").view(), {}, "h");
    writer.put_epilogue("c", "npu", {}, "h");
    writer.put_golden("c", floats({5, 5, 5}, "float64").view(), "y");
    writer.put_golden("c", floats({7}).view(), "scratch");
    writer.commit();
  }
  const Case c = DatasetFile(to).read("c");
  EXPECT_EQ(schema_of(to), 2);
  EXPECT_EQ(c.absent_inputs, (std::set<std::string>{"bias"}));
  EXPECT_EQ(c.inputs.count("l/1"), 1u);
  EXPECT_EQ(bytes_of(c.outputs.at("y").recorded.at("npu").tensor), bytes_of(floats({9, 9, 9})));
  EXPECT_EQ(bytes_of(*c.outputs.at("y").golden), bytes_of(floats({5, 5, 5}, "float64")));
  EXPECT_EQ(c.outputs.at("y").attributes, several().outputs.at("y").attributes);
  EXPECT_EQ(bytes_of(*c.outputs.at("scratch").golden), bytes_of(floats({7})));
  EXPECT_EQ(c.outputs.at("h").recorded.size(), 2u);
  EXPECT_TRUE(c.outputs.at("h").recorded.at("npu").epilogue.empty());
}

TEST_F(Several, WhatCannotBeStoredIsRefused) {
  const auto refusal = [&](const auto& change) {
    Case c = several();
    change(c);
    return file_error_of([&] { (void)write({c}, "refused.h5"); });
  };
  const std::string at = directory_ / "refused.h5: /cases/c: ";
  EXPECT_EQ(refusal([](Case& c) { c.inputs.erase("l/0"); }),
            at + "the 1 inputs of the list 'l' must be l/0 to l/0; there is no l/0");
  EXPECT_EQ(refusal([](Case& c) { c.inputs["l"] = floats({1}); }),
            at + "its input 'l' is a tensor and also a list of tensors; give only one of the two");
  EXPECT_EQ(refusal([](Case& c) { c.absent_inputs.insert("x"); }),
            at + "its input 'x' has a tensor, but is also listed as absent; remove one of the two");
  EXPECT_EQ(refusal([](Case& c) { c.outputs[""].golden = floats({1}); }),
            at + "has several outputs, and one without a name beside them");
  EXPECT_EQ(refusal([](Case& c) { c.outputs["a b"].golden = floats({1}); }),
            at + "'a b' is no name of an output; use letters, digits, '_', '.' and '='");
  DatasetWriter writer(directory_ / "refused.h5");
  writer.write(several());
  EXPECT_EQ(file_error_of([&] { writer.put_output("c", "gpu", floats({1}).view()); }),
            at + "has several outputs; name the one that is written");
}

// A golden result that is not computed yet already has its attributes.
TEST_F(Several, AttributesWaitForTheirGoldenResult) {
  Case c = several();
  c.outputs["y"].golden = {};
  const auto attributes = c.outputs["y"].attributes;
  ASSERT_FALSE(attributes.empty());
  const std::string path = write({c}, "pending.h5");
  const DatasetFile file(path);
  const Case back = file.read("c");
  EXPECT_FALSE(back.outputs.at("y").golden);
  EXPECT_FALSE(back.outputs.at("y").golden.is_absent());
  EXPECT_EQ(back.outputs.at("y").attributes, attributes);
  EXPECT_FALSE(file.info("c").outputs.at("y").golden.is_absent());
  // A copy keeps the attributes of an output without a golden result. If the copy gets the golden
  // result, they belong to it.
  for (const bool fills : {false, true}) {
    const std::string copied = directory_ / (fills ? "filled.h5" : "copied.h5");
    DatasetWriter writer(copied);
    writer.copy(file, "c");
    if (fills) writer.put_golden("c", floats({1, 2}).view(), "y");
    writer.commit();
    const Case of_copy = DatasetFile(copied).read("c");
    EXPECT_EQ(bool(of_copy.outputs.at("y").golden), fills);
    EXPECT_FALSE(of_copy.outputs.at("y").golden.is_absent());
    EXPECT_EQ(of_copy.outputs.at("y").attributes, attributes);
  }
}

// ------------------------------------------------------------------------------ a team's operator

std::vector<CaseReport> computed(const std::string& path,
                                 const std::function<Computed(const Case&)>& compute) {
  const DatasetFile file(path);
  OutputSource source;
  source.name = "operator";
  source.compute = compute;
  std::vector<CaseReport> reports;
  for (GatedCase& gated : gate_file_case(file, "c", source, {})) {
    reports.push_back(std::move(gated.report));
  }
  return reports;
}

TEST_F(Several, AnOperatorGivesThemByName) {
  const std::string path = write({several()});
  const auto reports = computed(path, [](const Case& c) -> Computed {
    EXPECT_EQ(c.outputs.size(), 3u);
    return {{"y", floats({2, 4, 6.1})}, {"h", floats({1, 2}, "float16")}};
  });
  ASSERT_EQ(reports.size(), 2u);  // the operator may leave out the output that is not compared
  EXPECT_EQ(reports[0].title(), "c:h");
  EXPECT_EQ(reports[0].outcome(), Outcome::kPass);
  EXPECT_EQ(reports[1].title(), "c:y");
  EXPECT_EQ(reports[1].outcome(), Outcome::kFail);
}

// Results in a device's memory. The host is the device.
TEST_F(Several, AnOperatorGivesTensorsOfADevice) {
  const std::string note =
      "judged on the host, to which the output was copied from host:0: cases are judged there";
  const auto on_device = [](const Tensor& t) -> DeviceView {
    return {&host_memory(), 0, nullptr, t.view(), "a tensor"};
  };
  const std::string path = write({several()});
  auto reports = computed(path, [&](const Case&) -> Computed {
    const Tensor y = floats({2, 4, 6.1}), h = floats({1, 2}, "float16");  // freed on return
    return {{"y", on_device(y)}, {"h", on_device(h)}};
  });
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].outcome(), Outcome::kPass);
  EXPECT_THAT(reports[0].verdicts.front().notes, testing::Contains(note));
  EXPECT_EQ(reports[1].outcome(), Outcome::kFail);
  EXPECT_THAT(reports[1].verdicts.front().notes, testing::Contains(note));

  Case one;
  one.name = "c";
  one.op = "external";
  one.output().golden = floats({1, 2}, "float64");
  one.attributes["output_dtype"] = std::string("float32");
  const std::string path_of_one = write({one}, "one.h5");
  reports = computed(path_of_one, [&](const Case&) -> Computed {
    const Tensor y = floats({1, 5, 2, 5});
    DeviceView every_second = on_device(y);
    every_second.layout = view(reinterpret_cast<const float*>(y.bytes()), {2}, {2});
    return every_second;
  });
  EXPECT_EQ(reports[0].outcome(), Outcome::kPass);
  EXPECT_THAT(reports[0].verdicts.front().notes, testing::Contains(note));

  reports = computed(path_of_one, [&](const Case&) -> Computed {
    return DeviceView{&host_memory(), 0, nullptr, view_bytes(nullptr, format_named("float32"), {2}),
                      "a tensor"};
  });
  EXPECT_EQ(reports[0].outcome(), Outcome::kFail);
  EXPECT_EQ(reports[0].because(), "the operator threw: the output: the pointer is null");
}

TEST_F(Several, OtherNamesOfResultsFail) {
  const std::string path = write({several()});
  const auto because = [&](const Computed& result) {
    const auto reports = computed(path, [&](const Case&) { return result; });
    EXPECT_EQ(reports.size(), 2u);
    for (const CaseReport& report : reports) EXPECT_EQ(report.outcome(), Outcome::kFail);
    return reports.front().because();
  };
  EXPECT_EQ(because(floats({1})),
            "the operator threw: it returned one tensor, but the case has several outputs; return "
            "each of them by its name: h, scratch, y");
  EXPECT_EQ(because({{"h", floats({1, 2}, "float16")}}),
            "the operator threw: it did not return the output 'y'; it returned h");
  EXPECT_EQ(because({{"h", floats({1, 2}, "float16")}, {"Y", floats({1})}}),
            "the operator threw: it returned 'Y', which is not an output of the case; return only "
            "its outputs: h, scratch, y");
  EXPECT_EQ(because({{"h", Tensor()}, {"y", floats({1})}}),
            "the operator threw: it returned an empty tensor as 'h'");
}

TEST_F(Several, NamesForACaseOfOneFail) {
  Case one;
  one.name = "c";
  one.op = "external";
  one.output().golden = floats({1, 2}, "float64");
  const auto reports = computed(write({one}), [](const Case&) -> Computed {
    return {{"y", floats({1, 2})}};
  });
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].because(),
            "the operator threw: it returned named outputs (y), but the case has only one output, "
            "without a name; return one tensor");
}

TEST_F(Several, WhereNoneIsComparedNothingIsJudged) {
  Case c = several();
  for (auto& [name, output] : c.outputs) {
    output.golden = Golden::absent();
    output.attributes.clear();
  }
  const std::string path = write({c});
  const DatasetFile file(path);
  OutputSource source;
  source.name = "npu";
  source.recorded = &file;
  const auto gated = gate_file_case(file, "c", source, {});
  ASSERT_EQ(gated.size(), 1u);
  EXPECT_EQ(gated[0].report.outcome(), Outcome::kNotComparable);
  EXPECT_EQ(gated[0].report.because(), "none of its outputs is to be compared: h, scratch, y");
}

// If the golden result itself is stored as the output, the gate notices it for each of several
// outputs.
TEST_F(Several, TheGoldenResultItselfIsNoOutput) {
  const std::string path = write({several()});
  int status = -1;
  const std::string said = output_of(
      formatted("{} -c \"import h5py; f = h5py.File('{}', 'r+'); del f['cases/c/outputs/npu/h']; "
                "del f['cases/c/accumulators']; "
                "f['cases/c/outputs/npu/h'] = f['cases/c/golden/h']\"",
                ASSAY_PYTHON, path),
      &status);
  ASSERT_EQ(status, 0) << said;
  const DatasetFile file(path);
  OutputSource source;
  source.name = "npu";
  source.recorded = &file;
  const auto gated = gate_file_case(file, "c", source, {});
  ASSERT_EQ(gated.size(), 2u);
  EXPECT_EQ(gated[0].report.outcome(), Outcome::kUntrusted);
  EXPECT_EQ(gated[1].report.outcome(), Outcome::kPass);
}

}  // namespace
}  // namespace assay
