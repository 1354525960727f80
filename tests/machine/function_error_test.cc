// Tests the table of function errors: it is complete for every machine's unit, and each row allows
// the right results.
#include "assay/machine/function_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "assay/machine/functions.h"
#include "error_of.h"

namespace assay {
namespace {

const FunctionError& row_of(const char* library, const char* function, const char* dtype) {
  return *find_function_error(library, function, format_named(dtype));
}

TEST(FunctionErrorTest, EveryUnitHasARowForEveryFunction) {
  for (const VectorModel& model : vector_models()) {
    (void)function_library(model.functions.value);
    for (const VectorFormat& f : model.formats) {
      for (const char* name : {"exp", "log", "sqrt", "rsqrt", "tanh", "erf"}) {
        EXPECT_NE(find_function_error(model.functions.value, name, format_named(f.unit.value)),
                  nullptr)
            << model.machine << " " << f.input << " " << name;
      }
    }
  }
  std::set<std::string> seen;
  for (const FunctionError& row : function_errors()) {
    (void)function_library(row.library);
    (void)format_named(row.dtype);
    const std::string key =
        std::string(row.library) + " " + std::string(row.function) + " " + std::string(row.dtype);
    EXPECT_TRUE(seen.insert(key).second) << key << " is there twice";
  }
  EXPECT_EQ(error_of([] { (void)function_library("cudaa"); }).substr(0, 39),
            "unknown library of functions 'cudaa': d");
}

// Compares the table with the vendor's figures, which are typed here again.
TEST(FunctionErrorTest, CudasFigures) {
  struct Figure {
    const char *function, *dtype;
    double ulps;
  };
  for (const Figure& figure :
       {Figure{"exp", "float32", 2}, Figure{"log", "float32", 1}, Figure{"rsqrt", "float32", 2},
        Figure{"sqrt", "float32", 0}, Figure{"tanh", "float32", 2}, Figure{"erf", "float32", 2},
        Figure{"exp", "float64", 1}, Figure{"log", "float64", 1}, Figure{"rsqrt", "float64", 1},
        Figure{"sqrt", "float64", 0}, Figure{"tanh", "float64", 1}, Figure{"erf", "float64", 2}}) {
    EXPECT_EQ(row_of("cuda", figure.function, figure.dtype).ulps, figure.ulps)
        << figure.function << " " << figure.dtype;
  }
  EXPECT_EQ(function_library("cuda").how, Provenance::kDocumented);
  EXPECT_EQ(function_library("cann").how, Provenance::kAssumed);
}

// The assumed errors for a vendor that publishes none.
TEST(FunctionErrorTest, CannsFigures) {
  for (const char* dtype : {"float16", "float32"}) {
    for (const char* function : {"exp", "log", "sqrt", "rsqrt", "tanh", "erf"}) {
      EXPECT_EQ(row_of("cann", function, dtype).ulps, 1) << function << " " << dtype;
    }
  }
}

// The assumed errors of a CPU's library.
TEST(FunctionErrorTest, TheCLibrarysFigures) {
  for (const char* dtype : {"float32", "float64"}) {
    for (const char* function : {"exp", "log", "rsqrt", "erf"}) {
      EXPECT_EQ(row_of("libm", function, dtype).ulps, 1) << function << " " << dtype;
    }
    EXPECT_EQ(row_of("libm", "sqrt", dtype).ulps, 0) << dtype;
    EXPECT_EQ(row_of("libm", "tanh", dtype).ulps, 2) << dtype;
  }
}

TEST(FunctionErrorTest, Texts) {
  EXPECT_EQ(row_of("cuda", "exp", "float32").text(), "2 ulps");
  EXPECT_EQ(row_of("cuda", "log", "float32").text(), "1 ulp");
  EXPECT_EQ(row_of("cuda_fast", "exp", "float32").text(), "2 + floor(1.173 |x|) ulps");
  EXPECT_EQ(row_of("cuda_fast", "log", "float32").text(),
            "absolute 2^-21.41 in [0.5, 2], else 3 ulps");
  EXPECT_EQ(row_of("cuda_fast", "tanh", "float32").text(), "relative 2^-11");
}

TEST(FunctionErrorTest, Ranges) {
  const FunctionError& exp = row_of("cuda", "exp", "float32");
  const double e = std::exp(1.0), nearest = static_cast<float>(e), ulp = 0x1p-22;
  EXPECT_EQ(exp.range(1, e).low, nearest - 2 * ulp);
  EXPECT_EQ(exp.range(1, e).high, nearest + 2 * ulp);
  // At the end of the range, infinity and the largest numbers are right results.
  const double beyond = 0x1.ffffffp127;  // rounds to infinity
  EXPECT_EQ(exp.range(88.72, beyond).high, HUGE_VAL);
  EXPECT_EQ(exp.range(88.72, beyond).low, max_finite(format_named("float32")) - 0x1p104);
  const double most = max_finite(format_named("float32"));
  EXPECT_EQ(exp.range(88.73, most + 2.5 * 0x1p104).low, most - 0x1p104);
  EXPECT_EQ(exp.range(88.73, most + 3.5 * 0x1p104).low, HUGE_VAL);
  EXPECT_EQ(exp.range(100, 1e43).low, HUGE_VAL);
  EXPECT_EQ(exp.range(-1000, 0).low, -0x1p-148);  // 2 subnormals
  const FunctionError& fast = row_of("cuda_fast", "exp", "float32");
  EXPECT_EQ(fast.ulps_at(-10), 13);
  EXPECT_EQ(fast.range(-10, 0.5).high, 0.5 + 13 * 0x1p-24);
  const FunctionError& log = row_of("cuda_fast", "log", "float32");
  EXPECT_NEAR(log.range(1, 0).high, std::exp2(-21.41), 1e-13);
  EXPECT_GE(log.range(1, 0).high, std::exp2(-21.41));
  EXPECT_EQ(log.range(1, 0).low, -log.range(1, 0).high);
  EXPECT_EQ(log.range(4, 1.5).high, 1.5 + 3 * 0x1p-23);
  EXPECT_EQ(row_of("cuda_fast", "tanh", "float32").range(1, 0.5).low, 0.5 - 0x1p-12);
}

// Emulated functions, which are within 2.5 ulps of float64, keep every bound.
TEST(FunctionErrorTest, CoversEmulation) {
  for (const FunctionError& row : function_errors()) {
    const Format& f = format_named(row.dtype);
    if (row.relative > 0) continue;
    const double u = unit_roundoff(f);
    EXPECT_GE(relative_error(row, f), f.is_float64() ? 6 * u : u) << row.library << row.function;
  }
  EXPECT_NEAR(largest_function_error("exp", format_named("float32")), 5 * 0x1p-24, 1e-12);
  EXPECT_NEAR(largest_function_error("exp", format_named("float16")), 3 * 0x1p-11, 1e-5);
}

// An error of n ulps of the correctly rounded result is a relative error of 2 n u. The rounding of
// that result adds u. Both refer to a number that is itself off by u. Another 2^-50 allows for
// emulation in float64 and for the golden result. For float64 functions, emulation is off by 5 u at
// most, and the golden result by 1.1 u.
TEST(FunctionErrorTest, RelativeErrorsByHand) {
  const Format &single = format_named("float32"), &half = format_named("float16"),
               &wide = format_named("float64");
  EXPECT_EQ(relative_error(row_of("cuda", "sqrt", "float32"), single), 0x1p-24 + 0x1p-48 + 0x1p-50);
  EXPECT_EQ(relative_error(row_of("cuda", "log", "float32"), single),
            3 * 0x1p-24 + 3 * 0x1p-48 + 0x1p-50);
  EXPECT_EQ(relative_error(row_of("cuda", "exp", "float32"), single),
            5 * 0x1p-24 + 5 * 0x1p-48 + 0x1p-50);
  EXPECT_EQ(relative_error(row_of("cuda", "exp", "float16"), half), 0x1p-11 + 0x1p-22 + 0x1p-50);
  // 2 + floor(1.173 * 10) ulps.
  EXPECT_EQ(relative_error(row_of("cuda_fast", "exp", "float32"), single, -10),
            27 * 0x1p-24 + 27 * 0x1p-48 + 0x1p-50);
  EXPECT_EQ(relative_error(row_of("cuda_fast", "tanh", "float32"), single), 0x1p-11);
  for (const auto& [function, units] :
       {std::pair("sqrt", 6.1), std::pair("exp", 6.1), std::pair("erf", 6.1)}) {
    EXPECT_NEAR(relative_error(row_of("cuda", function, "float64"), wide), units * 0x1p-53,
                1e-15 * 0x1p-53 * units)
        << function;
  }
}

// The text for users names each library with its source and all of its rows.
TEST(FunctionErrorTest, TheTextNamesEveryRow) {
  const std::string text = function_libraries_text();
  std::size_t at = 0, rows = 0;
  for (const FunctionLibrary& library : function_libraries()) {
    const auto follows = [&](const std::string& words) {
      const std::size_t found = text.find(words, at);
      EXPECT_NE(found, std::string::npos) << words << " does not follow";
      if (found != std::string::npos) at = found + words.size();
    };
    follows("functions of " + std::string(library.name) + ": " + std::string(library.summary));
    follows("\n  source: " + std::string(library.source) + "\n");
    for (const FunctionError& row : function_errors()) {
      if (row.library != library.name) continue;
      follows(std::string(row.function) + " " + row.text());
      ++rows;
    }
  }
  EXPECT_EQ(rows, function_errors().size());
  EXPECT_EQ(text.substr(text.size() - 2), "\n\n");
  EXPECT_NE(text.find("\n  float32: exp 2 ulps; log 1 ulp; "), std::string::npos) << text;
}

}  // namespace
}  // namespace assay
