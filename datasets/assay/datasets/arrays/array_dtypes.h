// The names of dtypes in files of arrays.
#pragma once

#include <string>
#include <string_view>

#include "assay/format/format.h"

namespace assay::inline v0_2 {

// The names that one kind of file has for dtypes, separated by blanks. "F64=float64" is a name in
// the file and assay's name; "float64" is both. If a dtype has several names in the file, the first
// one is written. A kind of file has no name for a dtype that is not listed.
using DtypeNames = std::string_view;

// Returns the format that has this name in the file, or nullptr.
const Format* find_dtype(DtypeNames names, std::string_view name);
// Returns the name of a format in the file, or "".
std::string_view dtype_name(DtypeNames names, const Format& format);
// Returns assay's names of the listed dtypes: "float64, float32, ...".
std::string dtypes_of(DtypeNames names);
// Returns a message that says that elements of a dtype that assay does not have are not read, and
// what to do.
std::string unread_elements(std::string_view dtype);

}  // namespace assay
