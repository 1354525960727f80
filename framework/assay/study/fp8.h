// The study of dot products in fp8: what scales, chunks and promotion do for them.
#pragma once

#include "assay/study/study.h"

namespace assay::inline v0_2::study {

// Measures signal-to-noise ratios and errors of dot products in two models. In (a), the products
// and the running sum are themselves rounded to float8_e4m3fn, as in a published experiment. In
// (b), the products are exact and are added in hopper's accumulator of 14 bits, with and without
// promotion to float32. `repeats` is the number of dot products for each row of a table, 200 by
// default.
StudyResult study_fp8(const StudyOptions& options);

}  // namespace assay::study
