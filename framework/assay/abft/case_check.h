// The checks of a case.
#pragma once

#include "assay/abft/abft_verdict.h"
#include "assay/abft/options.h"
#include "assay/cases/case.h"

namespace assay::abft {

// Judges the output of a case by its inputs a and b where it is a product (Case::is_product();
// transposes, batches and bias taken into account, each matrix of a batch by itself), else by its
// golden result. `epilogue`: what the kernel gave beside the output, for thresholds that take it
// (of both parts the accumulator, which says more); null: nothing.
AbftVerdict abft_check(const Case& test_case, const TensorView& output, const AbftOptions& options,
                       const Epilogue* epilogue = nullptr);

}  // namespace assay::abft

namespace assay {
using abft::abft_check;
}  // namespace assay
