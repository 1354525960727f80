// Verdicts on drawn rows of an output, for cases whose golden result is too large to compute as a
// whole.
#pragma once

#include <vector>

#include "assay/gate/gate.h"

namespace assay::inline v0_2 {

// True if the elements of a case are judged by a sample of rows. The request must ask for it, the
// case must have no golden result, and its operator must allow drawing rows (op/row_sample.h).
bool is_judged_by_sample(const Case& test_case, const GateRequest& request);

// Computes the golden results of the drawn rows and judges these rows of the output, as gate_case()
// judges a case that has only these rows. Returns one verdict for each standard. The positions of
// mismatches are those in the whole output. Writes to `report` which rows were drawn.
std::vector<Verdict> judge_sampled(const Case& test_case, const TensorView& output,
                                   const GateRequest& request, const Origin& origin,
                                   CaseReport& report);

}  // namespace assay
