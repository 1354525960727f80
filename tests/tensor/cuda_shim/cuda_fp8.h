// A replacement for CUDA's header of the same name, for machines without CUDA: types with their
// bits.
#pragma once

struct __nv_fp8_e4m3 {  // NOLINT: CUDA's name
  unsigned char bits;
};
struct __nv_fp8_e5m2 {  // NOLINT: CUDA's name
  unsigned char bits;
};
