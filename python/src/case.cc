#include "case.h"

#include <algorithm>

#include "assay/base/text.h"

namespace assay::inline v0_2::python {
namespace {

py::object module_of_cases() { return py::module_::import("assay._case"); }

std::string word(const py::handle& key) {
  if (py::isinstance<py::str>(key)) return py::cast<std::string>(key);
  throw py::type_error(formatted("a name must be a str, not {}", repr_of(key)));
}

// Returns a field of a Case that is a dict of names.
py::dict named_field(const py::object& from, const char* field) {
  const py::object value = from.attr(field);
  if (py::isinstance<py::dict>(value)) return py::reinterpret_borrow<py::dict>(value);
  throw py::type_error(formatted("case {}: {} is a {}; it must be a dict",
                                 str_of(from.attr("name")), field, type_name(value)));
}

// Copies Python's arrays into a case.
class Maker {
 public:
  Maker(const py::object& from, const CopiedParts& parts)
      : from_(from), parts_(parts), made_{.test_case = header_of(from)} {
    Case& c = made_.test_case;
    const py::dict outputs = named_field(from, "outputs");
    if (!outputs.empty()) parts_ = {};
    for (const auto& [key, value] : named_field(from, "inputs")) add_input(word(key), value);
    if (outputs.empty()) {
      add_output("", from, "");
    } else {
      refuse_results_beside_outputs();
    }
    for (const auto& [name, output] : outputs) {
      const std::string path = "outputs/" + word(name);
      if (!py::isinstance(output, module_of_cases().attr("Output"))) {
        throw py::type_error(formatted("case {}: {} is a {}; it must be an assay.Output", c.name,
                                       path, type_name(output)));
      }
      const auto object = py::reinterpret_borrow<py::object>(output);
      CaseOutput& of = add_output(word(name), object, path + "/");
      of.attributes = attributes_of(named_field(object, "attributes"));
      if (!object.attr("compared").cast<bool>()) {
        if (of.golden) {
          refuse_case(c.name,
                      "{} has a golden result, but also compared=False; leave one of the two out",
                      path);
        }
        of.golden = Golden::absent();
      }
    }
    // Views of the copied tensors stay valid, because a tensor's bytes stay at their address when
    // the case is moved.
  }

  MadeCase take() { return std::move(made_); }

 private:
  Array array(const std::string& path, const py::handle& value) const {
    return named_array(formatted("case {}: {}", made_.test_case.name, path),
                       py::reinterpret_borrow<py::object>(value));
  }

  Tensor tensor(const std::string& path, const py::handle& value) {
    const Array given = array(path, value);
    Tensor copy = copy_of(given.view);
    made_.copies.emplace_back(given.view, copy.view());
    return copy;
  }

  void add_input(const std::string& name, const py::handle& value) {
    Case& c = made_.test_case;
    if (value.is_none()) {
      c.absent_inputs.insert(name);
    } else if (is_list_of_arrays(value)) {
      std::size_t i = 0;
      for (const py::handle& one : py::reinterpret_borrow<py::sequence>(value)) {
        add_input(formatted("{}/{}", name, i++), one);
      }
    } else if (parts_.inputs) {
      c.inputs.emplace(name, tensor("inputs/" + name, value));
    } else {
      c.unread_inputs[name] = array("inputs/" + name, value).view.format;
    }
  }

  // Adds the tensors of an output from a Case or an Output. `before` is the beginning of the paths
  // in messages.
  CaseOutput& add_output(const std::string& name, const py::object& from,
                         const std::string& before) {
    CaseOutput& of = made_.test_case.outputs[name];
    const py::object golden = from.attr("golden");
    if (!golden.is_none()) of.golden = tensor(before + "golden", golden);
    for (const auto& [key, value] : named_field(from, "recorded")) {
      const std::string producer = word(key), path = before + "recorded/" + producer;
      if (parts_.outputs) {
        of.recorded[producer].tensor = tensor(path, value);
      } else {
        made_.outputs.emplace(producer, array(path, value));
      }
    }
    for (const auto& [part, member] : {std::pair{"accumulators", &Epilogue::accumulator},
                                       std::pair{"residuals", &Epilogue::residual}}) {
      for (const auto& [key, value] : named_field(from, part)) {
        const std::string producer = word(key);
        if (of.recorded.count(producer) == 0 && made_.outputs.count(producer) == 0) {
          refuse_case(made_.test_case.name,
                      "it has an accumulator or residual of '{}', but no output of that producer; "
                      "give the output, too",
                      producer);
        }
        of.recorded[producer].epilogue.*member =
            tensor(formatted("{}{}/{}", before, part, producer), value);
      }
    }
    for (const auto& [key, machine] : named_field(from, "machines")) {
      of.recorded[word(key)].machine = word(machine);
    }
    return of;
  }

  // A case has either `outputs`, or the fields of its only output.
  void refuse_results_beside_outputs() const {
    bool has_any = !from_.attr("golden").is_none();
    for (const char* part : {"recorded", "accumulators", "residuals", "machines"}) {
      has_any = has_any || !named_field(from_, part).empty();
    }
    if (!has_any) return;
    refuse_case(made_.test_case.name,
                "it has outputs by name; move golden, recorded, accumulators, residuals and "
                "machines to each assay.Output");
  }

  const py::object& from_;
  CopiedParts parts_;
  MadeCase made_;
};

bool same_view(const TensorView& a, const TensorView& b) {
  return a.data == b.data && a.format == b.format && a.shape == b.shape && a.strides == b.strides;
}

// Puts an input into `to`. The inputs x/0, x/1, ... become a list.
void put_input(py::dict& to, const std::string& name, const py::object& value) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) {
    to[py::cast(name)] = value;
    return;
  }
  const py::str list_name(name.substr(0, slash));
  if (!to.contains(list_name)) to[list_name] = py::list();
  py::list list = to[list_name];
  const auto at = static_cast<std::size_t>(std::stoull(name.substr(slash + 1)));
  while (list.size() <= at) list.append(py::none());
  list[at] = value;
}

// Puts the tensors of one output into the fields of a Python Case or Output.
template <typename Array, typename Convert>
void put_output(const py::dict& fields, BasicOutput<Array>& of, const Convert& convert) {
  if (of.golden) fields["golden"] = convert(*of.golden);
  py::dict recorded, accumulators, residuals, machines;
  for (auto& [producer, r] : of.recorded) {
    const py::object key = py::cast(producer);
    if (!r.tensor.empty()) recorded[key] = convert(r.tensor);
    if (!r.epilogue.accumulator.empty()) accumulators[key] = convert(r.epilogue.accumulator);
    if (!r.epilogue.residual.empty()) residuals[key] = convert(r.epilogue.residual);
    if (!r.machine.empty()) machines[key] = py::cast(r.machine);
  }
  fields["recorded"] = recorded;
  fields["accumulators"] = accumulators;
  fields["residuals"] = residuals;
  fields["machines"] = machines;
}

template <typename Array, typename Convert>
py::object case_object(BasicCase<Array>& c, const std::string& file, const Convert& convert) {
  py::dict fields, inputs, outputs;
  for (auto& [name, array] : c.inputs) put_input(inputs, name, convert(array));
  for (const std::string& name : c.absent_inputs) put_input(inputs, name, py::none());
  c.attributes.erase("op");
  for (auto& [name, of] : c.outputs) {
    if (!c.names_outputs()) {
      put_output(fields, of, convert);
      continue;
    }
    py::dict parts;
    put_output(parts, of, convert);
    parts["attributes"] = python_attributes(of.attributes);
    parts["compared"] = !of.golden.is_absent();
    outputs[py::cast(name)] = module_of_cases().attr("Output")(**parts);
  }
  return module_of_cases().attr("Case")("name"_a = c.name, "op"_a = c.op, "inputs"_a = inputs,
                                        "attributes"_a = python_attributes(c.attributes),
                                        "outputs"_a = outputs, "file"_a = file, **fields);
}

}  // namespace

TensorView MadeCase::resolve(const TensorView& view) const {
  const auto found =
      std::ranges::find_if(copies, [&](const auto& pair) { return same_view(pair.first, view); });
  return found == copies.end() ? view : found->second;
}

std::string MadeCase::producer_of(const TensorView& view) const {
  for (const auto& [producer, array] : outputs) {
    if (same_view(array.view, view)) return producer;
  }
  return "";
}

Case header_of(const py::object& object) {
  if (!py::isinstance(object, module_of_cases().attr("Case"))) {
    throw py::type_error(formatted("an assay.Case is needed, not a {}", type_name(object)));
  }
  Case c;
  c.name = word(object.attr("name"));
  c.op = word(object.attr("op"));
  c.file = word(object.attr("file"));
  c.attributes = attributes_of(named_field(object, "attributes"));
  return c;
}

MadeCase case_of(const py::object& object, CopiedParts parts) {
  return Maker(object, parts).take();
}

py::object python_case(Case c) {
  const std::string file = c.file;
  return case_object(c, file, [](Tensor& t) { return py::cast(own(std::move(t))); });
}

py::object python_info(StoredCase info, const std::string& file) {
  return case_object(info, file, [](const ArrayInfo& array) {
    return module_of_cases().attr("ArrayInfo")(array.dtype, py::tuple(py::cast(array.shape)));
  });
}

Attribute attribute_of(const std::string& name, const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return std::int64_t{value.cast<bool>() ? 1 : 0};
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  const auto refuse = [&] {
    throw py::type_error(formatted("attribute '{}' is a {}; it must be str, int, float or bool",
                                   name, type_name(value)));
  };
  // An array of one element is also a number. For other arrays the conversion fails.
  if (PyIndex_Check(value.ptr()) != 0) {
    const py::object whole = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!whole) PyErr_Clear();
    if (whole) {
      int overflow = 0;
      const long long number = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
      if (overflow != 0) {
        throw py::value_error(
            formatted("attribute '{}' is {}: integers have 64 bits", name, str_of(whole)));
      }
      return std::int64_t{number};
    }
  }
  if (PyFloat_Check(value.ptr()) == 0 && !py::hasattr(value, "__float__")) refuse();
  const double number = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse();
  }
  return number;
}

py::object python_attribute(const Attribute& attribute) {
  return std::visit([](const auto& value) -> py::object { return py::cast(value); }, attribute);
}

py::dict python_attributes(const std::map<std::string, Attribute>& attributes) {
  py::dict result;
  for (const auto& [name, value] : attributes) result[py::cast(name)] = python_attribute(value);
  return result;
}

std::map<std::string, Attribute> attributes_of(const py::dict& attributes) {
  std::map<std::string, Attribute> result;
  for (const auto& [key, value] : attributes) {
    result[word(key)] = attribute_of(word(key), value);
  }
  return result;
}

}  // namespace assay::python
