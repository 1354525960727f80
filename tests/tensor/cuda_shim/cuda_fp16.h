// A replacement for CUDA's header of the same name, for machines without CUDA: a type with its
// bits.
#pragma once

struct __half {  // NOLINT: CUDA's name
  unsigned short bits;
};
