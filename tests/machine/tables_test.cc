// Compares the tables of framework/assay/machine, entry by entry, with texts that were typed here
// a second time from docs/machines.md and from the vendors' documents.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/format/rounding.h"
#include "assay/machine/function_error.h"
#include "assay/machine/machine.h"
#include "assay/machine/vector_model.h"

namespace assay::machine_tables {
namespace {

using Lines = std::vector<std::string>;

// Returns a line with the chunk, accumulator, rounding and order, and then the parameters beyond a
// plain sum.
std::string dot_text(const DotModel& m) {
  std::string text = formatted("{} {} {} {} {}", m.input, m.chunk.value, m.accumulator.value,
                               rounding_name(m.rounding.value), order_word(m.order.value));
  const auto add = [&](const char* name, int value, int usual) {
    if (value != usual) text += formatted(" {}={}", name, value);
  };
  add("kept", m.kept_bits.value, 0);
  add("floor", m.emax_floor.value, -10000);
  add("mantissa", m.mantissa_bits.value, 0);
  add("rounds", m.round_products.value ? 1 : 0, 0);
  add("flushes_inputs", m.flush_inputs.value ? 1 : 0, 0);
  add("flushes_sums", m.flush_sums.value ? 1 : 0, 0);
  add("promotes", m.promotion_interval.value, 0);
  add("sum_bits", m.sum_bits.value, 0);
  add("interleave", m.interleave.value, 1);
  add("reach", m.reach.value, 0);
  if (m.alignment.value != Rounding::kTowardZero) text += " alignment";
  if (m.overflow.value == IntegerOverflow::kWrap) text += " wraps";
  if (!m.other_input.empty()) text += " other";
  return text;
}

TEST(Tables, MatrixUnits) {
  Lines lines;
  for (const Machine& machine : machines()) {
    lines.push_back(std::string(machine.name) + (machine.bias_first.value ? ", bias first" : ""));
    for (const DotModel& model : machine.dots) lines.push_back(dot_text(model));
  }
  const Lines wanted = {
      "exact, bias first",
      "ascend910b, bias first",
      "float16 16 float32 nearest_even fused",
      "bfloat16 16 float32 nearest_even fused",
      "float32 4 float32 nearest_even fused",
      "hfloat32 8 float32 nearest_even fused",
      "int8 32 int32 nearest_even fused",
      "hopper",
      "float16 16 float32 toward_zero fused kept=25 floor=-133 mantissa=23",
      "bfloat16 16 float32 toward_zero fused kept=25 floor=-133 mantissa=23",
      "tfloat32 8 float32 toward_zero fused kept=25 floor=-133 mantissa=23",
      "float8_e4m3fn 32 float32 toward_zero fused kept=13 mantissa=13",
      "float8_e5m2 32 float32 toward_zero fused kept=13 mantissa=13",
      "float32 1 float32 nearest_even fused",
      "int8 32 int32 nearest_even fused wraps",
      "ampere",
      "float16 8 float32 toward_zero fused kept=24 mantissa=23",
      "bfloat16 8 float32 toward_zero fused kept=24 mantissa=23",
      "tfloat32 4 float32 toward_zero fused kept=24 mantissa=23",
      "ada",
      "float16 8 float32 toward_zero fused kept=24 mantissa=23",
      "bfloat16 8 float32 toward_zero fused kept=24 mantissa=23",
      "tfloat32 4 float32 toward_zero fused kept=24 mantissa=23",
      "float8_e4m3fn 16 float32 toward_zero fused kept=13 mantissa=13",
      "float8_e5m2 16 float32 toward_zero fused kept=13 mantissa=13",
      "volta",
      "float16 4 float32 toward_zero fused kept=23 mantissa=23",
      "blackwell",
      "float16 16 float32 toward_zero fused kept=25 mantissa=23",
      "bfloat16 16 float32 toward_zero fused kept=25 mantissa=23",
      "tfloat32 8 float32 toward_zero fused kept=25 mantissa=23",
      "float8_e4m3fn 32 float32 toward_zero fused kept=25 mantissa=23",
      "float8_e5m2 32 float32 toward_zero fused kept=25 mantissa=23",
      "cdna1",
      "float16 4 float32 nearest_even pairwise rounds=1",
      "bfloat16 2 float32 nearest_even pairwise rounds=1",
      "float32 1 float32 nearest_even fused",
      "cdna2",
      "float16 4 float32 nearest_even pairwise rounds=1 flushes_inputs=1 flushes_sums=1",
      "bfloat16 4 float32 nearest_even pairwise rounds=1 flushes_inputs=1 flushes_sums=1",
      "float32 1 float32 nearest_even fused",
      "cdna3",
      "float16 8 float32 nearest_even fused kept=24 mantissa=23 sum_bits=31",
      "bfloat16 8 float32 nearest_even fused kept=24 mantissa=23 sum_bits=31",
      "tfloat32 4 float32 nearest_even fused kept=24 mantissa=23 sum_bits=31",
      "float8_e4m3fnuz 16 float32 nearest_even fused kept=24 mantissa=23 sum_bits=31 interleave=2 "
      "reach=25",
      "float8_e5m2fnuz 16 float32 nearest_even fused kept=24 mantissa=23 sum_bits=31 interleave=2 "
      "reach=25",
      "float32 1 float32 nearest_even fused",
      "cpu_fma, bias first",
      "float32 1 float32 nearest_even fused",
      "float16 1 float32 nearest_even fused",
      "bfloat16 1 float32 nearest_even fused",
      "cpu_mul_add, bias first",
      "float32 1 float32 nearest_even fused rounds=1",
      "float16 1 float32 nearest_even fused rounds=1",
      "bfloat16 1 float32 nearest_even fused rounds=1",
  };
  EXPECT_EQ(lines, wanted);
}

// A line has overflow, subnormals, multiply-add, tanh, library and the operations that int8 is made
// of, each with the first letter of its provenance. Then follow the formats with unit and repeat.
TEST(Tables, VectorUnits) {
  const auto letter = [](Provenance how) { return provenance_word(how).substr(0, 1); };
  Lines lines;
  for (const VectorModel& m : vector_models()) {
    lines.push_back(formatted(
        "{}: {}{} {}{} {}{} {}{} {}{} int8 of {}{}", m.machine,
        m.overflow.value == Overflow::kSaturate ? "saturates-" : "ieee-", letter(m.overflow.how),
        m.subnormals.value == Subnormals::kFlush ? "flushes-" : "gradual-",
        letter(m.subnormals.how), m.fused.value ? "fused-" : "twice-", letter(m.fused.how),
        m.tanh_by_exp.value ? "by_exp-" : "tanh-", letter(m.tanh_by_exp.how),
        std::string(m.functions.value) + "-", letter(m.functions.how),
        std::string(m.int8_from.value) + "-", letter(m.int8_from.how)));
    std::string formats;
    for (const VectorFormat& f : m.formats) {
      formats += formatted(" {}={}-{}/{}-{}", f.input, f.unit.value, letter(f.unit.how),
                           f.repeat.value, letter(f.repeat.how));
    }
    lines.push_back(formats);
  }
  const std::string floats =
      " float16=float32-a/0-a bfloat16=float32-a/0-a float32=float32-d/0-a float64=float64-d/0-a";
  const std::string simt = ": ieee-d gradual-d fused-d tanh-a cuda-d int8 of float32-a";
  const std::string amd = ": ieee-a gradual-a fused-a tanh-a libm-a int8 of float32-a";
  Lines wanted = {"ascend910b: saturates-d gradual-a fused-a by_exp-d cann-a int8 of float16-d",
                  " float16=float16-d/128-d bfloat16=float32-a/64-a float32=float32-d/64-d"};
  for (const char* name : {"hopper", "ampere", "ada", "volta", "blackwell"}) {
    wanted.insert(wanted.end(), {name + simt, floats});
  }
  for (const char* name : {"cdna1", "cdna2", "cdna3"}) {
    wanted.insert(wanted.end(), {name + amd, floats});
  }
  wanted.insert(wanted.end(),
                {"cpu_fma: ieee-d gradual-d fused-d tanh-a libm-a int8 of float32-a", floats,
                 "cpu_mul_add: ieee-d gradual-d twice-d tanh-a libm-a int8 of float32-a", floats});
  EXPECT_EQ(lines, wanted);
}

// A line has the library, the dtype, and the ulps of exp, log, sqrt, rsqrt, tanh and erf, in this
// order. -1 means that the library does not have the function.
TEST(Tables, UlpsOfFunctions) {
  const struct {
    const char *library, *dtype;
    double ulps[6];
  } rows[] = {
      {"cuda", "float32", {2, 1, 0, 2, 2, 2}},
      {"cuda", "float64", {1, 1, 0, 1, 1, 2}},
      {"cuda", "float16", {0, 0, 0, 0, -1, -1}},
      {"cuda", "bfloat16", {0, 0, 0, 0, -1, -1}},
      {"cuda_fast", "float32", {2, 3, -1, -1, HUGE_VAL, -1}},
      {"cann", "float16", {1, 1, 1, 1, 1, 1}},
      {"cann", "float32", {1, 1, 1, 1, 1, 1}},
      {"libm", "float32", {1, 1, 0, 1, 2, 1}},
      {"libm", "float64", {1, 1, 0, 1, 2, 1}},
  };
  std::size_t count = 0;
  for (const auto& row : rows) {
    for (int i = 0; i < 6; ++i) {
      const char* function = std::array{"exp", "log", "sqrt", "rsqrt", "tanh", "erf"}[at(i)];
      SCOPED_TRACE(formatted("{} {} {}", row.library, row.dtype, function));
      const FunctionError* found =
          find_function_error(row.library, function, format_named(row.dtype));
      ASSERT_EQ(found != nullptr, row.ulps[i] >= 0);
      if (found == nullptr) continue;
      ++count;
      EXPECT_EQ(found->ulps, row.ulps[i]);
      const bool fast = std::string(row.library) == "cuda_fast";
      const std::string name = function;
      EXPECT_EQ(found->per_argument, fast && name == "exp" ? 1.173 : 0);
      EXPECT_EQ(found->low, fast && name == "log" ? 0.5 : 0);
      EXPECT_EQ(found->high, fast && name == "log" ? 2 : 0);
      EXPECT_EQ(found->relative, fast && name == "tanh" ? 0x1p-11 : 0);
      // The bound is 2^-21.41, rounded up in its 24th bit.
      EXPECT_EQ(found->absolute, fast && name == "log" ? 0x1.8157dap-22 : 0);
    }
  }
  EXPECT_EQ(function_errors().size(), count);
}

TEST(Tables, LibrariesOfFunctions) {
  Lines lines;
  for (const FunctionLibrary& l : function_libraries()) {
    lines.push_back(formatted("{} {} {}", l.name, provenance_word(l.how), l.fast_of));
  }
  EXPECT_EQ(lines, (Lines{"cuda documented ", "cuda_fast documented cuda", "cann assumed ",
                          "libm assumed "}));
  EXPECT_EQ(fast_functions_of("cuda"), &function_library("cuda_fast"));
  EXPECT_EQ(fast_functions_of("libm"), nullptr);
}

// Tests the range of a result at 0, at values that a bound by size only would ignore, at the ends
// of float64, and at the ends of the intervals with absolute bounds.
TEST(Tables, RangesAtTheirEnds) {
  const auto range = [](const char* library, const char* function, const char* dtype, double x,
                        double exact) {
    const FunctionError::Range r =
        find_function_error(library, function, format_named(dtype))->range(x, exact);
    return formatted("{:a} {:a}", r.low, r.high);
  };
  const auto wanted = [](double low, double high) { return formatted("{:a} {:a}", low, high); };
  EXPECT_EQ(range("cuda", "exp", "float32", 0, 1), wanted(1 - 0x1p-22, 1 + 0x1p-22));
  EXPECT_EQ(range("libm", "erf", "float32", 0, 0), wanted(-0x1p-149, 0x1p-149));
  EXPECT_EQ(range("libm", "sqrt", "float32", 2, std::sqrt(2.0)),
            wanted(static_cast<double>(std::sqrt(2.0f)), static_cast<double>(std::sqrt(2.0f))));
  EXPECT_EQ(range("libm", "sqrt", "float64", 4, 2), wanted(2, 2));
  // The range of a float64 result is one ulp wider, unless its error is 0 ulps.
  EXPECT_EQ(range("libm", "exp", "float64", 0, 1), wanted(1 - 0x1p-51, 1 + 0x1p-51));
  EXPECT_EQ(range("libm", "tanh", "float64", 1, 0.75),
            wanted(0.75 - 3 * 0x1p-53, 0.75 + 3 * 0x1p-53));
  const double bound = 0x1.8157dap-22;
  EXPECT_EQ(range("cuda_fast", "log", "float32", 0.5, -0.25), wanted(-0.25 - bound, -0.25 + bound));
  EXPECT_EQ(range("cuda_fast", "log", "float32", 2, 0.25), wanted(0.25 - bound, 0.25 + bound));
  EXPECT_EQ(range("cuda_fast", "log", "float32", 0.25, 0.25),
            wanted(0.25 - 3 * 0x1p-25, 0.25 + 3 * 0x1p-25));
  EXPECT_EQ(range("cuda_fast", "tanh", "float32", -1, -0.5),
            wanted(-0.5 - 0x1p-12, -0.5 + 0x1p-12));
  EXPECT_EQ(range("cuda", "log", "float32", 0, -HUGE_VAL), wanted(-HUGE_VAL, -HUGE_VAL));
  // exp of cuda_fast has an error of 2 + floor(1.173 |x|) ulps, which counts only whole ulps.
  const FunctionError& fast = *find_function_error("cuda_fast", "exp", format_named("float32"));
  for (const auto& [x, ulps] : {std::pair(0.0, 2), {0.8, 2}, {0.86, 3}, {-1.7, 3}, {-1.71, 4}}) {
    EXPECT_EQ(fast.ulps_at(x), ulps) << x;
  }
  EXPECT_EQ(find_function_error("cuda", "exp", format_named("float32"))->ulps_at(100), 2);
}

}  // namespace
}  // namespace assay::machine_tables
