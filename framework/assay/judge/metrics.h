// The error metrics of two tensors. judge/metric_table.h gives each its name.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace assay::inline v0_2 {

// The number of special values on one side.
struct Tally {
  std::int64_t nan = 0, positive_inf = 0, negative_inf = 0, zero = 0, subnormal = 0;
};

// Counts elements by the size of their error. Each octave has k = `per_octave` bins. Bin i holds
// sizes from (1 + (i mod k) / k) 2^(i div k) up to the beginning of the next bin, where div rounds
// down. So a size that is read from a bin has a relative error of at most 1 / (2k).
struct Histogram {
  int per_octave = 0;
  // Elements below the first bin, which begins at 2^-160 for errors (and at 1 for ulps), and
  // elements above the last one. Errors of 0 count as below.
  std::int64_t below = 0, above = 0;
  // The number of each bin that is not empty, and its count, in order.
  std::vector<std::pair<int, std::int64_t>> bins = {};

  std::int64_t total() const;
  double low(int bin) const;   // the smallest size in a bin
  double high(int bin) const;  // the smallest size beyond the bin
  // Returns the size that a share q of the elements does not exceed: that of the ceil(q n)-th of n
  // elements. The result is the middle of its bin. It is 0 below the bins, infinity above them, and
  // NaN if there are no elements.
  double quantile(double q) const;
  // Returns the smallest and the largest number of elements that may have at least this size. The
  // two numbers differ if the size lies within a bin.
  std::pair<std::int64_t, std::int64_t> at_least(double size) const;  // fewest, most
  // bin_of() returns the bin of the element with this rank. The smallest element has rank 0. A bin
  // has two ends, the number of elements before it, and the number of elements in it. For errors
  // below the bins the ends are 0 and 2^-160, and above the bins 2^160 and infinity.
  struct Bin {
    double low, high;
    std::int64_t before, count;
  };
  Bin bin_of(std::int64_t rank) const;
};

// Error metrics over all elements that are finite on both sides. An error is actual - expected,
// where expected is the golden result as stored, not rounded. Distances in ulp refer to the golden
// result rounded to the output's format. See docs/judging.md.
struct Metrics {
  std::int64_t compared = 0;  // elements with both sides finite
  // True if the elements are complex and these are metrics of magnitudes. Then the metrics that
  // Metric::real_only marks are 0 or NaN.
  bool is_complex = false;
  double max_abs_error = 0, mean_abs_error = 0;
  std::int64_t max_abs_index = -1;
  // max_abs_error in ulps of the expected value at that element. NaN in saved results.
  double max_abs_ulps = std::numeric_limits<double>::quiet_NaN();
  // The median and the 99th percentile of |error|, as exact as the bins of abs_errors.
  double median_abs_error = 0, p99_abs_error = 0;
  // |error| / |expected|. It is infinite if 0 is expected and the output is not 0. If both are 0,
  // there is no relative error.
  std::int64_t relative = 0;        // elements whose expected value is not 0
  std::int64_t errors_at_zero = 0;  // elements with an error where 0 is expected
  double max_rel_error = 0, mean_rel_error = 0;
  std::int64_t max_rel_index = -1;
  double median_rel_error = 0, p99_rel_error = 0;
  // Number of elements with a finite relative error of at least 1e-3, and of at least 1e-4.
  // Infinite relative errors are in `errors_at_zero`.
  std::int64_t rel_at_least_1e3 = 0, rel_at_least_1e4 = 0;
  double rmse = 0;
  double mere = 0, mare = 0;      // mean and max of |error| / (|expected| + 1e-7)
  double bias = 0;                // mean of the signed error
  double error_balance = 0;       // EB: mean of error / max(1, |expected|)
  double max_balanced_error = 0;  // max of |error| / max(1, |expected|)
  // The metrics from here to deepgemm_diff are NaN if no element is finite on both sides.
  double snr_db = std::numeric_limits<double>::quiet_NaN();   // 10 log10(sum e^2 / sum error^2)
  double psnr_db = std::numeric_limits<double>::quiet_NaN();  // 20 log10(max |expected| / rmse)
  double cosine = std::numeric_limits<double>::quiet_NaN();
  double relative_l2 = std::numeric_limits<double>::quiet_NaN();  // equal to diff2
  double diff1 = std::numeric_limits<double>::quiet_NaN();        // sum |error| / sum |expected|
  double diff2 = std::numeric_limits<double>::quiet_NaN();  // sqrt(sum error^2 / sum expected^2)
  // 1 - 2 sum a e / sum (a^2 + e^2), computed as sum error^2 / sum (a^2 + e^2).
  double deepgemm_diff = std::numeric_limits<double>::quiet_NaN();
  double max_abs_expected = 0;
  // Ulps cover the elements without NaN on either side. Infinity is one step beyond the largest
  // number.
  std::int64_t ulp_compared = 0;
  std::uint64_t max_ulps = 0;
  double mean_ulps = 0, p99_ulps = 0;
  // Number of elements more than 1 ulp, and more than 32 ulps, apart.
  std::int64_t over_1_ulp = 0, over_32_ulps = 0;
  // Elements whose |expected| is below small_limit, and those of them whose error exceeds
  // small_error. The output's dtype gives both limits (cann_small_values). They are 0 if it has no
  // such limits.
  double small_limit = 0, small_error = 0;
  std::int64_t small_values = 0, small_value_errors = 0;
  double required_rtol = 0;  // smallest rtol at which all elements pass with the bound's atol
  double required_atol = 0;  // smallest atol at which all elements pass with the bound's rtol
  // The rtol and atol of the bound for which required_rtol and required_atol were computed, and
  // whether this bound rounds expected values.
  double required_at_rtol = 0, required_at_atol = 0;
  bool required_rounded = true;
  bool bit_identical = false;
  bool expected_rounds = false;  // some expected value is not a value of the output's format
  Tally actual, expected;
  std::int64_t both_nan = 0;  // both sides NaN
  // Number of elements without NaN at which the output and the expected value in the output's
  // format differ, and one of the two is infinite.
  std::int64_t inf_mismatch = 0;
  Histogram abs_errors, rel_errors, ulps;  // `rel_errors` holds only finite relative errors
};

}  // namespace assay
