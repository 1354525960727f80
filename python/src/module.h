// The parts of the module, and what they share.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "array.h"
#include "assay/base/interruptible.h"
#include "assay/gate/gate.h"
#include "assay/judge/verdict.h"

namespace assay::python {

void define_verdicts(py::module_& m);    // what a check found: Verdict, CaseReport, ...
void define_judging(py::module_& m);     // compare, assert_close, assert_product, judge_case
void define_operators(py::module_& m);   // golden, emulate, inject
void define_tables(py::module_& m);      // list_machines, ...
void define_files(py::module_& m);       // open, write
void define_commands(py::module_& m);    // gate, campaign
void define_identify(py::module_& m);    // identify
void define_exceptions(py::module_& m);  // FileError, ...

// A case of an operator from its inputs and parameters by name.
Case operator_case(const std::string& op, const py::kwargs& keywords);

// "assay WORDS": keywords as options, standard="torch", strict=True -> --standard=torch --strict.
void add_options(std::vector<std::string>& words, const py::dict& options);

// Raises what a signal's handler does, as of Ctrl-C. Needs no lock.
void check_signals();

// While it lives, without the interpreter's lock; Ctrl-C is seen.
struct Unlocked {
  const py::gil_scoped_release release{false};
  const Interruptible interruptible{check_signals};
};

// json.loads(text).
py::object from_json(const std::string& text);
// Text of ours as a notebook shows it.
std::string preformatted(const std::string& text);

// Raises unless the outcome is pass: AssertionError where the comparison failed, assay.Untrusted,
// assay.NotComparable.
void raise_unless_pass(Outcome outcome, const std::string& text);
[[noreturn]] void raise_gate_error(const std::string& text);  // assay.GateError

// What `assay gate` found, and its exit code, which says more than the outcome of all cases: of a
// baseline, known failures that match nothing, mutations that nothing caught.
struct GateResult {
  GateReport report;
  int exit_code = 0;
};

// A verdict, and how its metrics are found where they are first asked for.
class LazyVerdict {
 public:
  explicit LazyVerdict(Verdict verdict) : verdict_(std::move(verdict)) {}
  // `whole` judges again, with all metrics.
  LazyVerdict(Verdict verdict, std::function<Verdict()> whole)
      : verdict_(std::move(verdict)), whole_(std::move(whole)) {}

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
};

}  // namespace assay::python
