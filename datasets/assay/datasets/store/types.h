// Number formats as HDF5 types. HDF5 never converts a value: every read and write uses the file's
// own type, and the bits are decoded by assay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "assay/datasets/store/handle.h"
#include "assay/format/format.h"
#include "assay/tensor/tensor.h"

namespace assay::h5 {

// The type that the schema writes for a format.
Handle stored_type(const Format& format);

// Of strings of so many bytes.
Handle string_type(std::size_t bytes, H5T_str_t padding, H5T_cset_t encoding);

// Of no extent: a scalar.
Handle space_of(const Shape& shape);

// How elements of a stored type become the format's bits.
struct TypeMatch {
  bool ok = false;
  bool swap_bytes = false;  // stored big-endian
  std::string why_not;      // "stored as a 32-bit integer, ..."
};
TypeMatch match_type(hid_t stored, const Format& format);

// The format of a dataset that does not say it: `dtype` (empty: none is named) where bit patterns
// are stored that it can have, else what the stored type says; null where it says nothing.
const Format* format_of_type(hid_t stored, const std::string& dtype);
// Says why that is null, and what to do: "stored as a string, which is no dtype of assay; ...".
std::string why_no_format(hid_t stored, const std::string& dtype);

// match_type() of a type as a file has it, HDF5's datatype message, without asking the library
// about it: whether its elements are swapped. None where it is none of those that HDF5 writes for
// the format's types, which match_type() may know all the same.
std::optional<bool> match_message(std::string_view message, const Format& format);
// Whether it is the message of stored_type().
bool is_stored_message(std::string_view message, const Format& format);
// Whether it is HDF5's message of that of h5py's bool.
bool is_bool_message(std::string_view message);

// Whether a type is the enumeration that h5py stores a bool as: FALSE = 0, TRUE = 1.
bool is_bool_enum(hid_t type);

// Exchanges the bytes of elements that lie big-endian, of complex ones those of each part.
void swap_bytes(const Format& format, std::byte* elements, std::int64_t n);

// An int4 may lie as an integer of 8 bits; its code is the low four. Other formats stay.
void to_codes(const Format& format, std::byte* elements, std::int64_t n);

// "element [3] is 0x10, which is no float4_e2m1fn": the first element that is no code of the
// tensor's format; "" where there is none.
std::string invalid_element(const TensorView& tensor);
// The same of a piece of an array of that shape, which begins at a row-major position.
std::string invalid_element(const TensorView& piece, const Shape& shape, std::int64_t begin);

}  // namespace assay::h5
