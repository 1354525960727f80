// The scalar version of simd/flips_kernel.h, for elements of any format.
#pragma once

#include <cstdint>

#include "assay/format/format.h"
#include "assay/simd/flips_kernel.h"

namespace assay::inline v0_2::campaign {

// Returns the bin of the flip of `bit` in an element stored as `bits`, as simd::flip_bins() writes
// it.
std::uint16_t flip_bin(const simd::FlipCheck& check, const Format& format, std::uint64_t bits,
                       int bit);

}  // namespace assay::campaign
