// Checks a product, or a batch of products. The operands may be stored in any way.
#pragma once

#include <functional>
#include <string>

#include "assay/abft/abft_verdict.h"
#include "assay/abft/checker.h"
#include "assay/abft/options.h"
#include "assay/cases/product_operands.h"

namespace assay::inline v0_2::abft {

// Returns the verdict on an output that cannot be checked.
AbftVerdict not_checkable(const TensorView& output, const AbftOptions& options,
                          std::string because);

// Calls check(batch, matrix, options) on each matrix of an output (..., M, N). Returns all verdicts
// as one.
using CheckMatrix =
    std::function<AbftVerdict(std::int64_t batch, const TensorView& c, const AbftOptions& options)>;
AbftVerdict check_batch(const TensorView& output, const AbftOptions& options,
                        const CheckMatrix& check);

// Judges an output (..., M, N) by the operands of its product, each matrix of a batch separately.
// Copies what the kernels cannot read in place: an output with gaps, an operand's matrix whose rows
// have gaps (as those of a transposed one), and formats without a kernel.
//
// residual   what the kernel returned with the output, for thresholds that use it: row-major, for
//            the whole batch
// as_read    returns a matrix of an operand as the unit reads it, or an empty tensor if unchanged
AbftVerdict check_product(const ProductOperands& product, const TensorView& output,
                          const AbftOptions& options, const Residual& residual = {},
                          const std::function<Tensor(const TensorView&)>& as_read = {});

}  // namespace assay::abft
