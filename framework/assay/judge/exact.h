// Exact helpers for judging single elements. They handle 64-bit integers, which float64 would
// round, compare the bits of NaN, and decide which of two mismatches is worse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "assay/base/int128.h"
#include "assay/judge/metrics_pass.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// Returns error / bound of a mismatch. The ratio is infinite if the bound is 0 or a value is NaN or
// infinite.
double ratio_of(const Mismatch& mismatch);
// Orders mismatches by ratio, then by error. If both are equal, the earlier mismatch is worse.
bool worse_mismatch(const Mismatch& a, const Mismatch& b);

// Returns the value of an element of an integer format.
Int128 integer_at(const TensorView& view, std::int64_t position);
// Returns the golden element of an integer or bool output as an integer. If the golden result is a
// float of value `e`, returns `e` rounded to an integer; for bool, whether it differs from 0.
// Returns nothing if the output is a float, or if `e` is NaN, infinite, or at least 2^120 in size.
std::optional<Int128> expected_integer(const Format& output, const TensorView& expected,
                                       std::int64_t position, double e);
// Rounds golden elements to the output's format. For an integer output they become the integers
// that expected_integer() returns, even if the format cannot hold them. NaN and infinity do not
// change.
void round_expected(const Format& output, double* values, std::size_t n);
// The errors of a block of integers whose differences float64 arithmetic could round.
struct IntegerErrors {
  double errors[kMetricsBlock];       // actual - expected (exact for integers)
  std::uint64_t ulps[kMetricsBlock];  // integer_distance()
};
// Writes the exact errors of the n elements from `first` on to `found` and returns true, if float64
// arithmetic may round the differences of these elements. This is so if the output has 64 bits, or
// if a golden number of these elements has more than 52 bits. Returns false and writes nothing if
// float64 arithmetic is exact, or if the output is not an integer.
bool exact_errors(const TensorView& actual, const TensorView& expected, std::int64_t first,
                  std::size_t n, IntegerErrors& found);

// Returns the distance of an integer element from its golden value, at most 2^64 - 1.
std::uint64_t integer_distance(Int128 actual, Int128 expected);
// Returns the smallest float64 that is not below the count. It exceeds a float64 limit exactly if
// the count does.
double not_below(std::uint64_t count);
// True if an integer format can hold the number.
bool holds_integer(const Format& format, Int128 value);

// Returns the golden element as bits of the output's format. `e` is its value there. The bits are 0
// if the element is NaN and the format has no NaN. They are those of the nearest integer if the
// element is an integer that the format cannot hold.
std::uint64_t expected_bits(const Format& output, const TensorView& expected, std::int64_t position,
                            double e);
// Compares the bits of NaN elements that met NaN. Two NaN count as the same value, but their bits
// may differ, and then `metrics` is told. Call this for the block of n elements from `first` on
// that was last added to `metrics`. `e` holds the expected values in the output's format.
void compare_nan_bits(MetricsPass& metrics, const TensorView& actual, const TensorView& expected,
                      std::int64_t first, std::size_t n, const double* a, const double* e);

}  // namespace assay
