#include "assay/datasets/runner/runner.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/datasets/runner/file_gate.h"
#include "assay/judge/standards_file.h"
#include "assay/report.h"

namespace assay::inline v0_2 {
namespace {

struct Arguments {
  std::string program, file, glob, ctest_prefix;
  // The machine under test. If it is null, the team's functions are under test.
  const Machine* machine = nullptr;
  std::string machine_text, standards;  // the words of --machine and --standards
  GateRequest request;
  std::vector<std::string> labels;
  bool ctest = false;

  // Returns the options that decide a case's verdict, each word as `quote` writes it. The text
  // begins with a blank unless it is empty.
  template <typename Quote>
  std::string text(const Quote& quote) const {
    std::string out;
    if (machine != nullptr) out += " --machine " + quote(machine_text);
    if (!standards.empty()) out += " --standards " + quote(standards);
    for (const std::string& s : request.bounds.standards) out += " --standard " + quote(s);
    if (!request.reference_implementation.empty())
      out += " --reference-implementation " + quote(request.reference_implementation);
    if (request.checksums) out += " --abft " + quote(request.checksums->text());
    if (request.sample) out += " --sample " + quote(request.sample->text());
    return out;
  }
};

Arguments parse(int argc, char** argv) {
  Arguments a;
  a.program = argv[0];
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) refuse("{} needs a value", word);
      if (*argv[++i] == '\0') {
        refuse("{}: the value is empty; is a variable not set?", word);
      }
      return argv[i];
    };
    if (word == "--case")
      a.glob = value();
    else if (word == "--machine")
      a.machine = &machine_named(a.machine_text = value());
    else if (word == "--standards")
      a.request.bounds.custom = read_standards(a.standards = value());
    else if (word == "--standard")
      a.request.bounds.standards.push_back(value());
    else if (word == "--reference-implementation")
      a.request.reference_implementation = value();
    else if (word == "--abft")
      a.request.checksums = parse_threshold(value());
    else if (word == "--sample")
      a.request.sample = parse_row_sample(value());
    else if (word == "--label")
      a.labels.push_back(value());
    else if (word == "--ctest")
      a.ctest = true, a.ctest_prefix = value();
    else if (word.starts_with("-"))
      refuse("unknown option {}", word);
    else if (word.empty())
      refuse("the dataset file's name is empty; is a variable not set?");
    else if (a.file.empty())
      a.file = word;
    else
      refuse("only one dataset file can be judged at a time; leave out '{}'", word);
  }
  if (a.file.empty()) {
    refuse(
        "usage: {} FILE [--case GLOB] [--machine M] [--standards FILE] [--standard S]... "
        "[--reference-implementation PRODUCER] [--abft THRESHOLD] [--sample rows=N,seed=N] "
        "[--ctest PREFIX]",
        a.program);
  }
  check_request(a.request.bounds);
  return a;
}

// Returns a CMake bracket argument. CMake interprets nothing in it, and no part of the text ends
// it.
std::string bracket(std::string_view text) {
  std::string equals = "==";
  while (text.find("]" + equals + "]") != std::string_view::npos) equals += '=';
  return formatted("[{0}[{1}]{0}]", equals, text);
}

// Returns no labels for a case that is refused. Its test says why it is refused.
std::vector<std::string> labels_of(const CaseSource& file, const std::string& name) {
  StoredCase info;
  try {
    info = file.info(name);
  } catch (const FileError&) {
    return {};
  }
  Case c;
  c.attributes = info.attributes;
  std::vector<std::string> labels = c.tags();
  labels.push_back(info.op);
  const auto dtype = info.attributes.find("output_dtype");
  if (dtype != info.attributes.end()) {
    labels.push_back(attribute_text(dtype->second));
  } else if (!info.inputs.empty()) {
    labels.push_back(info.inputs.begin()->second.dtype);
  }
  return labels;
}

// Throws if no case has an output of the reference implementation that the user named, even if no
// standard asks for one.
void check_reference_implementation(const Arguments& a, const CaseSource& file) {
  if (a.request.reference_implementation.empty()) return;
  const std::vector<std::string> known = producers_of(file, file.case_names());
  if (contains(known, a.request.reference_implementation)) return;
  refuse("--reference-implementation: {}",
         unknown_word("producer", a.request.reference_implementation, known));
}

void print_ctest(const Arguments& a, const CaseSource& file) {
  for (const std::string& name : file.case_names(a.glob)) {
    std::vector<std::string> labels = labels_of(file, name);
    if (a.machine != nullptr) labels.emplace_back(a.machine->name);
    labels.insert(labels.end(), a.labels.begin(), a.labels.end());
    const std::string command = formatted("{} {} --case {}{}", bracket(a.program), bracket(a.file),
                                          bracket(name), a.text(bracket));
    const std::string test = bracket(a.ctest_prefix + name);
    std::puts(formatted("add_test({} {})", test, command).c_str());
    std::puts(formatted("set_tests_properties({} PROPERTIES LABELS {})", test,
                        bracket(printable(joined(labels, ";"))))
                  .c_str());
  }
}

std::vector<CaseReport> run_case(const Arguments& a, const CaseSource& file,
                                 const std::string& name,
                                 const std::map<std::string, CaseFunction>& operators,
                                 const FloatEnvironment& environment) {
  OutputSource source;
  source.name = "operator";
  if (a.machine != nullptr) {
    source.name = a.machine->name;
    source.machine = a.machine;
  } else {
    const std::string op = file.info(name).op;
    const auto found = operators.find(op);
    if (found == operators.end()) {
      CaseReport report;
      report.name = name;
      report.verdicts = {not_comparable(
          formatted("no function is registered for the operator '{}'; registered: {}", op,
                    joined(keys_of(operators))))};
      return {std::move(report)};
    }
    // A team's own kernel runs in the floating-point environment that its program set, and not in
    // assay's.
    source.compute = [&environment, &kernel = found->second](const Case& c) {
      const CallersFloatEnvironment callers(environment);
      return kernel(c);
    };
  }
  std::vector<CaseReport> reports;
  for (GatedCase& gated : gate_file_case(file, name, source, a.request)) {
    reports.push_back(std::move(gated.report));
  }
  return reports;
}

void print_error(const std::exception& e) {
  std::fputs(formatted("error: {}\n", printable_sentence(e.what())).c_str(), stderr);
}

// Prints one line for each verdict, or the whole explanation of a failure.
void print_report(const CaseReport& c) {
  const auto print = [&](std::string_view check, const auto& v) {
    std::puts(formatted("{}: {}{}: {}", printable_name(c.title()), check, outcome_word(v.outcome),
                        explain(v, v.outcome == Outcome::kPass ? "" : c.reproduce))
                  .c_str());
  };
  for (const Verdict& v : c.verdicts) print("", v);
  if (c.abft) print("abft: ", *c.abft);
}

}  // namespace

int run_dataset_tests(int argc, char** argv, const std::map<std::string, CaseFunction>& operators) {
  const FloatEnvironment environment;
  try {
    const Arguments a = parse(argc, argv);
    // The file is read in the same way as by the gate.
    const OpenedCases opened = open_cases(a.file, {.layout = "dataset"});
    const CaseSource& file = *opened.cases;
    check_reference_implementation(a, file);
    if (a.ctest) {
      print_ctest(a, file);
      return 0;
    }
    std::vector<std::string> names;
    if (!a.glob.empty() && is_case_name(a.glob)) {
      // If the glob is the name of a case, the other cases are not looked up.
      if (!file.has_case(a.glob)) {
        throw file_error<NoCaseError>(a.file, "", "has no case '{}'", a.glob);
      }
      names = {a.glob};
    } else {
      names = file.case_names(a.glob);
      std::ranges::sort(names, natural_less);
    }
    GateReport report;
    report.golden_file = a.file;
    bool unreadable = false;
    for (const std::string& name : names) {
      std::vector<CaseReport> outputs;
      try {
        outputs = run_case(a, file, name, operators, environment);
      } catch (const FileError& e) {
        print_error(e);
        unreadable = true;
        continue;
      }
      for (CaseReport& c : outputs) {
        c.reproduce = formatted("{} {} --case {}{}", shell_word(a.program), shell_word(a.file),
                                name, a.text(shell_word));
        print_report(c);
        report.cases.push_back(std::move(c));
      }
    }
    return unreadable ? 2 : exit_code(report_outcome(report));
  } catch (const NoCaseError& e) {
    print_error(e);
    return 3;
  } catch (const std::exception& e) {
    print_error(e);
    return 2;
  }
}

}  // namespace assay
