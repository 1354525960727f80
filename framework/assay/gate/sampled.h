// Verdicts on drawn rows of an output, where golden results are too much to compute as a whole.
#pragma once

#include <vector>

#include "assay/gate/gate.h"

namespace assay {

// Whether the elements of a case are judged by a sample: it is asked for, the case has no golden
// result, and rows of it can be drawn (op/row_sample.h).
bool is_judged_by_sample(const Case& test_case, const GateRequest& request);

// Computes the golden results of the drawn rows and judges these rows of the output, as gate_case()
// judges a case of them alone: one verdict a standard. Misses are told by their place in the whole.
// `report` gets what was drawn.
std::vector<Verdict> judge_sampled(const Case& test_case, const TensorView& output,
                                   const GateRequest& request, const Origin& origin,
                                   CaseReport& report);

}  // namespace assay
