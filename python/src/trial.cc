// Trials of Python functions: the kernel that calls one, and the report as Python objects.
#include "assay/trial/trial.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "assay/base/text.h"
#include "assay/machine/machine.h"
#include "assay/op/operator.h"
#include "assay/report/trial_text.h"
#include "case.h"
#include "module.h"

namespace assay::inline v0_2::python {
namespace {

constexpr const char* kInterrupted = "the trial was interrupted";

// True while this thread runs a trial in which each input is computed in a child process.
thread_local bool forks_for_trial = false;
thread_local bool has_lock_for_fork = false;
PyGILState_STATE state_before_fork;  // only the thread that holds the interpreter's lock uses it

// Registers functions that prepare the interpreter for the forks of a trial, as os.fork() does. The
// forking thread takes the interpreter's lock first, because the child process has no other thread
// that could release it.
void prepare_forks() {
  static const int registered = pthread_atfork(
      [] {
        has_lock_for_fork = forks_for_trial && PyGILState_Check() == 0;
        if (!has_lock_for_fork) return;
        state_before_fork = PyGILState_Ensure();
        PyOS_BeforeFork();
      },
      [] {
        if (!has_lock_for_fork) return;
        PyOS_AfterFork_Parent();
        PyGILState_Release(state_before_fork);
      },
      [] {
        if (!has_lock_for_fork) return;
        PyOS_AfterFork_Child();
        PyGILState_Release(state_before_fork);
      });
  (void)registered;
}

// The memory of one array that a Python function gets. It belongs to Python, so that an array that
// the function keeps stays valid after the trial. Calls with the same sizes get the same memory,
// so that a result which is cached by address is found.
class PythonMemory {
 public:
  // Copies the elements and the gaps between them, to an address with the same alignment.
  void set(const TensorView& view) {
    const auto width = static_cast<std::size_t>(view.format->storage_bytes);
    extent_ = 0;
    if (view.size() > 0) {
      extent_ = width;
      for (std::size_t d = 0; d < view.shape.size(); ++d) {
        extent_ += static_cast<std::size_t>((view.shape[d] - 1) * view.strides[d]) * width;
      }
    }
    const std::size_t bytes = extent_ + 2 * kBand + kAlignment;
    if (static_cast<std::size_t>(flat_.size()) != bytes) {
      flat_ = new_numpy("uint8", {static_cast<std::int64_t>(bytes)});
    }
    auto* const data = reinterpret_cast<std::byte*>(flat_.mutable_data());
    const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
    first_ = kBand + (address(view.data) - address(data) - kBand) % kAlignment;
    std::memset(data, static_cast<int>(kBandByte), bytes);
    if (extent_ > 0) std::memcpy(data + first_, view.data, extent_);
  }

  // Copies what the function changed back to the trial's memory. If bytes before or after the
  // elements changed, changes the byte beside the elements there, which lies in a guard band.
  void fetch(const TensorView& view) const {
    const auto* const from = reinterpret_cast<const std::byte*>(flat_.data());
    auto* const to = const_cast<std::byte*>(view.data);
    if (extent_ > 0 && std::memcmp(to, from + first_, extent_) != 0) {
      std::memcpy(to, from + first_, extent_);
    }
    const auto changed = [&](std::size_t begin, std::size_t end) {
      return std::any_of(from + begin, from + end, [](std::byte b) { return b != kBandByte; });
    };
    if (changed(0, first_)) to[-1] ^= std::byte{0xFF};
    if (changed(first_ + extent_, static_cast<std::size_t>(flat_.size()))) {
      to[extent_] ^= std::byte{0xFF};
    }
  }

  // Returns (flat, first, extent, dtype, shape, strides), which _trial.py makes an array of.
  py::tuple description(const TensorView& view) const {
    return py::make_tuple(flat_, first_, extent_, std::string(view.format->name),
                          py::tuple(py::cast(view.shape)), py::tuple(py::cast(view.strides)));
  }

 private:
  static constexpr std::size_t kBand = 256, kAlignment = 64;  // in bytes
  static constexpr std::byte kBandByte{0x3C};
  py::array flat_ = new_numpy("uint8", {0});
  std::size_t first_ = 0, extent_ = 0;
};

// Calls a Python function for a trial. The trial runs without the interpreter's lock.
class PythonKernel {
 public:
  PythonKernel(py::object function, bool has_out)
      : function_(std::move(function)), has_out_(has_out) {}

  void call(const KernelCall& call) {
    if (was_interrupted_) throw NotSupported(kInterrupted);
    const py::gil_scoped_acquire lock;
    py::tuple answer;
    py::object value;
    try {
      py::dict inputs;
      for (const auto& [name, view] : call.inputs) {
        PythonMemory& memory = memories_[name];
        memory.set(view);
        inputs[py::cast(name)] = memory.description(view);
      }
      const TensorView output = call.output.view();
      py::object out = py::none();
      if (has_out_) {
        output_.set(output);
        out = output_.description(output);
      }
      // The byte with which the trial has filled the output.
      const int fill = output.size() > 0 ? std::to_integer<int>(*output.data) : 0;
      answer = function_(inputs, python_attributes(call.test_case.attributes), out,
                         std::string(output.format->name), py::tuple(py::cast(output.shape)), fill)
                   .cast<py::tuple>();
      for (const auto& [name, view] : call.inputs) memories_.at(name).fetch(view);
      if (has_out_) output_.fetch(output);
      value = answer[1];
      const auto status = answer[0].cast<std::string>();
      if (status == "not_supported") throw NotSupported(str_of(value));
      if (status == "wrong") throw WrongOutput(str_of(value));
      if (status == "error") throw std::runtime_error(str_of(value));
      if (!has_out_) take(value, call.output);
    } catch (const py::error_already_set& e) {
      if (e.matches(PyExc_KeyboardInterrupt)) {
        was_interrupted_ = true;
        throw NotSupported(kInterrupted);
      }
      throw std::runtime_error(str_of(e.value()));
    }
  }

  bool was_interrupted() const { return was_interrupted_; }

  // Returns whether the trial goes on. After Ctrl-C it does not.
  bool goes_on() {
    if (was_interrupted_) return false;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() == 0) return true;
    const py::error_already_set error;
    if (!error.matches(PyExc_KeyboardInterrupt)) throw error;
    was_interrupted_ = true;
    return false;
  }

 private:
  static void take(const py::object& value, const MutableTensorView& output) {
    if (py::isinstance<py::tuple>(value)) {  // the bytes of a tensor, which _trial.py took
      const auto [flat, dtype, shape] = value.cast<std::tuple<py::array, std::string, Shape>>();
      const Format* format = find_format(dtype);
      if (format == nullptr) throw WrongOutput(formatted("the output has the dtype {}", dtype));
      return copy_elements(view_bytes(flat.data(), *format, shape), output);
    }
    Array array;
    try {
      array = array_of(value);
    } catch (const std::exception& e) {
      throw WrongOutput(e.what());
    }
    copy_elements(array.view, output);
  }

  py::object function_;
  bool has_out_;
  bool was_interrupted_ = false;
  std::map<std::string, PythonMemory> memories_ = {};
  PythonMemory output_ = {};
};

// Removes the inputs that were not computed because the trial was interrupted from the counts, and
// says so of a failure whose reduction was interrupted.
void forget_interrupted(TrialReport& report) {
  report.was_interrupted = true;
  for (TrialFailure& failure : report.failures) {
    if (failure.is_minimal) continue;
    failure.causes.insert(failure.causes.begin(),
                          "the trial was interrupted while the input was reduced");
  }
  const auto found = report.not_supported.find(kInterrupted);
  if (found == report.not_supported.end()) return;
  const std::int64_t of_random = std::min(found->second, report.random.not_supported);
  report.random.not_supported -= of_random;
  report.listed.not_supported -= found->second - of_random;
  report.not_supported.erase(found);
}

TrialReport run_python_trial(const std::string& op, const py::object& call,
                             const py::kwargs& given) {
  py::dict options = py::reinterpret_borrow<py::dict>(given);
  const auto words = [&](const char* name) {
    return taken_as<std::vector<std::string>>(options, name).value_or(std::vector<std::string>());
  };
  const auto set = [&](const char* name) {
    const std::vector<std::string> all = words(name);
    return std::set<std::string>(all.begin(), all.end());
  };
  const auto flag = [&](const char* name) { return taken_as<bool>(options, name).value_or(false); };
  const Operator* row = find_operator(op);
  const bool has_out = flag("out");
  PythonKernel function(call, has_out);
  TrialKernel kernel;
  kernel.name = taken_as<std::string>(options, "name").value_or("the function");
  kernel.call = [&](const KernelCall& c) { function.call(c); };
  kernel.dtypes = words("dtypes");
  kernel.parameters = set("takes");
  kernel.always = set("always");
  kernel.sometimes = set("sometimes");
  kernel.not_tried = words("not_tried");
  const auto ranks = taken_as<std::pair<int, int>>(options, "ranks").value_or(std::pair(1, 4));
  std::tie(kernel.least_rank, kernel.most_rank) = ranks;
  kernel.takes_strides = !flag("contiguous");
  kernel.takes_out_strides = has_out && kernel.takes_strides;
  kernel.takes_offsets = !flag("aligned");
  kernel.takes_empty = !flag("nonempty");

  TrialOptions o;
  if (row != nullptr) {
    const py::object parameters = taken(options, "parameters");
    for (const auto& [key, value] : py::dict(parameters)) {
      const auto name = key.cast<std::string>();
      o.parameters[name] = trial_parameter(*row, name, attribute_text(attribute_of(name, value)));
    }
  }
  o.seed = taken_as<std::uint64_t>(options, "seed").value_or(o.seed);
  o.draws = taken_as<std::int64_t>(options, "draws").value_or(o.draws);
  if (const auto budget = taken_as<double>(options, "budget")) {
    if (!(*budget > 0)) refuse("budget={}: a number of seconds above 0 is needed", *budget);
    o.seconds = *budget;
  }
  if (const auto most = taken_as<std::int64_t>(options, "max_elements")) {
    constexpr std::int64_t kTerms = 16;  // products for each element, as PassesTrial() has it
    o.limits = {.elements = *most, .products = *most * kTerms};
  }
  o.contract = {.unordered = flag("unordered"),
                .batch_invariant = flag("batch_invariant"),
                .isolated = flag("isolated"),
                .call_seconds = taken_as<double>(options, "call_seconds").value_or(10)};
  if (const auto machine = taken_as<std::string>(options, "machine")) {
    o.request.machine = &machine_named(*machine);
  }
  o.request.bounds.origin = "command";
  o.request.bounds.standards = words("standard");
  o.request.bounds.rtol = taken_as<double>(options, "rtol");
  o.request.bounds.atol = taken_as<double>(options, "atol");
  o.threads = taken_as<int>(options, "threads").value_or(0);
  o.keep_going = flag("keep_going");
  o.only = taken_as<std::int64_t>(options, "only");
  if (const auto on = taken_as<std::string>(options, "on")) {
    if (on->empty()) refuse("on is empty; it is the text of a case, such as x=float32[2]{0:1}");
    o.on = *on;
  }
  o.progress = [&](const TrialProgress&) { return function.goes_on(); };
  refuse_rest(options, "trial()");

  TrialReport report;
  if (o.contract.isolated) prepare_forks();
  {
    const py::gil_scoped_release release;
    forks_for_trial = o.contract.isolated;
    try {
      report = run_trial(op, kernel, o);
    } catch (...) {
      forks_for_trial = false;
      throw;
    }
    forks_for_trial = false;
  }
  if (function.was_interrupted()) forget_interrupted(report);
  if (!has_out) {
    // The function returns memory of its own, so no layout of the output was tried.
    std::erase_if(report.coverage["layouts"],
                  [](const auto& c) { return c.first.ends_with(" output"); });
  }
  return report;
}

py::dict counts_of(const TrialReport& report) {
  const auto counts = [](const TrialReport::Counts& c) {
    return py::dict("passed"_a = c.passed, "failed"_a = c.failed,
                    "not_supported"_a = c.not_supported, "not_judged"_a = c.not_judged);
  };
  return py::dict("listed"_a = counts(report.listed), "random"_a = counts(report.random));
}

// Returns the reduced case with the output of the function as that of the producer "kernel".
Case case_of_failure(const TrialFailure& failure) {
  Case c = failure.test_case;
  if (!failure.output.empty()) c.output().recorded["kernel"].tensor = failure.output;
  return c;
}

void define_failure(py::module_& m) {
  const auto array = [](const Tensor& tensor) {
    return tensor.empty() ? py::object(py::none()) : result_of(copy_of(tensor.view()));
  };
  py::class_<TrialFailure> failure(m, "TrialFailure",
                                   "A finding of a trial, with the input that shows it.");
  failure
      .def_property_readonly(
          "finding", [](const TrialFailure& f) { return finding_word(f.finding); },
          "The finding in a few words, such as 'wrong result'.")
      .def_readonly("text", &TrialFailure::text, "What the reduced input shows.")
      .def_readonly("causes", &TrialFailure::causes, "Sentences on the cause.")
      .def_readonly("reduced", &TrialFailure::reduced,
                    "The reduced input as a line of text, which trial(..., on=...) repeats.")
      .def_readonly("drawn", &TrialFailure::drawn, "The input that was drawn, in words.")
      .def_readonly("draw", &TrialFailure::draw,
                    "The number of the draw, which trial(..., only=...) repeats. -1 for on=.")
      .def_readonly("nonzero", &TrialFailure::nonzero,
                    "The number of elements of the reduced inputs that are not 0.")
      .def_readonly("tries", &TrialFailure::tries,
                    "The number of inputs that were tried to reduce the one that was drawn.")
      .def_readonly("is_minimal", &TrialFailure::is_minimal,
                    "Whether no single step reduces the input further.")
      .def_property_readonly(
          "inputs",
          [array](const TrialFailure& f) {
            py::dict inputs;
            for (const auto& [name, tensor] : f.test_case.inputs) {
              inputs[py::cast(name)] = array(tensor);
            }
            return inputs;
          },
          "The reduced inputs by name, as arrays.")
      .def_property_readonly(
          "attributes",
          [](const TrialFailure& f) { return python_attributes(f.test_case.attributes); },
          "The attributes of the reduced case.")
      .def_property_readonly(
          "golden",
          [array](const TrialFailure& f) -> py::object {
            const auto& golden = f.test_case.output().golden;
            return golden ? array(*golden) : py::object(py::none());
          },
          "The exact result of the reduced inputs.")
      .def_property_readonly(
          "output", [array](const TrialFailure& f) { return array(f.output); },
          "The output of the function for the reduced inputs. None if there is no output.")
      .def_readonly("report", &TrialFailure::report,
                    "The CaseReport of the reduced case. None if no output was judged.")
      .def_property_readonly(
          "case", [](const TrialFailure& f) { return python_case(case_of_failure(f)); },
          "The reduced case as a Case, whose recorded output has the producer 'kernel'.")
      .def(
          "save",
          [](const TrialFailure& f, const py::object& path) {
            py::module_::import("assay._core").attr("write")(path, python_case(case_of_failure(f)));
          },
          py::arg("path"), "Writes the reduced case to a dataset file.");
  define_texts(
      failure, [](const TrialFailure& f) { return f.sentence(); },
      [](const TrialFailure& f) { return formatted("<TrialFailure {}>", f.sentence()); });
}

void define_report(py::module_& m) {
  py::class_<TrialReport> report(m, "TrialReport",
                                 "The result of trial(). It is true if the function passes.");
  const auto passes = [](const TrialReport& r) { return r.outcome() == Outcome::kPass; };
  report
      .def_property_readonly(
          "outcome", [](const TrialReport& r) { return outcome_word(r.outcome()); },
          "'pass', 'fail' or 'untrusted' (no output was judged).")
      .def_property_readonly("passes", passes, "Whether the outcome is 'pass'.")
      .def("__bool__", passes)
      .def_property_readonly("because", &TrialReport::because,
                             "What was tried and what the outcome means, in one sentence.")
      .def_readonly("failures", &TrialReport::failures,
                    "A TrialFailure for each finding, in the order in which they were found.")
      .def_readonly("op", &TrialReport::op, "The operator.")
      .def_readonly("kernel", &TrialReport::kernel, "The name of the function.")
      .def_readonly("machine", &TrialReport::machine,
                    "The machine whose expected errors bound the outputs, or an empty string.")
      .def_readonly("dtypes", &TrialReport::dtypes, "The dtypes of inputs.")
      .def_readonly("seed", &TrialReport::seed, "The seed of the draws.")
      .def_property_readonly("counts", &counts_of,
                             "The number of inputs of the fixed list and of random ones: passed, "
                             "failed, not_supported and not_judged.")
      .def_readonly("not_supported", &TrialReport::not_supported,
                    "The reasons of inputs that the function does not support, with their numbers.")
      .def_readonly("not_judged", &TrialReport::not_judged,
                    "The reasons of inputs without a verdict, with their numbers.")
      .def_readonly("coverage", &TrialReport::coverage,
                    "How often each class of sizes, values, attributes and layouts was tried.")
      .def_readonly("not_tried", &TrialReport::left_out, "What was never tried, and why.")
      .def_readonly("was_interrupted", &TrialReport::was_interrupted,
                    "Whether Ctrl-C ended the trial.")
      .def_readonly("seconds", &TrialReport::seconds, "The time that the trial took.")
      .def_property_readonly("coverage_text", &trial_coverage_text,
                             "What was tried and what was not, in several lines.")
      .def(
          "check",
          [](const py::object& self) {
            const auto& r = self.cast<const TrialReport&>();
            if (r.outcome() == Outcome::kPass) return;
            raise_unless_pass(r.outcome(),
                              formatted("{} {}", r.kernel, trial_text(r, TrialDoor::kPython)), self,
                              "report");
          },
          "Raises AssertionError if the function fails, or Untrusted if no output was judged. The "
          "error's attribute `report` is this report.");
  define_texts(
      report, "The outcome, and for each finding its cause, its input and what repeats it.",
      [](const TrialReport& r) { return trial_text(r, TrialDoor::kPython); },
      [](const TrialReport& r) {
        return formatted("<TrialReport {} {}: {}>", r.op, outcome_word(r.outcome()), r.because());
      });
}

}  // namespace

void define_trial(py::module_& m) {
  define_failure(m);
  define_report(m);
  m.def("_run_trial", &run_python_trial, py::arg("op"), py::arg("call"),
        "Runs a trial of a function that assay/_trial.py made of the user's.");
}

}  // namespace assay::python
