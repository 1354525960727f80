// The values of HDF5's attributes.
#pragma once

#include <optional>

#include "assay/cases/case.h"
#include "assay/datasets/store/global_heap.h"
#include "assay/datasets/store/handle.h"

namespace assay::inline v0_2::h5 {

// Returns the value of an attribute that is one UTF-8 string, integer, float or bool, of at most 64
// bits if it is a number. Returns nothing if the attribute is anything else. A bool is 0 or 1, and
// an unsigned integer of 2^63 and more is a float64. Sets `ok` to false if the attribute cannot be
// read, for a reason that last_error() returns. `heap` is that of the attribute's file.
std::optional<Attribute> attribute_value(hid_t attribute, GlobalHeap& heap, bool& ok);

}  // namespace assay::h5
