#include "assay/machine/k_parts.h"

namespace assay {
namespace {

float rounded(const Format* format, float value) {
  if (format == nullptr) return value;
  return static_cast<float>(round_to(*format, static_cast<double>(value)));
}

}  // namespace

// x + y is rounded to float32, and then to the format parts.sum. This is the same as one rounding,
// because float32 has more than twice the bits of the narrower formats, and two more.
float add_part_sums(const KParts& parts, float x, float y) { return rounded(parts.sum, x + y); }

float stored_part(const KParts& parts, float sum) { return rounded(parts.part, sum); }

}  // namespace assay
