// How far libraries of functions are off, as rows of a table: what their vendors publish, and
// where they publish nothing a choice. A machine's vector unit names the library that it calls
// (machine/vector_model.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "assay/machine/machine.h"
#include "assay/machine/vector_model.h"

namespace assay {

// The largest error of one function in one format. A result y of x lies within
//   (ulps + floor(per_argument |x|)) ulps of the correctly rounded result,
// but for x in [low, high], where `absolute` is not 0: there |y - f(x)| <= absolute. With
// `relative` not 0: |y - f(x)| <= relative |f(x)|, and nothing else.
struct FunctionError {
  std::string_view library;   // cuda, cuda_fast, ...
  std::string_view function;  // as operators and VectorOp name it: exp, log, sqrt, rsqrt, tanh, erf
  std::string_view dtype;     // of its argument and result
  std::string_view name;      // as the library calls it
  double ulps = 0;
  double per_argument = 0;
  double absolute = 0, low = 0, high = 0;
  double relative = 0;

  // The ulps at x, whatever `absolute` says.
  double ulps_at(double x) const;
  // The smallest and the largest value that the function may return where f(x) is `exact`, known to
  // float64: of float64 results one ulp more is let be where the error is not 0.
  struct Range {
    double low, high;
  };
  Range range(double x, double exact) const;
  // "2 ulps", "2 + floor(1.173 |x|) ulps", "absolute 2^-21.41 in [0.5, 2], else 3 ulps"
  std::string text() const;
};

// A library, and where its errors are known from.
struct FunctionLibrary {
  std::string_view name;
  std::string_view summary;
  Provenance how;
  std::string_view source;
  // The library of the default functions, where these are their fast ones; else empty.
  std::string_view fast_of = {};
};

std::span<const FunctionLibrary> function_libraries();
// Throws std::invalid_argument that names the word and the nearest known one.
const FunctionLibrary& function_library(std::string_view name);
// Those of all libraries.
std::span<const FunctionError> function_errors();
// The library of a library's fast functions; nullptr where it has none.
const FunctionLibrary* fast_functions_of(std::string_view library);
// nullptr where the library has no such function in the format.
const FunctionError* find_function_error(std::string_view library, std::string_view function,
                                         const Format& format);

// The same where there is one; else that of the library whose fast functions these are.
const FunctionError* find_function_error_or_default(const FunctionLibrary& library,
                                                    std::string_view function,
                                                    const Format& format);

// The libraries as `assay list machines` prints them, a line for the functions of each dtype.
std::string function_libraries_text();

// Relative to the exact result: how far a function may be off in the format that it is computed in,
// for arguments up to |x|, beside its `absolute`. Half an ulp of a float64 golden result is
// included, and emulated functions (machine/functions.h) are within it.
double relative_error(const FunctionError& row, const Format& unit, double x = 0);
// The largest of all machines whose unit computes in that format.
double largest_function_error(std::string_view function, const Format& unit);

}  // namespace assay
