// What C contributes to the thresholds of its checks: sums over its elements, from which a
// BoundForm gives the threshold.
#pragma once

#include <cstdint>

#include "assay/format/format.h"
#include "assay/simd/bound_form_kernel.h"

namespace assay::simd {
enum class Storage : std::uint8_t;  // simd/convert_kernel.h
}

namespace assay::abft {

using simd::BoundForm;
using simd::OutputStats;

// Peak of a row: max|c| / mean|c|, NaN of a row of zeros.
double peak_of(const OutputStats& stats, double columns);

// Which fields of the statistics a form reads beside sum.
struct StatsUsed {
  bool largest = false;
  bool absolute = false;  // only with largest
  bool square = false;
  bool ulps = true;  // ulp and ulp_square
};

// Statistics of a row of n stored elements without gaps, for every group of `width` columns:
// ceil(n / width) of them; sums of ulps and squares over rows of 256 elements and more are right to
// 2^-19. What `used` leaves out stays 0, and what it has is the same bits whatever else it has.
// Throws std::invalid_argument for formats that the kernels do not read: they read float16,
// bfloat16 and floats of four and eight bytes.
void output_stats(const Format& format, const void* elements, std::int64_t n, std::int64_t width,
                  OutputStats* to, StatsUsed used = {true, true, true, true});
// The same of numbers of the format that are held in another storage.
void output_stats(const Format& format, simd::Storage storage, const void* elements, std::int64_t n,
                  std::int64_t width, OutputStats* to, StatsUsed used);

}  // namespace assay::abft
