#include "assay/datasets/store/attribute_value.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/printable.h"
#include "assay/datasets/store/types.h"
#include "assay/datasets/store/variable_elements.h"

namespace assay::inline v0_2::h5 {
namespace {

// Reads one string. Sets `ok` to false if the string cannot be read.
std::string read_string(hid_t attr, hid_t type, GlobalHeap& heap, bool& ok) {
  if (H5Tis_variable_str(type) > 0) {
    std::vector<std::byte> reference;
    ok = read_as_stored(attr, type, layout_of(type, heap), heap, reference);
    if (!ok) return "";
    const GlobalHeap::Object object = heap.object(reference, 1);
    if (!object.problem.empty()) push_error(object.problem);
    ok = object.problem.empty();
    std::string value(reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size());
    value.resize(std::strlen(value.c_str()));
    return value;
  }
  std::string value(H5Tget_size(type), '\0');
  ok = H5Aread(attr, type, value.data()) >= 0;
  value.resize(std::strlen(value.c_str()));
  if (H5Tget_strpad(type) == H5T_STR_SPACEPAD) value.erase(value.find_last_not_of(' ') + 1);
  return value;
}

}  // namespace

std::optional<Attribute> attribute_value(hid_t attr, GlobalHeap& heap, bool& ok) {
  const Handle space = h5::space(H5Aget_space(attr));
  if (H5Sget_simple_extent_npoints(space.get()) != 1) return std::nullopt;
  const Handle type = h5::type(H5Aget_type(attr));
  const std::size_t size = H5Tget_size(type.get());
  std::optional<Attribute> value;
  switch (H5Tget_class(type.get())) {
    case H5T_STRING: {
      std::string text = read_string(attr, type.get(), heap, ok);
      if (is_utf8(text)) value = std::move(text);
      break;
    }
    case H5T_INTEGER: {
      if (size > 8) break;
      if (H5Tget_sign(type.get()) == H5T_SGN_NONE) {
        std::uint64_t number = 0;
        ok = H5Aread(attr, H5T_NATIVE_UINT64, &number) >= 0;
        if (number > INT64_MAX) {
          value = static_cast<double>(number);
        } else {
          value = static_cast<std::int64_t>(number);
        }
      } else {
        std::int64_t number = 0;
        ok = H5Aread(attr, H5T_NATIVE_INT64, &number) >= 0;
        value = number;
      }
      break;
    }
    case H5T_FLOAT: {
      // Only widening is allowed, so no bits are lost. HDF5 may convert here, because an attribute
      // is a parameter and not data.
      if (size > 8) break;
      double number = 0;
      ok = H5Aread(attr, H5T_NATIVE_DOUBLE, &number) >= 0;
      value = number;
      break;
    }
    case H5T_ENUM: {
      if (!is_bool_enum(type.get())) break;
      signed char number = 0;
      ok = H5Aread(attr, type.get(), &number) >= 0;
      value = std::int64_t{number};
      break;
    }
    default:
      break;
  }
  return value;
}

}  // namespace assay::h5
