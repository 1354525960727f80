// Computes one sum by a dot model, fast enough to try a hundred thousand models. The sum has the
// bits of dot_oracle().
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "assay/machine/machine.h"
#include "assay/simd/sum_lanes.h"

namespace assay::inline v0_2::identify {

// Rounds a sum to the accumulator's format, as the dot model requires.
class Rounder {
 public:
  explicit Rounder(const DotModel& model);
  const simd::BitRounding& bits() const { return to_; }
  // Returns the rounded sum. `odd` is a sum that is exact, or was rounded to odd with 53 bits.
  double operator()(double odd) const {
    const double size = std::abs(odd);
    if (!(size >= to_.low && size < to_.high)) return at_an_end(odd);
    // Adds a number to the bits that carries into the kept bits only if the sum is rounded away
    // from zero.
    const auto bits = std::bit_cast<std::uint64_t>(odd);
    const std::uint64_t carried =
        bits + to_.added[std::signbit(odd) ? 1 : 0] + (bits >> to_.shift & to_.to_even);
    return std::bit_cast<double>((carried & ~to_.rest) | ((bits & to_.rest) != 0 ? to_.to_odd : 0));
  }

 private:
  double at_an_end(double odd) const;

  Format format_;
  Rounding rounding_;
  bool flush_;
  simd::BitRounding to_;  // for ordinary sums
};

class QuickSum {
 public:
  static constexpr int kMostChunk = 128;
  // If terms are aligned to at most this many bits, they and their sums are integers that float64
  // represents.
  static constexpr int kMostKept = 42;

  explicit QuickSum(const DotModel& model);

  // Returns c + the sum of a_k b_k over n terms, without promotion: dot_part_oracle. Terms must be
  // finite values of the model's input formats. Returns nothing if the oracle must compute the sum:
  // if it overflows, or if the exact sum of a chunk has too many bits.
  std::optional<double> part(std::int64_t n, const double* a, const double* b, double c) const;

  // Returns the model with which the lanes of vectors compute many such sums at once
  // (simd/sum_lanes.h). Returns nothing if lanes cannot sum as this model does.
  std::optional<simd::LaneModel> lane_model() const;
  // The factors of the products of one sum: arrays a and b.
  struct Factors {
    const double *a, *b;
  };
  // Writes n products of each of `rows`, with factors as the model reads them, and their powers of
  // two unless `powers` is nullptr. Product k of row i goes to [k * rows.size() + i].
  void set_products(std::int64_t n, std::span<const Factors> rows, double* products,
                    double* powers) const;

 private:
  std::optional<double> exact_chunk(int n, const double* terms, double c) const;
  std::optional<double> aligned_chunk(int n, const double* a, const double* b, double c) const;
  std::optional<double> joined_chunk(int n, const double* a, const double* b, double c) const;
  std::optional<double> chunk_by_steps(int n, double* terms, double c) const;
  double add(double x, double y) const;

  const DotModel model_;
  Rounder round_;
  double least_a_, least_b_, least_c_;  // smallest normal values of a, of b and of the accumulator
  double infinite_;                     // aligned sums of at least this size are infinite
};

}  // namespace assay::identify
