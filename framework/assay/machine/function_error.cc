#include "assay/machine/function_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2 {
namespace {

constexpr FunctionLibrary kLibraries[] = {
    {.name = "cuda",
     .summary = "CUDA's functions, as code is compiled for them by default",
     .how = Provenance::kDocumented,
     .source = "CUDA C++ Programming Guide 12, mathematical functions, tables of maximum ulp "
               "errors (float32, float64; from extensive tests, not guaranteed); CUDA Math API "
               "(float16, bfloat16: rounded to nearest even)"},
    {.name = "cuda_fast",
     .summary = "CUDA's intrinsics, which -use_fast_math and Triton's exp take",
     .how = Provenance::kDocumented,
     .source = "CUDA C++ Programming Guide 12, mathematical functions, error bounds of "
               "single-precision intrinsic functions",
     .fast_of = "cuda"},
    {.name = "cann",
     .summary = "Ascend C's vector functions on an Atlas A2 (910B)",
     .how = Provenance::kAssumed,
     .source = "the vendor publishes no error but that Rsqrt does not hold 1e-3 in half and 1e-4 "
               "in float, and advises a quotient by Sqrt: this is the bound taken for rsqrt"},
    {.name = "libm",
     .summary = "the C library's functions on a CPU",
     .how = Provenance::kAssumed,
     .source = "the GNU C library's manual lists at most 1 ulp, tanh 2, on x86-64; IEEE 754 sqrt"},
};

constexpr double kNoUlps = std::numeric_limits<double>::infinity();

constexpr FunctionError kErrors[] = {
    {"cuda", "exp", "float32", "expf", 2},
    {"cuda", "log", "float32", "logf", 1},
    {"cuda", "sqrt", "float32", "sqrtf", 0},
    {"cuda", "rsqrt", "float32", "rsqrtf", 2},
    {"cuda", "tanh", "float32", "tanhf", 2},
    {"cuda", "erf", "float32", "erff", 2},
    {"cuda", "exp", "float64", "exp", 1},
    {"cuda", "log", "float64", "log", 1},
    {"cuda", "sqrt", "float64", "sqrt", 0},
    {"cuda", "rsqrt", "float64", "rsqrt", 1},
    {"cuda", "tanh", "float64", "tanh", 1},
    {"cuda", "erf", "float64", "erf", 2},
    {"cuda", "exp", "float16", "hexp", 0},
    {"cuda", "log", "float16", "hlog", 0},
    {"cuda", "sqrt", "float16", "hsqrt", 0},
    {"cuda", "rsqrt", "float16", "hrsqrt", 0},
    {"cuda", "exp", "bfloat16", "hexp", 0},
    {"cuda", "log", "bfloat16", "hlog", 0},
    {"cuda", "sqrt", "bfloat16", "hsqrt", 0},
    {"cuda", "rsqrt", "bfloat16", "hrsqrt", 0},
    {.library = "cuda_fast",
     .function = "exp",
     .dtype = "float32",
     .name = "__expf",
     .ulps = 2,
     .per_argument = 1.173},
    {.library = "cuda_fast",
     .function = "log",
     .dtype = "float32",
     .name = "__logf",
     .ulps = 3,
     .absolute = 0x1.8157dap-22,  // 2^-21.41
     .low = 0.5,
     .high = 2},
    {.library = "cuda_fast",
     .function = "tanh",
     .dtype = "float32",
     .name = "__tanhf",
     .ulps = kNoUlps,
     .relative = 0x1p-11},
    {"cann", "exp", "float16", "Exp", 1},
    {"cann", "log", "float16", "Ln", 1},
    {"cann", "sqrt", "float16", "Sqrt", 1},
    {"cann", "rsqrt", "float16", "Div by Sqrt", 1},
    {"cann", "tanh", "float16", "Tanh", 1},
    {"cann", "erf", "float16", "Erf", 1},
    {"cann", "exp", "float32", "Exp", 1},
    {"cann", "log", "float32", "Ln", 1},
    {"cann", "sqrt", "float32", "Sqrt", 1},
    {"cann", "rsqrt", "float32", "Div by Sqrt", 1},
    {"cann", "tanh", "float32", "Tanh", 1},
    {"cann", "erf", "float32", "Erf", 1},
    {"libm", "exp", "float32", "expf", 1},
    {"libm", "log", "float32", "logf", 1},
    {"libm", "sqrt", "float32", "sqrtf", 0},
    {"libm", "rsqrt", "float32", "1 / sqrtf", 1},
    {"libm", "tanh", "float32", "tanhf", 2},
    {"libm", "erf", "float32", "erff", 1},
    {"libm", "exp", "float64", "exp", 1},
    {"libm", "log", "float64", "log", 1},
    {"libm", "sqrt", "float64", "sqrt", 0},
    {"libm", "rsqrt", "float64", "1 / sqrt", 1},
    {"libm", "tanh", "float64", "tanh", 2},
    {"libm", "erf", "float64", "erf", 1},
};

}  // namespace

double FunctionError::ulps_at(double x) const {
  return ulps + (per_argument > 0 ? std::floor(per_argument * std::abs(x)) : 0);
}

FunctionError::Range FunctionError::range(double x, double exact) const {
  if (std::isinf(exact)) return {exact, exact};
  if (relative > 0) return {exact - relative * std::abs(exact), exact + relative * std::abs(exact)};
  if (absolute > 0 && x >= low && x <= high) return {exact - absolute, exact + absolute};
  const Format& f = format_named(dtype);
  double steps = ulps_at(x);
  if (f.is_float64() && steps > 0) ++steps;
  const double most = max_finite(f), ulp = ulp_of(f, round_to(f, exact));
  double nearest = round_to(f, exact);
  // If the exact result is just beyond the format's range, the next number of the format's spacing
  // takes the place of infinity. The bounds below can then be computed from it.
  if (std::isinf(nearest) && std::abs(exact) <= most + (steps + 1) * ulp) {
    nearest = std::copysign(most + ulp, exact);
  }
  return {round_to(f, nearest - steps * ulp), round_to(f, nearest + steps * ulp)};
}

std::string FunctionError::text() const {
  if (relative > 0) return formatted("relative 2^{}", short_number(std::log2(relative), 4));
  std::string steps =
      per_argument > 0
          ? formatted("{} + floor({} |x|) ulps", short_number(ulps), short_number(per_argument, 4))
          : formatted("{} {}", short_number(ulps), ulps == 1 ? "ulp" : "ulps");
  if (absolute == 0) return steps;
  return formatted("absolute 2^{} in [{}, {}], else {}", short_number(std::log2(absolute), 4),
                   short_number(low), short_number(high), steps);
}

std::span<const FunctionLibrary> function_libraries() { return kLibraries; }

const FunctionLibrary& function_library(std::string_view name) {
  return row_named("library of functions", kLibraries, name);
}

std::span<const FunctionError> function_errors() { return kErrors; }

const FunctionError* find_function_error(std::string_view library, std::string_view function,
                                         const Format& format) {
  for (const FunctionError& row : kErrors) {
    if (row.library == library && row.function == function && row.dtype == format.name) return &row;
  }
  return nullptr;
}

const FunctionLibrary* fast_functions_of(std::string_view library) {
  return find_row(kLibraries, library, &FunctionLibrary::fast_of);
}

const FunctionError* find_function_error_or_default(const FunctionLibrary& library,
                                                    std::string_view function,
                                                    const Format& format) {
  const FunctionError* row = find_function_error(library.name, function, format);
  return row != nullptr ? row : find_function_error(library.fast_of, function, format);
}

std::string function_libraries_text() {
  std::string out;
  for (const FunctionLibrary& library : kLibraries) {
    out += formatted("functions of {}: {} ({})\n  source: {}\n", library.name, library.summary,
                     provenance_word(library.how), library.source);
    std::string_view dtype;
    for (const FunctionError& row : kErrors) {
      if (row.library != library.name) continue;
      const bool next = row.dtype != dtype;
      if (next && !dtype.empty()) out += "\n";
      dtype = row.dtype;
      out += next ? formatted("  {}: ", dtype) : std::string("; ");
      out += formatted("{} {}", row.function, row.text());
    }
    out += "\n\n";
  }
  return out;
}

double relative_error(const FunctionError& row, const Format& unit, double x) {
  if (row.relative > 0) return row.relative;
  // n ulps of the correctly rounded result are at most 2 n u of it. The correct rounding itself
  // errs by one u more.
  const double u = unit_roundoff(unit);
  const double off = (2 * row.ulps_at(x) + 1) * u * (1 + u);
  if (!unit.is_float64()) return off + 0x1p-50;
  return std::max(off, 5 * u) + 1.1 * u;
}

double largest_function_error(std::string_view function, const Format& unit) {
  double largest = 0;
  for (const VectorModel& model : vector_models()) {
    const FunctionError* row = find_function_error(model.functions.value, function, unit);
    if (row != nullptr) largest = std::max(largest, relative_error(*row, unit));
  }
  return largest;
}

}  // namespace assay
