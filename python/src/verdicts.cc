// The results of checks, as Python objects.
#include <variant>

#include "assay/base/text.h"
#include "assay/gate/close_to.h"
#include "assay/judge/metric_table.h"
#include "assay/report.h"
#include "assay/report/escape.h"
#include "module.h"
#include "state.h"

namespace assay::inline v0_2::python {
namespace {

py::object value_of(const Tally& t) {
  return py::dict("nan"_a = t.nan, "positive_inf"_a = t.positive_inf,
                  "negative_inf"_a = t.negative_inf, "zero"_a = t.zero,
                  "subnormal"_a = t.subnormal);
}

py::object value_of(const Histogram& h) {
  return py::dict("per_octave"_a = h.per_octave, "below"_a = h.below, "above"_a = h.above,
                  "bins"_a = h.bins);
}

py::object value_of(auto number) { return py::cast(number); }

py::dict metrics_of(const Metrics& metrics) {
  py::dict all;
  for (const Metric& metric : metric_table()) {
    const py::str name{std::string(metric.name)};
    const auto put = [&](auto field) {
      if constexpr (!std::is_same_v<decltype(field), std::monostate>) {
        all[name] = value_of(metrics.*field);
      }
    };
    std::visit(put, metric.field);
  }
  return all;
}

// The numbers of a mismatch. They are complex for complex elements.
py::object number(double real, const Mismatch& mismatch, double Mismatch::Part::*imaginary) {
  if (!mismatch.imaginary) return py::float_(real);
  return py::cast(std::complex<double>(real, (*mismatch.imaginary).*imaginary));
}

py::object bits(std::uint64_t real, const Mismatch& mismatch,
                std::uint64_t Mismatch::Part::*imaginary) {
  if (!mismatch.imaginary) return py::int_(real);
  return py::make_tuple(real, (*mismatch.imaginary).*imaginary);
}

py::list readings_of(const Verdict& v) {
  py::list list;
  for (const LimitReading& r : v.readings) {
    list.append(py::dict("limit"_a = r.limit.text(), "value"_a = r.value, "met"_a = r.met));
  }
  return list;
}

py::list tests_of(const Verdict& v) {
  py::list list;
  for (const DrawTest& t : v.tests) {
    list.append(py::dict("name"_a = t.name, "statistic"_a = t.statistic, "p_value"_a = t.p_value,
                         "limit"_a = t.limit, "passed"_a = t.passed));
  }
  return list;
}

std::string repr_of(const char* kind, Outcome outcome, const std::string& why) {
  return formatted("<{} {}: {}>", kind, outcome_word(outcome), why);
}

// Describes check(), the function of a result that raises an error if the check did not pass.
constexpr const char* kCheckWords =
    "Raises AssertionError where it failed, NotComparable or Untrusted.";

// Defines `outcome`, `passed` and the truth of a result. `outcome` and `passes` are functions.
template <typename Class, typename OutcomeOf, typename Passes>
void define_outcome(Class& defined, const OutcomeOf& outcome, const char* of_outcome,
                    const Passes& passes, const char* of_passed) {
  using Result = typename Class::type;
  defined
      .def_property_readonly(
          "outcome",
          [outcome](const Result& result) { return outcome_word(std::invoke(outcome, result)); },
          of_outcome)
      .def_property_readonly("passed", passes, of_passed)
      .def("__bool__", passes);
}

template <typename Shape>
py::tuple tuple_of(const Shape& shape) {
  return py::tuple(py::cast(shape));
}

void define_mismatch(py::module_& m) {
  py::class_<Mismatch>(m, "Mismatch", "An element outside its bound.")
      .def_property_readonly(
          "index", [](const Mismatch& x) { return tuple_of(x.index); }, "One number a dimension.")
      .def_readonly("linear", &Mismatch::linear, "Its row-major position.")
      .def_property_readonly(
          "actual", [](const Mismatch& x) { return number(x.actual, x, &Mismatch::Part::actual); },
          "The output's value; of complex elements a complex number.")
      .def_property_readonly(
          "expected",
          [](const Mismatch& x) { return number(x.expected, x, &Mismatch::Part::expected); },
          "As it was compared: rounded to the output's dtype where the standard says so.")
      .def_property_readonly(
          "actual_bits",
          [](const Mismatch& x) { return bits(x.actual_bits, x, &Mismatch::Part::actual_bits); },
          "Its pattern; of complex elements those of both parts.")
      .def_property_readonly(
          "expected_bits",
          [](const Mismatch& x) -> py::object {
            if (x.expected_is_beyond) return py::none();
            return bits(x.expected_bits, x, &Mismatch::Part::expected_bits);
          },
          "The pattern of the expected value, rounded to the output's dtype; None where that is an "
          "integer dtype which does not hold it.")
      .def_readonly("error", &Mismatch::error, "|actual - expected|.")
      .def_readonly("bound", &Mismatch::bound, "What the error may be here.")
      .def_readonly("ulps", &Mismatch::ulps, "None where either is NaN, and of complex elements.")
      .def("__repr__", [](const Mismatch& x) {
        return formatted("<Mismatch {}: actual {}, expected {}, error {}, bound {}>",
                         shape_text(x.index), number_text(x.actual), number_text(x.expected),
                         number_text(x.error), number_text(x.bound));
      });
}

py::array mask_of(const LazyVerdict& v) {
  if (!v.positions()) {
    throw py::value_error(
        "there is no mask: the arrays were too large to keep; ask for it with "
        "compare(..., mask=True)");
  }
  const std::vector<std::int64_t> positions = v.positions()();
  py::array mask = new_numpy("bool", v.quick().shape);
  auto* const is_mismatch = static_cast<bool*>(mask.mutable_data());
  std::fill_n(is_mismatch, mask.size(), false);
  for (const std::int64_t position : positions) is_mismatch[position] = true;
  return mask;
}

void define_verdict(py::module_& m) {
  const auto quick = [](auto Verdict::*field) {
    return [field](const LazyVerdict& v) { return v.quick().*field; };
  };
  py::class_<LazyVerdict> verdict(m, "Verdict",
                                  "What a check found: true where it passes. Metrics and the words "
                                  "that need them are computed where they are first read.");
  define_outcome(
      verdict, quick(&Verdict::outcome),
      "'pass', 'fail', 'untrusted' (the check could not have failed) or 'not_comparable'.",
      [](const LazyVerdict& v) { return v.quick().outcome == Outcome::kPass; },
      "Whether the outcome is 'pass'.");
  verdict.def_property_readonly("sites", quick(&Verdict::sites), "How many elements were compared.")
      .def_property_readonly("mismatches", quick(&Verdict::mismatches),
                             "How many are outside their bound.")
      .def_property_readonly("forgiven", quick(&Verdict::forgiven),
                             "Mismatches that the standard's budget allows.")
      .def_property_readonly("special_mismatches", quick(&Verdict::special_mismatches),
                             "Of the mismatches, those where NaN or infinity is in the way.")
      .def_property_readonly("worst_ratio", quick(&Verdict::worst_ratio),
                             "The largest error / bound.")
      .def_property_readonly("nonzero", quick(&Verdict::nonzero),
                             "How many expected elements are not zero.")
      .def_property_readonly("blind", quick(&Verdict::blind),
                             "How many of the elements that are not zero could be zero and pass; "
                             "None where that is not known.")
      .def_property_readonly(
          "blind_share", [](const LazyVerdict& v) { return v.quick().blind_share(); },
          "blind / nonzero; None where that is not known.")
      .def_property_readonly("worst", quick(&Verdict::worst),
                             "Elements outside their bound, the largest error / bound first.")
      .def_property_readonly(
          "metrics",
          [](LazyVerdict& v) {
            const Verdict& whole = v.whole();
            return whole.metrics ? py::object(metrics_of(*whole.metrics)) : py::object(py::none());
          },
          "Error metrics by the names of list_metrics(); None where nothing could be compared.")
      .def_property_readonly(
          "readings", [](const LazyVerdict& v) { return readings_of(v.quick()); },
          "Of the standard's limits on statistics: limit, value, met.")
      .def_property_readonly(
          "tests", [](const LazyVerdict& v) { return tests_of(v.quick()); },
          "Of draws: the tests against their law.")
      .def_property_readonly(
          "why", [](LazyVerdict& v) { return v.whole().because; },
          "The verdict in words, one line.")
      .def_property_readonly("where", quick(&Verdict::where),
                             "The pattern of the mismatches; empty where there is none.")
      .def_property_readonly(
          "notes", [](const LazyVerdict& v) { return assay::notes_of(v.quick()); },
          "What else a reader should know, a line each.")
      .def_property_readonly(
          "standard", [](const LazyVerdict& v) { return report::standard_text(v.quick().bound); },
          "Its name, and who chose it where it was not asked for.")
      .def_property_readonly(
          "bound", [](const LazyVerdict& v) { return v.quick().bound.text(); },
          "The bound in words.")
      .def_property_readonly(
          "dtype",
          [](const LazyVerdict& v) -> std::optional<std::string> {
            if (v.quick().format == nullptr) return std::nullopt;
            return std::string(v.quick().format->name);
          },
          "The output's; None where there is none.")
      .def_property_readonly(
          "shape", [](const LazyVerdict& v) { return tuple_of(v.quick().shape); }, "The output's.")
      .def(
          "to_dict", [](LazyVerdict& v) { return from_json(verdict_json(v.whole())); },
          "As docs/json.md has it; NaN and infinity are the strings 'nan', 'inf' and '-inf'.")
      .def(
          "check",
          [](const py::object& self) {
            LazyVerdict& v = self.cast<LazyVerdict&>();
            if (v.quick().outcome != Outcome::kPass) {
              raise_unless_pass(v.quick().outcome, explain(v.whole()), self);
            }
          },
          kCheckWords)
      .def_property_readonly("mask", &mask_of,
                             "A numpy array of the output's shape: True for each element outside "
                             "its bound. Of arrays of more than 64 KiB, compare() makes it only "
                             "with mask=True; ValueError without.")
      .def("__copy__", [](const LazyVerdict& v) { return v; })
      .def("__deepcopy__", [](const LazyVerdict& v, const py::dict&) { return v; })
      .def(py::pickle(
          [](LazyVerdict& v) {
            return py::make_tuple(state_of(v.whole()), v.positions() ? py::cast(v.positions()())
                                                                     : py::object(py::none()));
          },
          [](const py::tuple& state) {
            LazyVerdict v(verdict_of_state(state[0]));
            if (!state[1].is_none()) {
              const auto positions = state[1].cast<std::vector<std::int64_t>>();
              v.set_positions([positions] { return positions; });
            }
            return v;
          }));
  define_texts(
      verdict, "What differs, in several lines.", [](LazyVerdict& v) { return explain(v.whole()); },
      [](LazyVerdict& v) { return repr_of("Verdict", v.quick().outcome, v.whole().because); });
}

void define_abft_verdict(py::module_& m) {
  py::class_<AbftVerdict> verdict(m, "AbftVerdict", "What checksums found: true where they pass.");
  define_outcome(
      verdict, &AbftVerdict::outcome, "'pass', 'fail', 'untrusted' or 'not_comparable'.",
      [](const AbftVerdict& v) { return v.outcome == Outcome::kPass; },
      "Whether the outcome is 'pass'.");
  verdict.def_readonly("why", &AbftVerdict::because, "The verdict in words, one line.")
      .def_readonly("notes", &AbftVerdict::notes, "What else a reader should know, a line each.")
      .def_readonly("checks", &AbftVerdict::checks,
                    "How many sums were held against their threshold.")
      .def_readonly("flagged", &AbftVerdict::flagged, "How many of them are above it.")
      .def_readonly("not_checkable", &AbftVerdict::not_checkable,
                    "How many say nothing: NaN or infinity is in the way.")
      .def_readonly("worst_ratio", &AbftVerdict::worst_ratio, "The largest D/T of all checks.")
      .def_readonly(
          "rms_z", &AbftVerdict::rms_z,
          "Root mean square of D / sigma over all checks; NaN where the threshold has no sigma.")
      .def_readonly("threshold", &AbftVerdict::spec, "With its parameters.")
      .def(
          "check",
          [](const py::object& self) {
            const AbftVerdict& v = self.cast<const AbftVerdict&>();
            raise_unless_pass(v.outcome, explain(v), self);
          },
          kCheckWords);
  define_texts(
      verdict, "What differs, in several lines.", [](const AbftVerdict& v) { return explain(v); },
      [](const AbftVerdict& v) { return repr_of("AbftVerdict", v.outcome, v.because); });
}

void define_case_report(py::module_& m) {
  py::class_<CaseReport> report(
      m, "CaseReport",
      "What the gate found out about one output of one case: true where it passes.");
  define_outcome(report, &CaseReport::outcome,
                 "The worst of all verdicts, the checksums' included.", &CaseReport::passes,
                 "Whether the gate passes with this case.");
  report.def_readonly("name", &CaseReport::name, "The case's.")
      .def_readonly("source_name", &CaseReport::source_name,
                    "The name that the user gave the case, if a case name cannot have its "
                    "characters; else empty.")
      .def_readonly("file", &CaseReport::file, "The golden file, where the gate has several.")
      .def_readonly("op", &CaseReport::op, "The operator.")
      .def_readonly("dtype", &CaseReport::dtype, "The output's.")
      .def_readonly("producer", &CaseReport::producer,
                    "Where the output came from; empty where nothing says it.")
      .def_readonly("output", &CaseReport::output,
                    "Which one, of a case that has several; else empty.")
      .def_property_readonly(
          "shape", [](const CaseReport& c) { return tuple_of(c.shape); }, "The output's.")
      .def_readonly("tags", &CaseReport::tags, "Of the case's attribute `tags`.")
      .def_property_readonly(
          "word", [](const CaseReport& c) { return c.outcome_text(); },
          "The outcome, or the word of what is known of the case: 'known_failure', 'worse', ...")
      .def_property_readonly("why", &CaseReport::because, "Of the verdict that decides, one line.")
      .def_property_readonly(
          "verdicts",
          [](const CaseReport& c) {
            std::vector<LazyVerdict> all;
            for (const Verdict& v : c.verdicts) all.emplace_back(v);
            return all;
          },
          "One a standard.")
      .def_readonly("abft", &CaseReport::abft, "The checksums' verdict; None where none was asked.")
      .def_readonly("error", &CaseReport::error, "Why it could not be read.")
      .def_readonly("seconds", &CaseReport::seconds, "That the gate took for it.")
      .def_readonly("reproduce", &CaseReport::reproduce, "A command line that judges it again.")
      .def(
          "check",
          [](const py::object& self) {
            const CaseReport& c = self.cast<const CaseReport&>();
            if (c.passes()) return;
            raise_unless_pass(c.outcome(), formatted("{}: {}", c.title(), explain(c)), self);
          },
          kCheckWords);
  define_texts(
      report, "Of the verdict that decides, in several lines.",
      [](const CaseReport& c) { return explain(c); },
      [](const CaseReport& c) {
        return formatted("<CaseReport {} {}: {}>", c.title(), c.outcome_text(), c.because());
      });
}

std::string table_of(const GateResult& r) {
  std::string text = gate_table(r.report, false);
  if (r.exit_code != exit_code(report_outcome(r.report))) {
    text += formatted("\n`assay gate` exits with {}\n", r.exit_code);
  }
  return text;
}

void check_gate(const py::object& self) {
  const GateResult& r = self.cast<const GateResult&>();
  for (const Outcome outcome :
       {Outcome::kPass, Outcome::kFail, Outcome::kNotComparable, Outcome::kUntrusted}) {
    if (r.exit_code == exit_code(outcome)) {
      return raise_unless_pass(outcome, table_of(r), self);
    }
  }
  raise_gate_error(table_of(r));
}

void define_gate_report(py::module_& m) {
  const auto of = [](auto GateReport::*field) {
    return [field](const GateResult& r) { return r.report.*field; };
  };
  py::class_<GateResult> result(m, "GateReport",
                                "What the gate found out about all cases: true where it passes.");
  define_outcome(
      result, [](const GateResult& r) { return report_outcome(r.report); },
      "The worst of all cases but known failures.",
      [](const GateResult& r) { return r.exit_code == 0; }, "Whether exit_code is 0.");
  result.def_property_readonly("cases", of(&GateReport::cases), "A CaseReport an output.")
      .def_readonly("exit_code", &GateResult::exit_code,
                    "Of `assay gate`: 0 pass, 1 failed, 2 a case cannot be read, 3 not comparable, "
                    "4 untrusted.")
      .def_property_readonly(
          "counts",
          [](const GateResult& r) {
            py::dict counts;
            for (const auto& [word, n] : outcome_counts(r.report)) {
              counts[py::cast(word)] = n;
            }
            return counts;
          },
          "How many cases have each outcome.")
      .def_property_readonly(
          "note", of(&GateReport::note),
          "What a reader should know of all verdicts, such as an override; or empty.")
      .def_property_readonly("notes", of(&GateReport::notes),
                             "What else a reader should know, a line each.")
      .def_property_readonly("without_golden", of(&GateReport::without_golden),
                             "Cases that have an output alone, which is not judged.")
      .def_property_readonly("command", of(&GateReport::command),
                             "The command line that does the same.")
      .def_property_readonly("version", of(&GateReport::version), "Of assay.")
      .def(
          "to_dict",
          [](const GateResult& r) { return from_json(gate_json(r.report, JsonMetrics::kAll)); },
          "As docs/json.md has it.")
      .def(
          "html", [](const GateResult& r) { return gate_html(r.report); },
          "One self-contained page.")
      .def(
          "junit", [](const GateResult& r) { return gate_junit(r.report); }, "As JUnit XML.")
      .def("check", &check_gate,
           "Raises AssertionError where a case failed, NotComparable or Untrusted, GateError where "
           "a case cannot be read.")
      .def("__len__", [](const GateResult& r) { return r.report.cases.size(); })
      .def("__iter__", [](const py::object& r) { return py::iter(r.attr("cases")); });
  define_texts(result, "The table that `assay gate` prints.", &table_of, [](const GateResult& r) {
    return formatted("<GateReport {}>", first_line(gate_line(r.report)));
  });
}

}  // namespace

py::object from_json(const std::string& text) {
  return py::module_::import("json").attr("loads")(text);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string preformatted(const std::string& text) {
  return "<pre>" + report::xml_escaped(text) + "</pre>";
}

void define_verdicts(py::module_& m) {
  define_mismatch(m);
  define_verdict(m);
  define_abft_verdict(m);
  define_case_report(m);
  define_gate_report(m);
}

}  // namespace assay::python
