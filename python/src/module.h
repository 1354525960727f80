// The parts of the module, and their common functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "array.h"
#include "assay/base/interruptible.h"
#include "assay/base/text.h"
#include "assay/gate/gate.h"
#include "assay/judge/verdict.h"
#include "call.h"

namespace assay::inline v0_2::python {

void define_verdicts(py::module_& m);   // the results of checks: Verdict, CaseReport, ...
void define_judging(py::module_& m);    // compare, assert_close, assert_product, judge_case
void define_operators(py::module_& m);  // golden, emulate, inject
void define_tables(py::module_& m);     // list_machines, ...
void define_files(py::module_& m);      // open, write
void define_commands(py::module_& m);   // gate, campaign
void define_identify(py::module_& m);   // identify
void define_trial(py::module_& m);
void define_checksums(py::module_& m);   // TrialReport, and what assay.trial is built on
void define_checksums(py::module_& m);   // device_checksum
void define_exceptions(py::module_& m);  // FileError, ...

// Returns a case of an operator from its inputs and parameters by name.
Case operator_case(const std::string& op, const py::kwargs& keywords);

// Sets the options of a call from keywords: standard="torch", strict=True are --standard and
// --strict. None and False mean that an option is not given. Raises TypeError, which names
// `function`, for an unknown keyword, and one that names the keyword for a value of another type.
void set_options(tools::CommandCall& call, const py::dict& keywords, const char* function);
// Sets an option or argument by its name in the command line, such as "FILE".
void set_text(tools::CommandCall& call, const char* name, const std::string& text);

// Removes a keyword from `keywords` and returns its value. Returns None if there is no such
// keyword.
py::object taken(py::dict& keywords, const char* name);
// Removes a keyword from `keywords` and returns its value as a T. Returns nothing if there is no
// such keyword or if it is None, and raises TypeError for a value of another type.
template <typename T>
std::optional<T> taken_as(py::dict& keywords, const char* name) {
  const py::object value = taken(keywords, name);
  if (value.is_none()) return std::nullopt;
  try {
    return value.cast<T>();
  } catch (const py::cast_error&) {
    const char* what = std::is_same_v<T, bool> ? "is True or False, not" : "cannot be";
    throw py::type_error(formatted("{} {} {}", name, what, repr_of(value)));
  }
}
// Raises TypeError if there are keywords left. `function` is as in "compare()".
void refuse_rest(const py::dict& keywords, const char* function);

// Raises the exception of a signal's handler, for example after Ctrl-C. The caller need not hold
// the interpreter's lock.
void check_signals();

// Releases the interpreter's lock during its lifetime. Ctrl-C still works.
struct Unlocked {
  const py::gil_scoped_release release{false};
  const Interruptible interruptible{check_signals};
};

// Returns the result of a function that runs without the interpreter's lock.
template <typename Function>
auto without_lock(const Function& function) {
  const Unlocked unlocked;
  return function();
}

// Returns json.loads(text).
py::object from_json(const std::string& text);
std::string first_line(const std::string& text);
// Returns a text in the form in which a notebook shows it.
std::string preformatted(const std::string& text);

// Defines how an object is shown. `text` returns its text, also in a notebook, and `repr` its
// repr().
template <typename Class, typename Text, typename Repr>
void define_texts(Class& defined, const Text& text, const Repr& repr) {
  defined.def("__str__", text)
      .def("__repr__", repr)
      .def("_repr_html_",
           [text](typename Class::type& shown) { return preformatted(std::invoke(text, shown)); });
}
// Defines how an object is shown, and a property `text`, which `words` describes.
template <typename Class, typename Text, typename Repr>
void define_texts(Class& defined, const char* words, const Text& text, const Repr& repr) {
  defined.def_property_readonly("text", text, words);
  define_texts(defined, text, repr);
}

// Raises an error unless the outcome is pass: AssertionError if the comparison failed,
// assay.Untrusted, or assay.NotComparable. The error's attribute `attribute` is `verdict`.
void raise_unless_pass(Outcome outcome, const std::string& text, const py::object& verdict,
                       const char* attribute = "verdict");
[[noreturn]] void raise_gate_error(const std::string& text);  // assay.GateError

// The report of `assay gate` and its exit code. The exit code says more than the outcome of all
// cases: it also reflects a baseline, known failures that match nothing, and mutations that were
// not detected.
struct GateResult {
  GateReport report;
  int exit_code = 0;
};

// A verdict whose metrics are computed when they are first needed.
class LazyVerdict {
 public:
  explicit LazyVerdict(Verdict verdict) : verdict_(std::move(verdict)) {}
  // Sets a function that judges again and computes all metrics. It is called when they are first
  // needed.
  void set_whole(std::function<Verdict()> whole) { whole_ = std::move(whole); }

  // Sets a function that returns the row-major positions of all mismatches.
  void set_positions(std::function<std::vector<std::int64_t>()> positions) {
    positions_ = std::move(positions);
  }
  const std::function<std::vector<std::int64_t>()>& positions() const { return positions_; }

  const Verdict& quick() const { return verdict_; }
  const Verdict& whole() {
    if (whole_) {
      verdict_ = whole_();
      whole_ = nullptr;
    }
    return verdict_;
  }

 private:
  Verdict verdict_;
  std::function<Verdict()> whole_;
  std::function<std::vector<std::int64_t>()> positions_;
};

}  // namespace assay::python
