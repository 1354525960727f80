// Makes products whose results show how a matrix unit adds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/cases/case.h"

namespace assay::inline v0_2::identify {

// The shape of a product of a (m, k) and b (k, n).
struct ProbeShape {
  std::int64_t m, k, n;
};

// True if there are probes of this dtype. There are for signed floats whose values float32 can
// represent.
bool can_be_probed(const Format& format);

// Returns cases of matmul without outputs, which a kernel is to compute: a (32, K) and b (K, 32),
// for K = 128 and 256. They are named "probe/DTYPE/KIND":
//   normal     values of N(0, 1), like those in the kernels of a neural network
//   spread     random signs, mantissas and exponents
//   near, far  large terms that cancel, at most 8 and at most 64 places apart in K. Small terms
//              lost next to them reveal the kept bits, the chunk and the roundings.
//   tiny       terms near and below the smallest normal numbers
// `output` is the dtype of the results. nullptr means float32. With `shape`, all products have that
// shape, because library kernels choose the division of K by the shape. There is then only one
// product of the kind "normal". The same seed gives the same bits. Throws Refusal if
// the format cannot be probed, or a size is not positive.
std::vector<Case> probes(const Format& format, const Format* output, std::uint64_t seed,
                         const std::optional<ProbeShape>& shape = std::nullopt);

}  // namespace assay::identify
