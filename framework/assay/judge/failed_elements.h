// The elements of one failed output, for the search for the cause of the failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/index.h"
#include "assay/format/convert.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

using Positions = std::vector<std::int64_t>;

// Returns at most `most` of the positions, evenly spread. The first position is always included.
Positions evenly(const Positions& all, std::size_t most);

// The bits of elements of a tensor. A tensor that lies in memory in order needs no division for
// each element.
class ElementBits {
 public:
  explicit ElementBits(const TensorView& view) : view_(view), in_order_(view.is_contiguous()) {}
  std::uint64_t operator[](std::int64_t position) const {
    return in_order_
               ? load_element(*view_.format, view_.data + position * view_.format->storage_bytes)
               : view_.bits_at(position);
  }

 private:
  const TensorView& view_;
  bool in_order_;
};

// The expected elements at some positions of the failed output. Other values can be judged in place
// of the output's elements there.
class ElementSample {
 public:
  ElementSample(const TensorView& expected, const JudgeOptions& options, const Bound& bound,
                Positions positions);

  const Positions& positions() const { return positions_; }
  std::size_t size() const { return positions_.size(); }
  TensorView expected() const { return expected_; }

  // Returns an output that has bits(position) at each position.
  template <typename BitsAt>
  Tensor output(const Format& format, const BitsAt& bits) const {
    Tensor made(format, {static_cast<std::int64_t>(size())});
    for (std::size_t i = 0; i < size(); ++i) {
      made.set_bits(static_cast<std::int64_t>(i), bits(positions_[i]));
    }
    return made;
  }

  // Judges `output`, which output() made. Returns the indices within the sample at which it has
  // mismatches. Sets `worst`, if it is not null, to the 5 worst mismatches among the first 65536
  // elements.
  std::vector<std::int64_t> mismatches(const Tensor& output, const Bound& bound,
                                       std::vector<Mismatch>* worst = nullptr) const;
  // Returns how many elements pass.
  std::size_t passes(const Tensor& output, const Bound& bound) const {
    return size() - mismatches(output, bound).size();
  }
  // True if the output meets the bound's limits.
  bool meets_limits(const Tensor& output, const Bound& bound) const;

 private:
  Positions positions_;
  Tensor expected_;
  std::optional<Tensor> bounds_, reference_, weights_;
};

// One failed output with the elements that are examined: all of them, or 2^20 evenly spread ones
// and the known mismatches.
class FailedElements {
 public:
  // A pattern needs at least this many mismatches, unless it is a flipped bit or a special value.
  static constexpr std::size_t kFewest = 4;

  FailedElements(const TensorView& actual, const TensorView& expected, const JudgeOptions& options,
                 const Verdict& verdict, const Positions& mismatches);

  const TensorView& actual() const { return actual_; }
  const TensorView& expected() const { return expected_; }
  const Verdict& verdict() const { return verdict_; }
  const Format& format() const { return out_; }
  const Shape& shape() const { return actual_.shape; }
  // The number of elements of the last dimension. Rows are numbered across all matrices of a batch.
  std::int64_t columns() const { return actual_.shape.empty() ? 1 : actual_.shape.back(); }
  // True if only statistics failed. Then the mismatches are the elements that are far off.
  bool by_limits() const { return by_limits_; }
  // Returns the bound that judges the elements.
  const Bound& bound() const { return bound_; }
  const ElementBits& bits() const { return bits_; }
  // The mismatches among the examined elements, in order.
  const Positions& mismatches() const { return mismatches_; }
  const ElementSample& looked() const { return looked_; }
  // first() has at most 256 mismatches, tried() at most 4 096, and right() has at most 1 024
  // elements that are right.
  const ElementSample& first() const { return *first_; }
  const ElementSample& tried() const { return *tried_; }
  const ElementSample& right() const { return *right_; }

  bool looks_at_all() const { return static_cast<std::int64_t>(looked_.size()) == actual_.size(); }
  bool is_mismatch(std::int64_t position) const;
  Tensor unchanged(const ElementSample& sample) const;
  double value(std::int64_t position) const { return decode(out_, bits_[position]); }
  // The expected element in the output's format, rounded if it has more precision.
  std::uint64_t expected_at(std::int64_t position) const;
  double rounded(double value) const;

  // True if a cause that explains `explained` of `all` mismatches is worth naming. At least 90
  // percent must be explained. If there are few mismatches, up to 4 of them, and at most a fifth of
  // all, may have other causes.
  static bool is_most(std::size_t explained, std::size_t all);
  // True if the cause is unlikely to be chance. If each mismatch passes by chance with probability
  // `chance`, then `passes` mismatches all pass with a probability of at most 0.001.
  static bool beats_chance(std::size_t passes, double chance);

  // Returns `"2 304 mismatches"` or `"1 mismatch among 1 048 576 elements that were looked at"`.
  std::string mismatches_text() const;
  // Returns `"explains 5 of 5 mismatches"`.
  std::string explains(std::size_t passes) const;
  // Returns the whole rows or columns that hold nearly all of the positions, such as "rows 3 and
  // 9", "columns 2 to 5" or "rows 3, 9, 10 and 4 others". Returns an empty string if most elements
  // of such a line are not among the positions.
  std::string whole_lines(const Positions& positions) const;

 private:
  Positions looked_at(const Positions& mismatches) const;
  Bound far_off() const;

  const TensorView& actual_;
  const TensorView& expected_;
  const Verdict& verdict_;
  const Format& out_;
  const ElementBits bits_;
  const bool by_limits_;
  Bound bound_;
  const ElementSample looked_;
  Positions mismatches_;
  std::optional<ElementSample> first_, tried_, right_;
};

}  // namespace assay
