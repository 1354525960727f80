// A closer look at checks above their threshold: element by element against the operands.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/abft/abft.h"
#include "assay/abft/operands.h"

namespace assay {

// Where the elements and their references come from: operands, else a golden result.
struct Elements {
  const Operands* operands;
  const MatrixRows* golden;
  const TensorView& c;
  int chunk;  // products an accumulator rounding
};

struct Confirmation {
  std::int64_t clean = 0;     // flags without an element outside its bound
  bool all_looked_at = true;  // false where a fault was certain and too many flags were left
};

// Looks at each element of each flagged check, the largest D/T first: |c - reference| must be at
// most ulp/2 plus the bound of the accumulation, K/chunk 2^-24 sum |a b| (golden result alone:
// 2^-16 of the root mean square of what the check sums). Removes the flags that are clean; of the
// others keeps the first few, with their element.
Confirmation confirm_flags(const Elements& elements, std::vector<AbftFlag>& flags, int threads);

// Finds the element of a flagged check that is furthest from its reference, and the flip of one bit
// that explains it.
void locate(const Elements& elements, AbftFlag& flag);

}  // namespace assay
