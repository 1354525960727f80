// The study of the order of a sum: how much another order changes the result.
#pragma once

#include "assay/study/study.h"

namespace assay::inline v0_2::study {

// Adds the same 2^20 numbers in several orders, in float16 and float32 on the Ascend 910B's vector
// unit. Repeats the published experiment in the two stages of a GPU. Computes a matrix product in
// tiles and as a whole. Gives the smallest example of three numbers whose sum depends on the order.
// `repeats` is the number of draws of the 2^20 numbers, 5 by default.
StudyResult study_reduction(const StudyOptions& options);

}  // namespace assay::study
