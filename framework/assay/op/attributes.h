// The attributes of a case that the schema defines (docs/dataset.md), in one table. Files and cases
// in memory are checked against it, and `assay list attributes` prints it. A case may have others:
// parameters of its operator, and notes of the case's author, whose names begin with "x_".
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "assay/cases/case.h"

namespace assay::inline v0_2 {

struct KnownAttribute {
  std::string_view name;
  std::string_view kind;  // what the attribute's value must be, in words
  bool (*is_kind)(const Attribute& value);
  std::string_view meaning;
};
std::span<const KnownAttribute> known_attributes();

// True if this is the name of a note, which no tool reads and every tool keeps.
bool is_note(std::string_view name);

// Returns the reason why a case of this operator may not have an attribute of this name, with the
// nearest name that it may have. Returns an empty string if it may. If assay does not know the
// operator, a name outside the schema counts as a parameter of the operator, unless it looks like a
// misspelling of a schema name.
std::string name_problem(std::string_view op, std::string_view name);

// Returns the first problem with the attributes: a value that is not of the schema's kind, or an
// output dtype that does not exist. Returns an empty string if all are valid.
std::string value_problem(const std::map<std::string, Attribute>& attributes);

// Throws CaseError if name_problem() refuses the name of an attribute.
void check_attribute_names(const Case& test_case);

}  // namespace assay
