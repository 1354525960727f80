// Products whose results decide how a matrix unit adds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/cases/case.h"

namespace assay::identify {

// a (m, k) and b (k, n).
struct ProbeShape {
  std::int64_t m, k, n;
};

// Whether there are probes of this dtype: of signed floats that float32 holds.
bool can_be_probed(const Format& format);

// Cases of matmul without outputs, for a kernel to compute: a (32, K), b (K, 32), of K = 128 and
// 256, with float32 results where nothing else is said. They are named "probe/DTYPE/KIND":
//   normal     values of N(0, 1): what a model's kernels see, too
//   spread     random signs, mantissas and exponents
//   near, far  large terms that cancel, at most 8 and at most 64 places apart in K: what is lost
//              beside them shows the kept bits, the chunk and the roundings
//   tiny       terms near and below the smallest normal numbers
// `output` is the dtype of the results; nullptr means float32. With `shape` all products have that
// shape, and there is one of the kind "normal": kernels of libraries choose by the shape how they
// divide K. The same seed gives the same bits. Throws std::invalid_argument if the format cannot be
// probed, or a size is not positive.
std::vector<Case> probes(const Format& format, const Format* output, std::uint64_t seed,
                         const std::optional<ProbeShape>& shape = std::nullopt);

}  // namespace assay::identify
