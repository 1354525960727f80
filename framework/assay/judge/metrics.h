// The error metrics of two tensors. judge/metric_table.h gives each its name.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace assay {

// Special values of one side.
struct Tally {
  std::int64_t nan = 0, positive_inf = 0, negative_inf = 0, zero = 0, subnormal = 0;
};

// How many elements have an error of which size. Bin i holds sizes from (1 + (i mod k) / k) 2^(i
// div k) up to the next bin's, where k is `per_octave` and div rounds down: k bins an octave, so
// that a size that is read from a bin is within 1 / (2k) of the element's own.
struct Histogram {
  int per_octave = 0;
  // Below the first bin (2^-160 for errors, 0 too; for ulps: 0 alone), from its end on.
  std::int64_t below = 0, above = 0;
  std::vector<std::pair<int, std::int64_t>> bins;  // of the bins that are not empty, in order

  std::int64_t total() const;
  double low(int bin) const;   // the smallest size in a bin
  double high(int bin) const;  // the smallest size beyond it
  // The size that a share q of the elements does not exceed: of n elements the ceil(q n)-th, to the
  // resolution of the bins (the middle of the bin). 0 below the bins, infinity above them, NaN
  // where there are no elements.
  double quantile(double q) const;
  // How many elements have at least this size; the two differ where it lies within a bin.
  std::pair<std::int64_t, std::int64_t> at_least(double size) const;  // fewest, most
  // The bin in which the element of this rank lies, that of the smallest being 0: its ends (of what
  // lies below the bins of errors 0 and 2^-160, above them 2^160 and infinity), and how many
  // elements lie before it and in it.
  struct Bin {
    double low, high;
    std::int64_t before, count;
  };
  Bin bin_of(std::int64_t rank) const;
};

// Error metrics over all elements where both sides are finite, against the golden result as it is
// stored (not rounded); ulp distances against the golden rounded to the output's format. error is
// actual - expected. Docs: docs/judging.md.
struct Metrics {
  std::int64_t compared = 0;  // elements with both sides finite
  // Of magnitudes; what Metric::real_only names has no meaning and is 0, or NaN.
  bool is_complex = false;
  double max_abs_error = 0, mean_abs_error = 0;
  std::int64_t max_abs_index = -1;
  // The largest error in ulp of the value expected there; NaN in results that were saved.
  double max_abs_ulps = std::numeric_limits<double>::quiet_NaN();
  double median_abs_error = 0, p99_abs_error = 0;  // to the histogram's resolution
  // |error| / |expected|. It is infinite where 0 is expected and something else came; 0 against 0
  // has no relative error.
  std::int64_t relative = 0;        // elements whose expected value is not 0
  std::int64_t errors_at_zero = 0;  // elements with an error where 0 is expected
  double max_rel_error = 0, mean_rel_error = 0;
  std::int64_t max_rel_index = -1;
  double median_rel_error = 0, p99_rel_error = 0;
  // Finite relative errors >= 1e-3, >= 1e-4; `errors_at_zero` counts the infinite ones.
  std::int64_t rel_at_least_1e3 = 0, rel_at_least_1e4 = 0;
  double rmse = 0;
  double mere = 0, mare = 0;      // mean and max of |error| / (|expected| + 1e-7)
  double bias = 0;                // mean of the signed error
  double error_balance = 0;       // EB: mean of error / max(1, |expected|)
  double max_balanced_error = 0;  // max of |error| / max(1, |expected|)
  // NaN where no element is finite on both sides.
  double snr_db = std::numeric_limits<double>::quiet_NaN();   // 10 log10(sum e^2 / sum error^2)
  double psnr_db = std::numeric_limits<double>::quiet_NaN();  // 20 log10(max |expected| / rmse)
  double cosine = std::numeric_limits<double>::quiet_NaN();
  double relative_l2 = std::numeric_limits<double>::quiet_NaN();  // and diff2
  double diff1 = std::numeric_limits<double>::quiet_NaN();        // sum |error| / sum |expected|
  double diff2 = std::numeric_limits<double>::quiet_NaN();  // sqrt(sum error^2 / sum expected^2)
  // 1 - 2 sum a e / sum (a^2 + e^2), computed as sum error^2 / sum (a^2 + e^2).
  double deepgemm_diff = std::numeric_limits<double>::quiet_NaN();
  double max_abs_expected = 0;
  // Ulps: over elements where neither side is NaN; infinity stands next to the largest number.
  std::int64_t ulp_compared = 0;
  std::uint64_t max_ulps = 0;
  double mean_ulps = 0, p99_ulps = 0;
  std::int64_t over_1_ulp = 0, over_32_ulps = 0;  // elements farther apart than that
  // Elements whose |expected| is below small_limit, and those of them whose error exceeds
  // small_error; the limits go with the output's dtype (cann_small_values), 0 where it has none.
  double small_limit = 0, small_error = 0;
  std::int64_t small_values = 0, small_value_errors = 0;
  double required_rtol = 0;  // smallest that passes with the bound's atol
  double required_atol = 0;  // smallest that passes with the bound's rtol
  // The bound that these two refer to, and whether its expected values were rounded.
  double required_at_rtol = 0, required_at_atol = 0;
  bool required_rounded = true;
  bool bit_identical = false;
  bool expected_rounds = false;  // some expected value is not one of the output's format
  Tally actual, expected;
  std::int64_t both_nan = 0;      // both sides NaN
  std::int64_t inf_mismatch = 0;  // no NaN, but one side infinite and the rounded other side not it
  Histogram abs_errors, rel_errors, ulps;  // rel_errors: finite ones
};

}  // namespace assay
