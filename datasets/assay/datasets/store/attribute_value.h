// The values of HDF5's attributes.
#pragma once

#include <optional>

#include "assay/cases/case.h"
#include "assay/datasets/store/global_heap.h"
#include "assay/datasets/store/handle.h"

namespace assay::h5 {

// A string, an integer, a float or a bool of one element; none where the attribute is anything
// else. A bool is 0 or 1; an unsigned integer of 2^63 and more is a float64. `ok` becomes false
// where it cannot be read, for a reason that last_error() gives. `heap`: of the attribute's file.
std::optional<Attribute> attribute_value(hid_t attribute, GlobalHeap& heap, bool& ok);

}  // namespace assay::h5
