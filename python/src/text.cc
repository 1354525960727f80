#include "text.h"

#include "assay/base/text.h"

namespace assay::inline v0_2::python {
namespace {

namespace py = pybind11;

// Encodes a str as UTF-8. `errors` is Python's name for the way to encode characters that UTF-8
// does not allow. Returns a null object, without an exception, if that fails.
py::object encoded(const py::handle& text, const char* errors) {
  PyObject* const bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", errors);
  if (bytes == nullptr) PyErr_Clear();
  return py::reinterpret_steal<py::object>(bytes);
}

std::string bytes_in(const py::handle& bytes) {
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

std::string without_surrogates(PyObject* text) {
  if (text == nullptr) throw py::error_already_set();
  return bytes_in(encoded(py::reinterpret_steal<py::object>(text), "backslashreplace"));
}

}  // namespace

bool load_text(const py::handle& object, std::string& text) {
  if (!object) return false;
  if (PyUnicode_Check(object.ptr()) != 0) {
    const py::object bytes = encoded(object, "surrogateescape");
    if (!bytes) {
      throw py::value_error(
          formatted("the text {} holds a surrogate, which is no character", repr_of(object)));
    }
    text = bytes_in(bytes);
  } else if (PyBytes_Check(object.ptr()) != 0) {
    text = bytes_in(object);
  } else {
    return false;
  }
  if (text.find('\0') != std::string::npos) {
    throw py::value_error(formatted(
        "the text {} holds U+0000, at which a name or a path would be cut", repr_of(object)));
  }
  return true;
}

py::str text_object(std::string_view text) {
  PyObject* const made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "surrogateescape");
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

std::string str_of(const py::handle& object) {
  return without_surrogates(PyObject_Str(object.ptr()));
}

std::string repr_of(const py::handle& object) {
  return without_surrogates(PyObject_Repr(object.ptr()));
}

bool is_path(const py::handle& value) {
  return py::isinstance<py::str>(value) || py::hasattr(value, "__fspath__");
}

std::string path_of(const py::handle& path) {
  return py::module_::import("os").attr("fspath")(path).cast<std::string>();
}

}  // namespace assay::python
