// Mutations, one of three kinds of wrong outputs that contain each other (docs/faults.md):
//
// - A fault (fault/fault.h) changes bits at one site, as broken hardware does.
// - A mutation changes a whole output in one fixed way, as a wrong operator does. If a gate passes
//   an output, it is run on each mutation of it.
// - A corruption (audit/corruption.h) is anything that an audit tries: every mutation, a list of
//   faults, rows of its own, and files that are missing or cut off.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "assay/cases/case.h"

namespace assay::inline v0_2::fault {

// A row of the table of mutations.
struct Mutation {
  std::string_view name;
  std::string_view summary;
  // Returns the corrupted output. Empty if the case does not allow it, for example because its
  // shape has no rows, or because there are no operands or golden result to compute it from.
  std::optional<Tensor> (*apply)(const Case&, const Tensor& output);
};

// Returns all mutations in the order of reports. Tiles are 16 by 16, or less if the matrix is
// smaller. Matrices are those of the last two dimensions. A K chunk has 16 products.
std::span<const Mutation> mutations();

// Runs a mutation. Returns nothing if the mutation does, or if its result has the same bits as the
// output.
std::optional<Tensor> mutate(const Mutation& mutation, const Case& test_case, const Tensor& output);

// The functions below are used by mutations and by the corruptions of an audit. Returns a copy of
// the tensor in which element i has the bits `element(i)`.
template <typename Element>
Tensor with_elements(const Tensor& tensor, const Element& element) {
  Tensor t = tensor;
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) t.set_bits(i, element(i));
  return t;
}

// The matrices in the last two dimensions of a tensor: their number, rows and columns. All three
// are 0 for a tensor without matrices.
struct Matrices {
  std::int64_t count = 0, rows = 0, columns = 0;
};
// Returns the matrices of a tensor. A tensor with fewer than two dimensions or without elements has
// no matrices.
Matrices matrices_of(const Tensor& tensor);

}  // namespace assay::fault

namespace assay::inline v0_2 {
using fault::mutate;
using fault::Mutation;
using fault::mutations;
}  // namespace assay
