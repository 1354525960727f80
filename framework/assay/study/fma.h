// The study of y = a x + b in float32: what a second rounding changes.
#pragma once

#include "assay/study/study.h"

namespace assay::inline v0_2::study {

// Compares one rounding of y = a x + b (a fused multiply-add) with two (a product and a sum). It
// measures the errors of y in ulps, how often int(y) as the index of a table changes, and the
// results of deform_roi_pool, whose sample coordinates are such sums. There are `repeats` random
// sums for each kind of b, 100 000 by default.
StudyResult study_fma(const StudyOptions& options);

}  // namespace assay::study
