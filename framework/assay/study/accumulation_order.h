// The study of the order in which operators add. It finds the order only from their results.
#pragma once

#include "assay/study/study.h"

namespace assay::inline v0_2::study {

// Probes reduce_sum in its orders, and the matrix unit of every machine in every input format that
// is not exact in any order (study/sum_tree.h). Compares each summation tree with the one that
// follows from the machine's row. The study is not random: `seed` and `repeats` are not used.
StudyResult study_accumulation_order(const StudyOptions& options);

}  // namespace assay::study
