// The module assay._core, on which the package assay (python/assay) is built.
#include "module.h"

#include <stdexcept>
#include <typeinfo>

#include "assay/base/error.h"
#include "assay/base/printable.h"
#include "assay/datasets/checks/file_error.h"
#include "call.h"

namespace assay::inline v0_2::python {
namespace {

struct Exceptions {
  py::object file, no_case, of_case, gate, not_comparable, untrusted;
};
// Returns the exceptions of the module. They are never freed, because the interpreter may end
// before the library does.
Exceptions& exceptions() {
  static auto* const all = new Exceptions();
  return *all;
}

py::object exception(py::module_& m, const char* name, const py::handle& base, const char* words) {
  const std::string full = std::string("assay.") + name;
  const py::object made = py::reinterpret_steal<py::object>(
      PyErr_NewExceptionWithDoc(full.c_str(), words, base.ptr(), nullptr));
  m.attr(name) = made;
  return made;
}

void raise(const py::object& type, const std::string& text) {
  PyErr_SetObject(type.ptr(), text_object(printable_lines(text)).ptr());
}

}  // namespace

void define_exceptions(py::module_& m) {
  Exceptions& e = exceptions();
  const py::handle any = PyExc_Exception;
  e.file = exception(
      m, "FileError", any,
      "A file that cannot be read or written; the message names file, object and reason.");
  e.no_case = exception(m, "NoCaseError", e.file,
                        "The file is fine, but holds no case, or none that was asked for.");
  e.of_case = exception(m, "CaseError", PyExc_ValueError,
                        "Something about one case that cannot be done; the message names it.");
  e.gate = exception(m, "GateError", any,
                     "Nothing was judged. No AssertionError: a test that expects a failed "
                     "comparison must not take it for one.");
  e.not_comparable = exception(m, "NotComparable", e.gate,
                               "A case, shape or dtype is missing, or nothing matched.");
  e.untrusted = exception(m, "Untrusted", e.gate,
                          "The check could not have failed, so that a pass would say nothing.");
  (void)exception(m, "NotSupported", any,
                  "A function under trial() raises it for an input that it does not support. The "
                  "trial counts such inputs as neither passed nor failed.");
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const NoCaseError& error) {
      raise(exceptions().no_case, error.what());
    } catch (const FileError& error) {
      raise(exceptions().file, error.what());
    } catch (const CaseError& error) {
      raise(exceptions().of_case, error.what());
    } catch (const py::builtin_exception&) {
      throw;
    } catch (const std::invalid_argument& error) {
      raise(py::reinterpret_borrow<py::object>(PyExc_ValueError), error.what());
    } catch (const std::runtime_error& error) {
      // The framework itself reads JSON files and a campaign's blocks. It throws exactly
      // std::runtime_error for errors in them, which become errors of files in Python.
      if (typeid(error) != typeid(std::runtime_error)) throw;
      raise(exceptions().file, error.what());
    }
  });
}

py::object taken(py::dict& keywords, const char* name) {
  if (!keywords.contains(name)) return py::none();
  py::object value = keywords[name];
  PyDict_DelItemString(keywords.ptr(), name);
  return value;
}

void refuse_rest(const py::dict& keywords, const char* function) {
  for (const auto& [name, value] : keywords) {
    throw py::type_error(formatted("{} got an unexpected keyword argument '{}'", function,
                                   name.cast<std::string>()));
  }
}

void check_signals() {
  const py::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

void raise_unless_pass(Outcome outcome, const std::string& text, const py::object& verdict,
                       const char* attribute) {
  if (outcome == Outcome::kPass) return;
  const py::object type = outcome == Outcome::kFail
                              ? py::reinterpret_borrow<py::object>(PyExc_AssertionError)
                          : outcome == Outcome::kUntrusted ? exceptions().untrusted
                                                           : exceptions().not_comparable;
  const py::object error = type(text_object(printable_lines(text)));
  error.attr(attribute) = verdict;
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

void raise_gate_error(const std::string& text) {
  raise(exceptions().gate, text);
  throw py::error_already_set();
}

}  // namespace assay::python

PYBIND11_MODULE(_core, m) {
  namespace python = assay::python;
  namespace py = pybind11;
  m.doc() = "The judge, the gate and the tables of assay.";
  python::define_exceptions(m);
  python::define_arrays(m);
  python::define_verdicts(m);
  python::define_judging(m);
  python::define_operators(m);
  python::define_tables(m);
  python::define_files(m);
  python::define_commands(m);
  python::define_identify(m);
  python::define_trial(m);
  python::define_checksums(m);
  m.attr("__version__") = assay::tools::version();
  // Users see all types as those of `assay`.
  for (const auto& [name, value] : py::dict(m.attr("__dict__"))) {
    if (py::isinstance<py::type>(value)) value.attr("__module__") = "assay";
  }
}
