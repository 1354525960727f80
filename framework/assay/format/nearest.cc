#include "assay/format/nearest.h"

namespace assay::inline v0_2 {

NearestRounding::NearestRounding(const Format& format) : format_(format) {
  const int mantissa = format.mantissa_bits();
  const bool has_digits = format.is_float() && format.specials != Specials::kTapered &&
                          format.specials != Specials::kScale && mantissa >= 1 && mantissa < 52;
  if (!has_digits) return;
  digits_ = {.dropped = 52 - mantissa,
             .ulp_of_one = std::ldexp(1.0, -mantissa),
             .least = min_normal(format),
             .most = max_finite(format),
             .tiny = min_subnormal(format),
             .magic = std::ldexp(1.5, 52) * min_subnormal(format)};
}

double NearestRounding::next_by_order(double x) const {
  return decode(format_, *at_ordinal(format_, *ordinal(format_, encode(format_, x)) + 1));
}

}  // namespace assay
