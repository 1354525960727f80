// The tables of assay, each as a list of dicts.
#include "assay/abft/threshold.h"
#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/fault/fault.h"
#include "assay/fault/mutation.h"
#include "assay/format/format.h"
#include "assay/judge/metric_table.h"
#include "assay/judge/standards.h"
#include "assay/judge/standards_file.h"
#include "assay/machine/machine.h"
#include "assay/op/attributes.h"
#include "assay/op/operator.h"
#include "assay/tensor/distribution.h"
#include "module.h"

namespace assay::inline v0_2::python {
namespace {

template <typename Rows, typename Make>
py::list list_of(const Rows& rows, const Make& make) {
  py::list list;
  for (const auto& r : rows) list.append(make(r));
  return list;
}

py::list dtypes() {
  const auto make = [](const Format& f) {
    return py::dict("name"_a = f.name, "storage_bytes"_a = f.storage_bytes, "bits"_a = f.bits,
                    "is_float"_a = f.is_float(), "is_complex"_a = f.is_complex());
  };
  py::list list = list_of(formats(), make);
  for (const Format& f : complex_formats()) list.append(make(f));
  return list;
}

py::dict operator_row(const Operator& op) {
  const auto input = [](const OperatorInput& i) {
    return py::dict("name"_a = i.name, "shape"_a = i.shape, "optional"_a = i.optional,
                    "words"_a = i.words);
  };
  const auto parameter = [](const Parameter& p) {
    return py::dict("name"_a = p.name, "kind"_a = kind_word(p.kind), "takes"_a = values_text(p),
                    "default"_a = p.default_value, "needed"_a = p.needed, "words"_a = p.words);
  };
  return py::dict("name"_a = op.name, "summary"_a = op.summary,
                  "inputs"_a = list_of(op.inputs, input),
                  "parameters"_a = list_of(op.parameters, parameter), "output"_a = op.output);
}

py::dict machine_row(const Machine& machine) {
  return py::dict("name"_a = machine.name, "summary"_a = machine.summary,
                  "source"_a = machine.source,
                  "inputs"_a = list_of(machine.dots, [](const DotModel& d) { return d.input; }));
}

py::dict metric_row(const Metric& metric) {
  const char* better = metric.better == Better::kSmaller  ? "smaller"
                       : metric.better == Better::kLarger ? "larger"
                                                          : "neither";
  return py::dict("name"_a = metric.name, "words"_a = metric.words, "unit"_a = metric.unit,
                  "better"_a = better);
}

py::dict threshold_row(const Threshold& t) {
  const auto parameter = [](const auto* p) {
    return py::dict("name"_a = p->name, "words"_a = p->words);
  };
  return py::dict("name"_a = t.name, "summary"_a = t.summary, "source"_a = t.source,
                  "validity"_a = t.validity, "parameters"_a = list_of(t.parameters, parameter));
}

py::dict distribution_row(const Distribution& d) {
  const auto parameter = [](const DistributionParameter& p) {
    return py::dict("name"_a = p.name, "meaning"_a = p.meaning);
  };
  return py::dict("name"_a = d.name, "summary"_a = d.summary,
                  "parameters"_a = list_of(d.parameters, parameter));
}

}  // namespace

void define_tables(py::module_& m) {
  const auto define = [&](const char* name, auto rows, auto make, const char* words) {
    m.def(
        name, [rows, make] { return list_of(rows(), make); }, words);
  };
  m.def("list_dtypes", &dtypes, "The number formats: name, storage_bytes, bits, ...");
  define("list_operators", operators, operator_row,
         "The operators: name, summary, inputs, parameters, output.");
  define("list_machines", machines, machine_row,
         "The machines: name, summary, source, the input formats of the matrix unit.");
  m.def(
      "list_standards",
      [] { return py::list(from_json(standards_json(standards()))["standards"]); },
      "The published standards, as a file of standards says them (docs/judging.md): name, why, "
      "repository, commit, path, dtypes, ... 'ulp(n)', 'bit_equal', 'accumulation(MACHINE)', "
      "'expected_error' and 'distribution(LAW,...)' are standards, too.");
  m.def(
      "list_metrics",
      [] {
        py::list list;
        for (const Metric& metric : metric_table()) {
          if (metric.field.index() != 0) list.append(metric_row(metric));
        }
        return list;
      },
      "The error metrics of Verdict.metrics: name, words, unit, better.");
  define("list_thresholds", thresholds, threshold_row,
         "The thresholds of checksums: name, summary, source, validity, parameters.");
  m.def("list_faults", &fault::fault_help, "What a fault may say, one line each.");
  define(
      "list_mutations", mutations,
      [](const Mutation& row) { return py::dict("name"_a = row.name, "summary"_a = row.summary); },
      "What `gate(mutate=True)` does to outputs: name, summary.");
  define("list_distributions", distributions, distribution_row,
         "The distributions that inputs are drawn from: name, summary, parameters.");
  define(
      "list_attributes", known_attributes,
      [](const KnownAttribute& a) {
        return py::dict("name"_a = a.name, "kind"_a = a.kind, "meaning"_a = a.meaning);
      },
      "The attributes of a case that have a meaning: name, kind, meaning.");
  define(
      "list_layouts", layouts,
      [](const Layout& l) { return py::dict("name"_a = l.name, "what"_a = l.what); },
      "What open() reads: name, what it looks like.");
  define(
      "list_array_formats", array_formats,
      [](const ArrayFormat& f) {
        return py::dict(
            "name"_a = f.name,
            "endings"_a = list_of(f.endings, [](std::string_view ending) { return ending; }),
            "is_written"_a = f.write != nullptr);
      },
      "The kinds of files of arrays: name, endings of file names, whether assay writes them.");
}

}  // namespace assay::python
