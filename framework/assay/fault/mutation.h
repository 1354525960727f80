// Corruptions that a gate ought to see: what wrong operators do to a whole output. A gate is run on
// each, to learn which it would have let through.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "assay/cases/case.h"

namespace assay::fault {

struct Mutation {
  std::string_view name;
  std::string_view summary;
  // The corrupted output; empty where the case does not allow it (a shape without rows, no operands
  // or golden result to compute it from), or where it would change no bit.
  std::optional<Tensor> (*apply)(const Case&, const Tensor& output);
};

// In the order of reports. Tiles are 16 by 16 (less where the matrix is smaller), matrices those of
// the last two dimensions, a K chunk 16 products.
std::span<const Mutation> mutations();

// Runs one: empty also where the result has the output's bits.
std::optional<Tensor> mutate(const Mutation& mutation, const Case& test_case, const Tensor& output);

}  // namespace assay::fault

namespace assay {
using fault::mutate;
using fault::Mutation;
using fault::mutations;
}  // namespace assay
