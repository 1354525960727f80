#include "assay/wire/main_metrics.h"

#include "assay/base/words.h"

namespace assay::inline v0_2::wire {
namespace {

constexpr std::string_view kMainMetrics[] = {
    "max_abs_error", "mean_abs_error", "max_rel_error", "rmse", "snr_db", "max_ulp", "p99_ulp"};

}  // namespace

bool is_main_metric(std::string_view name) { return contains(kMainMetrics, name); }

}  // namespace assay::wire
