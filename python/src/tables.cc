// The tables of assay, each as a list of dicts.
#include "assay/abft/threshold.h"
#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/fault/fault.h"
#include "assay/fault/mutation.h"
#include "assay/format/format.h"
#include "assay/judge/metric_table.h"
#include "assay/judge/standards.h"
#include "assay/machine/machine.h"
#include "assay/op/attributes.h"
#include "assay/op/operator.h"
#include "assay/tensor/distribution.h"
#include "assay/wire/standards_file.h"
#include "module.h"

namespace assay::python {
namespace {

py::object text(std::string_view words) { return py::str(std::string(words)); }

template <typename Rows, typename Make>
py::list list_of(const Rows& rows, const Make& make) {
  py::list list;
  for (const auto& r : rows) list.append(make(r));
  return list;
}

py::list dtypes() {
  const auto make = [](const Format& f) {
    return py::dict("name"_a = text(f.name), "storage_bytes"_a = py::int_(f.storage_bytes),
                    "bits"_a = py::int_(f.bits), "is_float"_a = py::bool_(f.is_float()),
                    "is_complex"_a = py::bool_(f.is_complex()));
  };
  py::list list = list_of(formats(), make);
  for (const Format& f : complex_formats()) list.append(make(f));
  return list;
}

py::dict operator_row(const Operator& op) {
  const auto input = [](const OperatorInput& i) {
    return py::dict("name"_a = text(i.name), "shape"_a = text(i.shape),
                    "optional"_a = py::bool_(i.optional), "words"_a = text(i.words));
  };
  const auto parameter = [](const Parameter& p) {
    return py::dict("name"_a = text(p.name), "kind"_a = text(kind_word(p.kind)),
                    "takes"_a = text(values_text(p)), "default"_a = text(p.default_value),
                    "needed"_a = py::bool_(p.needed), "words"_a = text(p.words));
  };
  return py::dict("name"_a = text(op.name), "summary"_a = text(op.summary),
                  "inputs"_a = list_of(op.inputs, input),
                  "parameters"_a = list_of(op.parameters, parameter), "output"_a = text(op.output));
}

py::dict machine_row(const Machine& machine) {
  return py::dict(
      "name"_a = text(machine.name), "summary"_a = text(machine.summary),
      "source"_a = text(machine.source),
      "inputs"_a = list_of(machine.dots, [](const DotModel& d) { return text(d.input); }));
}

py::dict metric_row(const Metric& metric) {
  const char* better = metric.better == Better::kSmaller  ? "smaller"
                       : metric.better == Better::kLarger ? "larger"
                                                          : "neither";
  return py::dict("name"_a = text(metric.name), "words"_a = text(metric.words),
                  "unit"_a = text(metric.unit), "better"_a = text(better));
}

}  // namespace

void define_tables(py::module_& m) {
  m.def("list_dtypes", &dtypes, "The number formats: name, storage_bytes, bits, ...");
  m.def(
      "list_operators", [] { return list_of(operators(), operator_row); },
      "The operators: name, summary, inputs, parameters, output.");
  m.def(
      "list_machines", [] { return list_of(machines(), machine_row); },
      "The machines: name, summary, source, the input formats of the matrix unit.");
  m.def(
      "list_standards",
      [] { return py::list(from_json(wire::standards_json(standards()))["standards"]); },
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
  m.def(
      "list_thresholds",
      [] {
        return list_of(thresholds(), [](const Threshold& t) {
          return py::dict("name"_a = text(t.name), "summary"_a = text(t.summary),
                          "source"_a = text(t.source), "validity"_a = text(t.validity),
                          "parameters"_a = list_of(t.parameters, [](const auto* p) {
                            return py::dict("name"_a = text(p->name), "words"_a = text(p->words));
                          }));
        });
      },
      "The thresholds of checksums: name, summary, source, validity, parameters.");
  m.def("list_faults", &fault::fault_help, "What a fault may say, one line each.");
  m.def(
      "list_mutations",
      [] {
        return list_of(mutations(), [](const Mutation& mutation) {
          return py::dict("name"_a = text(mutation.name), "summary"_a = text(mutation.summary));
        });
      },
      "What `gate(mutate=True)` does to outputs: name, summary.");
  m.def(
      "list_distributions",
      [] {
        return list_of(distributions(), [](const Distribution& d) {
          return py::dict(
              "name"_a = text(d.name), "summary"_a = text(d.summary),
              "parameters"_a = list_of(d.parameters, [](const DistributionParameter& p) {
                return py::dict("name"_a = text(p.name), "meaning"_a = text(p.meaning));
              }));
        });
      },
      "The distributions that inputs are drawn from: name, summary, parameters.");
  m.def(
      "list_attributes",
      [] {
        return list_of(known_attributes(), [](const KnownAttribute& a) {
          return py::dict("name"_a = text(a.name), "kind"_a = text(a.kind),
                          "meaning"_a = text(a.meaning));
        });
      },
      "The attributes of a case that have a meaning: name, kind, meaning.");
  m.def(
      "list_layouts",
      [] {
        return list_of(layouts(), [](const Layout& l) {
          return py::dict("name"_a = text(l.name), "what"_a = text(l.what));
        });
      },
      "What open() reads: name, what it looks like.");
  m.def(
      "list_array_formats",
      [] {
        return list_of(array_formats(), [](const ArrayFormat& f) {
          return py::dict("name"_a = text(f.name), "endings"_a = list_of(f.endings, text),
                          "is_written"_a = py::bool_(f.write != nullptr));
        });
      },
      "The kinds of files of arrays: name, endings of file names, whether assay writes them.");
}

}  // namespace assay::python
