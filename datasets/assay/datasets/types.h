// Number formats as HDF5 types. HDF5 never converts a value: every read and write uses the file's
// own type, and the bits are decoded by assay.
#pragma once

#include <string>

#include "assay/datasets/handle.h"
#include "assay/format/format.h"

namespace assay::h5 {

// The type that the schema writes for a format.
Handle stored_type(const Format& format);

// How elements of a stored type become the format's bits.
struct TypeMatch {
  bool ok = false;
  bool swap_bytes = false;  // stored big-endian
  std::string why_not;      // "stored as a 32-bit integer, ..."
};
TypeMatch match_type(hid_t stored, const Format& format);

}  // namespace assay::h5
