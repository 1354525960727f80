// Checksums of attention, O = softmax(scale q k^T) v. Compares sums of O over groups of its columns
// with the products of the weights and the same sums of v. docs/abft.md derives the threshold.
#pragma once

#include <cstdint>
#include <memory>

#include "assay/abft/abft_verdict.h"
#include "assay/abft/options.h"
#include "assay/abft/reading.h"
#include "assay/cases/case.h"

namespace assay::inline v0_2::abft {

// Judges the output of an attention (is_attention() in op/operator.h), each matrix of a batch
// separately. The weights are computed again, from scores in float64. With L queries, S keys, D and
// E columns this takes about L S (D + E / 8) multiplications and as many additions. A golden result
// in higher precision takes L S (D + E) of each.
//
// The threshold allows for half an ulp of each output, for the rounding of the weights, and for the
// roundings of float32 scores, exponentials and sums. The weights are rounded once to the operands'
// dtype: after division by their sum (`tile` = 0), before it (`tile` above 0), or either way
// (`tile` not given). `options.model` describes how the machine sums. Null means float32 in any
// order. If the check does not apply, the outcome is kNotComparable, with the reason.
AbftVerdict check_attention(const Case& test_case, const TensorView& output,
                            const AbftOptions& options);

// The two classes below are for campaigns, which change elements of a row and check it again. Row
// numbers count through all matrices, one below the other. `elements` are those of a whole row, as
// float64.
class AttentionRow {
 public:
  AttentionRow(AttentionRow&&) noexcept;
  ~AttentionRow();

  Reading read(std::int64_t group, const double* elements) const;
  // True if a flagged check is a fault, by the rule of confirmation: an element is outside its
  // bound. Always true without confirmation.
  bool is_wrong(std::int64_t group, const double* elements) const;

 private:
  friend class AttentionRows;
  struct Impl;
  explicit AttentionRow(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class AttentionRows {
 public:
  // The case must outlive this object. Throws Refusal, with the reason, if
  // check_attention() could not compare.
  AttentionRows(const Case& test_case, const Format& output, const AbftOptions& options);
  AttentionRows(AttentionRows&&) noexcept;
  ~AttentionRows();

  std::int64_t rows() const;
  std::int64_t columns() const;
  std::int64_t groups_per_row() const;
  std::int64_t group_width() const;
  // Returns what the operands predict for a row. The AttentionRow must not outlive this object.
  AttentionRow row(std::int64_t i) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::abft
