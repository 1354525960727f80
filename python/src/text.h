// Python's texts as std::string and back: the one place where they are converted.
//
// A str becomes UTF-8, and bytes that are not UTF-8 go as Python's own functions for files write
// them, as surrogates from U+DC80 to U+DCFF: what a file holds can be named. C++ would cut a text
// at U+0000, so that "a.h5\0.tmp" would name another file: such a text raises ValueError, and so
// does one with another surrogate.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

namespace assay::python {

// Of a str, or of bytes; false of other objects.
bool load_text(const pybind11::handle& object, std::string& text);
pybind11::str text_object(std::string_view text);

// str() and repr() of any object, for messages: never raise because of what the text holds.
std::string str_of(const pybind11::handle& object);
std::string repr_of(const pybind11::handle& object);

// A path: a str, bytes, or an object with __fspath__.
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
