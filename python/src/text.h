// Converts Python's texts to std::string and back. All conversions are here.
//
// A str becomes UTF-8. Bytes that are not valid UTF-8 are surrogates from U+DC80 to U+DCFF in a
// str, as in Python's own functions for files, so that any name in a file can be expressed. C++
// would cut a text at U+0000, so that "a.h5\0.tmp" would name another file. Such a text raises
// ValueError, and so does a text with another surrogate.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

namespace assay::inline v0_2::python {

// Loads the text of a str, or of bytes. Returns false for other objects.
bool load_text(const pybind11::handle& object, std::string& text);
pybind11::str text_object(std::string_view text);

// Return str() and repr() of any object, for messages. They never raise because of the content of
// the text.
std::string str_of(const pybind11::handle& object);
std::string repr_of(const pybind11::handle& object);

// Returns true if the object is a str, or has __fspath__.
bool is_path(const pybind11::handle& value);
// Returns a path from a str, bytes, or an object with __fspath__.
std::string path_of(const pybind11::handle& path);

}  // namespace assay::python

namespace pybind11::detail {

template <>
struct type_caster<std::string> {
  PYBIND11_TYPE_CASTER(std::string, const_name("str"));

  bool load(handle object, bool /*convert*/) { return assay::python::load_text(object, value); }
  static handle cast(const std::string& text, return_value_policy /*policy*/, handle /*parent*/) {
    return assay::python::text_object(text).release();
  }
};

}  // namespace pybind11::detail
