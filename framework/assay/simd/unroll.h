// Unrolls the loop that follows completely: register tiles stay in registers only when every index
// into them is a constant.
#pragma once

#if defined(__clang__)
#define ASSAY_UNROLL _Pragma("unroll")
#else
#define ASSAY_UNROLL _Pragma("GCC unroll 16")
#endif
