// One direction of a product's checks, its rows or, transposed, its columns: all that is known
// before C, and the thresholds that follow from it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "assay/abft/abft.h"
#include "assay/abft/accumulation.h"
#include "assay/abft/bound_form.h"
#include "assay/abft/operands.h"
#include "assay/abft/terms.h"

namespace assay {

// What checking outputs of some kind needs of the operands' side. Rows x groups unless said.
struct Prepared {
  Checksums checksums;                  // in float64
  std::vector<double> rounded;          // checksums of an arithmetic that rounds sums; else empty
  std::vector<std::int64_t> integers;   // of integer products, modulo 2^64; else empty
  std::vector<double> prefixes, signs;  // ProductStats of accumulators that truncate; else empty
  std::vector<double> constants;        // thresholds, or their parts, that C has no part in
  std::vector<double> biases;           // sums of |bias|; empty without bias
  AAbftTerms a_abft;
};

struct Direction {
  AbftOptions options;
  bool from_golden = false;
  Operands operands;
  const Format* input_a = nullptr;  // as given, whatever holds them
  const Format* input_b = nullptr;
  MatrixRows golden;
  std::int64_t m = 0, n = 0, k = 0;

  std::int64_t width() const;
  std::int64_t groups() const;
  ThresholdRule rule() const { return options.spec.threshold->rule; }
  // Whether C's roundings are counted by their ulps: rounding_variance and its kind.
  bool by_variance() const;
  // Products of integers whose checks are exact.
  bool integer_product(const Format& output) const;

  // Computed once a format of outputs.
  const Prepared& prepare(const Format& output) const;

  // All of B as float64, row-major; kept from the first call on.
  const double* b_values() const;

  // Why the threshold cannot judge outputs of this format; empty where it can.
  std::string why_not(const Format& output) const;

 private:
  Prepared make(const Format& output, const Prepared* other) const;

  mutable std::mutex mutex_;
  mutable std::vector<double> b_values_;
  struct Slot {
    const Format* format;
    std::unique_ptr<Prepared> prepared;
  };
  mutable std::vector<Slot> prepared_;
};

// The forms of one direction's checks for outputs of a format.
class RowForms {
 public:
  RowForms(const Direction& direction, const Format& output, double kappa);

  StatsUsed used() const;  // by any of the forms
  // One form a group of row i.
  void make(std::int64_t i, BoundForm* to) const;

 private:
  BoundForm rounding_variance(std::int64_t i, std::int64_t g) const;
  BoundForm a_abft(std::int64_t i) const;
  BoundForm mean_or_max() const;
  void add_own_sums(BoundForm& form, const ProductStats& p) const;

  friend class RowReader;
  double bias_of(std::int64_t i, std::int64_t g) const;
  ProductStats product_stats(std::int64_t i, std::int64_t g) const;
  std::int64_t columns_of(std::int64_t g) const;

  const Direction& d_;
  const Prepared& p_;
  const Format& output_;
  double kappa_;
  Accumulation accumulation_;
};

// The peak of a row of n elements as it counts for the others. A row of zeros has none and makes
// every condition false: -infinity.
double row_peak(const Format& output, simd::Storage storage, const void* elements, std::int64_t n);

// Readings of rows of C, one after the other.
class RowReader {
 public:
  RowReader(const Direction& direction, const Format& output, double kappa);

  // Of torch_npu and mindspore: the smallest peak of the rows beside row i. Rows that were not
  // looked at have none.
  void look_at_peaks(const MatrixRows& c, int threads);
  // The same where the caller knows it, for all rows that are read.
  void set_least_peak(double peak) { least_peak_ = second_peak_ = peak; }

  // What a row sum is expected to be, before any rounding of the arithmetic.
  double expected(std::int64_t i, std::int64_t g) const;

  // `elements`: a row without gaps, in `storage`. `residual`: R of each check, or null.
  void read(std::int64_t i, simd::Storage storage, const void* elements, Reading* to,
            const double* residual = nullptr) const;
  // |R| against the rounding of the outputs: what is left of their own errors.
  void read_residual(std::int64_t i, simd::Storage storage, const void* elements,
                     const double* residual, Reading* to) const;
  void stats(simd::Storage storage, const void* elements, StatsUsed used, OutputStats* to) const;

  const RowForms& forms() const { return forms_; }

 private:
  void read_integers(std::int64_t i, simd::Storage storage, const void* elements,
                     Reading* to) const;

  const Direction& d_;
  const Format& output_;
  const Prepared& p_;
  RowForms forms_;
  StatsUsed used_;
  double least_peak_ = 0, second_peak_ = 0;  // NaN counts as the least
  std::int64_t least_row_ = -1;
};

}  // namespace assay
