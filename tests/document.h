// JSON documents in tests: what reads and prints them is compiled once, for it costs a test file as
// much as all else in it.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

extern template class nlohmann::basic_json<>;

namespace nlohmann {
void PrintTo(const json& document, std::ostream* to);
}  // namespace nlohmann

namespace assay {

// Throws what nlohmann::json::parse throws.
nlohmann::json parsed(const std::string& text);

}  // namespace assay
