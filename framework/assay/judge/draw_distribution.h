// The standard `distribution`: outputs that are drawn (random numbers, dropout, sampling) are held
// against a law by tests with a stated rate of false alarms, never element by element.
//
//   distribution(uniform,low=0,high=1)   distribution(dropout,p=0.1,delta=1e-9)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay {

struct LawSpec;

struct LawParameter {
  std::string_view name;
  std::optional<double> otherwise;  // empty: it has to be given
  double low, high;                 // what it may be
  bool open = false;                // but the two ends
  bool whole = false;
  std::string_view meaning = {};
};

// What the law of a verdict is given, and what it finds.
struct Drawn;

// A row of the table: a law with its code.
struct Law {
  std::string_view name;
  std::span<const LawParameter> parameters;
  std::string_view summary;
  std::string_view outputs;  // what it is held against: "floats", "integers", "values 0 and 1"
  // What the golden result is to it; empty where it needs none.
  std::string_view golden = {};
  // Fills in what the draws are, and lists the tests.
  void (*look)(Drawn& drawn) = nullptr;
};
std::span<const Law> laws();

// A law with its parameters, and the rate of false alarms of all its tests together.
struct LawSpec {
  const Law* law = nullptr;
  std::vector<std::optional<double>> values;  // in the order of the law's parameters
  double delta = 1e-6;

  double get(std::string_view parameter) const;
  std::string text() const;  // what parse_law reads
};

// "uniform,low=0,high=1". Throws std::invalid_argument that names the part which is wrong, with the
// nearest known word.
LawSpec parse_law(std::string_view text);

// What is between the brackets of "distribution(uniform,low=0)"; empty for other standards.
std::optional<std::string_view> law_of_standard(std::string_view standard);

// Parameters that the text of the bound leaves open, from a case's attributes of the same names.
// Returns why one is still open, in words; empty where none is.
std::string complete_law(Bound& bound,
                         const std::function<std::optional<double>(std::string_view)>& attribute);

// Judges draws by the law of `bound.distribution`. `expected` is read by laws that need it alone.
Verdict judge_distribution(const TensorView& actual, const TensorView& expected, const Bound& bound,
                           const JudgeOptions& options);

}  // namespace assay
