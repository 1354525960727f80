// Judges element by element. The judges of whole arrays and of pieces both use this.
#pragma once

#include <cstdint>

#include "assay/judge/findings.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// Judges `actual` against `expected`, which judge() has found comparable, and adds the results to
// `found`. `offset` is the number of elements that were judged before these. `wanted` says which
// error metrics to compute. If it has no parts, no metrics are computed.
void judge_elements(const TensorView& actual, const TensorView& expected, const Bound& bound,
                    const JudgeOptions& options, const MetricsRequest& wanted, std::int64_t offset,
                    ElementFindings& found);

}  // namespace assay
