#include "document.h"

#include <ostream>

template class nlohmann::basic_json<>;

namespace nlohmann {
void PrintTo(const json& document, std::ostream* to) { *to << document.dump(2); }
}  // namespace nlohmann

namespace assay {

nlohmann::json parsed(const std::string& text) { return nlohmann::json::parse(text); }

}  // namespace assay
