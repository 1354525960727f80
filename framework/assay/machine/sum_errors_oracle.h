// The scalar oracle of sum_errors(): one sum after the other. It also serves units that the vector
// kernel does not take.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/machine/uncertain.h"

namespace assay::inline v0_2 {

// Returns what sum_errors() returns. The results of the two differ only by float64's roundings.
SumErrors sum_errors_oracle(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                            const std::vector<double>& a, const std::vector<double>& b,
                            const std::vector<double>& start, StartOfSum starts, bool without_last,
                            int threads = 0);

}  // namespace assay
