// Golden files, and other sources of cases.
#include <mutex>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/op/attributes.h"
#include "case.h"
#include "module.h"

namespace assay::inline v0_2::python {
namespace {

// Refuses attributes with which a reader of the written file would refuse the case.
void check_attributes(const Case& c) {
  check_attribute_names(c);
  for (const auto& [name, of] : c.outputs) {
    std::string why = value_problem(of.attributes);
    for (const auto& [attribute, value] : of.attributes) {
      if (why.empty()) why = name_problem(c.op, attribute);
    }
    if (!why.empty()) refuse_case(c.name, "output {}: {}", name, why);
  }
  if (const std::string why = value_problem(c.attributes); !why.empty()) {
    refuse_case(c.name, why);
  }
}

// Writes Python's cases, one at a time in memory, and returns their number.
std::size_t write_cases(DatasetWriter& writer, const py::object& cases) {
  std::size_t count = 0;
  const auto one = [&](const py::handle& given) {
    const MadeCase made = case_of(py::reinterpret_borrow<py::object>(given));
    check_attributes(made.test_case);
    const py::gil_scoped_release release;
    writer.write(made.test_case);
    ++count;
  };
  if (py::isinstance(cases, py::module_::import("assay._case").attr("Case"))) {
    one(cases);
  } else {
    if (!py::isinstance<py::iterable>(cases)) {
      throw py::type_error(
          formatted("an assay.Case or an iterable of them is needed, not a {}", type_name(cases)));
    }
    for (const py::handle& given : py::iter(cases)) one(given);
  }
  return count;
}

std::size_t write(const py::object& path, const py::object& cases, const py::object& attributes,
                  bool compress) {
  const std::string file = path_of(path);
  DatasetWriter writer(file, compress);
  std::map<std::string, Attribute> root;
  if (!attributes.is_none()) {
    if (!py::isinstance<py::dict>(attributes)) {
      throw py::type_error(
          formatted("attributes is a {}; it must be a dict", type_name(attributes)));
    }
    root = attributes_of(py::reinterpret_borrow<py::dict>(attributes));
  }
  root.erase("assay_schema");
  writer.write_attributes(root);
  const std::size_t count = write_cases(writer, cases);
  if (count == 0) throw NoCaseError(file, "", "would hold no case; nothing was written");
  const py::gil_scoped_release release;
  writer.commit();
  return count;
}

// An open source of cases. Python's threads may share it, and one of them reads at a time.
class Dataset {
 public:
  Dataset(std::string path, OpenOptions options)
      : path_(std::move(path)), options_(std::move(options)) {
    const py::gil_scoped_release release;
    open();
  }

  const std::string& path() const { return path_; }
  const OpenedCases& opened() const {
    if (!opened_.cases) throw py::value_error(formatted("{} is closed", path_));
    return opened_;
  }
  void close() {
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    opened_ = {};
  }

  // Calls use(source) without the interpreter's lock.
  template <typename Use>
  auto with_source(const Use& use) const {
    (void)opened();
    const py::gil_scoped_release release;
    const FloatEnvironment environment;
    const std::lock_guard lock(mutex_);
    return use(*opened_.cases);
  }

  const DatasetFile* as_file() const {
    return dynamic_cast<const DatasetFile*>(opened().cases.get());
  }

  // Replaces this file by a new one with all its cases and the additions of `change`.
  template <typename Change>
  void rewrite(const Change& change) {
    const DatasetFile* file = as_file();
    if (file == nullptr) {
      throw py::value_error(
          opened_.layout == "dataset"
              ? formatted("{} holds cases as the rows of arrays and cannot be changed; write a new "
                          "file with assay.write()",
                          path_)
              : formatted("{} is no dataset file of assay ({}); write one with assay.write()",
                          path_, opened_.layout));
    }
    DatasetWriter writer(path_);
    {
      const py::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      std::map<std::string, Attribute> root = file->attributes();
      root.erase("assay_schema");
      writer.write_attributes(root);
      for (const std::string& name : file->case_names()) writer.copy(*file, name);
    }
    change(writer);
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    writer.commit();
    opened_ = {};
    open();
    for (std::string& note : writer.notes()) opened_.notes.push_back(std::move(note));
  }

 private:
  void open() { opened_ = open_cases(path_, options_); }

  std::string path_;
  OpenOptions options_;
  OpenedCases opened_;
  mutable std::mutex mutex_;
};

std::unique_ptr<Dataset> open(const py::object& path, const std::string& layout,
                              const std::optional<std::string>& dtype,
                              const std::optional<std::string>& golden_dtype,
                              const std::optional<std::string>& table, bool rows_are_cases) {
  OpenOptions options{.layout = layout};
  if (rows_are_cases) options.rows_are_cases = true;
  options.dtype = dtype.value_or("");
  options.golden_dtype = golden_dtype.value_or("");
  options.table = table.value_or("");
  return std::make_unique<Dataset>(path_of(path), std::move(options));
}

std::vector<std::string> names(const Dataset& d, const std::string& glob) {
  return d.with_source([&](const CaseSource& source) { return source.case_names(glob); });
}

py::object read(const Dataset& d, const std::string& name, bool inputs, bool golden,
                bool recorded) {
  return python_case(d.with_source([&](const CaseSource& source) {
    return source.read(name, {.inputs = inputs, .golden = golden, .recorded = recorded});
  }));
}

bool has(const Dataset& d, const std::string& name) {
  return d.with_source([&](const CaseSource& source) { return source.has_case(name); });
}

}  // namespace

void define_files(py::module_& m) {
  py::class_<Dataset>(m, "Dataset",
                      "Cases in a file or folder, open for reading; a context manager, and an "
                      "iterable of Cases that are in memory one at a time.")
      .def_property_readonly("path", &Dataset::path, "As it was opened.")
      .def_property_readonly(
          "layout", [](const Dataset& d) { return d.opened().layout; }, "A name of list_layouts().")
      .def_property_readonly(
          "notes", [](const Dataset& d) { return d.opened().notes; },
          "What was inferred or left out.")
      .def_property_readonly(
          "attributes",
          [](const Dataset& d) {
            const DatasetFile* file = d.as_file();
            return python_attributes(file != nullptr ? file->attributes() : d.opened().attributes);
          },
          "Of all of it: assay_schema, description, source, license, ...")
      .def("case_names", &names, py::arg("glob") = "",
           "The names of all cases, or of those that match a glob of '*' and '?'. Raises "
           "NoCaseError where there is none.")
      .def("read", &read, py::arg("name"), py::arg("inputs") = true, py::arg("golden") = true,
           py::arg("recorded") = true, "One Case, or parts of it.")
      .def(
          "info",
          [](const Dataset& d, const std::string& name) {
            const auto found = d.with_source([&](const CaseSource& source) {
              return std::pair(source.info(name), source.path());
            });
            return python_info(found.first, found.second);
          },
          py::arg("name"),
          "A Case with an ArrayInfo (dtype, shape) in place of each array, whose data is not read.")
      .def(
          "append",
          [](Dataset& d, const py::object& cases) {
            d.rewrite([&](DatasetWriter& writer) { write_cases(writer, cases); });
          },
          py::arg("cases"),
          "Adds a Case or an iterable of them; the file is replaced when the new one is whole.")
      .def(
          "put_output",
          [](Dataset& d, const std::string& name, const std::string& producer,
             const py::object& array, const std::string& output, const py::object& dtype,
             const std::optional<std::string>& machine) {
            const Array given = named_array("array", array, dtype_word(dtype));
            if (!has(d, name))
              throw NoCaseError(d.path(), "/cases/" + name, "there is no such case");
            std::map<std::string, std::string> attributes;
            if (machine) attributes["machine"] = *machine;
            d.rewrite([&](DatasetWriter& writer) {
              writer.put_output(name, producer, given.view, attributes, output);
            });
          },
          py::arg("name"), py::arg("producer"), py::arg("array"), py::kw_only(),
          py::arg("output") = "", py::arg("dtype") = py::none(), py::arg("machine") = py::none(),
          "Records an output of a case; the file is replaced when the new one is whole.")
      .def("close", &Dataset::close,
           "What `with` does at its end; what is asked of it later raises ValueError.")
      .def(
          "__getitem__",
          [](const Dataset& d, const py::object& key) {
            if (!py::isinstance<py::str>(key)) {
              throw py::type_error(
                  formatted("a case is found by its name, not by a {}", type_name(key)));
            }
            const auto name = key.cast<std::string>();
            if (!has(d, name))
              throw py::key_error(formatted("{} has no case '{}'", d.path(), name));
            return read(d, name, true, true, true);
          },
          py::arg("name"))
      .def(
          "__contains__",
          [](const Dataset& d, const py::object& name) {
            return py::isinstance<py::str>(name) && has(d, name.cast<std::string>());
          },
          py::arg("name"))
      .def("__len__", [](const Dataset& d) { return names(d, "").size(); })
      .def("__iter__",
           [](const py::object& d) {
             const py::object read = d.attr("read");
             return py::module_::import("builtins").attr("map")(read, d.attr("case_names")());
           })
      .def("__enter__", [](const py::object& d) { return d; })
      .def("__exit__", [](Dataset& d, const py::args&) { d.close(); })
      .def("__repr__", [](const Dataset& d) { return formatted("<Dataset {}>", d.path()); });
  m.def("open", &open, py::arg("path"), py::kw_only(), py::arg("layout") = "",
        py::arg("dtype") = py::none(), py::arg("golden_dtype") = py::none(),
        py::arg("table") = py::none(), py::arg("rows_are_cases") = false,
        "The Dataset of a golden file, or of a folder in one of list_layouts(), which is told by "
        "its content.\n\ndtype, golden_dtype, table, rows_are_cases: as `assay gate` has them. "
        "Raises FileError that names file, object and reason.");
  m.def("write", &write, py::arg("path"), py::arg("cases"), py::arg("attributes") = py::none(),
        py::arg("compress") = false,
        "Writes a golden file of a Case or any iterable of them; gives how many.\n\n"
        "The file is replaced when the new one is whole. attributes: the root's. compress: "
        "deflates. Raises FileError, NoCaseError where there is none.");
}

}  // namespace assay::python
