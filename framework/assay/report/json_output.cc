#include "assay/report/json_output.h"

#include <cmath>

#include "assay/base/printable.h"
#include "assay/base/text.h"

namespace assay::report {

Json number(double value) {
  if (std::isnan(value)) return "nan";
  return std::isfinite(value) ? Json(value) : Json(number_text(value));
}

std::string dumped(const Json& json, int indent) {
  return printable_json(json.dump(indent, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace assay::report
