// Which computation a recorded output of a function of each element may come from (exp, log, sqrt,
// rsqrt, tanh, sigmoid, silu, gelu): how far it is from the exact function over the range of its
// inputs, which known formulas give every bit of it, and which documented error bounds it keeps.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/op/operator.h"

namespace assay::identify {

// A way to compute the function.
struct FunctionCandidate {
  std::string name;                             // "hopper", "the exact value, rounded once"
  std::string machine;                          // as --machine takes it
  std::map<std::string, Attribute> parameters;  // of the case, beside its own
  std::int64_t differ = 0;                      // elements of other bits (any NaN is a NaN)
  std::int64_t first = -1;                      // the first of them, row-major; -1: none
};

// An error bound that a vendor publishes, or one that assay takes.
struct FunctionBound {
  std::string name;          // "cuda: expf in float32, 2 ulps (documented)"
  std::int64_t outside = 0;  // elements beyond it
  std::int64_t first = -1;   // the first of them
};

// Distances from the exact value in ulps of the output's format at that value; half an ulp is what
// rounding leaves. Of float64 outputs the exact value is known to half an ulp.
struct UlpErrors {
  std::int64_t elements = 0;  // whose exact value and output are finite
  std::int64_t inexact = 0;   // that are not the value nearest to the exact one
  double largest = 0, mean = 0;
  std::int64_t at = -1;  // element of the largest
};

struct FunctionRange {
  double low, high;  // the smallest and largest input
  UlpErrors errors;
};

struct FunctionReport {
  std::int64_t elements = 0;
  UlpErrors errors;
  std::vector<FunctionRange> ranges;  // ascending, with about equally many finite inputs each
  // Elements where output or exact value is NaN or infinite and the rounded exact value is another,
  // and the first.
  std::int64_t special = 0, special_at = -1;
  std::int64_t flushed = 0;  // zeros where the rounded exact value is none
  // Neighbouring inputs where the exact values rise and the outputs fall, or the other way round,
  // and the lower input of the first. Of a function that turns, it is held to each branch.
  std::int64_t inversions = 0;
  double inversion_at = 0;
  // Inputs that are there several times with different outputs: no function computed them.
  std::int64_t unsteady = 0;
  double unsteady_at = 0;
  std::vector<FunctionCandidate> fits;     // that give every bit: one class, for their bits agree
  std::vector<FunctionCandidate> nearest;  // the three others that differ least
  std::vector<FunctionBound> bounds;

  // found: a candidate gives every bit; bounded: none does, and a bound is kept; none.
  std::string outcome() const;
};

// The operators that identify_function takes.
std::span<const std::string_view> identifiable_functions();
// Whether the case's is one of them.
bool is_identifiable_function(const Case& test_case);

// Throws std::invalid_argument that names the case where its operator is another, where it has no
// input x, and where the output has another shape or dtype than the case's. `threads`: 0 for
// default_threads(); nothing depends on it.
FunctionReport identify_function(const Case& test_case, const Tensor& output, int threads = 0);

// The report as lines of text for a person; `test_case` as it was identified.
std::string function_text(const FunctionReport& report, const Case& test_case,
                          const Tensor& output);

}  // namespace assay::identify
