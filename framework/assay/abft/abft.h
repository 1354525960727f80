// Checks a matrix product by checksums: each row (or group of columns of a row) of C must sum to
// what the operands say, sum_j c_ij = sum_k a_ik (sum_j b_kj), up to rounding. No golden result is
// needed.
//
//   AbftChecker checker = AbftChecker::of_product(view(a), view(b), {});
//   AbftVerdict v = checker.check(view(c));   // v.outcome, v.because, v.flags
//
// What no checksum can see: a corrupted operand that product and checksum both read, and changes
// below the rounding errors of what is summed (docs/abft.md).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/abft/bound_form.h"
#include "assay/abft/threshold.h"
#include "assay/judge/verdict.h"
#include "assay/machine/machine.h"
#include "assay/tensor/case.h"

namespace assay {

struct AbftOptions {
  ThresholdSpec spec = parse_threshold(kDefaultThreshold);
  const DotModel* model = nullptr;  // how the product was accumulated; null: float32, any order
  int threads = 0;
};

// One check: D = |row sum - checksum|, its threshold T, and z = D / sigma (rounding_variance; else
// NaN).
struct Reading {
  double difference = 0, threshold = 0;
  double variance = std::numeric_limits<double>::quiet_NaN();  // of the difference, where known
  bool checkable = true;                                       // operands and checksum are finite
  bool below = false;                                          // the row sum is the smaller one

  // Difference over its deviation; NaN where that is not known.
  double z() const;

  // The test for a fault: infinity or NaN on either side must not compare as clean.
  bool flagged() const;
};

// The reading of one check: `expected` is what its row sum is expected to be, before the last
// rounding of the arithmetic.
Reading reading_of(const BoundForm& form, const OutputStats& stats, double expected,
                   Arithmetic arithmetic, const Format& output);

// One element of C against its own bound, ulp/2 plus what its accumulation may add.
struct ElementBound {
  double reference = 0, bound = 0;
  bool outside = false;  // a value that is not finite is inside where the reference rounds to it
};

// A check above its threshold, after confirmation where that is asked for.
struct AbftFlag {
  bool is_column = false;             // a column check; else a row or group check
  std::int64_t batch = 0, index = 0;  // the row (of a column check: the column)
  std::int64_t first = 0, last = 0;   // columns (rows) that the check sums, inclusive
  Reading reading;
  // The element that is furthest from what the operands say, where that could be found.
  struct Element {
    std::int64_t row, column;
    std::uint64_t bits;
    double actual, reference;
    std::optional<int> flipped_bit;  // of the one flip that explains the difference
    std::uint64_t repaired_bits = 0;
  };
  std::optional<Element> element;
};

struct AbftVerdict {
  Outcome outcome = Outcome::kPass;
  std::string because;             // in words, one line
  std::vector<std::string> notes;  // what else a reader should know
  std::int64_t checks = 0, flagged = 0, not_checkable = 0;
  std::int64_t confirmed_clean = 0;  // above the threshold, but clean at a closer look
  std::int64_t uninformative = 0;    // difference and threshold are both 0
  std::int64_t measured = 0;         // checks with a z
  std::int64_t narrow = 0;           // span fewer than 3 ulps, with no operands to confirm from
  bool all_looked_at = true;         // every check above the threshold was confirmed
  double worst_ratio = 0;            // largest D/T of all checks
  double rms_z = 0;                  // over all checks; NaN where the threshold has no sigma
  double mean_z = 0;                 // the same, signed: row sum less checksum
  bool calibrated = true;            // z should be at most 1 in the mean square
  std::vector<AbftFlag> flags;       // the largest D/T first, at most kListed
  std::string spec;                  // the threshold with its parameters
  const Format* format = nullptr;    // of the output

  static constexpr std::size_t kListed = 5;
};

// What was put in the place of an element.
struct AbftRepair {
  std::int64_t row, column;
  std::uint64_t before, after;
  std::optional<int> flipped_bit;  // of the one flip that was undone; else recomputed
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
  AbftVerdict check(const TensorView& c) const;

  // residual_compensated: `residual` is C before its cast (M x N), or what the kernel's epilogue
  // summed of the cast, R = sum (before - after) of each check (M x groups_per_row()).
  AbftVerdict check(const TensorView& c, const TensorView& residual) const;

  // Mends each element that a flag was brought home to, by the flip of one bit where one explains
  // the difference, else by recomputing it, until the check passes or nothing more is found. With
  // columns a flagged row and a flagged column cross at it.
  std::vector<AbftRepair> repair(Tensor& c) const;

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
  // form its caller sets it.
  void read_row(std::int64_t row, const void* elements, const Format& output, Reading* to,
                double least_peak = std::numeric_limits<double>::infinity()) const;
  bool looks_at_peaks(const Format& output) const;
  // max|c| / mean|c| of a row; -infinity of a row of zeros, which makes every condition false.
  double peak(const void* elements, const Format& output) const;
  void forms(std::int64_t row, const Format& output, BoundForm* to) const;
  void stats(const Format& output, const void* elements, OutputStats* to) const;
  StatsUsed stats_used(const Format& output) const;
  // What the sum of a check is expected to be: its checksum as the arithmetic sums it, with the
  // bias of the product and of an accumulator that truncates; before the last rounding.
  double expected(std::int64_t row, std::int64_t group, const Format& output) const;

  // Whether `value` may stand at (row, column) of C, as confirmation asks.
  ElementBound element_bound(std::int64_t row, std::int64_t column, double value,
                             const Format& output) const;
  // Bounds and references of columns [first, first + count) of a row of C. Keeps B as float64.
  void element_bounds(std::int64_t row, std::int64_t first, std::int64_t count,
                      const Format& output, ElementBound* to) const;

 private:
  struct Impl;
  explicit AbftChecker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Checks of blocks of K, which a finished C cannot have: partials is [K / k_block rounded up, M,
// N], the product of each block of k_block columns of A with its rows of B, as the kernel yields
// them.
AbftVerdict abft_check_partials(const TensorView& a, const TensorView& b,
                                const TensorView& partials, std::int64_t k_block,
                                const AbftOptions& options);

// Judges the output of a case: a matmul with inputs a and b (transposes, batches and bias taken
// into account, each matrix of a batch by itself), else its golden result.
AbftVerdict abft_check(const Case& test_case, const TensorView& output, const AbftOptions& options);

}  // namespace assay
