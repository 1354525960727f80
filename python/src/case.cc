#include "case.h"

#include <algorithm>
#include <utility>

#include "assay/base/error.h"
#include "assay/base/text.h"

namespace assay::python {
namespace {

py::object module_of_cases() { return py::module_::import("assay._case"); }

std::string word(const py::handle& key) {
  if (py::isinstance<py::str>(key)) return py::cast<std::string>(key);
  throw py::type_error(formatted("a name must be a str, not {}", repr_of(key)));
}

// A field of a Case that holds things by name.
py::dict named_field(const py::object& from, const char* field) {
  const py::object value = from.attr(field);
  if (py::isinstance<py::dict>(value)) return py::reinterpret_borrow<py::dict>(value);
  throw py::type_error(formatted("case {}: {} is a {}; it must be a dict",
                                 str_of(from.attr("name")), field, type_name(value)));
}

// Copies arrays of Python's into a case.
class Maker {
 public:
  Maker(const py::object& from, const CopiedParts& parts)
      : from_(from), parts_(parts), made_{.test_case = header_of(from)} {
    Case& c = made_.test_case;
    several_ = has_several();
    if (several_) parts_ = {};
    for (const auto& [key, value] : dict("inputs")) add_input(word(key), value);
    for (const auto& [producer, machine] : dict("output_machines")) {
      c.output_machines[word(producer)] = word(machine);
    }
    if (several_) {
      add_several();
    } else {
      const py::object golden = from.attr("golden");
      if (!golden.is_none()) c.golden = tensor("golden", golden);
      for (const auto& [producer, value] : dict("outputs")) {
        const std::string path = "outputs/" + word(producer);
        if (parts_.outputs) {
          c.outputs.emplace(word(producer), tensor(path, value));
        } else {
          made_.outputs.emplace(word(producer), array(path, value));
        }
      }
      add_beside([&](const std::string& producer, const py::handle& value, const auto& put) {
        if (made_.outputs.count(producer) == 0) require_output(c.outputs, producer);
        put(c.epilogues[producer], value, producer);
      });
    }
    // The copies lie where they will stay: std::map and std::optional move no tensor's bytes.
  }

  MadeCase take() { return std::move(made_); }

 private:
  py::dict dict(const char* part) const { return named_field(from_, part); }

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

  // Whether outputs have names.
  bool has_several() const {
    std::vector<bool> named;
    for (const char* part : {"outputs", "accumulators", "residuals"}) {
      for (const auto& [producer, value] : dict(part))
        named.push_back(py::isinstance<py::dict>(value));
    }
    const py::object golden = from_.attr("golden");
    if (!golden.is_none()) named.push_back(py::isinstance<py::dict>(golden));
    const auto yes = std::count(named.begin(), named.end(), true);
    if (yes != 0 && yes != static_cast<std::ptrdiff_t>(named.size())) {
      throw CaseError(made_.test_case.name,
                      "several outputs by name, and one without: golden and what each producer has "
                      "must be dicts, or none of them");
    }
    return yes != 0;
  }

  void add_several() {
    Case& c = made_.test_case;
    const auto named = [&](const py::handle& value) {
      return py::reinterpret_borrow<py::dict>(value);
    };
    const py::object golden = from_.attr("golden");
    if (!golden.is_none()) {
      for (const auto& [name, value] : named(golden)) {
        CaseOutput& output = c.results[word(name)];
        if (!value.is_none()) output.golden = tensor("golden/" + word(name), value);
      }
    }
    for (const auto& [producer, values] : dict("outputs")) {
      if (named(values).empty()) {
        throw CaseError(c.name,
                        formatted("outputs of '{}' is an empty dict; it must hold one an output",
                                  word(producer)));
      }
      for (const auto& [name, value] : named(values)) {
        const bool known = c.results.count(word(name)) != 0;
        CaseOutput& output = c.results[word(name)];
        if (!known) output.golden_missing = true;
        output.outputs.emplace(word(producer),
                               tensor("outputs/" + word(producer) + "/" + word(name), value));
      }
    }
    for (auto& [name, output] : c.results) output.output_machines = c.output_machines;
    for (const auto& [name, given] : dict("output_attributes")) {
      auto attributes = attributes_of(py::reinterpret_borrow<py::dict>(given));
      // A golden result that is yet to be computed.
      const bool pending = attributes.erase("pending") != 0;
      if (!pending && c.results.count(word(name)) == 0) {
        throw CaseError(c.name, formatted("output_attributes of '{}', which is none of its outputs",
                                          word(name)));
      }
      CaseOutput& output = c.results[word(name)];
      output.golden_missing = output.golden_missing || pending;
      output.attributes = std::move(attributes);
    }
    add_beside([&](const std::string& producer, const py::handle& values, const auto& put) {
      for (const auto& [name, value] : named(values)) {
        CaseOutput& output = c.results[word(name)];
        require_output(output.outputs, producer);
        put(output.epilogues[producer], value, producer + "/" + word(name));
      }
    });
  }

  void require_output(const std::map<std::string, Tensor>& outputs,
                      const std::string& producer) const {
    if (outputs.count(producer) != 0) return;
    throw CaseError(
        made_.test_case.name,
        formatted("has no output of '{}' that an accumulator or residual could lie beside",
                  producer));
  }

  template <typename Add>
  void add_beside(const Add& add) {
    for (const auto& [part, member] : {std::pair{"accumulators", &Epilogue::accumulator},
                                       std::pair{"residuals", &Epilogue::residual}}) {
      for (const auto& [producer, value] : dict(part)) {
        const std::string path = std::string(part) + "/";
        const auto field = member;
        add(word(producer), value,
            [&](Epilogue& to, const py::handle& array, const std::string& name) {
              to.*field = tensor(path + name, array);
            });
      }
    }
  }

  const py::object& from_;
  CopiedParts parts_;
  bool several_ = false;
  MadeCase made_;
};

bool same_view(const TensorView& a, const TensorView& b) {
  return a.data == b.data && a.format == b.format && a.shape == b.shape && a.strides == b.strides;
}

py::object array_from(Tensor tensor) { return py::cast(own(std::move(tensor))); }

// A list of the inputs x/0, x/1, ...
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

py::object info_of(const TensorInfo& info) {
  return module_of_cases().attr("TensorInfo")(info.dtype, py::tuple(py::cast(info.shape)));
}

// What cases and infos of them have in common, by the names of Python's fields.
template <typename Of, typename Value>
void put_outputs(py::dict& to, Of&& of, const Value& value, const char* part) {
  py::dict all = to[part];
  for (auto& [producer, one] : of) {
    const py::object converted = value(one);
    if (!converted.is_none()) all[py::cast(producer)] = converted;
  }
}

py::dict empty_case(const std::string& name, const std::string& op) {
  py::dict fields;
  fields["name"] = name;
  fields["op"] = op;
  for (const char* part : {"inputs", "outputs", "accumulators", "residuals", "output_attributes"}) {
    fields[part] = py::dict();
  }
  fields["golden"] = py::none();
  return fields;
}

void put_named(const py::dict& fields, const char* part, const std::string& producer,
               const std::string& output, const py::object& value) {
  py::dict all = fields[part];
  if (!all.contains(py::cast(producer))) all[py::cast(producer)] = py::dict();
  py::dict named = all[py::cast(producer)];
  named[py::cast(output)] = value;
}

void put_attributes(const py::dict& fields, const std::string& output,
                    std::map<std::string, Attribute> attributes, bool pending) {
  if (pending) attributes["pending"] = std::int64_t{1};
  if (attributes.empty()) return;
  py::dict all = fields["output_attributes"];
  all[py::cast(output)] = python_attributes(attributes);
}

}  // namespace

TensorView MadeCase::resolve(const TensorView& view) const {
  const auto found = std::find_if(copies.begin(), copies.end(),
                                  [&](const auto& pair) { return same_view(pair.first, view); });
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
  py::dict fields = empty_case(c.name, c.op);
  py::dict inputs = fields["inputs"];
  for (auto& [name, tensor] : c.inputs) put_input(inputs, name, array_from(std::move(tensor)));
  for (const std::string& name : c.absent_inputs) put_input(inputs, name, py::none());
  if (c.golden) fields["golden"] = array_from(std::move(*c.golden));
  fields["attributes"] = python_attributes(c.attributes);
  fields["output_machines"] = c.output_machines;
  fields["file"] = c.file;
  const auto tensor = [](Tensor& t) { return t.empty() ? py::none() : array_from(std::move(t)); };
  put_outputs(fields, c.outputs, tensor, "outputs");
  put_outputs(
      fields, c.epilogues, [&](Epilogue& e) { return tensor(e.accumulator); }, "accumulators");
  put_outputs(
      fields, c.epilogues, [&](Epilogue& e) { return tensor(e.residual); }, "residuals");
  py::dict golden;
  for (auto& [name, output] : c.results) {
    if (output.golden) {
      golden[py::cast(name)] = array_from(std::move(*output.golden));
    } else {
      golden[py::cast(name)] = py::none();
    }
    for (auto& [producer, t] : output.outputs) {
      put_named(fields, "outputs", producer, name, array_from(std::move(t)));
    }
    for (auto& [producer, e] : output.epilogues) {
      if (!e.accumulator.empty()) {
        put_named(fields, "accumulators", producer, name, array_from(std::move(e.accumulator)));
      }
      if (!e.residual.empty()) {
        put_named(fields, "residuals", producer, name, array_from(std::move(e.residual)));
      }
    }
    put_attributes(fields, name, output.attributes, output.golden_missing);
  }
  if (!c.results.empty()) fields["golden"] = golden;
  return module_of_cases().attr("Case")(**fields);
}

py::object python_info(const CaseInfo& info) {
  py::dict fields = empty_case(info.name, info.op);
  py::dict inputs = fields["inputs"];
  for (const auto& [name, tensor] : info.inputs) put_input(inputs, name, info_of(tensor));
  for (const std::string& name : info.absent_inputs) put_input(inputs, name, py::none());
  if (info.golden) fields["golden"] = info_of(*info.golden);
  std::map<std::string, Attribute> attributes = info.attributes;
  attributes.erase("op");
  fields["attributes"] = python_attributes(attributes);
  put_outputs(fields, info.outputs, info_of, "outputs");
  put_outputs(fields, info.accumulators, info_of, "accumulators");
  put_outputs(fields, info.residuals, info_of, "residuals");
  py::dict golden;
  for (const auto& [name, output] : info.results) {
    if (output.golden) {
      golden[py::cast(name)] = info_of(*output.golden);
    } else {
      golden[py::cast(name)] = py::none();
    }
    for (const auto& [part, tensors] :
         {std::pair{"outputs", &output.outputs}, std::pair{"accumulators", &output.accumulators},
          std::pair{"residuals", &output.residuals}}) {
      for (const auto& [producer, t] : *tensors) {
        put_named(fields, part, producer, name, info_of(t));
      }
    }
    put_attributes(fields, name, output.attributes, output.golden_missing);
  }
  if (!info.results.empty()) fields["golden"] = golden;
  return module_of_cases().attr("CaseInfo")(**fields);
}

Attribute attribute_of(const std::string& name, const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return std::int64_t{value.cast<bool>() ? 1 : 0};
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  const auto refuse = [&] {
    throw py::type_error(formatted("attribute '{}' is a {}; it must be str, int, float or bool",
                                   name, type_name(value)));
  };
  // An array of one element is a number, too; of others the conversion fails.
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
