// JSON documents in tests. Reading and printing them is compiled only once, because it would double
// the time to compile a test file.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

extern template class nlohmann::basic_json<>;

namespace nlohmann {
void PrintTo(const json& document, std::ostream* to);
}  // namespace nlohmann

namespace assay {

// Parses a JSON text. Throws what nlohmann::json::parse throws.
nlohmann::json parsed(const std::string& text);

}  // namespace assay
