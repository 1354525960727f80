// Tests machines of the user's own, as files.
#include "assay/machine/machine_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "error_of.h"

namespace assay {
namespace {

class MachineFile : public testing::Test {
 protected:
  MachineFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "assay_machines_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~MachineFile() override { std::filesystem::remove_all(folder_); }

  // Machines are known by their paths for as long as the program runs: each test has its own.
  std::string file(const std::string& text) {
    const std::string path = folder_ / ("m" + std::to_string(count_++) + ".json");
    std::ofstream(path) << text;
    return path;
  }
  // Returns the error for a file, without its path.
  std::string message(const std::string& text) {
    const std::string path = file(text);
    try {
      (void)read_machine(path);
    } catch (const std::invalid_argument& e) {
      const std::string what = e.what();
      return what.starts_with(path + ": ") ? what.substr(path.size() + 2) : what;
    }
    return "(nothing was thrown)";
  }

  std::filesystem::path folder_;
  int count_ = 0;
};

std::string named(const std::string& name, const std::string& rest) {
  return R"({"schema": 1, "name": ")" + name + R"(", )" + rest + "}";
}
const std::string kUnit = R"("matrix_unit": [{"input": "fp16", "chunk": 8}])";

TEST_F(MachineFile, GivesWhatWasWritten) {
  DotModel row = dot_model(machine_named("hopper"), format_named("float16"));
  row.chunk = {12, Provenance::kMeasured};
  row.flush_sums = {true, Provenance::kInferred};
  row.accumulator = {"bfloat16", Provenance::kDocumented};
  row.mantissa_bits = {7, Provenance::kMeasured};
  const std::string path = file(machine_json({.name = "written",
                                              .summary = "ours",
                                              .device = "D",
                                              .driver = "",
                                              .date = "2026-01-31",
                                              .evidence = "r.h5"},
                                             {row}, {false, Provenance::kMeasured}));
  const Machine& m = read_machine(path);
  EXPECT_EQ(m.name, "written");
  EXPECT_EQ(m.summary, "ours");
  EXPECT_EQ(m.source, path + ": device D, date 2026-01-31, evidence r.h5");
  EXPECT_FALSE(m.bias_first.value);
  EXPECT_EQ(m.bias_first.how, Provenance::kMeasured);
  ASSERT_EQ(m.dots.size(), 1u);
  const DotModel& read = m.dots[0];
  EXPECT_EQ(read.input, "float16");
  EXPECT_EQ(read.chunk.value, 12);
  EXPECT_EQ(read.chunk.how, Provenance::kMeasured);
  EXPECT_EQ(read.rounding.value, Rounding::kTowardZero);
  EXPECT_EQ(read.kept_bits.value, 25);
  EXPECT_EQ(read.emax_floor.value, -133);
  EXPECT_EQ(read.accumulator.value, "bfloat16");
  EXPECT_EQ(read.accumulator.how, Provenance::kDocumented);
  EXPECT_EQ(read.mantissa_bits.value, 7);
  EXPECT_TRUE(read.flush_sums.value);
  EXPECT_EQ(read.flush_sums.how, Provenance::kInferred);
  EXPECT_EQ(&read_machine(path), &m);
}

TEST_F(MachineFile, WhatIsNotSaidIsTheUsual) {
  const Machine& m = read_machine(file(named("usual", kUnit + R"(, "vector_unit": "hopper")")));
  ASSERT_EQ(m.dots.size(), 1u);
  EXPECT_EQ(m.dots[0].input, "float16");
  EXPECT_EQ(m.dots[0].chunk.value, 8);
  EXPECT_EQ(m.dots[0].chunk.how, Provenance::kAssumed);
  EXPECT_EQ(m.dots[0].rounding.value, Rounding::kNearestEven);
  EXPECT_EQ(m.dots[0].order.value, ChunkOrder::kFused);
  EXPECT_EQ(m.vector_unit, "hopper");
}

// All rows of four machines of the table are written and read back.
TEST_F(MachineFile, HoldsAnyRow) {
  for (const char* name : {"hopper", "cdna2", "cdna3", "ascend910b"}) {
    const Machine& row = machine_named(name);
    const std::vector<DotModel> dots(row.dots.begin(), row.dots.end());
    const MachineRecord record{.name = std::string("any_") + name,
                               .summary = "",
                               .device = "",
                               .driver = "",
                               .date = "",
                               .evidence = ""};
    const Machine& m = read_machine(file(machine_json(record, dots, row.bias_first)));
    ASSERT_EQ(m.dots.size(), dots.size());
    for (std::size_t i = 0; i < dots.size(); ++i) {
      const DotModel &read = m.dots[i], &given = dots[i];
      SCOPED_TRACE(std::string(name) + " " + std::string(given.input));
      EXPECT_EQ(read.input, given.input);
      EXPECT_EQ(read.accumulator.value, given.accumulator.value);
      EXPECT_EQ(read.overflow.value, given.overflow.value);
      EXPECT_EQ(read.overflow.how, given.overflow.how);
      EXPECT_EQ(read.order.value, given.order.value);
      EXPECT_EQ(read.sum_bits.value, given.sum_bits.value);
      EXPECT_EQ(read.sum_bits.how, given.sum_bits.how);
      EXPECT_EQ(read.interleave.value, given.interleave.value);
      EXPECT_EQ(read.reach.value, given.reach.value);
      EXPECT_EQ(read.flush_sums.value, given.flush_sums.value);
    }
  }
}

TEST_F(MachineFile, IsAMachineByItsPathAndItsName) {
  const std::string path = file(named("by_path", kUnit));
  EXPECT_EQ(&machine_named(path), &read_machine(path));
  EXPECT_EQ(&machine_named("by_path"), &read_machine(path));
  EXPECT_EQ(dot_model(machine_named(path + ",chunk=4"), format_named("float16")).chunk.value, 4);
  EXPECT_EQ(machine_named(path + ",chunk=4").name, "by_path,chunk=4");
}

TEST_F(MachineFile, WhatIsWrongIsNamed) {
  EXPECT_EQ(message("{}"), "'schema' must be 1");
  EXPECT_EQ(message(named("hopper", kUnit)),
            "the name 'hopper' is taken by a machine of assay's own");
  EXPECT_EQ(message(named("a/b", kUnit)),
            "'name' is 'a/b'; letters, digits, '_', '-' and '.' are needed");
  EXPECT_EQ(message(named("x1", R"("matrix_unit": [])")),
            "'matrix_unit' must be an array of at least one row");
  EXPECT_EQ(message(named("x2", R"("matrix_unit": [{"chunk": 4}])")),
            "each row of 'matrix_unit' is an object with 'input', a format");
  EXPECT_EQ(message(named("x3", R"("matrix_unit": [{"input": "int16", "chunk": 4}])")),
            "input: 'int16' is no float format");
  EXPECT_EQ(message(named("x20", R"("matrix_unit": [{"input": "float16", "chunk": 4,
                "emax_floor": 18446744073709551615}])")),
            "float16: emax_floor: a whole number from -300 to 300 is needed, not "
            "18446744073709551615");
  EXPECT_EQ(message(named("x9", R"("matrix_unit": [{"input": "int8", "overflow": "clamp"}])")),
            "int8: overflow: unknown overflow 'clamp'; known: saturate, wrap");
  EXPECT_EQ(
      message(named("x10", R"("matrix_unit": [{"input": "fp16", "chunk": 4, "sum_bits": 31}])")),
      "float16: sum_bits is of terms that are aligned: give kept_bits");
  EXPECT_EQ(message(named("x4", R"("matrix_unit": [{"input": "float16"}])")),
            "float16: 'chunk' is missing");
  EXPECT_EQ(message(named("x5", R"("matrix_unit": [{"input": "float16", "chunk": 0}])")),
            "float16: chunk: a whole number from 1 to 1048576 is needed, not 0");
  EXPECT_EQ(
      message(named(
          "x6", R"("matrix_unit": [{"input": "float16", "chunk": {"value": 4, "how": "seen"}}])")),
      "float16: chunk: unknown 'how' 'seen'; known: documented, measured, inferred, assumed");
  EXPECT_EQ(
      message(named(
          "x7",
          R"("matrix_unit": [{"input": "float16", "chunk": 4}, {"input": "fp16", "chunk": 8}])")),
      "there are two rows of float16");
  EXPECT_EQ(
      message(named(
          "x8", R"("matrix_unit": [{"input": "float16", "chunk": 4, "accumulator": "float64"}])")),
      "float16: accumulator: an accumulator is one that float32 holds");
  EXPECT_THROW((void)read_machine((folder_ / "none.json").string()), std::runtime_error);
}

TEST_F(MachineFile, TwoFilesDoNotShareAName) {
  const std::string first = file(named("twice", kUnit));
  (void)read_machine(first);
  EXPECT_EQ(message(named("twice", kUnit)), "the name 'twice' is that of " + first + ", too");
}

TEST_F(MachineFile, FoldersAreListed) {
  (void)file(named("in_folder", kUnit));
  std::ofstream(folder_ / "notes.txt") << "no machine";
  ASSERT_EQ(setenv("ASSAY_MACHINES", folder_.c_str(), 1), 0);
  const auto found = folder_machines();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]->name, "in_folder");
  unsetenv("ASSAY_MACHINES");
}

TEST_F(MachineFile, WrongValuesOfARow) {
  int count = 0;
  const auto row = [&](const std::string& key) {
    return message(named("row" + std::to_string(count++),
                         R"("matrix_unit": [{"input": "fp16", "chunk": 4, )" + key + "}]"));
  };
  EXPECT_EQ(row(R"("flush_sums": 1)"), "float16: flush_sums: true or false is needed, not 1");
  EXPECT_EQ(row(R"("order": 3)"), "float16: order: a word is needed, not 3");
  EXPECT_EQ(row(R"("order": "fuse")"),
            "float16: order: unknown order 'fuse': did you mean 'fused'?; known: fused, "
            "sequential, pairwise");
  EXPECT_THAT(row(R"("rounding": "nearest_evn")"),
              testing::StartsWith("float16: rounding: unknown rounding 'nearest_evn': did you mean "
                                  "'nearest_even'?; known: "));
  EXPECT_THAT(row(R"("accumulator": "float23")"),
              testing::StartsWith("float16: accumulator: unknown dtype 'float23': did you mean "
                                  "'float32'?"));
  EXPECT_EQ(row(R"("chunks": 3)").substr(0, 54),
            "float16: unknown key 'chunks': did you mean 'chunk'?; ");
  EXPECT_EQ(row(R"("sum_bits": {"how": "measured"})"), "float16: sum_bits: 'value' is missing");
  EXPECT_EQ(message(named("bias", kUnit + R"(, "bias_first": "yes")")),
            "bias_first: true or false is needed, not \"yes\"");
}

// Parsing a text returns its rows and keeps nothing, so that the same name may come again.
TEST_F(MachineFile, RowsOfAText) {
  const std::string text = named("of_text", R"("matrix_unit": [{"input": "fp16", "chunk": 8},
      {"input": "int8", "overflow": {"value": "wrap", "how": "measured"}}])");
  for (int time = 0; time < 2; ++time) {
    const std::vector<DotModel> rows = parse_machine(text, "m");
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].input, "float16");
    EXPECT_EQ(rows[0].chunk.value, 8);
    EXPECT_EQ(rows[1].overflow.value, IntegerOverflow::kWrap);
    EXPECT_EQ(rows[1].overflow.how, Provenance::kMeasured);
  }
  EXPECT_EQ(error_of([] { (void)parse_machine("{}", "m"); }), "m: 'schema' must be 1");
  EXPECT_THAT(error_of([] { (void)machine_named("of_text"); }),
              testing::StartsWith("unknown machine 'of_text'"));
}

// If ASSAY_MACHINES names no folders, machines of the user's home are listed and found by name.
TEST_F(MachineFile, FoldersOfTheHome) {
  const std::filesystem::path machines = folder_ / ".config" / "assay" / "machines";
  std::filesystem::create_directories(machines);
  std::ofstream(machines / "own.json") << named("at_home", kUnit);
  const char* const before = std::getenv("HOME");
  const std::string home = before == nullptr ? "" : before;
  unsetenv("ASSAY_MACHINES");
  unsetenv("HOME");
  EXPECT_TRUE(folder_machines().empty());
  ASSERT_EQ(setenv("HOME", folder_.c_str(), 1), 0);
  EXPECT_EQ(machine_named("at_home").dots.size(), 1u) << "it was not read before";
  EXPECT_THAT(error_of([] { (void)machine_named("at_hom"); }),
              testing::StartsWith("unknown machine 'at_hom'"));
  ASSERT_EQ(folder_machines().size(), 1u);
  EXPECT_EQ(folder_machines()[0]->name, "at_home");
  if (before == nullptr) {
    unsetenv("HOME");
  } else {
    setenv("HOME", home.c_str(), 1);
  }
}

}  // namespace
}  // namespace assay
