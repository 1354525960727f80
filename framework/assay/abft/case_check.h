// Checks the output of a case by checksums.
#pragma once

#include "assay/abft/abft_verdict.h"
#include "assay/abft/options.h"
#include "assay/cases/case.h"

namespace assay::inline v0_2::abft {

// Judges the output of a case. For a product (is_product() in op/operator.h) the checksums come
// from its inputs a and b, with transposes, batches and bias; each matrix of a batch is checked
// separately. For attention they come from q, k and v. For all other cases they come from the
// golden result. `epilogue` holds what the kernel returned in addition to the output, for
// thresholds that use it. Null means nothing. If it has both the output before its cast
// (`accumulator`) and the residual sums, the former is used, because it holds more.
AbftVerdict abft_check(const Case& test_case, const TensorView& output, const AbftOptions& options,
                       const Epilogue* epilogue = nullptr);

}  // namespace assay::abft

namespace assay::inline v0_2 {
using abft::abft_check;
}  // namespace assay
