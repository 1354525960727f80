#include "assay/machine/k_parts.h"

namespace assay::inline v0_2 {
namespace {

float rounded(const Format* format, float value) {
  if (format == nullptr) return value;
  return static_cast<float>(round_to(*format, static_cast<double>(value)));
}

}  // namespace

// x + y is rounded to float32, and then to the format parts.sum. This is the same as one rounding,
// because float32 has at least 2 p + 2 bits of precision for the p <= 11 bits of float16 and
// bfloat16.
float add_part_sums(const KParts& parts, float x, float y) { return rounded(parts.sum, x + y); }

float stored_part(const KParts& parts, float sum) { return rounded(parts.part, sum); }

}  // namespace assay
