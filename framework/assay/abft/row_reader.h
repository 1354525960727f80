// Reads rows of C: combines forms, statistics and checksums to readings.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/abft/checked_product.h"
#include "assay/abft/reading.h"
#include "assay/abft/row_forms.h"
#include "assay/simd/convert_kernel.h"

namespace assay::inline v0_2::abft {

// Returns the peak max|c| / mean|c| of a row of n elements, for the comparison with other rows. A
// row of zeros has no peak. It gets -infinity, which makes every condition on peaks false.
double row_peak(const Format& output, simd::Storage storage, const void* elements, std::int64_t n);

// Reads rows of C, one after the other, and returns the readings of their checks.
class RowReader {
 public:
  RowReader(const CheckedProduct& product, const Format& output, double kappa);

  // For torch_npu and mindspore, finds for every row of C the smallest peak of the other rows.
  // Without this call that peak is infinite.
  void look_at_peaks(const MatrixRows& c, int threads);
  // Sets the smallest peak of the other rows for all rows that are read, if the caller knows it.
  void set_least_peak(double peak) { least_peak_ = second_peak_ = peak; }

  // Returns the expected sum of a check, before any rounding of the arithmetic.
  double expected(std::int64_t i, std::int64_t g) const;

  // Reads a row. `elements` is the row without gaps, in `storage`. `residual` is R of each check,
  // or null.
  //
  // `loose` may be null. If not, it receives the checks whose verdict does not need the tail of the
  // rounding errors. The T of their readings uses a bound of the tail. All other T are exact if D
  // is above `tail_from` times the T by that bound.
  void read(std::int64_t i, simd::Storage storage, const void* elements, Reading* to,
            const double* residual = nullptr, LooseReadings* loose = nullptr) const;
  // Reads the checks of a row's R: compares |R| with the rounding of the outputs (rounding_form()).
  void read_residual(std::int64_t i, simd::Storage storage, const void* elements,
                     const double* residual, Reading* to, LooseReadings* loose = nullptr) const;
  // Returns the exact reading of a loose check, or a reading that shows that its D/T is at most
  // `ratio`.
  Reading closer(const LooseReading& loose, double ratio, simd::Storage storage,
                 const void* elements) const;
  // Writes one reading for each check: that of the cast with the largest error relative to its
  // bound (cast_reading()). `before` holds the row before its cast.
  void read_casts(std::int64_t i, simd::Storage storage, const void* elements, const double* before,
                  Reading* to) const;
  // For residual_compensated, returns for each check of the given rows how far its sum, with R
  // added, may be off by accumulation. The value is 0 unless the errors of the accumulation add up
  // to more than five deviations, as those of equal products and of equal columns do. To find out,
  // the products are computed with the machine's model, or one by one in float32 if there is no
  // model.
  std::vector<double> explained(std::span<const std::int64_t> rows) const;
  // Computes the statistics of all groups of a row. Includes the tails of their rounding errors if
  // `row` has that row's forms.
  void stats(simd::Storage storage, const void* elements, StatsUsed used, OutputStats* to,
             const BoundForm* row = nullptr) const;

 private:
  // Adds the tail of a group's rounding errors to its statistics.
  void add_tail(const BoundForm& form, simd::Storage storage, const void* elements, std::int64_t g,
                OutputStats& to, double enough = std::numeric_limits<double>::infinity()) const;
  // A check of a row, and the row's elements.
  struct Place {
    std::int64_t row, group;
    simd::Storage storage;
    const void* elements;
  };
  // Returns a lower bound of the threshold of a check, or 0 if it has no lower bound. It is only
  // computed as far as needed to show that it is at least `difference`.
  double least_threshold(const BoundForm& form, const OutputStats& stats, const Place& of,
                         double difference) const;
  // Returns the difference and the threshold of a check. If `loose` is not null and the check is
  // certainly not flagged, the threshold may be computed from a bound of the tail. The check is
  // then added to `loose` if its D/T may be the largest, as read() describes.
  Reading reading(const Place& of, const BoundForm& form, OutputStats& stats, double expected,
                  Arithmetic arithmetic, LooseReadings* loose) const;
  void read_integers(std::int64_t i, simd::Storage storage, const void* elements,
                     Reading* to) const;

  const CheckedProduct& product_;
  const Format& output_;
  const Prepared& prepared_;
  RowForms forms_;
  StatsUsed used_;
  std::int64_t width_, groups_;  // number of columns of a check, and of checks of a row
  // The smallest and the second smallest peak of all rows. A NaN counts as the smallest.
  double least_peak_ = 0, second_peak_ = 0;
  std::int64_t least_row_ = -1;
};

}  // namespace assay::abft
