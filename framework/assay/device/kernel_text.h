// The texts of kernels, for compilers at run time. The build makes their source from the headers.
#pragma once

#include <string_view>

namespace assay::inline v0_2::device {

extern const std::string_view kJudgeText;     // judge_kernel.h
extern const std::string_view kChecksumText;  // checksum_kernel.h

}  // namespace assay::device
