// Checks of what is more than one product: cases with their batches, and partial products.
#pragma once

#include <cstdint>

#include "assay/abft/abft_verdict.h"
#include "assay/abft/options.h"
#include "assay/cases/case.h"

namespace assay::abft {

// Checks of blocks of K, which a finished C cannot have: partials is [K / k_block rounded up, M,
// N], the product of each block of k_block columns of A with its rows of B, as the kernel yields
// them.
AbftVerdict abft_check_partials(const TensorView& a, const TensorView& b,
                                const TensorView& partials, std::int64_t k_block,
                                const AbftOptions& options);

// Judges the output of a case by its inputs a and b where it is a product (Case::is_product();
// transposes, batches and bias taken into account, each matrix of a batch by itself), else by its
// golden result. `epilogue`: what the kernel gave beside the output, for thresholds that take it
// (of both parts the accumulator, which says more); null: nothing.
AbftVerdict abft_check(const Case& test_case, const TensorView& output, const AbftOptions& options,
                       const Epilogue* epilogue = nullptr);

}  // namespace assay::abft

namespace assay {
using abft::abft_check;
using abft::abft_check_partials;
}  // namespace assay
