#include "assay/machine/machine.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

namespace assay {
namespace {

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(MachinesTest, RowsAreComplete) {
  std::set<std::string> names;
  for (const Machine& machine : machines()) {
    EXPECT_TRUE(names.emplace(machine.name).second) << machine.name;
    EXPECT_EQ(&machine_named(machine.name), &machine);
    EXPECT_FALSE(machine.summary.empty());
    EXPECT_FALSE(machine.source.empty());
    std::set<std::string> inputs;
    for (const DotModel& model : machine.dots) {
      EXPECT_TRUE(inputs.emplace(model.input).second) << machine.name << " " << model.input;
      EXPECT_GT(model.chunk.value, 0);
      EXPECT_TRUE(format_named(model.input).is_float());
      EXPECT_TRUE(format_named(model.accumulator.value).is_float());
      EXPECT_EQ(&dot_model(machine, format_named(model.input)), &model);
      for (const Provenance how : {model.chunk.how, model.accumulator.how, model.rounding.how}) {
        EXPECT_FALSE(provenance_word(how).empty());
      }
    }
    EXPECT_EQ(machine.is_exact(), machine.name == "exact");
  }
}

// spec: the cube unit accumulates in float32; 4 products a rounding for float32, 16 for 16 bits.
TEST(MachinesTest, Ascend910b) {
  const Machine& machine = machine_named("ascend910b");
  for (const auto& [input, chunk] : {std::pair("float16", 16), {"bfloat16", 16}, {"float32", 4}}) {
    const DotModel& model = dot_model(machine, format_named(input));
    EXPECT_EQ(model.chunk.value, chunk) << input;
    EXPECT_EQ(model.accumulator.value, "float32");
    EXPECT_EQ(model.accumulator.how, Provenance::kDocumented);
    EXPECT_EQ(model.rounding.value, Rounding::kNearestEven);
    EXPECT_EQ(model.chunk.how,
              input == std::string("float32") ? Provenance::kInferred : Provenance::kAssumed);
  }
}

TEST(MachinesTest, ProvenanceWords) {
  EXPECT_EQ(provenance_word(Provenance::kDocumented), "documented");
  EXPECT_EQ(provenance_word(Provenance::kMeasured), "measured");
  EXPECT_EQ(provenance_word(Provenance::kInferred), "inferred");
  EXPECT_EQ(provenance_word(Provenance::kAssumed), "assumed");
}

TEST(MachinesTest, WhatIsUnknownIsNamed) {
  EXPECT_EQ(error_of([] { machine_named("ascend910"); }),
            "unknown machine 'ascend910': did you mean 'ascend910b'?; known: exact, ascend910b");
  EXPECT_EQ(error_of([] { machine_named("cray"); }),
            "unknown machine 'cray'; known: exact, ascend910b");
  EXPECT_EQ(error_of([] { dot_model(machine_named("ascend910b"), format_named("float8_e5m2")); }),
            "the matrix unit of ascend910b takes float16, bfloat16, float32, not float8_e5m2");
  EXPECT_EQ(error_of([] { dot_model(machine_named("exact"), format_named("float32")); }),
            "the matrix unit of exact takes (none), not float32");
}

}  // namespace
}  // namespace assay
