// One sum by a dot model, fast enough to try a hundred thousand models: the bits of dot_oracle.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/machine/machine.h"

namespace assay::identify {

// Rounds what a sum gave to an accumulator's format, as the dot model says.
class Rounder {
 public:
  explicit Rounder(const DotModel& model);
  // Of a sum, exact or rounded to odd with 53 bits.
  double operator()(double odd) const;

 private:
  Format format_;
  Rounding rounding_;
  bool flush_;
  double low_, high_;  // |sum| in [low, high): rounded by integer arithmetic
  std::uint64_t unit_, rest_;
};

class QuickSum {
 public:
  explicit QuickSum(const DotModel& model);

  // c + sum of a_k b_k over n terms, not promoted: dot_part_oracle. Terms must be finite values of
  // the model's input formats. Empty where it leaves the sum to the oracle: where it overflows, and
  // where the exact sum of a chunk has too many bits.
  std::optional<double> part(std::int64_t n, const double* a, const double* b, double c) const;

 private:
  double operand(const Format& format, double value) const;
  std::optional<double> exact_chunk(int n, const double* terms, double c) const;
  std::optional<double> aligned_chunk(int n, const double* a, const double* b, double c) const;
  std::optional<double> chunk_by_steps(int n, double* terms, double c) const;
  double add(double x, double y) const;

  const DotModel model_;
  const Format& a_format_;
  const Format& b_format_;
  Format accumulator_;
  Rounder round_;
  double least_a_, least_b_, least_c_;  // smallest normal values
  double infinite_;                     // aligned sums of this size are infinite
};

}  // namespace assay::identify
