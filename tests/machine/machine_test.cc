#include "assay/machine/machine.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/machine/dot.h"
#include "assay/machine/function_error.h"
#include "error_of.h"

namespace assay {
namespace {

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
    EXPECT_EQ(machine.has_matrix_unit(), machine.name != "exact");
  }
}

// By docs/machines.md, the cube unit accumulates in float32. It rounds after 4 products for
// float32, and after 16 products for 16-bit inputs.
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

// The chunk, the kept bits and the mantissa bits of the tensor cores are those of docs/machines.md.
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

// Returns the provenance of each parameter, one letter each in the order of DotModel: chunk,
// accumulator, rounding, order, kept bits, alignment, floor of emax, mantissa, rounded products,
// flushed inputs, flushed sums, promotion, sum bits, interleave, reach, overflow.
std::string how_known(const DotModel& m) {
  std::string letters;
  for (const Provenance how :
       {m.chunk.how, m.accumulator.how, m.rounding.how, m.order.how, m.kept_bits.how,
        m.alignment.how, m.emax_floor.how, m.mantissa_bits.how, m.round_products.how,
        m.flush_inputs.how, m.flush_sums.how, m.promotion_interval.how, m.sum_bits.how,
        m.interleave.how, m.reach.how, m.overflow.how}) {
    letters += provenance_word(how).substr(0, 1);
  }
  return letters;
}

// A parameter that a table calls measured rests on recordings. A parameter that it calls documented
// rests on a vendor's text or a published one. docs/machines.md lists the evidence.
TEST(MachinesTest, HowEachParameterIsKnown) {
  const struct {
    const char *machine, *input, *letters;
  } rows[] = {
      {"ascend910b", "float16", "adiaaaaaaaaaaaaa"},
      {"ascend910b", "bfloat16", "adiaaaaaaaaaaaaa"},
      {"ascend910b", "float32", "idiaaaaaaaaaaaaa"},
      {"ascend910b", "hfloat32", "adaaaaaaaaaaaaaa"},
      {"ascend910b", "int8", "dddaaaaaaaaaaaaa"},
      {"hopper", "float16", "mmmmmmmmaaaaaaaa"},
      {"hopper", "bfloat16", "mmmmmmmmaaaaaaaa"},
      {"hopper", "tfloat32", "mmmmmmmmaaaaaaaa"},
      {"hopper", "float8_e4m3fn", "mmmmmmamaaaaaaaa"},
      {"hopper", "float8_e5m2", "mmmmmmamaaaaaaaa"},
      {"hopper", "float32", "mmmmmaaamaaaaaaa"},
      {"hopper", "int8", "mmmaaaaaaaaaaaam"},
      {"ampere", "float16", "mmmmmmamaaaaaaaa"},
      {"ampere", "bfloat16", "mmmmmmamaaaaaaaa"},
      {"ampere", "tfloat32", "mmmmmmamaaaaaaaa"},
      {"ada", "float16", "mmmmmmamaaaaaaaa"},
      {"ada", "bfloat16", "mmmmmmamaaaaaaaa"},
      {"ada", "tfloat32", "mmmmmmamaaaaaaaa"},
      {"ada", "float8_e4m3fn", "mmmmmmamaaaaaaaa"},
      {"ada", "float8_e5m2", "mmmmmmamaaaaaaaa"},
      {"volta", "float16", "mmmmmmamaaaaaaaa"},
      {"blackwell", "float16", "mmmmmmamaaaaaaaa"},
      {"blackwell", "bfloat16", "mmmmmmamaaaaaaaa"},
      {"blackwell", "tfloat32", "dmmmmmamaaaaaaaa"},
      {"blackwell", "float8_e4m3fn", "ddddddadaaaaaaaa"},
      {"blackwell", "float8_e5m2", "ddddddadaaaaaaaa"},
      {"cdna1", "float16", "dddddaaadddaaaaa"},
      {"cdna1", "bfloat16", "dddddaaadddaaaaa"},
      {"cdna1", "float32", "dddddaaadaaaaaaa"},
      {"cdna2", "float16", "dddddaaadddaaaaa"},
      {"cdna2", "bfloat16", "dddddaaadddaaaaa"},
      {"cdna2", "float32", "dddddaaadaaaaaaa"},
      {"cdna3", "float16", "ddddddadaaaaddda"},
      {"cdna3", "bfloat16", "ddddddadaaaaddda"},
      {"cdna3", "tfloat32", "ddddddadaaaaddda"},
      {"cdna3", "float8_e4m3fnuz", "ddddddadaaaaddda"},
      {"cdna3", "float8_e5m2fnuz", "ddddddadaaaaddda"},
      {"cdna3", "float32", "dddddaaadaaaaaaa"},
      {"cpu_fma", "float32", "dddaaaaadaaaaaaa"},
      {"cpu_fma", "float16", "dddaaaaadaaaaaaa"},
      {"cpu_fma", "bfloat16", "dddaaaaadaaaaaaa"},
      {"cpu_mul_add", "float32", "dddaaaaadaaaaaaa"},
      {"cpu_mul_add", "float16", "dddaaaaadaaaaaaa"},
      {"cpu_mul_add", "bfloat16", "dddaaaaadaaaaaaa"},
  };
  for (const auto& row : rows) {
    const DotModel& model = dot_model(machine_named(row.machine), format_named(row.input));
    EXPECT_EQ(how_known(model), row.letters) << row.machine << " " << row.input;
    // Products are rounded before they are added in pairs, and on a processor without fused
    // multiply-adds (docs/machines.md).
    const std::string machine = row.machine;
    const bool rounds = machine == "cpu_mul_add" || model.order.value == ChunkOrder::kPairwise;
    EXPECT_EQ(model.round_products.value, rounds) << row.machine << " " << row.input;
  }
  std::size_t all = 0;
  for (const Machine& machine : machines()) {
    all += machine.dots.size();
    const bool hopper = machine.name == "hopper";
    EXPECT_EQ(machine.bias_first.how, hopper ? Provenance::kMeasured : Provenance::kAssumed);
    const bool starts =
        machine.name == "ascend910b" || machine.name == "exact" || machine.name.starts_with("cpu_");
    EXPECT_EQ(machine.bias_first.value, starts) << machine.name;
  }
  EXPECT_EQ(all, std::size(rows));
}

// Plain cores, integers, and units that are known only from publications are those of
// docs/machines.md.
TEST(MachinesTest, OtherUnits) {
  const DotModel& plain = dot_model(machine_named("hopper"), format_named("float32"));
  EXPECT_EQ(plain.chunk.value, 1);
  EXPECT_EQ(plain.kept_bits.value, 0);
  EXPECT_EQ(plain.rounding.value, Rounding::kNearestEven);
  EXPECT_EQ(plain.chunk.how, Provenance::kMeasured);
  const DotModel &wraps = dot_model(machine_named("hopper"), format_named("int8")),
                 &holds = dot_model(machine_named("ascend910b"), format_named("int8"));
  EXPECT_EQ(wraps.chunk.value, 32);
  EXPECT_EQ(wraps.overflow.value, IntegerOverflow::kWrap);
  EXPECT_EQ(wraps.overflow.how, Provenance::kMeasured);
  EXPECT_EQ(holds.overflow.value, IntegerOverflow::kSaturate);
  EXPECT_EQ(holds.overflow.how, Provenance::kAssumed);
  const struct {
    const char *machine, *input;
    int chunk, kept_bits, sum_bits, interleave, reach;
    ChunkOrder order;
    bool flushes;
  } rows[] = {
      {"blackwell", "float8_e4m3fn", 32, 25, 0, 1, 0, ChunkOrder::kFused, false},
      {"blackwell", "float8_e5m2", 32, 25, 0, 1, 0, ChunkOrder::kFused, false},
      {"cdna1", "bfloat16", 2, 0, 0, 1, 0, ChunkOrder::kPairwise, false},
      {"cdna2", "bfloat16", 4, 0, 0, 1, 0, ChunkOrder::kPairwise, true},
      {"cdna3", "float16", 8, 24, 31, 1, 0, ChunkOrder::kFused, false},
      {"cdna3", "tfloat32", 4, 24, 31, 1, 0, ChunkOrder::kFused, false},
      {"cdna3", "float8_e4m3fnuz", 16, 24, 31, 2, 25, ChunkOrder::kFused, false},
      {"cdna3", "float8_e5m2fnuz", 16, 24, 31, 2, 25, ChunkOrder::kFused, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.machine) + " " + row.input);
    const DotModel& model = dot_model(machine_named(row.machine), format_named(row.input));
    EXPECT_EQ(model.chunk.value, row.chunk);
    EXPECT_EQ(model.chunk.how, Provenance::kDocumented);
    EXPECT_EQ(model.kept_bits.value, row.kept_bits);
    EXPECT_EQ(model.sum_bits.value, row.sum_bits);
    EXPECT_EQ(model.interleave.value, row.interleave);
    EXPECT_EQ(model.reach.value, row.reach);
    EXPECT_EQ(model.order.value, row.order);
    EXPECT_EQ(model.flush_inputs.value, row.flushes);
    EXPECT_EQ(model.flush_sums.value, row.flushes);
  }
}

TEST(MachinesTest, ProvenanceWords) {
  EXPECT_EQ(provenance_word(Provenance::kDocumented), "documented");
  EXPECT_EQ(provenance_word(Provenance::kMeasured), "measured");
  EXPECT_EQ(provenance_word(Provenance::kInferred), "inferred");
  EXPECT_EQ(provenance_word(Provenance::kAssumed), "assumed");
}

TEST(MachinesTest, WhatIsUnknownIsNamed) {
  const std::string known = joined(names_of(machines()));
  EXPECT_EQ(error_of([] { machine_named("ascend910"); }),
            "unknown machine 'ascend910': did you mean 'ascend910b'?; known: " + known);
  EXPECT_EQ(error_of([] { machine_named("cray"); }), "unknown machine 'cray'; known: " + known);
  EXPECT_EQ(error_of([] { dot_model(machine_named("ascend910b"), format_named("float8_e5m2")); }),
            "the matrix unit of ascend910b takes float16, bfloat16, float32, hfloat32, int8, "
            "not float8_e5m2");
  EXPECT_EQ(error_of([] { dot_model(machine_named("exact"), format_named("float32")); }),
            "the matrix unit of exact takes (none), not float32");
}

// Every parameter of a model that a variant can set: its name, its value, and its provenance.
struct Parameter {
  std::string name;
  int value;
  Provenance how;
};
std::vector<Parameter> parameters(const DotModel& m) {
  std::vector<Parameter> all;
  const auto put = [&](const char* name, const auto& known) {
    all.push_back({name, static_cast<int>(known.value), known.how});
  };
  put("chunk", m.chunk);
  put("order", m.order);
  put("rounding", m.rounding);
  put("kept_bits", m.kept_bits);
  put("alignment", m.alignment);
  put("emax_floor", m.emax_floor);
  put("mantissa_bits", m.mantissa_bits);
  put("round_products", m.round_products);
  put("flush_inputs", m.flush_inputs);
  put("flush_sums", m.flush_sums);
  put("promotion_interval", m.promotion_interval);
  put("overflow", m.overflow);
  return all;
}

// A setting changes its own parameter in every model of floats. The parameter is then assumed,
// whatever the provenance in its row was. Nothing else changes, and models of integers do not
// change.
TEST(VariantsTest, WhatIsSetIsAssumed) {
  const std::vector<std::pair<const char*, int>> settings = {
      {"chunk=77", 77},
      {"order=pairwise", static_cast<int>(ChunkOrder::kPairwise)},
      {"rounding=up", static_cast<int>(Rounding::kUp)},
      {"kept_bits=31", 31},
      {"alignment=to_odd", static_cast<int>(Rounding::kToOdd)},
      {"emax_floor=-250", -250},
      {"mantissa_bits=5", 5},
      {"round_products=1", 1},
      {"flush_inputs=1", 1},
      {"flush_sums=1", 1},
      {"promotion_interval=1000", 1000}};
  int known_otherwise = 0;
  for (const Machine& base : machines()) {
    if (!base.has_matrix_unit()) continue;
    for (const auto& [setting, value] : settings) {
      const std::string name = std::string(setting).substr(0, std::string(setting).find('='));
      const Machine& variant = machine_variant(std::string(base.name) + "," + setting);
      ASSERT_EQ(variant.dots.size(), base.dots.size());
      for (std::size_t i = 0; i < base.dots.size(); ++i) {
        const auto before = parameters(base.dots[i]), after = parameters(variant.dots[i]);
        const bool set = base.dots[i].accumulator.value != "int32";
        for (std::size_t p = 0; p < before.size(); ++p) {
          SCOPED_TRACE(testing::Message()
                       << variant.name << ", " << base.dots[i].input << ", " << before[p].name);
          const bool own = set && before[p].name == name;
          EXPECT_EQ(after[p].value, own ? value : before[p].value);
          EXPECT_EQ(after[p].how, own ? Provenance::kAssumed : before[p].how);
          known_otherwise += own && before[p].how != Provenance::kAssumed ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(known_otherwise, 0);
}

TEST(VariantsTest, ParametersOfSomeRowsAlone) {
  const Machine& held = machine_variant("hopper,overflow=saturate");
  for (std::size_t i = 0; i < held.dots.size(); ++i) {
    const DotModel &before = machine_named("hopper").dots[i], &after = held.dots[i];
    const bool of_integers = before.input == "int8";
    EXPECT_EQ(after.overflow.value, IntegerOverflow::kSaturate);
    EXPECT_EQ(after.overflow.how, Provenance::kAssumed) << before.input;
    EXPECT_EQ(before.overflow.value == after.overflow.value, !of_integers) << before.input;
  }
  const DotModel& joined =
      dot_model(machine_variant("hopper,sum_bits=30,interleave=4,reach=26"), format_named("fp16"));
  EXPECT_EQ(joined.sum_bits.value, 30);
  EXPECT_EQ(joined.interleave.value, 4);
  EXPECT_EQ(joined.reach.value, 26);
  EXPECT_EQ(error_of([] { machine_variant("cpu_fma,overflow=wrap"); }),
            "machine 'cpu_fma,overflow=wrap': overflow is only for sums of integers, which cpu_fma "
            "does not take; leave it out");
  EXPECT_EQ(error_of([] { machine_variant("hopper,overflow=clamp"); }),
            "machine 'hopper,overflow=clamp': overflow must be one of saturate, wrap, not 'clamp'");
  EXPECT_EQ(error_of([] { machine_variant("hopper,interleave=2"); }),
            "machine 'hopper,interleave=2': interleave and reach are of an accumulator that meets "
            "a finished sum: give sum_bits");
  EXPECT_EQ(error_of([] { machine_variant("cpu_fma,sum_bits=31"); }),
            "machine 'cpu_fma,sum_bits=31': sum_bits is of terms that are aligned: give kept_bits");
}

// Each whole number that a variant can set has a smallest and a largest value, and both are
// accepted.
TEST(VariantsTest, RangesOfWholeNumbers) {
  struct Range {
    const char *base, *name;
    std::int64_t low, high;
    int (*value)(const DotModel& model);
  };
  constexpr const char *kHopper = "hopper", *kJoined = "hopper,sum_bits=30";
  const Range ranges[] = {
      {kHopper, "chunk", 1, 1 << 20, [](const DotModel& m) { return m.chunk.value; }},
      {kHopper, "kept_bits", 0, 40, [](const DotModel& m) { return m.kept_bits.value; }},
      {kHopper, "emax_floor", -300, 300, [](const DotModel& m) { return m.emax_floor.value; }},
      {kHopper, "mantissa_bits", 1, 23, [](const DotModel& m) { return m.mantissa_bits.value; }},
      {kHopper, "promotion_interval", 0, 1 << 30,
       [](const DotModel& m) { return m.promotion_interval.value; }},
      {kHopper, "sum_bits", 0, 60, [](const DotModel& m) { return m.sum_bits.value; }},
      {kJoined, "interleave", 1, 64, [](const DotModel& m) { return m.interleave.value; }},
      {kJoined, "reach", 0, 300, [](const DotModel& m) { return m.reach.value; }}};
  for (const Range& r : ranges) {
    const auto text = [&](std::int64_t value) {
      return formatted("{},{}={}", r.base, r.name, value);
    };
    for (const std::int64_t value : {r.low, r.low + 1, r.high}) {
      const DotModel& model = dot_model(machine_variant(text(value)), format_named("float16"));
      EXPECT_EQ(r.value(model), value) << r.name;
    }
    for (const std::int64_t value : {r.low - 1, r.high + 1}) {
      EXPECT_EQ(error_of([&] { machine_variant(text(value)); }),
                formatted("machine '{}': {} must be a whole number from {} to {}, not '{}'",
                          text(value), r.name, r.low, r.high, value));
    }
  }
}

// The cube unit adds 8 products of hfloat32 between two roundings. The first products are 2^24 and
// 1, which is half a spacing. Another quarter decides the rounding if it is among the 8 products.
// As the ninth product it comes too late.
TEST(MachinesTest, EightProductsOfHfloat32AreAddedBeforeARounding) {
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("hfloat32"));
  const auto sum = [&](std::size_t quarter) {
    std::vector<double> a(16, 0.0), b(16, 1.0);
    a[0] = 0x1p24;
    a[1] = 1;
    a[quarter] = 0.25;
    float c = 0;
    dot_matmul(model, 1, 1, 16, a.data(), b.data(), &c, 1);
    return c;
  };
  EXPECT_EQ(sum(2), 0x1p24F + 2);
  EXPECT_EQ(sum(7), 0x1p24F + 2);
  EXPECT_EQ(sum(8), 0x1p24F);
  EXPECT_EQ(model.chunk.value, 8);
  EXPECT_EQ(model.chunk.how, Provenance::kAssumed);
}

// The text on function libraries has one line for each dtype of each library.
TEST(FunctionLibraries, EachDtypeOfALibraryIsALine) {
  std::map<std::string, std::vector<std::string>> wanted, found;
  for (const FunctionError& row : function_errors()) {
    std::vector<std::string>& dtypes = wanted[std::string(row.library)];
    if (dtypes.empty() || dtypes.back() != row.dtype) dtypes.emplace_back(row.dtype);
  }
  std::istringstream text(function_libraries_text());
  std::string library, before;
  for (std::string line; std::getline(text, line); before = line) {
    if (line.starts_with("functions of ")) {
      library = line.substr(13, line.find(':') - 13);
      continue;
    }
    if (line.empty() || line.starts_with("  source: ")) continue;
    ASSERT_TRUE(line.starts_with("  ")) << line;
    EXPECT_FALSE(before.empty()) << "an empty line within a library, before" << line;
    found[library].push_back(line.substr(2, line.find(':') - 2));
  }
  EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace assay
