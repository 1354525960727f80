// Products whose results decide how a matrix unit adds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/tensor/case.h"

namespace assay::identify {

// Cases of matmul without outputs, for a kernel to compute: a (32, K), b (K, 32), of K = 128 and
// 256, with float32 results where nothing else is said. They are named "probe/DTYPE/KIND":
//   normal     values of N(0, 1): what a model's kernels see, too
//   spread     random signs, mantissas and exponents
//   near, far  large terms that cancel, at most 8 and at most 64 places apart in K: what is lost
//              beside them shows the kept bits, the chunk and the roundings
//   tiny       terms near and below the smallest normal numbers
// `output`: the dtype of the results; nullptr: float32. The same seed gives the same bits. Throws
// std::invalid_argument where the format is no float that float32 holds.
std::vector<Case> probes(const Format& format, const Format* output, std::uint64_t seed);

}  // namespace assay::identify
