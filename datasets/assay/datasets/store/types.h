// Number formats as HDF5 types. HDF5 never converts an element of a dataset. Every read and write
// of elements uses the file's own type, and assay decodes the bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "assay/datasets/store/handle.h"
#include "assay/format/format.h"
#include "assay/tensor/tensor.h"

namespace assay::inline v0_2::h5 {

// Returns the type that the schema stores for a format.
Handle stored_type(const Format& format);

// Returns the type of strings of `bytes` bytes.
Handle string_type(std::size_t bytes, H5T_str_t padding, H5T_cset_t encoding);

// Returns the data space of a shape. A shape without extents is a scalar.
Handle space_of(const Shape& shape);

// The result of matching a stored type with a format.
struct TypeMatch {
  bool ok = false;
  bool swap_bytes = false;  // stored big-endian
  std::string why_not;      // the reason if not `ok`, as in "stored as a 32-bit integer, ..."
};
TypeMatch match_type(hid_t stored, const Format& format);

// Returns the format of a dataset that does not say it. If the dataset stores bit patterns that
// `dtype` can have, this is `dtype` (empty if the user names none). Otherwise it follows from the
// stored type. Returns null if the stored type does not tell.
const Format* format_of_type(hid_t stored, const std::string& dtype);
// Returns why format_of_type() is null, and what to do: "stored as a string, which is no dtype of
// assay; ...".
std::string why_no_format(hid_t stored, const std::string& dtype);

// Does the work of match_type() without the library, on HDF5's datatype message in the file.
// Returns whether the elements' bytes are swapped. Returns nothing if the message is not one that
// HDF5 writes for the format's types. match_type() may accept such a type nevertheless.
std::optional<bool> match_message(std::string_view message, const Format& format);
// Returns true if a datatype message is that of the format's stored_type().
bool is_stored_message(std::string_view message, const Format& format);
// Returns true if a datatype message is that of the bool type of h5py.
bool is_bool_message(std::string_view message);

// Returns true if a type is the enumeration that h5py stores a bool as: FALSE = 0, TRUE = 1.
bool is_bool_enum(hid_t type);

// Swaps the bytes of big-endian elements. For complex elements it swaps those of each part.
void swap_bytes(const Format& format, std::byte* elements, std::int64_t n);

// Converts stored elements to codes. An int4 may be stored as an 8-bit integer; its code is the low
// four bits. Other formats are not changed.
void to_codes(const Format& format, std::byte* elements, std::int64_t n);

// Describes the first element that is not a valid code of the tensor's format: "element [3] is
// 0x10, which is no float4_e2m1fn". Returns an empty string if all are valid.
std::string invalid_element(const TensorView& tensor);
// Describes the first element of a piece of an array that is not a valid code. The array has that
// shape, and the piece begins at its row-major position `begin`.
std::string invalid_element(const TensorView& piece, const Shape& shape, std::int64_t begin);

}  // namespace assay::h5
