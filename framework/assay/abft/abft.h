// Checks a matrix product by checksums: each row (or group of columns of a row) of C must sum to
// what the operands say, sum_j c_ij = sum_k a_ik (sum_j b_kj), up to rounding. No golden result is
// needed.
//
//   AbftChecker checker = AbftChecker::of_product(view(a), view(b), {});
//   AbftVerdict v = checker.check(view(c));   // v.outcome, v.because, v.flags
//
// What no checksum can see: a corrupted operand that product and checksum both read, and changes
// below the rounding errors of what is summed (docs/abft.md).
#pragma once

#include "assay/abft/case_check.h"  // IWYU pragma: export
#include "assay/abft/checker.h"     // IWYU pragma: export
