// The attributes of a case that the schema gives a meaning (docs/dataset.md): one table, by which
// files and cases in memory are checked and which `assay list attributes` prints. A case may have
// others: parameters of its operator, and notes of whoever made it, whose names begin with "x_".
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "assay/cases/case.h"

namespace assay {

struct KnownAttribute {
  std::string_view name;
  std::string_view kind;  // what its value must be, in words
  bool (*is_kind)(const Attribute& value);
  std::string_view meaning;
};
std::span<const KnownAttribute> known_attributes();

// Whether a name is one of notes, which no tool reads and every tool keeps.
bool is_note(std::string_view name);

// Why a case of this operator may not have an attribute of this name, with the nearest name that it
// may have; "" where it may. What the schema does not know is a parameter of an operator that assay
// does not know, unless it is a slip of one of the schema's names.
std::string name_problem(std::string_view op, std::string_view name);

// The first attribute whose value is not of the schema's kind, or an output dtype that is none; ""
// where there is none.
std::string value_problem(const std::map<std::string, Attribute>& attributes);

// Throws CaseError where an attribute's name is refused.
void check_attribute_names(const Case& test_case);

}  // namespace assay
