// Inputs and parameters of an operator as data. The output of the command line, the lists in the
// documentation and the checks of cases all follow from these rows.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/cases/case.h"

namespace assay::inline v0_2 {

struct Operator;

// An input of an operator.
struct OperatorInput {
  std::string name;
  // The shape as it is printed, such as "(..., M, K)". If empty, any shape is accepted.
  std::string shape = {};
  bool optional = false;
  std::string words = {};  // describes the input if its name does not
  // The flag that has to be 1 in cases with this input, or an empty string.
  std::string needs = {};
  // The distribution with which a trial draws the input if it is optional.
  std::string drawn = "normal,mean=0.5";
};

// The kinds of values that an operator's parameters take.
enum class ParameterKind : std::uint8_t {
  kFlag,     // 0 or 1, also as the words false and true
  kInteger,  // a whole number
  kNumber,   // a finite number
  kWord,     // one of `choices`
  kDtype,    // the value is the name of a number format
  kScaling,  // which elements share a scale: tensor, row, or blocks such as 1x128
};
// Returns "flag", "integer", "number", "word", "dtype" or "scaling".
std::string_view kind_word(ParameterKind kind);

// An attribute of a case that changes what its operator computes.
struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::kFlag;
  // The value that counts if the case does not give one, as a user writes it. Empty if there is no
  // fixed value: `words` then say what happens instead.
  std::string default_value = {};
  bool needed = false;  // true if a case without the parameter is refused
  double least = -std::numeric_limits<double>::infinity();  // limits of integers and numbers
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  // of words
  std::string words = {};
  // Values, as a user writes them, which change the exact result and which a trial (trial/draw.h)
  // gives to the parameter. Empty if the parameter chooses only the arithmetic, such as the order
  // of a sum.
  std::vector<std::string> tried = {};
};

// The tried values of a flag that changes the exact result.
inline const std::vector<std::string> kTriedFlag = {"0", "1"};

// Return parameters of common kinds. A flag and a count are 0 by default, and a count is at least
// 0. A word takes its first choice by default. A dtype has no fixed default.
Parameter flag_parameter(std::string name, std::string words, std::vector<std::string> tried = {});
Parameter count_parameter(std::string name, std::string words);
Parameter word_parameter(std::string name, std::vector<std::string> choices, std::string words);
Parameter dtype_parameter(std::string name, std::string words);

// Returns the inputs of an operator in words: "a (..., M, K), b (..., K, N), optional bias (N)".
std::string inputs_text(const Operator& op);
// Returns the values that a parameter takes, in a few words: "integer, at least 1", "free or
// power_of_two".
std::string values_text(const Parameter& parameter);
// Returns the operator's parameter of this name, or nullptr if it has none.
const Parameter* find_parameter(const Operator& op, std::string_view name);

// Returns the default value, with the type that a case would use. Empty if there is no fixed
// default. Throws Refusal if the row's text is not of the parameter's kind.
std::optional<Attribute> default_value(const Parameter& parameter);
// Returns the value of a text, with the type that a case would use. Throws Refusal if the text is
// not of the parameter's kind.
Attribute parameter_value(const Parameter& parameter, std::string_view text);

// True if an attribute of this name describes a case without changing what its operator computes,
// like tags, rtol, machine and notes (op/attributes.h). The output's dtype counts as one of them,
// because every operator takes it.
bool is_case_attribute(std::string_view name);

// Returns the reason why the operator refuses these attributes, with the nearest known word if
// there is one. Reasons are an unknown parameter, a value of another kind or out of range, and a
// missing parameter that is needed. Empty if the operator accepts them.
std::string parameter_problem(const Operator& op,
                              const std::map<std::string, Attribute>& attributes);
// Throws Refusal, with the case's name and the text of parameter_problem(), if there
// is a problem.
void check_parameters(const Case& test_case, const Operator& op);

// Returns the parameter's value in a case, or the operator's default if the case has none. Throws
// Refusal, which names the case, if the value is of another kind. Throws
// std::logic_error if the operator has no such parameter, or no fixed default for it.
bool flag_of(const Case& test_case, std::string_view parameter);
std::int64_t integer_of(const Case& test_case, std::string_view parameter);
double number_of(const Case& test_case, std::string_view parameter);
std::string word_of(const Case& test_case, std::string_view parameter);

}  // namespace assay
