#include "assay/cases/source_names.h"

#include <variant>

#include "assay/base/hash.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

std::string with_hash(const std::string& safe, std::string_view source_name) {
  return formatted("{}={:08x}", safe, fnv1a(source_name) & 0xFFFFFFFF);
}

}  // namespace

std::string safe_word(std::string_view word) {
  std::string safe;
  for (const char c : word) {
    safe += is_case_character(c) ? c : '_';
  }
  if (!is_case_name(safe)) safe += '_';  // `safe` is a reserved word or empty
  return safe;
}

std::string safe_case_name(std::string_view source_name) {
  std::string safe;
  for (const std::string& part : split(source_name, '/')) {
    if (!safe.empty()) safe += '/';
    safe += safe_word(part);
  }
  return safe.empty() ? "_" : safe;
}

std::string distinct_case_name(std::string_view source_name) {
  return with_hash(safe_case_name(source_name), source_name);
}

std::string distinct_word(std::string_view word) {
  std::string safe = safe_word(word);
  return safe == word ? safe : with_hash(safe, word);
}

std::string source_name_of(const std::string& case_name,
                           const std::map<std::string, Attribute>& attributes) {
  const auto found = attributes.find(kSourceNameAttribute);
  if (found == attributes.end()) return case_name;
  const auto* const said = std::get_if<std::string>(&found->second);
  if (said == nullptr) return case_name;
  const bool fits = case_name == safe_case_name(*said) || case_name == distinct_case_name(*said);
  return fits ? *said : case_name;
}

}  // namespace assay
