// Stands for CUDA's header of the same name, where there is no CUDA: a type with the bits alone.
#pragma once

struct __nv_bfloat16 {  // NOLINT: CUDA's name
  unsigned short bits;
};
