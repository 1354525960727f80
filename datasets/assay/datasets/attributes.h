// The attributes of a case that the schema gives a meaning (docs/dataset.md): one table, by which
// files are checked and which `assay list attributes` prints. A case may have others, which are its
// operator's parameters or a team's own.
#pragma once

#include <span>
#include <string_view>

#include "assay/tensor/case.h"

namespace assay {

struct KnownAttribute {
  std::string_view name;
  std::string_view kind;  // what its value must be, in words
  bool (*is_kind)(const Attribute& value);
  std::string_view meaning;
};
std::span<const KnownAttribute> known_attributes();

}  // namespace assay
