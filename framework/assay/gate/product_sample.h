// A part of a matrix product, which is quick to compute in other ways.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/cases/case.h"

namespace assay::inline v0_2 {

struct ProductSample {
  // The product of some rows of A and some columns of B, both from the first matrix.
  Case test_case;
  // row-major index of each element of the sample in the whole result.
  std::vector<std::int64_t> index;
};

// Returns the product of at most `side` rows and `side` columns of the first matrix, evenly spread.
// All K terms are kept. The sample has neither a golden result nor recorded outputs.
ProductSample sample_of_product(const Case& test_case, std::int64_t side);

}  // namespace assay
