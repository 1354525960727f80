// hifloat8 (Ascend 950), the one tapered format: a prefix after the sign gives the number of bits
// of the exponent (docs/formats.md). Codes are magnitude codes, 0 to 0x7f.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/format/table.h"

namespace assay::inline v0_2 {

double tapered_value(unsigned code);

// A finite value and its code. tapered_table() returns all of them, the values in ascending order.
struct TaperedEntry {
  double value;
  std::uint8_t code;
};
const std::vector<TaperedEntry>& tapered_table();

// Returns a mask of the bits of a stored element that are its exponent, or 0 for formats without an
// exponent. In a tapered format the mask depends on the element.
std::uint64_t exponent_bits(const Format& format, std::uint64_t bits);

}  // namespace assay
