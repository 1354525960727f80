// identify: finds out which arithmetic computed recorded outputs, from a file or in memory.
#include "assay/identify/identify.h"

#include <algorithm>

#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/op/operator.h"
#include "assay/report/identification.h"
#include "assay/wire/identification.h"
#include "call.h"
#include "case.h"
#include "module.h"

namespace assay::inline v0_2::python {
namespace {

using identify::Finding;

// The findings for each output, and the path of the file that holds the outputs. The path is empty
// if the outputs are in memory.
struct IdentificationReport {
  std::vector<Finding> findings;
  std::string file;
};

bool is_found(const Finding& f) { return f.why.empty() && f.outcome == identify::Outcome::kFound; }

std::string outcome_of(const Finding& f) {
  return f.why.empty() ? std::string(identify::outcome_word(f.outcome)) : "not_identified";
}

// Returns the lines for one output, without the line that counts the outputs.
std::string finding_text(const Finding& f) {
  const std::string all = report::identification_text({f});
  return all.substr(0, all.rfind('\n', all.size() - 2));
}

// Returns the function of a finding as the JSON report has it, or None.
py::object function_of(const Finding& f) {
  if (!f.function) return py::none();
  const py::dict all = from_json(wire::identification_json({f}, ""));
  return py::object(all["cases"][py::int_(0)])["function"];
}

py::dict evidence_of(const Finding& f) {
  py::dict all;
  for (const identify::Evidence& e : f.evidence) {
    const py::object other = e.rival.empty() ? py::object(py::none()) : py::cast(e.rival);
    all[py::cast(e.parameter)] = py::dict("value"_a = e.value, "other_value"_a = other,
                                          "differ"_a = e.differ, "of"_a = e.of, "same"_a = e.same);
  }
  return all;
}

// Identifies each recorded output of each producer in these cases.
IdentificationReport of_cases(const std::vector<Case>& given, const std::string& producer,
                              const identify::Options& options) {
  const FloatEnvironment environment;
  std::vector<Case> cases;
  for (const Case& c : given) {
    for (const std::string& output : keys_of(c.outputs)) cases.push_back(c.only(output));
  }
  std::vector<identify::Recorded> outputs;
  for (const Case& c : cases) {
    for (const auto& [name, recorded] : c.output().recorded) {
      if (producer.empty() || name == producer) outputs.push_back({&c, name});
    }
  }
  if (outputs.empty()) {
    refuse_case(given.front().name,
                producer.empty() ? "no recorded output to identify"
                                 : formatted("no recorded output of '{}' to identify", producer));
  }
  return {identify::identify(outputs, options), ""};
}

IdentificationReport of_file(const std::string& path, const py::dict& options) {
  tools::CommandCall call("identify");
  set_text(call, "FILE", path);
  set_options(call, options, "identify()");
  IdentificationReport report{{}, path};
  const tools::Listener listener{
      .identify = [&](const std::vector<Finding>& found) { report.findings = found; }};
  const Unlocked unlocked;
  call.run(listener);
  return report;
}

bool is_case(const py::handle& object) {
  return py::isinstance(object, py::module_::import("assay._case").attr("Case"));
}

// Returns the given cases, one or several, or an empty list if the object is neither a case nor
// several.
std::vector<py::object> cases_in(const py::object& what) {
  if (is_case(what)) return {what};
  std::vector<py::object> cases;
  if (is_path(what) || !py::isinstance<py::iterable>(what)) return {};
  for (const py::handle& one : py::iter(what)) {
    if (!is_case(one)) {
      throw py::type_error(formatted("identify() takes cases, not a {}", type_name(one)));
    }
    cases.push_back(py::reinterpret_borrow<py::object>(one));
  }
  if (cases.empty()) throw py::value_error("identify() of no cases");
  return cases;
}

IdentificationReport identify_any(const py::object& what, const py::object& output,
                                  const py::kwargs& given) {
  const bool in_memory = !output.is_none();
  const std::vector<py::object> objects = in_memory ? std::vector<py::object>() : cases_in(what);
  if (!in_memory && objects.empty()) {
    if (py::isinstance<py::str>(what) && find_operator(what.cast<std::string>()) != nullptr) {
      throw py::type_error(
          formatted("identify(\"{0}\", output, ...) needs the output that {0} gave",
                    what.cast<std::string>()));
    }
    if (!is_path(what)) {
      throw py::type_error(formatted(
          "identify() takes a file, an operator's name and its output, or cases, not a {}",
          type_name(what)));
    }
    return of_file(path_of(what), given);
  }
  py::dict keywords = py::reinterpret_borrow<py::dict>(given);
  const identify::Options options{.threads = taken_as<int>(keywords, "threads").value_or(0),
                                  .evidence = taken_as<bool>(keywords, "evidence").value_or(true)};
  std::vector<Case> cases;
  std::string producer;
  if (in_memory) {
    producer = "output";
    if (!py::isinstance<py::str>(what)) {
      throw py::type_error(formatted("identify(op, output, ...) takes an operator's name, not a {}",
                                     type_name(what)));
    }
    const py::object dtype = taken(keywords, "dtype");
    const Array array = named_array("output", output, dtype_word(dtype));
    Case c = operator_case(what.cast<std::string>(), py::reinterpret_borrow<py::kwargs>(keywords));
    if (c.attributes.count("output_dtype") == 0) {
      c.attributes["output_dtype"] = std::string(array.view.format->name);
    }
    c.output().recorded[producer].tensor = copy_of(array.view);
    cases.push_back(std::move(c));
  } else {
    producer = taken_as<std::string>(keywords, "recorded").value_or("");
    refuse_rest(keywords, "identify() of cases");
    for (const py::object& object : objects) cases.push_back(case_of(object).test_case);
  }
  const Unlocked unlocked;
  return of_cases(cases, producer, options);
}

void define_finding(py::module_& m) {
  py::class_<Finding> finding(
      m, "Finding",
      "Which arithmetic computed one recorded output: true where one model was found.");
  finding.def_readonly("case", &Finding::case_name, "Its name; of arrays the operator.")
      .def_readonly("output_name", &Finding::output_name,
                    "Which one, of a case with several outputs; else empty.")
      .def_readonly("producer", &Finding::producer, "Of arrays 'output'.")
      .def_readonly("op", &Finding::op, "The operator.")
      .def_property_readonly("outcome", &outcome_of,
                             "'found', 'undecided' (several models fit, and more data would tell), "
                             "'none' (nothing fits) or 'not_identified' (why says the reason).")
      .def("__bool__", &is_found)
      .def_readonly("sentence", &Finding::sentence,
                    "The outcome in plain words; empty where it was not tried.")
      .def_readonly("alike", &Finding::alike,
                    "Machines whose rows compute the case as the model does.")
      .def_readonly(
          "model", &Finding::model,
          "What machine= takes; of 'none' the nearest. Empty where no machine takes such operands.")
      .def_property_readonly(
          "parameters", [](const Finding& f) { return python_attributes(f.parameters); },
          "Of the case, beside the machine: split_k, compute_dtype, ...")
      .def_readonly("is_row", &Finding::is_row, "The model is one of list_machines() as it is.")
      .def_readonly("elements", &Finding::elements, "Of the output.")
      .def_readonly("tried", &Finding::tried, "Models.")
      .def_readonly("fits", &Finding::fits, "Models that give every bit, equivalent ones included.")
      .def_readonly(
          "by_others", &Finding::by_others,
          "Whether other outputs of the same dtypes ruled out models that this one alone does not.")
      .def_property_readonly(
          "evidence", &evidence_of,
          "By parameter: value, other_value (the value that would change fewest elements; None), "
          "differ (elements that would change) of all elements, same (values that change none).")
      .def_readonly("rivals", &Finding::rivals,
                    "Of 'undecided': other models that fit, at most a few.")
      .def_property_readonly(
          "nearest",
          [](const Finding& f) -> py::object {
            if (!f.why.empty() || f.outcome != identify::Outcome::kNone || f.function)
              return py::none();
            return py::dict("agree"_a = f.agree, "of"_a = f.of, "largest_ulps"_a = f.largest_ulps);
          },
          "Of 'none': how many elements the model agrees on, of how many, and the largest "
          "difference in ulps; else None.")
      .def_property_readonly(
          "function", &function_of,
          "Of a function of each element: its errors in ulps (largest_ulps, mean_ulps, at, "
          "ranges), published bounds with how many elements lie outside, formulas that fit or are "
          "nearest with how many differ, inversions of order; else None.")
      .def_readonly("note", &Finding::note,
                    "What else is to be known of a model that was found, as of others that would "
                    "differ seldom; else empty.")
      .def_readonly("why", &Finding::why, "Why it was not tried; else empty.");
  define_texts(finding, "What `assay identify` prints of it.", &finding_text, [](const Finding& f) {
    return formatted("<Finding {}>", first_line(finding_text(f)));
  });
}

}  // namespace

void define_identify(py::module_& m) {
  define_finding(m);
  const auto text = [](const IdentificationReport& r) {
    return report::identification_text(r.findings);
  };
  const auto is_found_all = [](const IdentificationReport& r) {
    return std::ranges::all_of(r.findings, is_found);
  };
  py::class_<IdentificationReport> report(
      m, "IdentificationReport",
      "The arithmetic of recorded outputs: true where all were found. A sequence of Findings.");
  report.def_readonly("findings", &IdentificationReport::findings, "One an output.")
      .def("__bool__", is_found_all)
      .def("__len__", [](const IdentificationReport& r) { return r.findings.size(); })
      .def(
          "__getitem__",
          [](const IdentificationReport& r, std::ptrdiff_t index) {
            const auto size = static_cast<std::ptrdiff_t>(r.findings.size());
            if (index < -size || index >= size) {
              throw py::index_error(formatted("finding {} of {}", index, size));
            }
            return r.findings[static_cast<std::size_t>(index < 0 ? index + size : index)];
          },
          py::arg("index"))
      .def("__iter__", [](const py::object& r) { return py::iter(r.attr("findings")); })
      .def(
          "to_dict",
          [](const IdentificationReport& r) {
            return from_json(wire::identification_json(r.findings, r.file));
          },
          "As docs/identify.md has it.");
  define_texts(
      report, "What `assay identify` prints.", text, [text](const IdentificationReport& r) {
        // Shows the finding if there is one output, and otherwise the line that counts outputs.
        std::string all = text(r);
        all.pop_back();
        return formatted("<IdentificationReport {}>", r.findings.size() == 1
                                                          ? first_line(all)
                                                          : all.substr(all.rfind('\n') + 1));
      });
  m.def("identify", &identify_any, py::arg("what"), py::arg("output") = py::none(),
        "The IdentificationReport of which arithmetic computed recorded outputs, bit for bit "
        "(docs/identify.md).\n\n"
        "identify('recorded.h5', case='mm/*'): what `assay identify` finds in a file, with its "
        "options as keywords: case, family, recorded, out, threads, ...\n"
        "identify('matmul', output, a=a, b=b): of one output in memory; the inputs and parameters "
        "of the operator by name, as emulate() has them.\n"
        "identify(cases): of a Case or several, with recorded outputs; recorded: of this producer "
        "alone. What one output leaves open, others of the same dtypes may decide.\n"
        "Of arrays and cases also threads, evidence (False: do not look for it), and of an output "
        "dtype, the format of its bit patterns.\n\n"
        "The search may take minutes; Ctrl-C stops it. Raises FileError, NoCaseError, CaseError, "
        "ValueError.");
}

}  // namespace assay::python
