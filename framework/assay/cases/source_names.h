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

namespace assay {

// The attribute in which a case keeps its source name, if that differs from its case name.
inline constexpr const char* kSourceNameAttribute = "x_name";

// A case name (is_case_name) made of any text. The parts between '/' keep their letters, digits,
// '_', '.' and '='. Every other byte becomes '_', and a reserved word gets a '_' at its end. Two
// texts can give the same name.
std::string safe_case_name(std::string_view source_name);
// The same for a single word, in which '/' is replaced too: a producer, for example.
std::string safe_word(std::string_view word);

// safe_case_name() followed by '=' and eight hexadecimal digits, a hash of the source name. It is
// for a case whose safe name is already taken. It depends on nothing but the source name, so both
// sides of a comparison give the same one.
std::string distinct_case_name(std::string_view source_name);
// A word that two different texts share only if their hashes collide: the text itself if it is a
// safe word, otherwise safe_word() with the hash of distinct_case_name().
std::string distinct_word(std::string_view word);

// The source name of a case: its attribute x_name, if its case name is made of that, otherwise the
// case name. An x_name that does not fit is a note of the user's own.
std::string source_name_of(const std::string& case_name,
                           const std::map<std::string, Attribute>& attributes);

}  // namespace assay
