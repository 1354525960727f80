// The code of the thresholds torch_npu and mindspore. e = 2^-8 sqrt(N) max|c| if the smallest
// max|c| / mean|c| of all rows is above 5. If not, e = 2^-8 N mean|c|.
#pragma once

#include <cstdint>

#include "assay/abft/bound_form.h"
#include "assay/abft/row_forms.h"

namespace assay::inline v0_2::abft {

// Returns the form of the threshold T = times (e + 1e-20).
BoundForm mean_or_max(const RowForms& rows, double times);

template <int kTimes>
BoundForm mean_or_max_form(const RowForms& rows, std::int64_t, std::int64_t) {
  return mean_or_max(rows, kTimes);
}

}  // namespace assay::abft
