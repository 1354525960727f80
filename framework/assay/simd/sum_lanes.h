// Sums of products by dot models, many at once: lanes of a vector are models that differ in kept
// bits alone, or elements. What a search over models asks for a million times.
#pragma once

#include <cstdint>

namespace assay::simd {

enum class ToInteger : std::uint8_t {
  kNearestEven,
  kNearestAway,
  kTowardZero,
  kUp,
  kDown,
  kToOdd,  // what is no integer becomes the odd one of its neighbours
};

// How a float64 of a size in [low, high) is rounded to fewer bits, by integer arithmetic.
struct BitRounding {
  double low, high;
  int shift;               // so many bits are not kept:
  std::uint64_t rest;      // these
  std::uint64_t added[2];  // to a positive number, and to a negative one
  // 1: what is added depends on the last bit that is kept; that bit: it is set where bits are lost.
  std::uint64_t to_even, to_odd;
};

enum class LaneOrder : std::uint8_t {
  kAligned,   // terms and the sum so far, to the largest power of two among them
  kOneByOne,  // from the first of a chunk on; their sum is added to the sum so far
  kTree,      // of neighbours; the same
};

struct LaneModel {
  int chunk = 1;  // products that one sum takes, 128 at most
  LaneOrder order = LaneOrder::kAligned;
  bool rounds_products = false;
  BitRounding rounding{};  // of the sum of a chunk; of each sum where terms are not aligned
  ToInteger alignment = ToInteger::kTowardZero;
  double least = 0;  // smallest normal value of the accumulator
  double floor = 0;  // terms are aligned to no less than this power of two; 0: none
};

// A multiple of this many lanes is summed.
inline constexpr int kLanes = 8;

// Terms of the sums: product k, and the power of two that it has, 0 of 0 (read where terms are
// aligned). All lanes have the same where `stride` is 0; else those of lane i are at
// [k * stride + i].
struct LaneTerms {
  const double* products;
  const double* powers;
  std::int64_t stride = 0;
};

// c[i] becomes the sum of c[i] and n products. Aligned ones become multiples of the power that they
// are aligned to over kept[i], a power of two up to 2^42. doubtful[i] becomes 1 where a sum is
// beyond what the rounding takes, and stays what it is elsewhere; c[i] means nothing then.
void add_lanes(const LaneModel& model, std::int64_t n, const LaneTerms& terms, std::int64_t lanes,
               const double* kept, double* c, unsigned char* doubtful);

}  // namespace assay::simd
