// Checksums of attention, O = softmax(scale q k^T) v: sums of O over groups of its columns against
// the weights' products with the same sums of v. docs/abft.md derives the threshold.
#pragma once

#include <cstdint>
#include <memory>

#include "assay/abft/abft_verdict.h"
#include "assay/abft/options.h"
#include "assay/abft/reading.h"
#include "assay/cases/case.h"

namespace assay::abft {

// Judges the output of an attention (Case::is_attention()), each matrix of a batch by itself. The
// weights are computed again, from scores in float64: with L queries, S keys, D and E columns some
// L S (D + E / 8) multiplications and as many additions, against L S (D + E) of a golden result in
// higher precision.
//
// It allows for: half an ulp of each output; weights that are rounded once to the operands' dtype,
// divided by their sum before (`tile` = 0), or not (`tile` above 0), or either (`tile` not given);
// the roundings of float32 scores, exponentials and sums. `options.model`: how the machine sums;
// null: float32 in any order. Not comparable, with the reason, where that does not hold.
AbftVerdict check_attention(const Case& test_case, const TensorView& output,
                            const AbftOptions& options);

// What follows is for campaigns, which change elements of a row and look again. Rows are those of
// all matrices, one below the other; elements those of a whole row, as float64.
class AttentionRow {
 public:
  AttentionRow(AttentionRow&&) noexcept;
  ~AttentionRow();

  Reading read(std::int64_t group, const double* elements) const;
  // Whether a flagged check is a fault, as confirmation asks: some element is outside its bound.
  bool is_wrong(std::int64_t group, const double* elements) const;

 private:
  friend class AttentionRows;
  struct Impl;
  explicit AttentionRow(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class AttentionRows {
 public:
  // The case outlives this. Throws std::invalid_argument with the reason where check_attention()
  // could not compare.
  AttentionRows(const Case& test_case, const Format& output, const AbftOptions& options);
  AttentionRows(AttentionRows&&) noexcept;
  ~AttentionRows();

  std::int64_t rows() const;
  std::int64_t columns() const;
  std::int64_t groups_per_row() const;
  std::int64_t group_width() const;
  // The operands' side of a row, which must not outlive this.
  AttentionRow row(std::int64_t i) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::abft
