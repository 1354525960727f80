// Checks one matrix product. Computes the operands' side once, for any number of results.
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

namespace assay::inline v0_2::abft {

// The data that the kernel returned with one C. This is either nothing, or C before its cast (M x
// N), or the sums R that its epilogue computes: R = sum (before - after) of the elements of each
// check (M x groups_per_row()).
struct Residual {
  enum class Kind : std::uint8_t { kNone, kAccumulator, kSums };
  Kind kind = Kind::kNone;
  TensorView values = {};

  // Returns the residual of one matrix. If the epilogue has both C before its cast (`accumulator`)
  // and the sums R, takes the former, because it holds more.
  static Residual of(const Epilogue& epilogue);
  static Residual accumulator(const TensorView& before) { return {Kind::kAccumulator, before}; }
  static Residual sums(const TensorView& r) { return {Kind::kSums, r}; }
};

// The checker of a matrix product C = A B by checksums, or of a C by a golden result. One checker
// can judge any number of results C.
class AbftChecker {
 public:
  // a is M x K, b is K x N, and the optional bias has N float64 values. Any strides are allowed.
  // Throws Refusal if the shapes do not multiply.
  static AbftChecker of_product(const TensorView& a, const TensorView& b, AbftOptions options,
                                std::vector<double> bias = {});
  // Makes a checker for a golden C (M x N) without operands. The row sums of the golden C are the
  // checksums. Only rounding_variance can judge without operands.
  static AbftChecker of_golden(const TensorView& golden, AbftOptions options);
  ~AbftChecker();
  AbftChecker(AbftChecker&&) noexcept;

  // Judges C (M x N). The operands' side is computed once, on the first call. residual_compensated
  // needs the residual. Other thresholds refuse one.
  AbftVerdict check(const TensorView& c, const Residual& residual = {}) const;

  // Repairs each element that a flag points to. If the flip of one bit explains the difference,
  // undoes that flip; if not, stores the recomputed value. Repeats until the check passes or
  // nothing more is found. If columns are checked, the element is where a flagged row and a flagged
  // column cross.
  std::vector<AbftRepair> repair(Tensor& c, const Residual& residual = {}) const;

  // Returns why outputs of this format, with this residual, cannot be judged. Empty if they can.
  std::string why_not(const Format& output, const Residual& residual) const;

  const AbftOptions& options() const;
  const ThresholdSpec& spec() const;
  std::int64_t rows() const;     // M
  std::int64_t columns() const;  // N
  std::int64_t depth() const;    // K, 0 for a golden result
  std::int64_t group_width() const;
  std::int64_t groups_per_row() const;
  double kappa() const;  // number of standard deviations that rounding_variance allows

  // The functions below are for campaigns, which change elements of a row and check it again. Rows
  // are rows of C, given as stored elements without gaps. A check covers one group of columns of a
  // row. Functions with a row throw std::invalid_argument if C has no such row. Functions with a
  // format, except looks_at_peaks(), throw it if the threshold cannot judge that format.

  // Reads the checks of one row, before confirmation. Writes groups_per_row() readings, each
  // reading_of(form, stats, expected, spec().arithmetic, output). torch_npu and mindspore compare
  // the peaks of all rows: least_peak is the smallest peak() of the other rows. A caller of forms()
  // sets it in each form. residual_compensated adds R of each check to its row sum.
  void read_row(std::int64_t row, const void* elements, const Format& output, Reading* to,
                double least_peak = std::numeric_limits<double>::infinity(),
                const double* residual = nullptr) const;
  // For residual_compensated, reads the checks of R itself. Each reading is reading_of() with the
  // form of |R|, with R as the sum, and with the expected sum 0.
  void read_residual(std::int64_t row, const void* elements, const Format& output,
                     const double* residual, Reading* to) const;
  // For residual_compensated, returns for each check of all rows the largest difference that
  // accumulation explains. A check above its threshold but not above this value is clean, because
  // its accumulation errors add up (docs/abft.md). The value is 0 if they do not add up.
  std::vector<double> explained(const Format& output) const;
  void residual_forms(std::int64_t row, const Format& output, BoundForm* to) const;
  bool looks_at_peaks(const Format& output) const;
  // Returns the peak max|c| / mean|c| of a row. It is -infinity for a row of zeros, which makes
  // every condition of torch_npu and mindspore false.
  double peak(const void* elements, const Format& output) const;
  void forms(std::int64_t row, const Format& output, BoundForm* to) const;
  // Computes the statistics of all checks of a row. Includes the tails of the rounding errors if
  // `forms` has the row's forms.
  void stats(const Format& output, const void* elements, OutputStats* to,
             const BoundForm* forms = nullptr) const;
  // Returns the expected sum of a check before the last rounding. This is the checksum in the
  // spec's arithmetic, with the product's bias and with the systematic error of an accumulator that
  // truncates.
  double expected(std::int64_t row, std::int64_t group, const Format& output) const;

  // Judges whether `value` may stand at (row, column) of C, by the rule of confirmation.
  ElementBound element_bound(std::int64_t row, std::int64_t column, double value,
                             const Format& output) const;
  // Computes bounds and references of columns [first, first + count) of a row of C. Keeps B as
  // float64.
  void element_bounds(std::int64_t row, std::int64_t first, std::int64_t count,
                      const Format& output, ElementBound* to) const;
  // Returns for each row the largest error that the accumulation may give any of its elements.
  std::vector<double> largest_element_errors() const;

 private:
  struct Impl;
  explicit AbftChecker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::abft

namespace assay::inline v0_2 {
using abft::AbftChecker;
using abft::Residual;
}  // namespace assay
