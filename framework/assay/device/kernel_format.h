// The formats of elements that kernels read.
#pragma once

#include <string>

#include "assay/device/element_kernel.h"
#include "assay/format/format.h"

namespace assay::inline v0_2::device {

// True for float formats that a kernel reads: signs and magnitudes that float32 holds, and float64.
bool kernel_reads(const Format& format);
// True for integers of at most 32 bits that fill their bytes.
bool kernel_reads_integers(const Format& format);

// The numbers of a format for which one of the two is true, and their text in the source of a
// kernel.
ElementFormat element_format(const Format& format);
std::string text_of(const ElementFormat& format);

}  // namespace assay::device
