// The metrics that every result file has, even one without all metrics.
#pragma once

#include <string_view>

namespace assay::inline v0_2::wire {

bool is_main_metric(std::string_view name);

}  // namespace assay::wire
