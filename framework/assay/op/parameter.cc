#include "assay/op/parameter.h"

#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/op/attributes.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {
namespace {

std::string ill_typed(const Parameter& p, std::string_view wanted, const Attribute& value) {
  return formatted("attribute '{}' must be {}, but it is '{}'", p.name, wanted,
                   attribute_text(value));
}

std::string number_problem(const Parameter& p, const Attribute& value) {
  const bool whole = p.kind == ParameterKind::kInteger;
  double number = 0;
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    number = static_cast<double>(*i);
  } else if (const auto* d = std::get_if<double>(&value)) {
    number = *d;
  } else {
    return ill_typed(p, whole ? "an integer" : "a number", value);
  }
  if (whole && !(std::abs(number) < 0x1p62 && number == std::floor(number))) {
    return ill_typed(p, "an integer", value);
  }
  const std::string text = attribute_text(value);
  if (!std::isfinite(number)) return formatted("{} is {}; it must be finite", p.name, text);
  if (number < p.least) return formatted("{} is {}, below {}", p.name, text, number_text(p.least));
  if (number > p.most) return formatted("{} is {}, above {}", p.name, text, number_text(p.most));
  return "";
}

std::string word_problem(const Parameter& p, const Attribute& value) {
  const auto* word = std::get_if<std::string>(&value);
  if (word == nullptr) return ill_typed(p, "a string", value);
  switch (p.kind) {
    case ParameterKind::kDtype:
      if (find_format(*word) != nullptr) return "";
      return p.name + " " + no_dtype(*word) + did_you_mean(*word, names_of(formats()));
    case ParameterKind::kScaling:
      return "";  // the tensor's shape decides which blocks fit (scale_grid)
    default:
      if (contains(p.choices, *word)) return "";
      return formatted("{} is '{}'{}; it may be {}", p.name, *word, did_you_mean(*word, p.choices),
                       joined(p.choices));
  }
}

std::string value_problem(const Parameter& p, const Attribute& value) {
  switch (p.kind) {
    case ParameterKind::kFlag: {
      const std::string text = attribute_text(value);
      const bool good = text == "0" || text == "1" || text == "false" || text == "true";
      return good ? "" : ill_typed(p, "0 or 1", value);
    }
    case ParameterKind::kInteger:
    case ParameterKind::kNumber:
      return number_problem(p, value);
    default:
      return word_problem(p, value);
  }
}

// Returns the operator's default value of a parameter that the case does not give.
Attribute default_of(const Case& c, std::string_view name) {
  const Operator* op = find_operator(c.op);
  const Parameter* found = op == nullptr ? nullptr : find_parameter(*op, name);
  const auto value = found == nullptr ? std::nullopt : default_value(*found);
  if (value) return *value;
  throw std::logic_error(
      formatted("the operator '{}' has no parameter '{}' with a fixed value", c.op, name));
}

}  // namespace

std::string_view kind_word(ParameterKind kind) {
  constexpr std::string_view kWords[] = {"flag", "integer", "number", "word", "dtype", "scaling"};
  return kWords[static_cast<std::size_t>(kind)];
}

Parameter flag_parameter(std::string name, std::string words, std::vector<std::string> tried) {
  return {.name = std::move(name),
          .default_value = "0",
          .words = std::move(words),
          .tried = std::move(tried)};
}
Parameter count_parameter(std::string name, std::string words) {
  return {.name = std::move(name),
          .kind = ParameterKind::kInteger,
          .default_value = "0",
          .least = 0,
          .words = std::move(words)};
}
Parameter word_parameter(std::string name, std::vector<std::string> choices, std::string words) {
  const std::string first = choices.front();
  return {.name = std::move(name),
          .kind = ParameterKind::kWord,
          .default_value = first,
          .choices = std::move(choices),
          .words = std::move(words)};
}
Parameter dtype_parameter(std::string name, std::string words) {
  return {.name = std::move(name), .kind = ParameterKind::kDtype, .words = std::move(words)};
}

std::string inputs_text(const Operator& op) {
  std::vector<std::string> parts;
  for (const OperatorInput& input : op.inputs) {
    parts.push_back(formatted("{}{}{}{}", input.optional ? "optional " : "", input.name,
                              input.shape.empty() ? "" : " ", input.shape));
  }
  return joined(parts);
}

std::string values_text(const Parameter& p) {
  switch (p.kind) {
    case ParameterKind::kFlag:
      return "0 or 1";
    case ParameterKind::kWord: {
      const std::vector<std::string> before(p.choices.begin(), p.choices.end() - 1);
      return before.empty() ? p.choices.back() : joined(before) + " or " + p.choices.back();
    }
    case ParameterKind::kDtype:
      return "a dtype";
    case ParameterKind::kScaling:
      return "tensor, row, or blocks of a matrix such as 1x128 and 128x128";
    default:
      break;
  }
  std::string text = p.kind == ParameterKind::kInteger ? "integer" : "number";
  if (std::isfinite(p.least)) text += formatted(", at least {}", number_text(p.least));
  if (std::isfinite(p.most)) text += formatted(", at most {}", number_text(p.most));
  return text;
}

const Parameter* find_parameter(const Operator& op, std::string_view name) {
  return find_row(op.parameters, name, &Parameter::name);
}

std::optional<Attribute> default_value(const Parameter& p) {
  if (p.default_value.empty()) return std::nullopt;
  const char* const begin = p.default_value.c_str();
  char* end = nullptr;
  Attribute value = p.default_value;
  if (p.kind == ParameterKind::kFlag || p.kind == ParameterKind::kInteger) {
    value = std::int64_t{std::strtoll(begin, &end, 10)};
  } else if (p.kind == ParameterKind::kNumber) {
    value = std::strtod(begin, &end);
  }
  if (end != nullptr && *end != '\0') {
    refuse("the default '{}' of {} is no {}", p.default_value, p.name, kind_word(p.kind));
  }
  return value;
}

Attribute parameter_value(const Parameter& parameter, std::string_view text) {
  Parameter with = parameter;
  with.default_value = text;
  return *default_value(with);
}

bool is_case_attribute(std::string_view name) {
  return is_note(name) ||
         (name != "op" && find_row(known_attributes(), name, &KnownAttribute::name) != nullptr);
}

std::string parameter_problem(const Operator& op,
                              const std::map<std::string, Attribute>& attributes) {
  for (const auto& [name, value] : attributes) {
    if (const Parameter* p = find_parameter(op, name)) {
      std::string problem = value_problem(*p, value);
      if (!problem.empty()) return problem;
      continue;
    }
    if (is_case_attribute(name)) continue;
    const std::vector<std::string> known = names_of(op.parameters);
    std::vector<std::string> near = known;
    for (const KnownAttribute& a : known_attributes()) near.emplace_back(a.name);
    return formatted("{} does not know the parameter '{}'{}; it knows {}", op.name, name,
                     did_you_mean(name, near), joined(known));
  }
  for (const Parameter& p : op.parameters) {
    if (!p.needed || attributes.count(p.name) != 0) continue;
    return formatted("{} needs the attribute {}: {}", op.name, p.name, p.words);
  }
  return "";
}

void check_parameters(const Case& c, const Operator& op) {
  const std::string problem = parameter_problem(op, c.attributes);
  if (!problem.empty()) refuse_case(c.name, problem);
}

bool flag_of(const Case& c, std::string_view name) {
  const auto given = c.flag(name);
  return given ? *given : std::get<std::int64_t>(default_of(c, name)) != 0;
}

std::int64_t integer_of(const Case& c, std::string_view name) {
  const auto given = c.integer(name);
  return given ? *given : std::get<std::int64_t>(default_of(c, name));
}

double number_of(const Case& c, std::string_view name) {
  const auto given = c.real(name);
  return given ? *given : std::get<double>(default_of(c, name));
}

std::string word_of(const Case& c, std::string_view name) {
  const auto given = c.text(name);
  return given ? *given : std::get<std::string>(default_of(c, name));
}

}  // namespace assay
