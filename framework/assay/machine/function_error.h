// Errors of function libraries, as rows of a table: the errors that vendors publish, and assumed
// errors if a vendor publishes none. A machine's vector unit names the library that it calls
// (machine/vector_model.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "assay/machine/machine.h"
#include "assay/machine/vector_model.h"

namespace assay::inline v0_2 {

// The largest error of one function f in one format. A result y of x lies within
//   (ulps + floor(per_argument |x|)) ulps of the correctly rounded result.
// If `absolute` is not 0, |y - f(x)| <= absolute holds instead for x in [low, high]. If `relative`
// is not 0, only |y - f(x)| <= relative |f(x)| holds, for every x.
struct FunctionError {
  std::string_view library;  // cuda, cuda_fast, ...
  // Name of the function for operators and VectorOp: exp, log, sqrt, rsqrt, tanh or erf.
  std::string_view function;
  std::string_view dtype;  // dtype of the function's argument and result
  std::string_view name;   // name of the function in the library
  double ulps = 0;
  double per_argument = 0;
  double absolute = 0, low = 0, high = 0;
  double relative = 0;

  // Returns the error in ulps at x. Ignores `absolute` and `relative`.
  double ulps_at(double x) const;
  // Returns the smallest and the largest value that the function may return if f(x) is `exact`.
  // `exact` is a float64, so for float64 results one more ulp is allowed if the error is not 0.
  struct Range {
    double low, high;
  };
  Range range(double x, double exact) const;
  // Returns the error in words, such as "2 ulps", "2 + floor(1.173 |x|) ulps" or "absolute 2^-21.41
  // in [0.5, 2], else 3 ulps".
  std::string text() const;
};

// A library of functions, and the source of its errors.
struct FunctionLibrary {
  std::string_view name;
  std::string_view summary;
  Provenance how;
  std::string_view source;
  // The library whose functions are the default ones, if the functions of this library are their
  // fast versions. Empty if not.
  std::string_view fast_of = {};
};

std::span<const FunctionLibrary> function_libraries();
// Returns the library of this name. Throws Refusal, which names the unknown word and the nearest
// known one.
const FunctionLibrary& function_library(std::string_view name);
// Returns the errors of all libraries.
std::span<const FunctionError> function_errors();
// Returns the library with the fast versions of the functions of `library`, or nullptr if there is
// none.
const FunctionLibrary* fast_functions_of(std::string_view library);
// Returns the error of a library's function, or nullptr if the library does not have the function
// in the format.
const FunctionError* find_function_error(std::string_view library, std::string_view function,
                                         const Format& format);

// Returns the error of the function in `library`. If the library does not have the function,
// returns that of the library whose fast functions these are.
const FunctionError* find_function_error_or_default(const FunctionLibrary& library,
                                                    std::string_view function,
                                                    const Format& format);

// Returns the libraries as `assay list machines` prints them, with one line for the functions of
// each dtype.
std::string function_libraries_text();

// Returns how far a function may be off in the format that it is computed in, relative to the exact
// result, for arguments up to |x|. Does not include the row's `absolute`. Includes half an ulp of a
// float64 golden result. Emulated functions (machine/functions.h) are within this error.
double relative_error(const FunctionError& row, const Format& unit, double x = 0);
// Returns the largest relative error of the function on the machines whose vector unit computes in
// the format `unit`.
double largest_function_error(std::string_view function, const Format& unit);

}  // namespace assay
