// The checker of one matrix product: the operands' side once, then any number of results.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "assay/abft/abft_verdict.h"
#include "assay/abft/bound_form.h"
#include "assay/abft/options.h"
#include "assay/abft/reading.h"
#include "assay/cases/case.h"

namespace assay::abft {

// What the kernel gave beside one C: nothing, C before its cast (M x N), or what its epilogue
// summed of the cast, R = sum (before - after) of each check (M x groups_per_row()).
struct Residual {
  enum class Kind : std::uint8_t { kNone, kAccumulator, kSums };
  Kind kind = Kind::kNone;
  TensorView values = {};

  // Of one matrix; of both parts the accumulator, which says more.
  static Residual of(const Epilogue& epilogue);
  static Residual accumulator(const TensorView& before) { return {Kind::kAccumulator, before}; }
  static Residual sums(const TensorView& r) { return {Kind::kSums, r}; }
};

class AbftChecker {
 public:
  // a (M x K), b (K x N), optional bias (N, float64): whatever the strides. Throws
  // std::invalid_argument where the shapes do not multiply.
  static AbftChecker of_product(const TensorView& a, const TensorView& b, AbftOptions options,
                                std::vector<double> bias = {});
  // A golden C (M x N) alone: its sums are the checksums. Only rounding_variance can judge then.
  static AbftChecker of_golden(const TensorView& golden, AbftOptions options);
  ~AbftChecker();
  AbftChecker(AbftChecker&&) noexcept;

  // Judges C (M x N). The operands' side is computed once, on the first call.
  // residual_compensated needs the residual, other thresholds have no use for it.
  AbftVerdict check(const TensorView& c, const Residual& residual = {}) const;

  // Mends each element that a flag was brought home to, by the flip of one bit where one explains
  // the difference, else by recomputing it, until the check passes or nothing more is found. With
  // columns a flagged row and a flagged column cross at it.
  std::vector<AbftRepair> repair(Tensor& c, const Residual& residual = {}) const;

  // Why outputs of this format cannot be judged, with this residual beside them; empty where they
  // can.
  std::string why_not(const Format& output, const Residual& residual) const;

  const AbftOptions& options() const;
  const ThresholdSpec& spec() const;
  std::int64_t rows() const;     // M
  std::int64_t columns() const;  // N
  std::int64_t depth() const;    // K; 0 of a golden result alone
  std::int64_t group_width() const;
  std::int64_t groups_per_row() const;
  double kappa() const;  // deviations of rounding_variance

  // What follows is for campaigns, which change elements of a row and look again. Rows are those of
  // C, given as stored elements without gaps; a check is a row's group of columns. All throw
  // std::invalid_argument for a row that is not there and for formats that the threshold cannot
  // judge.

  // The checks of one row, before confirmation: groups_per_row() readings, each
  // reading_of(form, stats, expected, spec().arithmetic, output). torch_npu and mindspore look at
  // the peaks of all rows: least_peak is the smallest peak() of the rows beside this one, and of a
  // form its caller sets it. residual_compensated adds R of each check to its row sum.
  void read_row(std::int64_t row, const void* elements, const Format& output, Reading* to,
                double least_peak = std::numeric_limits<double>::infinity(),
                const double* residual = nullptr) const;
  // residual_compensated: the checks of R itself, reading_of(form, R for the sum, 0).
  void read_residual(std::int64_t row, const void* elements, const Format& output,
                     const double* residual, Reading* to) const;
  // residual_compensated, of each check of all rows: a sum above its threshold and not above this
  // is clean, for the errors of such products add up (docs/abft.md); 0 where they do not.
  std::vector<double> explained(const Format& output) const;
  void residual_forms(std::int64_t row, const Format& output, BoundForm* to) const;
  bool looks_at_peaks(const Format& output) const;
  // max|c| / mean|c| of a row; -infinity of a row of zeros, which makes every condition false.
  double peak(const void* elements, const Format& output) const;
  void forms(std::int64_t row, const Format& output, BoundForm* to) const;
  // With the tails of the rounding errors where the row's forms are given.
  void stats(const Format& output, const void* elements, OutputStats* to,
             const BoundForm* forms = nullptr) const;
  // What the sum of a check is expected to be: its checksum as the arithmetic sums it, with the
  // bias of the product and of an accumulator that truncates; before the last rounding.
  double expected(std::int64_t row, std::int64_t group, const Format& output) const;

  // Whether `value` may stand at (row, column) of C, as confirmation asks.
  ElementBound element_bound(std::int64_t row, std::int64_t column, double value,
                             const Format& output) const;
  // Bounds and references of columns [first, first + count) of a row of C. Keeps B as float64.
  void element_bounds(std::int64_t row, std::int64_t first, std::int64_t count,
                      const Format& output, ElementBound* to) const;
  // Returns for each row how far accumulation may take any element of it from its exact value.
  std::vector<double> largest_element_errors() const;

 private:
  struct Impl;
  explicit AbftChecker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::abft

namespace assay {
using abft::AbftChecker;
using abft::Residual;
}  // namespace assay
