// Judges element by element: what the judges of whole arrays and of pieces share.
#pragma once

#include <cstdint>

#include "assay/judge/findings.h"
#include "assay/judge/verdict.h"

namespace assay {

// Judges `actual` against `expected`, which judge() has found comparable, and adds what it finds to
// `found`: these elements follow the `offset` ones that it is about. `wanted`: which error metrics
// are taken; none where it has no parts.
void judge_elements(const TensorView& actual, const TensorView& expected, const Bound& bound,
                    const JudgeOptions& options, const MetricsRequest& wanted, std::int64_t offset,
                    ElementFindings& found);

}  // namespace assay
