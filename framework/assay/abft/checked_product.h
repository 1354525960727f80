// A product whose rows are checked (its columns are the rows of the transposed product): all that
// is known of it before C.
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

namespace assay::abft {

// Whether the last rounding of an element of C is that of its accumulation: of float32 results. The
// accumulation is then their whole threshold, and its squares are taken exactly; elsewhere bounds
// of them will do.
bool is_own_accumulation(const Format& output);

// What checking outputs of some kind needs of the operands' side. Rows x groups unless said.
struct Prepared {
  Checksums checksums;                  // in float64
  std::vector<double> rounded;          // checksums of an arithmetic that rounds sums; else empty
  std::vector<std::int64_t> integers;   // of integer products, modulo 2^64; else empty
  std::vector<double> prefixes, signs;  // ProductStats of accumulators that truncate; else empty
  std::vector<double> constants;        // thresholds, or their parts, that C has no part in
  std::vector<double> biases;           // sums of |bias|; empty without bias
};

struct CheckedProduct {
  AbftOptions options;
  // What options.model points to where columns are checked of factors of two formats.
  std::optional<DotModel> exchanged = {};
  bool from_golden = false;
  Operands operands;
  const Format* input_a = nullptr;  // as given, whatever holds them
  const Format* input_b = nullptr;
  MatrixRows golden;
  std::int64_t m = 0, n = 0, k = 0;

  const Threshold& threshold() const { return *options.spec.threshold; }
  std::int64_t width() const { return options.spec.width_of(n); }  // of a group
  std::int64_t groups() const { return options.spec.groups_of(n); }
  std::int64_t columns_of(std::int64_t group) const;
  // Whether the checks are exact: those of integer products are.
  bool integer_product(const Format& output) const;

  // Whether the accumulation is the whole threshold, so that its squares are taken exactly.
  bool exact_squares(const Format& output) const {
    return is_own_accumulation(output) || threshold().takes_residuals;
  }

  // Computed once a format of outputs.
  const Prepared& prepare(const Format& output) const;

  // All of B as float64, row-major; kept from the first call on.
  const double* b_values() const;

  // Why the threshold cannot judge outputs of this format; empty where it can.
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
