// Judges again from saved metrics, without the tensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay {

// What a result file keeps of one comparison.
struct SavedResult {
  std::string name;                // of the case; empty for a plain comparison
  const Format* format = nullptr;  // of the output
  std::int64_t sites = 0;          // elements
  std::string because;             // the verdict then, in words
  // One for each bound by which it was judged; they differ in what required_rtol and required_atol
  // refer to. None where nothing was compared.
  std::vector<Metrics> metrics;
};

// The verdict that the tensors would get by another bound. Where the metrics do not decide it, the
// outcome is kNotComparable and the reason names what is missing: nothing is guessed.
//   tolerance  decided by required_rtol at the saved atol, or required_atol at the saved rtol
//   ulps       always, bits always
Verdict regate(const SavedResult& saved, const Bound& bound);

// A statistic over all elements, known exactly (low == high) or to the histograms' resolution.
struct SavedStatistic {
  double low = 0, high = 0;
};
// "mere", "mare", "error_balance", "diff1", "diff2", "cosine", "max_abs_error", "rmse", "mean_ulp",
// "calc_diff"; and with a parameter p "share_relative" (share of all elements with a relative error
// of p or more, an error where 0 is expected counts), "share_ulp" (more than p ulp apart), and
// with two, (limit, error), "small_errors" (how many of the elements below the limit are off by
// more). Empty where the metrics do not have it.
std::optional<SavedStatistic> saved_statistic(const Metrics& metrics, std::string_view name,
                                              double parameter = 0, double second = 0);

}  // namespace assay
