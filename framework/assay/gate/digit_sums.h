// Sums over the elements of a tensor that share their digits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "assay/tensor/tensor.h"

namespace assay {

// Numbers that are equal up to sign and a power of two share their digits. Elements that do may be
// computed alike, with the same errors.
//
// Each element brings one term or two, which are not negative. Entries are first put apart by a
// hash of their digits, into parts that fit into a cache, and then added up part by part. The
// result does not depend on the number of threads.
class DigitSums {
 public:
  // Reads all elements, to see how many come to each part. `terms`: of an element, 1 or 2.
  DigitSums(const TensorView& elements, int terms, int threads);

  // Elements lie in stretches, each of which one thread adds. Their number depends only on the
  // size.
  std::int64_t stretches() const { return stretches_; }
  std::int64_t begin(std::int64_t stretch) const {
    return std::min(size_, stretch * stretch_length_);
  }

  class Stretch {
   public:
    // Adds an element. Each one has to be added once, in any order.
    void add(double element, double term, double other_term = 0) {
      const std::uint64_t key = key_of(element);
      double* const entry = entries_ + places_[hash(key) >> 1 >> shift_]++ * width_;
      entry[0] = std::bit_cast<double>(key);
      entry[1] = term;
      if (width_ > 2) entry[2] = other_term;
    }

   private:
    friend class DigitSums;
    double* entries_;
    std::size_t* places_;
    std::size_t width_;
    int shift_;
  };
  Stretch stretch(std::int64_t index);

  // The sum of the squares of all sums, and the largest sum.
  struct Total {
    double squares = 0, largest = 0;
    void add(double sum);
    void add(const Total& more);
  };
  struct Totals {
    Total terms, other_terms;
  };
  Totals totals() const;

 private:
  // Never 0, which marks a free place of a table.
  static std::uint64_t key_of(double value) {
    constexpr std::uint64_t kFraction = 0xfffffffffffffu;
    const bool is_subnormal = !(std::abs(value) >= std::numeric_limits<double>::min());
    const auto bits = std::bit_cast<std::uint64_t>(is_subnormal ? value * 0x1p54 : value);
    return value == 0 ? kFraction + 2 : (bits & kFraction) + 1;
  }
  static std::uint64_t hash(std::uint64_t key) { return key * 0x9e3779b97f4a7c15u; }
  void add_part(std::size_t part, std::vector<double>& table, Totals& to) const;

  std::int64_t size_, stretch_length_, stretches_;
  std::size_t width_;  // of an entry: its digits and its terms
  int bits_;           // there are 2^bits_ parts
  int threads_;
  std::vector<std::size_t> places_;  // of the next entry, by stretch and part
  std::vector<std::size_t> begins_;  // by part, and the end of the last
  std::unique_ptr<double[]> entries_;
};

}  // namespace assay
