// The dimensions that the inputs of a case share, by the names that the operator's row gives them.
// A dimension can be cut, which cuts every input that has it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2::trial {

struct Dimension {
  std::string name;  // such as "K", or "dimension 1 of x"
  std::int64_t extent = 0;
  // The inputs that have the dimension, each with the number of its axis.
  std::vector<std::pair<std::string, std::size_t>> places = {};
};

// Returns the dimensions of the case's inputs. Returns nothing if the case has an input whose shape
// the operator's row does not give by names, such as scales: its inputs cannot be cut.
std::vector<Dimension> dimensions_of(const Case& test_case);

// Returns a copy of the case in which every input that has the dimension keeps only the indices
// [begin, begin + count). The copy has no outputs.
Case cut(const Case& test_case, const Dimension& dimension, std::int64_t begin, std::int64_t count);

// A dimension along which the elements of the output do not depend on each other, and the axis of
// the output that it is.
struct RowDimension {
  Dimension of_inputs;
  std::size_t output_axis = 0;
};
// Returns the dimension of rows: M of a product, the first one of a case of elements or rows.
// Returns one with extent 0 if the case has none.
RowDimension rows_of(const Case& test_case);

}  // namespace assay::trial
