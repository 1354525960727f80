// The values of HDF5's attributes.
#pragma once

#include <optional>

#include "assay/datasets/handle.h"
#include "assay/tensor/case.h"

namespace assay::h5 {

// A string, an integer, a float or a bool of one element; none where the attribute is anything
// else. A bool is 0 or 1; an unsigned integer of 2^63 and more is a float64. `ok` becomes false
// where HDF5 cannot read it.
std::optional<Attribute> attribute_value(hid_t attribute, bool& ok);

}  // namespace assay::h5
