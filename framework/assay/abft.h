// Checks a matrix product by checksums. Each row of C, or each group of columns of a row, must sum
// to what the operands predict, sum_j c_ij = sum_k a_ik (sum_j b_kj), up to rounding. No golden
// result is needed.
//
//   AbftChecker checker = AbftChecker::of_product(view(a), view(b), {});
//   AbftVerdict v = checker.check(view(c));   // v.outcome, v.because, v.flags
//
// Checksums cannot detect a corrupted operand that both the product and the checksum read. They
// cannot detect changes below the rounding errors of the summed elements either (docs/abft.md).
#pragma once

#include "assay/abft/abft_verdict.h"
#include "assay/abft/case_check.h"
#include "assay/abft/checker.h"
#include "assay/abft/options.h"
#include "assay/abft/threshold.h"
