#include "assay/op/attributes.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <variant>
#include <vector>

#include "assay/base/edit_distance.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {
namespace {

bool is_text(const Attribute& a) { return std::holds_alternative<std::string>(a); }
bool is_number(const Attribute& a) { return !is_text(a); }
bool is_integer(const Attribute& a) { return std::holds_alternative<std::int64_t>(a); }
bool is_flag(const Attribute& a) {
  return is_integer(a) && (std::get<std::int64_t>(a) == 0 || std::get<std::int64_t>(a) == 1);
}

namespace rows {

constexpr KnownAttribute text(std::string_view name, std::string_view meaning) {
  return {name, "a string", is_text, meaning};
}
constexpr KnownAttribute number(std::string_view name, std::string_view meaning) {
  return {name, "a number", is_number, meaning};
}
constexpr KnownAttribute integer(std::string_view name, std::string_view meaning) {
  return {name, "an integer", is_integer, meaning};
}
constexpr KnownAttribute flag(std::string_view name, std::string_view meaning) {
  return {name, "a bool", is_flag, meaning};
}
constexpr KnownAttribute kKnown[] = {
    text("op", "the operator; each case has it"),
    text("output_dtype", "the dtype that the operator returns"),
    text("standard", "the standard that the case is judged by"),
    text("tags", "words joined by commas, which tests are labelled with"),
    text("source", "where the case comes from"),
    text("why", "why the tolerance is what it is"),
    number("rtol", "the relative tolerance, in place of the standard's"),
    number("atol", "the absolute tolerance, in place of the standard's"),
    number("max_blind", "the share of blind elements that a pass may have; needs `why`"),
    integer("seed", "what the inputs were drawn by"),
    flag("equal_nan", "whether NaN matches NaN"),
    flag("allow_empty", "whether an output without elements passes"),
    flag("round_expected",
         "whether the golden result is rounded to the output's dtype before it is compared"),
    text("infinity", "which infinities are accepted: sign, saturating or fewer"),
    integer("max_mismatches", "number of mismatches that are forgiven"),
    number("max_mismatch_fraction", "this fraction of the elements is forgiven"),
    integer("accumulations", "the additions behind an element, where the operands do not say"),
    text("machine", "the machine whose accumulation the case is judged by"),
    text("distribution", "what the inputs were drawn from"),
    text("nan_payload", "any where the recorded NaNs' payloads say nothing"),
    text("of", "of an output that holds indices: the input that they point into, along `axis`"),
    text("value_output",
         "of an output that holds indices: the output whose bound the values there have"),
    flag("operator_output",
         "of several outputs: whether the operator that assay knows computes this one"),
    text("description", "what the case is, for its readers"),
};

}  // namespace rows

using rows::kKnown;

constexpr std::string_view kNotePrefix = "x_";

// Returns the schema's name that `name` is probably a misspelling of, or an empty string. A
// misspelling may differ by about one letter, and in upper and lower case. Short words get an empty
// string, because too many names are close to them.
std::string near_known(std::string_view name) {
  std::string small(name);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const KnownAttribute& known : kKnown) {
    const std::size_t length = std::min(small.size(), known.name.size());
    if (length >= 3 && edit_distance(small, known.name) <= std::max<std::size_t>(1, length / 4)) {
      return std::string(known.name);
    }
  }
  return "";
}

bool is_known(std::string_view name) {
  return find_row(kKnown, name, &KnownAttribute::name) != nullptr;
}

// Returns true if an operator has a parameter of this name.
bool is_parameter(std::string_view name) {
  return std::ranges::any_of(
      operators(), [&](const Operator& op) { return find_parameter(op, name) != nullptr; });
}

}  // namespace

std::span<const KnownAttribute> known_attributes() { return kKnown; }

bool is_note(std::string_view name) { return name.starts_with(kNotePrefix); }

std::string name_problem(std::string_view op_name, std::string_view name) {
  if (is_known(name) || is_note(name)) return "";
  const Operator* op = find_operator(op_name);
  if (op != nullptr && find_parameter(*op, name) != nullptr) return "";
  const std::string near = near_known(name);
  const bool takes_any = op == nullptr && is_parameter(name);
  if (takes_any || (op == nullptr && near.empty())) return "";
  std::vector<std::string> names = {near};
  std::string takes;
  if (op != nullptr) {
    const std::vector<std::string> parameters = names_of(op->parameters);
    takes = formatted("; {} takes {}", op_name, joined(parameters));
    if (near.empty()) names = parameters;
  }
  return formatted(
      "its attribute '{0}' is unknown{1}{2}; to keep it as a note of your own, name it {3}{0}",
      name, near.empty() ? did_you_mean(name, names) : formatted(": did you mean '{}'?", near),
      takes, kNotePrefix);
}

std::string value_problem(const std::map<std::string, Attribute>& attributes) {
  for (const KnownAttribute& known : known_attributes()) {
    const auto found = attributes.find(std::string(known.name));
    if (found != attributes.end() && !known.is_kind(found->second)) {
      return formatted("its attribute '{}' must be {}, but it is '{}'", known.name, known.kind,
                       attribute_text(found->second));
    }
  }
  const auto dtype = attributes.find("output_dtype");
  if (dtype != attributes.end() && find_format(std::get<std::string>(dtype->second)) == nullptr) {
    return "its output_dtype " + no_dtype(std::get<std::string>(dtype->second));
  }
  return "";
}

void check_attribute_names(const Case& c) {
  for (const auto& [name, value] : c.attributes) {
    if (std::string problem = name_problem(c.op, name); !problem.empty()) {
      refuse_case(c.name, problem);
    }
  }
}

}  // namespace assay
