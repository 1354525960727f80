// Readings of rows of C: forms, statistics and checksums put together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/abft/checked_product.h"
#include "assay/abft/reading.h"
#include "assay/abft/row_forms.h"
#include "assay/simd/convert_kernel.h"

namespace assay::abft {

// The peak of a row of n elements as it counts for the others. A row of zeros has none and makes
// every condition false: -infinity.
double row_peak(const Format& output, simd::Storage storage, const void* elements, std::int64_t n);

// Readings of rows of C, one after the other.
class RowReader {
 public:
  RowReader(const CheckedProduct& product, const Format& output, double kappa);

  // Of torch_npu and mindspore: the smallest peak of the rows beside row i. Rows that were not
  // looked at have none.
  void look_at_peaks(const MatrixRows& c, int threads);
  // The same where the caller knows it, for all rows that are read.
  void set_least_peak(double peak) { least_peak_ = second_peak_ = peak; }

  // What a row sum is expected to be, before any rounding of the arithmetic.
  double expected(std::int64_t i, std::int64_t g) const;

  // `elements`: a row without gaps, in `storage`. `residual`: R of each check, or null.
  //
  // `loose`: null, or where the checks go whose verdict needs no tail of rounding errors. Their T
  // has a bound of it then; every other T, and without `loose` that of every check whose D is above
  // `tail_from` of the threshold by that bound, is exact.
  void read(std::int64_t i, simd::Storage storage, const void* elements, Reading* to,
            const double* residual = nullptr, LooseReadings* loose = nullptr) const;
  // |R| against the roundings of the outputs (rounding_form()).
  void read_residual(std::int64_t i, simd::Storage storage, const void* elements,
                     const double* residual, Reading* to, LooseReadings* loose = nullptr) const;
  // The exact reading of a check of such a row, or one whose D/T is a bound no larger than `ratio`.
  Reading closer(const LooseReading& loose, double ratio, simd::Storage storage,
                 const void* elements) const;
  // Of each check the cast that is furthest off its bound (cast_reading()). `before`: the row
  // before its cast.
  void read_casts(std::int64_t i, simd::Storage storage, const void* elements, const double* before,
                  Reading* to) const;
  // Of residual_compensated, for each check of some rows: how far its sum, R added, may be off
  // where the errors of the accumulation add up to more than five deviations, as those of equal
  // products and of equal columns do; 0 where they do not. Whether they do, the machine's model
  // says, or sums one by one in float32.
  std::vector<double> explained(std::span<const std::int64_t> rows) const;
  // Of all groups of a row; with the tails of their rounding errors where `row` is that row's
  // forms, not null.
  void stats(simd::Storage storage, const void* elements, StatsUsed used, OutputStats* to,
             const BoundForm* row = nullptr) const;

 private:
  // Adds the tail of the rounding errors of a group to its statistics.
  void add_tail(const BoundForm& form, simd::Storage storage, const void* elements, std::int64_t g,
                OutputStats& to, double enough = std::numeric_limits<double>::infinity()) const;
  // Which check of which row.
  struct Place {
    std::int64_t row, group;
    simd::Storage storage;
    const void* elements;
  };
  // A lower bound of the threshold of a check, as good as it takes to see that it is not below
  // `difference`; 0 where there is none.
  double least_threshold(const BoundForm& form, const OutputStats& stats, const Place& of,
                         double difference) const;
  // The reading of a check, as read() says.
  Reading reading(const Place& of, const BoundForm& form, OutputStats& stats, double expected,
                  Arithmetic arithmetic, LooseReadings* loose) const;
  void read_integers(std::int64_t i, simd::Storage storage, const void* elements,
                     Reading* to) const;

  const CheckedProduct& product_;
  const Format& output_;
  const Prepared& prepared_;
  RowForms forms_;
  StatsUsed used_;
  std::int64_t width_, groups_;              // columns of a check; checks of a row
  double least_peak_ = 0, second_peak_ = 0;  // NaN counts as the least
  std::int64_t least_row_ = -1;
};

}  // namespace assay::abft
