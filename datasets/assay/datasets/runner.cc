#include "assay/datasets/runner.h"

#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/datasets/store.h"
#include "assay/op/dot.h"
#include "assay/report/report.h"

namespace assay {
namespace {

struct Arguments {
  std::string program, file, glob, ctest_prefix;
  const Machine* machine = nullptr;  // null: the functions are under test
  std::optional<AbftOptions> abft;
  std::vector<std::string> standards, labels;
  bool ctest = false;

  // The options that decide a case's verdict, each word as `quote` writes it; begins with a blank
  // where there are any.
  template <typename Quote>
  std::string text(const Quote& quote) const {
    std::string out;
    if (machine != nullptr) out += " --machine " + quote(machine->name);
    for (const std::string& s : standards) out += " --standard " + quote(s);
    if (abft) out += " --abft " + quote(abft->spec.text());
    return out;
  }
};

Arguments parse(int argc, char** argv) {
  Arguments a;
  a.program = argv[0];
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(format("{} needs a value", word));
      return argv[++i];
    };
    if (word == "--case")
      a.glob = value();
    else if (word == "--machine")
      a.machine = &machine_named(value());
    else if (word == "--standard")
      a.standards.push_back(value());
    else if (word == "--abft")
      a.abft.emplace().spec = parse_threshold(value());
    else if (word == "--label")
      a.labels.push_back(value());
    else if (word == "--ctest")
      a.ctest = true, a.ctest_prefix = value();
    else if (word.starts_with("-"))
      throw std::invalid_argument(format("unknown option {}", word));
    else if (a.file.empty())
      a.file = word;
    else
      throw std::invalid_argument(format("one dataset file at a time; '{}' is a second", word));
  }
  if (a.file.empty()) {
    throw std::invalid_argument(
        format("usage: {} FILE [--case GLOB] [--machine M] [--standard S]... [--abft THRESHOLD] "
               "[--ctest PREFIX]",
               a.program));
  }
  return a;
}

// A CMake bracket argument: nothing in it is interpreted.
std::string bracket(std::string_view text) { return format("[==[{}]==]", text); }

void print_ctest(const Arguments& a, const DatasetFile& file) {
  for (const std::string& name : file.case_names(a.glob)) {
    const CaseInfo info = file.info(name);
    Case c;
    c.attributes = info.attributes;
    std::vector<std::string> labels = c.tags();
    labels.push_back(info.op);
    const auto dtype = info.attributes.find("output_dtype");
    if (dtype != info.attributes.end())
      labels.push_back(attribute_text(dtype->second));
    else if (!info.inputs.empty())
      labels.push_back(info.inputs.begin()->second.dtype);
    if (a.machine != nullptr) labels.emplace_back(a.machine->name);
    labels.insert(labels.end(), a.labels.begin(), a.labels.end());
    const std::string command = format("{} {} --case {}{}", bracket(a.program), bracket(a.file),
                                       bracket(name), a.text(bracket));
    const std::string test = bracket(a.ctest_prefix + name);
    std::puts(format("add_test({} {})", test, command).c_str());
    std::puts(
        format("set_tests_properties({} PROPERTIES LABELS {})", test, bracket(joined(labels, ";")))
            .c_str());
  }
}

CaseReport run_case(const Arguments& a, const DatasetFile& file, const std::string& name,
                    const std::map<std::string, CaseFunction>& operators,
                    const FloatEnvironment& environment) {
  CaseReport report;
  report.name = name;
  report.producer = a.machine != nullptr ? std::string(a.machine->name) : "operator";
  const Case c = file.read(name, {.inputs = true, .golden = true, .outputs = false});
  report.op = c.op;
  report.tags = c.tags();
  report.reproduce = format("{} {} --case {}{}", shell_word(a.program), shell_word(a.file), name,
                            a.text(shell_word));
  const auto found = operators.find(c.op);
  if (a.machine == nullptr && found == operators.end()) {
    std::vector<std::string> known;
    for (const auto& [op, function] : operators) known.push_back(op);
    report.verdicts = {
        not_comparable(format("no function is registered for the operator '{}'; "
                              "registered: {}",
                              c.op, joined(known)))};
    return report;
  }
  Tensor out;
  std::optional<DotModel> model;
  try {
    if (a.machine != nullptr) {
      out = emulate(c, *a.machine);
      model = product_model(c, *a.machine, out.format());
    } else {
      const CallersFloatEnvironment callers(environment);
      out = found->second(c);
    }
    if (out.empty()) throw std::runtime_error("it returned an empty tensor");
  } catch (const std::exception& e) {
    const bool not_emulated = dynamic_cast<const std::invalid_argument*>(&e) != nullptr;
    if (a.machine != nullptr && not_emulated) {
      report.verdicts = {
          not_comparable(std::string(without_prefix(e.what(), format("case {}: ", c.name))))};
      return report;
    }
    Verdict failed;
    failed.outcome = Outcome::kFail;
    failed.because = format("the operator threw: {}", e.what());
    report.verdicts = {failed};
    return report;
  }
  report.dtype = out.format().name;
  report.shape = out.shape();
  report.verdicts = judge_case(c, out, {.standards = a.standards});
  if (a.abft && may_be_product(c)) {
    AbftOptions options = *a.abft;
    if (model) options.model = &*model;
    report.abft = abft_check(c, out, options);
  }
  return report;
}

}  // namespace

int run_dataset_tests(int argc, char** argv, const std::map<std::string, CaseFunction>& operators) {
  const FloatEnvironment environment;
  try {
    const Arguments a = parse(argc, argv);
    const DatasetFile file(a.file);
    if (a.ctest) {
      print_ctest(a, file);
      return 0;
    }
    std::vector<std::string> names;
    if (!a.glob.empty() && is_case_name(a.glob)) {
      // One case by its name: the others need not be looked at.
      if (!file.has_case(a.glob)) {
        throw NoCaseError(a.file, "", format("has no case '{}'", a.glob));
      }
      names = {a.glob};
    } else {
      names = file.case_names(a.glob);
    }
    GateReport report;
    report.golden_file = a.file;
    for (const std::string& name : names) {
      report.cases.push_back(run_case(a, file, name, operators, environment));
      const CaseReport& c = report.cases.back();
      for (const Verdict& v : c.verdicts) {
        std::puts(format("{}: {}: {}", c.name, outcome_word(v.outcome),
                         v.outcome == Outcome::kPass ? v.because : explain(v, c.reproduce))
                      .c_str());
      }
      if (c.abft) {
        std::puts(format("{}: abft: {}: {}", c.name, outcome_word(c.abft->outcome),
                         explain(*c.abft, c.abft->outcome == Outcome::kPass ? "" : c.reproduce))
                      .c_str());
      }
    }
    return exit_code(report_outcome(report));
  } catch (const NoCaseError& e) {
    std::fputs(format("error: {}\n", e.what()).c_str(), stderr);
    return 3;
  } catch (const std::exception& e) {
    std::fputs(format("error: {}\n", e.what()).c_str(), stderr);
    return 2;
  }
}

}  // namespace assay
