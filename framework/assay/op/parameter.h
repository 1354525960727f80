// Inputs and parameters of an operator as data. What the command line prints, what a page of the
// documentation lists and what is refused all follow from these rows.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/cases/case.h"

namespace assay {

struct Operator;

struct OperatorInput {
  std::string name;
  std::string shape = {};  // as it is printed: "(..., M, K)"; empty: any
  bool optional = false;
  std::string words = {};  // what it is, where its name does not say it
};

enum class ParameterKind : std::uint8_t {
  kFlag,     // 0 or 1, also as the words false and true
  kInteger,  // a whole number
  kNumber,   // a finite number
  kWord,     // one of `choices`
  kDtype,    // the name of a number format
  kScaling,  // which elements share a scale: tensor, row, or blocks such as 1x128
};
std::string_view kind_word(ParameterKind kind);

// An attribute of a case that changes what its operator computes.
struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::kFlag;
  // The value of a case that gives none, as a user writes it. Empty: no fixed value serves, and
  // `words` say what happens instead.
  std::string otherwise = {};
  bool needed = false;                                      // a case without it is refused
  double least = -std::numeric_limits<double>::infinity();  // of integers and numbers
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  // of words
  std::string words = {};
};

// "a (..., M, K), b (..., K, N), optional bias (N)".
std::string inputs_text(const Operator& op);
// What a parameter takes, in a few words: "integer, at least 1", "free or power_of_two".
std::string values_text(const Parameter& parameter);
// nullptr where the operator has no such parameter.
const Parameter* find_parameter(const Operator& op, std::string_view name);

// The value of a case that gives none, as a case would give it; empty where none is fixed. Throws
// std::invalid_argument where the row's text is none of its kind.
std::optional<Attribute> default_value(const Parameter& parameter);

// Whether an attribute of this name says something about a case without changing what its operator
// computes, as tags, rtol, machine and notes do (op/attributes.h). The output's dtype is one of
// them, because every operator takes it.
bool is_case_attribute(std::string_view name);

// Why the operator refuses these attributes, with the nearest known word where one is near: an
// unknown parameter, a value of another kind, one out of its range, a needed one that is missing.
// Empty where it takes them.
std::string parameter_problem(const Operator& op,
                              const std::map<std::string, Attribute>& attributes);
// Throws std::invalid_argument that names the case and what parameter_problem() says.
void check_parameters(const Case& test_case, const Operator& op);

// The parameter's value in a case, else the one that its operator's row gives where a case has
// none. Throws std::invalid_argument that names the case where it is of another kind, and
// std::logic_error where the row has no such parameter, or no fixed value for it.
bool flag_of(const Case& test_case, std::string_view parameter);
std::int64_t integer_of(const Case& test_case, std::string_view parameter);
double number_of(const Case& test_case, std::string_view parameter);
std::string word_of(const Case& test_case, std::string_view parameter);

}  // namespace assay
