// Statistics of C that the thresholds of its checks need. They are sums over C's elements, from
// which a BoundForm computes the threshold.
#pragma once

#include <cstdint>

#include "assay/format/format.h"
#include "assay/simd/bound_form_kernel.h"

namespace assay::inline v0_2::simd {
enum class Storage : std::uint8_t;  // defined in simd/convert_kernel.h
}

namespace assay::inline v0_2::abft {

using simd::BoundForm;
using simd::OutputStats;

// Returns the peak of a row, max|c| / mean|c|. It is NaN for a row of zeros.
double peak_of(const OutputStats& stats, double columns);

// The statistics that a form reads in addition to `sum`.
struct StatsUsed {
  bool largest = false;
  bool absolute = false;  // only with largest
  bool square = false;
  bool ulps = true;  // ulp and ulp_square
};

// Computes the statistics of a row of n stored elements without gaps. Writes one entry for every
// group of `width` columns, ceil(n / width) entries. Sums of ulps and of squares over groups of 256
// or more elements are accurate to 2^-19. Fields that `used` leaves out stay 0. The bits of a field
// do not depend on which other fields `used` names. Formats without a kernel are decoded to float64
// first. The kernels read float16, bfloat16 and floats of four and eight bytes.
void output_stats(const Format& format, const void* elements, std::int64_t n, std::int64_t width,
                  OutputStats* to, StatsUsed used = {true, true, true, true});
// Computes the same statistics for numbers of `format` that are stored as `storage`.
void output_stats(const Format& format, simd::Storage storage, const void* elements, std::int64_t n,
                  std::int64_t width, OutputStats* to, StatsUsed used);

}  // namespace assay::abft
