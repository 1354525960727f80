// The standard `distribution`: outputs that are drawn (random numbers, dropout, sampling) are
// tested against a law. All draws are tested together. Only values that the law cannot produce are
// mismatches of single elements. The tests have a stated rate of false alarms.
//
//   distribution(uniform,low=0,high=1)   distribution(dropout,p=0.1,delta=1e-9)
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

struct LawSpec;

struct LawParameter {
  std::string_view name;
  std::optional<double> default_value;  // empty if the parameter must be given
  double low, high;                     // the parameter's value must lie in this range
  bool open = false;                    // low and high themselves are not allowed
  bool whole = false;
  std::string_view meaning = {};
};

// The inputs of a law for one verdict, and its results.
struct Drawn;

// A row of the table of laws, with its code.
struct Law {
  std::string_view name;
  std::span<const LawParameter> parameters;
  std::string_view summary;
  std::string_view outputs;  // the outputs that the law can judge: "floats" or "any dtype"
  // The meaning of the golden result for this law. Empty if the law needs no golden result.
  std::string_view golden = {};
  // Reads the draws from the output and lists the tests.
  void (*look)(Drawn& drawn) = nullptr;
};
std::span<const Law> laws();

// A law with its parameters, and the rate of false alarms of all tests together.
struct LawSpec {
  const Law* law = nullptr;
  // The parameters' values, in the order of the law's parameters.
  std::vector<std::optional<double>> values = {};
  double delta = 1e-6;

  double get(std::string_view parameter) const;
  std::string text() const;  // returns the law as text, in the form that parse_law() reads
};

// Parses a text such as "uniform,low=0,high=1". Throws Refusal, which names the wrong
// part and the nearest known word, if the text is wrong.
LawSpec parse_law(std::string_view text);

// Returns the text between the brackets of "distribution(uniform,low=0)", or nothing for other
// standards.
std::optional<std::string_view> law_of_standard(std::string_view standard);

// Completes the law of the bound. A parameter that its text does not set takes the value of the
// case's attribute of the same name, if there is one. Returns in words which parameter still has no
// value, or an empty string if all have one.
std::string complete_law(Bound& bound,
                         const std::function<std::optional<double>(std::string_view)>& attribute);

// Judges draws by the law of `bound.distribution`. Only laws that need a golden result read
// `expected`.
Verdict judge_distribution(const TensorView& actual, const TensorView& expected, const Bound& bound,
                           const JudgeOptions& options);

}  // namespace assay
