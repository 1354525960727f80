#include "assay/report/json_output.h"

#include <cmath>

#include "assay/base/text.h"

namespace assay::report {

Json number(double value) {
  if (std::isnan(value)) return "nan";
  return std::isfinite(value) ? Json(value) : Json(number_text(value));
}

}  // namespace assay::report
