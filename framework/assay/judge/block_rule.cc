#include "assay/judge/block_rule.h"

#include <cmath>

#include "assay/judge/metrics_pass.h"
#include "assay/judge/rule_table.h"

namespace assay::inline v0_2 {

BlockRule block_rule(const Bound& bound, const Format& output) {
  if (!output.is_float() || bound.as_published) return BlockRule::kNone;
  // The kernels compute as the rule does, except for an infinite tolerance.
  const bool finite = std::isfinite(bound.rtol) && std::isfinite(bound.atol);
  if (bound.is_plain()) return finite ? BlockRule::kPlain : BlockRule::kNone;
  const RuleRow& rule = row_of(bound.rule);
  // Kernels do not know the saturating policy. Rules by element bounds do not need it in a
  // kernel, which then gets only values within the output's range.
  const bool saturates = bound.infinity == Infinity::kSaturating;
  if (saturates && !rule.by_element_bounds) return BlockRule::kNone;
  // Bits of storage beyond the format's own are not part of a value. They are compared by
  // element.
  const bool by_values = has_ordinals(output) && output.bits == 8 * output.storage_bytes;
  if (bound.rule == Rule::kBits) return by_values ? BlockRule::kBits : BlockRule::kNone;
  if (bound.rule == Rule::kUlps) {
    return by_values && bound.ulps < (std::uint64_t{1} << 53) ? BlockRule::kUlps : BlockRule::kNone;
  }
  if (!rule.by_value && !rule.by_element_bounds) return BlockRule::kNone;
  // Kernels count blind elements without or_ulps. So a zero that is within or_ulps must also be
  // within the tolerance.
  const double near_zero = static_cast<double>(bound.or_ulps) * min_subnormal(output);
  const bool sees_zeros =
      near_zero <= bound.atol && (bound.small_value == 0 || near_zero <= bound.small_atol);
  return finite && sees_zeros ? BlockRule::kTolerance : BlockRule::kNone;
}

bool rounds_expected(const Bound& bound, const Format& output, const Format& expected) {
  return &expected != &output && (bound.round_expected || row_of(bound.rule).by_codes);
}

double vanishing_size(const Format& format) {
  // Half of the smallest subnormal is a tie, which goes to 0, the even neighbour. So if a format
  // rounds any nonzero value to 0, it rounds this one to 0.
  const double half_least = format.is_float() ? min_subnormal(format) / 2 : 0;
  return half_least > 0 && round_to(format, half_least) == 0 ? half_least : 0;
}

}  // namespace assay
