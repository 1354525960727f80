// A product whose rows are checked, and everything that is known about it before C is computed.
// Columns are checked as the rows of the transposed product.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "assay/abft/operands.h"
#include "assay/abft/options.h"
#include "assay/abft/terms.h"
#include "assay/abft/threshold.h"
#include "assay/machine/machine.h"

namespace assay::inline v0_2::abft {

// True if the last rounding of an element of C is that of its accumulation, as for float32 results.
// Then the accumulation is the whole threshold, and its squares are computed exactly. For other
// formats bounds of the squares are enough.
bool is_own_accumulation(const Format& output);

// The predictions of the operands for all checks, for one format of outputs. Sizes are rows x
// groups unless stated.
struct Prepared {
  Checksums checksums;                 // in float64
  std::vector<double> rounded;         // checksums of an arithmetic that rounds sums, or empty
  std::vector<std::int64_t> integers;  // checksums of integer products, modulo 2^64, or empty
  // Fields of ProductStats, for accumulators that truncate. Empty for others.
  std::vector<double> prefixes, signs;
  std::vector<double> constants;  // thresholds, or the parts of them that do not depend on C
  std::vector<double> biases;     // sums of |bias| of each check, empty if there is no bias
};

struct CheckedProduct {
  AbftOptions options;
  // options.model points here if columns are checked and the factors have two formats.
  std::optional<DotModel> exchanged = {};
  bool from_golden = false;
  Operands operands;
  const Format* input_a = nullptr;  // formats of the given operands; `operands` may store others
  const Format* input_b = nullptr;
  MatrixRows golden;
  std::int64_t m = 0, n = 0, k = 0;

  const Threshold& threshold() const { return *options.spec.threshold; }
  std::int64_t width() const { return options.spec.width_of(n); }  // of a group
  std::int64_t groups() const { return options.spec.groups_of(n); }
  std::int64_t columns_of(std::int64_t group) const;
  // True if the checks are exact, as they are for integer products.
  bool integer_product(const Format& output) const;

  // True if the accumulation is the whole threshold, so that its squares are computed exactly.
  bool exact_squares(const Format& output) const {
    return is_own_accumulation(output) || threshold().takes_residuals;
  }

  // Returns the prepared data, which are computed once for each format of outputs.
  const Prepared& prepare(const Format& output) const;

  // Returns all of B as float64, row-major. Kept from the first call on.
  const double* b_values() const;

  // Returns why the threshold cannot judge outputs of this format. Empty if it can.
  std::string why_not(const Format& output) const;

 private:
  Prepared make(const Format& output, const Prepared* other) const;
  Beside beside_checksums(const Format& output) const;
  std::vector<double> golden_tolerances() const;

  mutable std::mutex mutex_;
  mutable std::vector<double> b_values_;
  struct Slot {
    const Format* format;
    std::unique_ptr<Prepared> prepared;
  };
  mutable std::vector<Slot> prepared_;
};

}  // namespace assay::abft
