// Checks of a product, or of a batch of them, whose operands may lie anywhere.
#pragma once

#include <functional>
#include <string>

#include "assay/abft/abft_verdict.h"
#include "assay/abft/checker.h"
#include "assay/abft/options.h"
#include "assay/cases/product_operands.h"

namespace assay::abft {

// The verdict on an output that cannot be checked.
AbftVerdict not_checkable(const TensorView& output, const AbftOptions& options,
                          std::string because);

// The verdicts of check(batch, matrix of the output, options) on each matrix of an output
// (..., M, N), as one.
using CheckMatrix =
    std::function<AbftVerdict(std::int64_t batch, const TensorView& c, const AbftOptions& options)>;
AbftVerdict check_batch(const TensorView& output, const AbftOptions& options,
                        const CheckMatrix& check);

// Judges an output (..., M, N) by the operands of its product, each matrix of a batch by itself.
// Copied is what does not lie as the kernels read it: an output with gaps, the matrix of an operand
// whose rows have gaps (as those of a transposed one), formats that no kernel reads.
//
// residual   what the kernel gave beside the output, for thresholds that take it: row-major, of all
//            of the batch
// as_read    a matrix of an operand as the unit reads it; an empty tensor: as it is
AbftVerdict check_product(const ProductOperands& product, const TensorView& output,
                          const AbftOptions& options, const Residual& residual = {},
                          const std::function<Tensor(const TensorView&)>& as_read = {});

}  // namespace assay::abft
