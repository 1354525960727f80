// Checksums of attention, O = softmax(scale q k^T) v: sums of O over groups of its columns against
// the weights' products with the same sums of v. docs/abft.md derives the threshold.
#pragma once

#include "assay/abft/abft_verdict.h"
#include "assay/abft/options.h"
#include "assay/tensor/case.h"

namespace assay::abft {

// Whether the case is an attention with its inputs q, k and v.
bool is_attention(const Case& test_case);

// Judges the output of such a case, each matrix of a batch by itself. The weights are computed
// again in float32: with L queries, S keys, D and E columns some L S (D + E / 8) multiplications
// and as many additions, against L S (D + E) of a golden result in higher precision.
//
// It allows for: half an ulp of each output; weights that are rounded once to the operands' dtype,
// divided by their sum before (`tile` = 0), or not (`tile` above 0), or either (`tile` not given);
// the roundings of float32 scores, exponentials and sums. `options.model`: how the machine sums;
// null: float32 in any order. Not comparable, with the reason, where that does not hold.
AbftVerdict check_attention(const Case& test_case, const TensorView& output,
                            const AbftOptions& options);

}  // namespace assay::abft
