// Verification arithmetics: in what precision and order the two sides of a check are summed. Those
// of float64 are the kernels' (operands.h); the others are plain loops, as a device would make
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/abft/operands.h"
#include "assay/abft/threshold.h"
#include "assay/machine/machine.h"

namespace assay::abft {

// Whether sums are made otherwise than in float64.
inline bool rounds_sums(Arithmetic a) {
  return a == Arithmetic::kFloat32 || a == Arithmetic::kHiLo || a == Arithmetic::kMachine;
}

// A tree of adjacent pairs in float32; the last of an odd number goes up as it is. x is scratch.
float pairwise_sum(std::vector<float>& x);

// The checksums of all checks, rows x groups, bias included. kMachine takes the model.
std::vector<double> checksums_in(Arithmetic arithmetic, const DotModel* model,
                                 const Operands& operands, std::int64_t width, const Format& output,
                                 int threads);

// The sums of a row of C, n values, by groups.
void row_sums_in(Arithmetic arithmetic, const DotModel* model, const double* row, std::int64_t n,
                 std::int64_t width, const Format& output, double* to);

// Integer products exactly, modulo 2^64: sum of a row's groups minus checksum, as a number.
// Operands and outputs of at most 32 bits.
std::vector<std::int64_t> integer_checksums(const Operands& operands, std::int64_t width,
                                            int threads);

}  // namespace assay::abft
