// Verification arithmetics: the precision and order in which the two sides of a check are summed.
// The float64 arithmetics use the kernels (operands.h). The others are plain loops that sum as a
// device would.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/abft/operands.h"
#include "assay/abft/threshold.h"
#include "assay/machine/machine.h"

namespace assay::inline v0_2::abft {

// True if the arithmetic rounds sums to fewer bits than float64 has.
inline bool rounds_sums(Arithmetic a) {
  return a == Arithmetic::kFloat32 || a == Arithmetic::kHiLo || a == Arithmetic::kMachine;
}

// Sums adjacent pairs in float32, as a tree. If a level has an odd number of values, its last value
// moves up unchanged. Overwrites x.
float pairwise_sum(std::vector<float>& x);

// Returns the checksums of all checks, rows x groups, with the bias. Only kMachine reads `model`.
std::vector<double> checksums_in(Arithmetic arithmetic, const DotModel* model,
                                 const Operands& operands, std::int64_t width, const Format& output,
                                 int threads);

// Writes the sums of each group of a row of C, which has n values.
void row_sums_in(Arithmetic arithmetic, const DotModel* model, const double* row, std::int64_t n,
                 std::int64_t width, const Format& output, double* to);

// For integer products, returns the checksum of each check, rows x groups, exactly modulo 2^64.
// Operands and outputs have at most 32 bits.
std::vector<std::int64_t> integer_checksums(const Operands& operands, std::int64_t width,
                                            int threads);

}  // namespace assay::abft
