// The functions golden, emulate and inject, which apply operators and faults to arrays.
#include <algorithm>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/fault/fault.h"
#include "assay/op/operator.h"
#include "case.h"
#include "module.h"

namespace assay::inline v0_2::python {
namespace {

// Returns true if an argument is an array, and therefore not a parameter.
bool is_array(const py::handle& value) {
  return is_list_of_arrays(value) || py::isinstance<py::list>(value) ||
         (py::hasattr(value, "shape") && py::len(value.attr("shape")) > 0);
}

Tensor emulated(const Case& c, const std::string& machine) {
  return emulate(c, machine_named(machine));
}

Case case_with_inputs(const std::string& op, const py::kwargs& keywords) {
  Case c = operator_case(op, keywords);
  if (c.inputs.empty()) {
    throw py::value_error(
        formatted("{0} needs its inputs by name: {1}", op, inputs_text(*find_operator(op))));
  }
  return c;
}

struct PythonInjection {
  py::object output;
  py::list flips;
  std::int64_t not_injectable = 0;
};

PythonInjection inject_fault(const py::object& output, const std::string& fault,
                             const py::object& seed, const std::string& stream,
                             const py::object& dtype) {
  const Array array = named_array("output", output, dtype_word(dtype));
  FaultSpec spec = parse_fault(fault);
  if (!seed.is_none()) {
    try {
      spec.seed = seed.cast<std::uint64_t>();
    } catch (const py::cast_error&) {
      throw py::value_error(
          formatted("seed must be a whole number from 0 to 2^64 - 1, not {}", repr_of(seed)));
    }
  }
  Tensor tensor = copy_of(array.view);
  const Injection done = without_lock([&] { return inject(tensor, spec, stream_of(stream)); });
  PythonInjection result;
  result.not_injectable = done.not_injectable;
  const Format& f = tensor.format();
  for (const Flip& flip : done.flips) {
    const py::tuple index(py::cast(tensor.view().multi_index(flip.linear)));
    result.flips.append(py::dict("index"_a = index, "before"_a = decode(f, flip.before),
                                 "after"_a = decode(f, flip.after), "before_bits"_a = flip.before,
                                 "after_bits"_a = flip.after));
  }
  result.output = result_of(std::move(tensor));
  return result;
}

// Returns a line for each operator: "matmul(a (..., M, K), b (..., K, N), optional bias (N))".
std::string operators_text() {
  std::string text;
  for (const Operator& op : operators()) {
    text += formatted("  {}: {}\n", op.name, inputs_text(op));
  }
  return text;
}

}  // namespace

Case operator_case(const std::string& op, const py::kwargs& keywords) {
  const Operator* row = find_operator(op);
  if (row == nullptr) throw py::value_error(unknown_word("operator", op, names_of(operators())));
  Case c;
  c.name = c.op = op;
  for (const auto& [key, value] : keywords) {
    const auto name = key.cast<std::string>();
    const auto known = std::ranges::find(row->inputs, name, &OperatorInput::name);
    if (value.is_none()) continue;
    if (known == row->inputs.end()) {
      if (is_array(value)) {
        throw py::value_error(
            unknown_word(formatted("input of {}", op), name, names_of(row->inputs)));
      }
      c.attributes[name] = attribute_of(name, value);
    } else if (is_list_of_arrays(value)) {
      std::size_t i = 0;
      for (const py::handle& one : py::reinterpret_borrow<py::sequence>(value)) {
        c.inputs.emplace(formatted("{}/{}", name, i++),
                         copy_of(named_array(name, py::reinterpret_borrow<py::object>(one)).view));
      }
    } else {
      c.inputs.emplace(name,
                       copy_of(named_array(name, py::reinterpret_borrow<py::object>(value)).view));
    }
  }
  return c;
}

void define_operators(py::module_& m) {
  static const std::string inputs =
      "Inputs and parameters of the operator by name (list_operators()), output_dtype among them; "
      "a list of arrays where an input is a list. A numpy array where numpy has the dtype, else a "
      "Tensor. Raises ValueError where the operator does not take them.\n\n" +
      operators_text();
  m.def(
      "golden",
      [](const std::string& op, const py::kwargs& keywords) {
        const Case c = case_with_inputs(op, keywords);
        return result_of(without_lock([&] { return golden_result(c); }));
      },
      py::arg("op"),
      ("The exact result of an operator, in float64 (of integers in their dtype), by its "
       "reference.\n\n" +
       inputs)
          .c_str());
  m.def(
      "emulate",
      [](const std::string& op, const std::string& machine, const py::kwargs& keywords) {
        const Case c = case_with_inputs(op, keywords);
        return result_of(without_lock([&] { return emulated(c, machine); }));
      },
      py::arg("op"), py::arg("machine"),
      ("What a machine (list_machines()) computes, bit for bit.\n\n" + inputs).c_str());
  m.def(
      "case_golden",
      [](const py::object& given) {
        const MadeCase made = case_of(given);
        return own(without_lock([&] { return golden_result(made.test_case); }));
      },
      py::arg("case"), "The golden result that the operator of a Case gives: Case.result().");
  m.def(
      "case_emulate",
      [](const py::object& given, const std::string& machine) {
        const MadeCase made = case_of(given);
        return own(without_lock([&] { return emulated(made.test_case, machine); }));
      },
      py::arg("case"), py::arg("machine"), "What a machine computes of a Case: Case.emulate().");
  py::class_<PythonInjection>(m, "Injection", "What inject() did.")
      .def_readonly("output", &PythonInjection::output, "The changed copy.")
      .def_readonly(
          "flips", &PythonInjection::flips,
          "One dict an element that was changed: index, before, after, before_bits, after_bits.")
      .def_readonly("not_injectable", &PythonInjection::not_injectable,
                    "Places asked for that the output could not give.")
      .def("__repr__", [](const PythonInjection& i) {
        return formatted("<Injection: {} changed, {} not injectable>", i.flips.size(),
                         i.not_injectable);
      });
  m.def("inject", &inject_fault, py::arg("output"), py::arg("fault"), py::kw_only(),
        py::arg("seed") = py::none(), py::arg("stream") = "", py::arg("dtype") = py::none(),
        "Puts a fault into a copy of an output: 'flip,bit=14' (list_faults()).\n\n"
        "seed: over that of the fault. stream: the case's name, which `assay inject` draws by.\n"
        "dtype: the format of bit patterns. Raises ValueError where the format lacks what the "
        "fault names.");
}

}  // namespace assay::python
