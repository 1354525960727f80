// The text of judge_kernel.h, for compilers at run time. The build makes its source.
#pragma once

#include <string_view>

namespace assay::inline v0_2::device {

extern const std::string_view kKernelText;

}  // namespace assay::device
