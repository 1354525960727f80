// Sums of products by dot models, many at once: the lanes of a vector are elements, or models that
// differ only in kept bits. A search over models computes such sums millions of times.
#pragma once

#include <cstdint>

namespace assay::inline v0_2::simd {

enum class ToInteger : std::uint8_t {
  kNearestEven,
  kNearestAway,
  kTowardZero,
  kUp,
  kDown,
  kToOdd,  // a number that is not an integer becomes its odd neighbour
};

// The parameters that round a float64 with a size in [low, high) to fewer bits, by integer
// arithmetic on its bits.
struct BitRounding {
  double low, high;
  int shift;           // number of bits that are not kept
  std::uint64_t rest;  // mask of the bits that are not kept
  // Rounding adds added[0] to the bits of a positive number, or added[1] to those of a negative
  // number, and then clears the bits of `rest`. The addition carries into the kept bits only if the
  // number is rounded away from zero.
  std::uint64_t added[2];
  // to_even is 1 if the added number depends on the last kept bit. to_odd is the last kept bit if
  // rounding sets this bit when others are lost. Both are 0 otherwise.
  std::uint64_t to_even, to_odd;
};

enum class LaneOrder : std::uint8_t {
  kAligned,   // aligns terms and the sum so far to the largest power of two among them
  kOneByOne,  // adds the terms of a chunk in order, then their sum to the sum so far
  kTree,      // adds neighbours in a tree, then their sum to the sum so far
};

struct LaneModel {
  int chunk = 1;  // number of products that one sum takes, at most 128
  LaneOrder order = LaneOrder::kAligned;
  bool rounds_products = false;
  // Rounding of the sum of a chunk if terms are aligned, and of each sum if they are not.
  BitRounding rounding{};
  ToInteger alignment = ToInteger::kTowardZero;
  double least = 0;  // smallest normal value of the accumulator
  // Smallest power of two to which terms are aligned. 0 if there is no limit.
  double floor = 0;
};

// The largest number of float64 lanes of a vector in add_lanes(). Its parameter `lanes` must be a
// multiple of this number.
inline constexpr int kLanes = 8;

// The terms of the sums: each product k, and 2^e with its exponent e, or 0 for the product 0. The
// powers are only read if terms are aligned. If `stride` is 0, all lanes have the same terms. If
// not, the terms of lane i are at [k * stride + i].
struct LaneTerms {
  const double* products;
  const double* powers;
  std::int64_t stride = 0;
};

// Sets c[i] to the sum of c[i] and n products. Aligned terms become multiples of p / kept[i], where
// p is the power to which they are aligned and kept[i] is a power of two up to 2^42. If a sum is
// beyond the range of the rounding, doubtful[i] becomes 1 and c[i] is undefined. If not,
// doubtful[i] does not change.
void add_lanes(const LaneModel& model, std::int64_t n, const LaneTerms& terms, std::int64_t lanes,
               const double* kept, double* c, unsigned char* doubtful);

}  // namespace assay::simd
