// Source names and case names. A case that comes from files of other tools has a source name: the
// name that the user gave it, such as the path of its array in a folder, "layer-1/q:k". A case name
// allows fewer characters (docs/dataset.md), so some cases get another one, for display and for
// dataset files. Two sides of a comparison belong together only if their source names are equal:
//
//   safe_case_name("layer-1/q:k")            // "layer_1/q_k"
//   source_name_of("layer_1/q_k", attributes)  // "layer-1/q:k", of a case whose x_name says so
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "assay/cases/case.h"

namespace assay::inline v0_2 {

// The attribute in which a case keeps its source name, if that differs from its case name.
inline constexpr const char* kSourceNameAttribute = "x_name";

// Returns a case name (is_case_name()) made of any text. The parts between '/' keep their letters,
// digits, '_', '.' and '='. Every other byte becomes '_', and a '_' is added to a reserved word.
// Two texts can give the same name.
std::string safe_case_name(std::string_view source_name);
// Does the same as safe_case_name() for a single word, such as a producer. '/' is replaced, too.
std::string safe_word(std::string_view word);

// Returns safe_case_name() followed by '=' and eight hexadecimal digits, a hash of the source name.
// Use it for a case whose safe name is already taken. The name depends only on the source name, so
// both sides of a comparison get the same one.
std::string distinct_case_name(std::string_view source_name);
// Returns a word that two different texts share only if their hashes collide. This is the text
// itself if it is a safe word, and otherwise safe_word() with the hash of distinct_case_name().
std::string distinct_word(std::string_view word);

// Returns the source name of a case. This is the attribute x_name if the case name was made from
// it, and otherwise the case name. An x_name from which the case name was not made is a note of the
// user's own.
std::string source_name_of(const std::string& case_name,
                           const std::map<std::string, Attribute>& attributes);

}  // namespace assay
