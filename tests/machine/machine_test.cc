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
      EXPECT_EQ(format_named(model.input).is_float(),
                format_named(model.accumulator.value).is_float());
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

// spec: chunk, kept bits and mantissa of the tensor cores.
TEST(MachinesTest, TensorCores) {
  const struct {
    const char *machine, *input;
    int chunk, kept_bits, mantissa_bits;
  } rows[] = {
      {"hopper", "float16", 16, 25, 23},     {"hopper", "bfloat16", 16, 25, 23},
      {"hopper", "tfloat32", 8, 25, 23},     {"hopper", "float8_e4m3fn", 32, 13, 13},
      {"hopper", "float8_e5m2", 32, 13, 13}, {"ampere", "float16", 8, 24, 23},
      {"ampere", "bfloat16", 8, 24, 23},     {"ampere", "tfloat32", 4, 24, 23},
      {"ada", "float16", 8, 24, 23},         {"ada", "bfloat16", 8, 24, 23},
      {"ada", "tfloat32", 4, 24, 23},        {"ada", "float8_e4m3fn", 16, 13, 13},
      {"ada", "float8_e5m2", 16, 13, 13},    {"volta", "float16", 4, 23, 23},
      {"blackwell", "float16", 16, 25, 23},  {"blackwell", "bfloat16", 16, 25, 23},
  };
  for (const auto& row : rows) {
    const DotModel& model = dot_model(machine_named(row.machine), format_named(row.input));
    EXPECT_EQ(model.chunk.value, row.chunk) << row.machine << " " << row.input;
    EXPECT_EQ(model.kept_bits.value, row.kept_bits) << row.machine << " " << row.input;
    EXPECT_EQ(model.mantissa_bits.value, row.mantissa_bits) << row.machine << " " << row.input;
    EXPECT_EQ(model.rounding.value, Rounding::kTowardZero);
    EXPECT_EQ(model.kept_bits.how, Provenance::kMeasured);
  }
}

TEST(MachinesTest, ProvenanceWords) {
  EXPECT_EQ(provenance_word(Provenance::kDocumented), "documented");
  EXPECT_EQ(provenance_word(Provenance::kMeasured), "measured");
  EXPECT_EQ(provenance_word(Provenance::kInferred), "inferred");
  EXPECT_EQ(provenance_word(Provenance::kAssumed), "assumed");
}

TEST(MachinesTest, WhatIsUnknownIsNamed) {
  EXPECT_EQ(
      error_of([] { machine_named("ascend910"); }),
      "unknown machine 'ascend910': did you mean 'ascend910b'?; known: exact, ascend910b, hopper, "
      "ampere, ada, volta, blackwell, cpu_fma, cpu_mul_add");
  EXPECT_EQ(error_of([] { machine_named("cray"); }),
            "unknown machine 'cray'; known: exact, ascend910b, hopper, "
            "ampere, ada, volta, blackwell, cpu_fma, cpu_mul_add");
  EXPECT_EQ(error_of([] { dot_model(machine_named("ascend910b"), format_named("float8_e5m2")); }),
            "the matrix unit of ascend910b takes float16, bfloat16, float32, hfloat32, int8, "
            "not float8_e5m2");
  EXPECT_EQ(error_of([] { dot_model(machine_named("exact"), format_named("float32")); }),
            "the matrix unit of exact takes (none), not float32");
}

}  // namespace
}  // namespace assay
