// Finds the computations from which a recorded output of a function of each element may come (exp,
// log, sqrt, rsqrt, tanh, sigmoid, silu, gelu). It reports the error over the range of the inputs,
// the known formulas that give every bit, and the number of elements outside of each known error
// bound.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2::identify {

// A way to compute the function, and the elements in which its results differ from the output.
struct FunctionCandidate {
  // The name, such as "hopper" or "the exact value, rounded once".
  std::string name;
  std::string machine;  // the machine in the form that --machine takes
  // Parameters of the case that this way needs in addition to the case's own.
  std::map<std::string, Attribute> parameters = {};
  std::int64_t differ = 0;  // number of elements with other bits (all NaN are equal)
  std::int64_t first = -1;  // row-major index of the first element that differs, or -1
};

// An error bound that a vendor publishes, or that assay uses.
struct FunctionBound {
  std::string name;          // a name such as "cuda: expf in float32, 2 ulps (documented)"
  std::int64_t outside = 0;  // number of elements outside of the bound
  std::int64_t first = -1;   // index of the first element outside of the bound
};

// Distances of elements from their exact values, in ulps of the output's format at that value.
// Correct rounding leaves at most half an ulp. For float64 outputs, the exact value is known to
// half an ulp.
struct UlpErrors {
  std::int64_t elements = 0;  // number of elements whose exact value and output are finite
  // Number of elements whose output is not the value nearest to the exact one.
  std::int64_t inexact = 0;
  double largest = 0, mean = 0;
  std::int64_t at = -1;  // index of the element with the largest error
};

struct FunctionRange {
  double low, high;  // the smallest and the largest input of the range
  UlpErrors errors;
};

struct FunctionReport {
  std::int64_t elements = 0;
  UlpErrors errors = {};
  // Ranges of inputs, ascending, with about equally many finite inputs each.
  std::vector<FunctionRange> ranges = {};
  // The number of elements in which a NaN or infinity is wrong: the output or the exact value is
  // NaN or infinite, and the rounded exact value is not the output. special_at is the index of the
  // first such element.
  std::int64_t special = 0, special_at = -1;
  std::int64_t flushed = 0;  // number of zero outputs whose rounded exact value is not 0
  // The number of neighbouring inputs for which the exact values rise and the outputs fall, or the
  // other way round. If the function turns, each of its branches is checked. inversion_at is the
  // lower input of the first such pair.
  std::int64_t inversions = 0;
  double inversion_at = 0;
  // The number of repeated inputs with different outputs, which no function can compute.
  // unsteady_at is the first such input.
  std::int64_t unsteady = 0;
  double unsteady_at = 0;
  // The candidates that give every bit. They are one class, because their bits agree.
  std::vector<FunctionCandidate> fits = {};
  // The three candidates that differ in the fewest elements, of those that do not give every bit.
  std::vector<FunctionCandidate> nearest = {};
  std::vector<FunctionBound> bounds = {};

  // Returns "found" if a candidate gives every bit, "bounded" if none does but a bound holds, and
  // "none" otherwise.
  std::string outcome() const;
};

// Returns the operators that identify_function() accepts.
std::span<const std::string_view> identifiable_functions();
// True if identify_function() accepts the case's operator.
bool is_identifiable_function(const Case& test_case);

// Identifies the function that a producer computed. Throws Refusal, which names the
// case, in these cases:
// - The operator is not one of identifiable_functions().
// - The case has no input x.
// - The output has another shape or dtype than the case's.
//
// `threads` may be 0, which means default_threads(). The result does not depend on it.
FunctionReport identify_function(const Case& test_case, const Tensor& output, int threads = 0);

// Returns the report as lines of text. `test_case` must be the case that was identified.
std::string function_text(const FunctionReport& report, const Case& test_case,
                          const Tensor& output);

}  // namespace assay::identify
