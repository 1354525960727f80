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

namespace assay::inline v0_2 {

// Numbers that are equal up to sign and a power of two share their digits. Elements that share
// their digits may be computed alike, with the same errors.
//
// Each element contributes one or two terms, which are not negative. First, a hash of the digits
// distributes the entries over parts that fit into a cache. Then each part is added up. The result
// does not depend on the number of threads.
class DigitSums {
 public:
  // Reads all elements to count the entries of each part. `terms` is the number of terms of an
  // element, 1 or 2.
  DigitSums(const TensorView& elements, int terms, int threads);

  // The elements are divided into stretches. One thread adds the elements of a stretch. The number
  // of stretches depends only on the number of elements.
  std::int64_t stretches() const { return stretches_; }
  std::int64_t begin(std::int64_t stretch) const {
    return std::min(size_, stretch * stretch_length_);
  }

  class Stretch {
   public:
    // Adds an element. Each element must be added once, in any order.
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
  // Returns the digits of a number. The result is never 0, because 0 marks a free place of a table.
  static std::uint64_t key_of(double value) {
    constexpr std::uint64_t kFraction = 0xfffffffffffffu;
    const bool is_subnormal = !(std::abs(value) >= std::numeric_limits<double>::min());
    const auto bits = std::bit_cast<std::uint64_t>(is_subnormal ? value * 0x1p54 : value);
    return value == 0 ? kFraction + 2 : (bits & kFraction) + 1;
  }
  static std::uint64_t hash(std::uint64_t key) { return key * 0x9e3779b97f4a7c15u; }
  void add_part(std::size_t part, std::vector<double>& table, Totals& to) const;

  std::int64_t size_, stretch_length_, stretches_;
  std::size_t width_;  // numbers in an entry: the digits and the terms
  int bits_;           // the entries are divided into 2^bits_ parts
  int threads_;
  // For each stretch and part, the place in entries_ where the next entry goes.
  std::vector<std::size_t> places_;
  // The begin of each part in entries_, and the end of the last part.
  std::vector<std::size_t> begins_;
  std::unique_ptr<double[]> entries_;
};

}  // namespace assay
