// What the judges of a whole and of pieces share, element by element and exactly: integers of 64
// bits, which float64 would round, the bits of NaN, and which of two misses is the worse one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "assay/judge/metrics_pass.h"
#include "assay/judge/verdict.h"

namespace assay {

// Of a miss: error / bound; infinite where the bound is 0 or a special value is in the way.
double ratio_of(const Miss& miss);
// By ratio, then by error, then the earlier one.
bool worse_miss(const Miss& a, const Miss& b);

// An element of an integer format.
__int128 integer_at(const TensorView& view, std::int64_t position);
// The golden element of an integer output: an integer as it is; a float golden result, of value
// `e`, rounded to one. Empty where there is none: NaN, infinity, and what 127 bits do not hold.
std::optional<__int128> expected_integer(const Format& output, const TensorView& expected,
                                         std::int64_t position, double e);
// Golden elements rounded to the output's format; those of an integer output to the integer that
// expected_integer() gives, also where the format does not hold it. NaN and infinity stay.
void round_expected(const Format& output, double* values, std::size_t n);
// The errors of a block of integers that float64 values would round.
struct IntegerErrors {
  double errors[kMetricsBlock];       // actual - expected, rounded to float64 once
  std::uint64_t ulps[kMetricsBlock];  // integer_distance()
};
// Fills `found` for the n elements from `first` on if float64 arithmetic may round their
// differences: if the output has 64 bits, or a golden number more than 52. Returns false, and
// fills nothing, if float64 arithmetic is exact or the output is not an integer.
bool exact_errors(const TensorView& actual, const TensorView& expected, std::int64_t first,
                  std::size_t n, IntegerErrors& found);

// The distance of an integer element from its golden one, at most 2^64 - 1.
std::uint64_t integer_distance(__int128 actual, __int128 expected);
// The smallest float64 that is not below the count. It exceeds a float64 limit exactly if the count
// does.
double not_below(std::uint64_t count);
// Whether an integer format holds the number.
bool holds_integer(const Format& format, __int128 value);

// The golden element in the output's format, of value `e` there; all zeros where that cannot hold a
// NaN, and the nearest where it is an integer that the format does not hold.
std::uint64_t expected_bits(const Format& output, const TensorView& expected, std::int64_t position,
                            double e);
// Two NaN count as the same value; whether they are the same bits is another matter. Of the block
// of n elements from `first` on that `metrics` was given last; `e`: in the output's format.
void compare_nan_bits(MetricsPass& metrics, const TensorView& actual, const TensorView& expected,
                      std::int64_t first, std::size_t n, const double* a, const double* e);

}  // namespace assay
