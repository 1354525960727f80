// assay gate: judges outputs against golden results.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/file_gate.h"
#include "assay/report/report.h"
#include "assay/simd/targets.h"
#include "tools.h"

namespace assay::tools {
namespace {

struct GateOptions {
  std::string golden, outputs, recorded, machine, glob, json, junit, html, save_failures, abft,
      benchmark;
  bool mutate = false, strict = false;
  std::optional<double> mutate_min;
  ToleranceOptions tolerance;
};

// Where a gate's outputs come from.
struct Source {
  std::unique_ptr<DatasetFile> file;  // of recorded outputs
  OutputSource outputs;
  std::string text;                              // the options that chose it, for a reproducer line
  std::vector<std::string> without_golden = {};  // cases with such an output alone
};

std::string listed(const std::vector<std::string>& producers) { return joined(producers); }

Source find_source(const GateOptions& o, const DatasetFile& golden,
                   const std::vector<std::string>& cases) {
  Source source;
  if (o.outputs.empty() && o.recorded.empty() && !o.machine.empty()) {
    source.outputs.machine = &machine_named(o.machine);
    source.outputs.name = source.outputs.machine->name;
    source.text = " --machine " + shell_word(o.machine);
    return source;
  }
  const std::string path = o.outputs.empty() ? o.golden : o.outputs;
  source.file = std::make_unique<DatasetFile>(path);
  source.outputs.recorded = source.file.get();
  if (!o.outputs.empty()) source.text = " --outputs " + shell_word(o.outputs);
  std::vector<std::string> present;
  for (const std::string& name : cases) {
    if (source.file->has_case(name)) present.push_back(name);
  }
  if (present.empty()) {
    throw NoCaseError(path, "", format("has none of the {} cases of {}", cases.size(), o.golden));
  }
  std::vector<std::string> producers = producers_of(*source.file, present);
  const auto has = [&](const std::string& p) {
    return std::find(producers.begin(), producers.end(), p) != producers.end();
  };
  if (!o.recorded.empty()) {
    if (!has(o.recorded)) {
      throw std::invalid_argument(format("{} has no outputs of '{}'{}; it has {}", path, o.recorded,
                                         did_you_mean_aside(o.recorded, producers),
                                         listed(producers)));
    }
    source.outputs.name = o.recorded;
  } else if (!o.machine.empty()) {
    if (!has(o.machine)) {
      throw std::invalid_argument(
          format("{} has no outputs of '{}'; it has {}", path, o.machine, listed(producers)));
    }
    source.outputs.name = o.machine;
  } else {
    if (!o.outputs.empty() && producers.size() > 1) {
      // A file that `emulate` made holds what was recorded before as well: what is new is meant.
      const std::vector<std::string> old = producers_of(golden, cases);
      std::vector<std::string> added;
      for (const std::string& p : producers) {
        if (std::find(old.begin(), old.end(), p) == old.end()) added.push_back(p);
      }
      if (added.size() == 1) producers = added;
    }
    if (producers.empty()) {
      throw std::invalid_argument(format(
          "{} has no recorded outputs for these cases; give --outputs FILE or --machine M", path));
    }
    if (producers.size() > 1) {
      throw std::invalid_argument(
          format("{} has outputs of several producers; choose one with "
                 "--recorded: {}",
                 path, listed(producers)));
    }
    source.outputs.name = producers[0];
  }
  source.text += " --recorded " + shell_word(source.outputs.name);
  if (!o.machine.empty()) source.text += " --machine " + shell_word(o.machine);
  return source;
}

void write_reports(const GateOptions& o, const GateReport& report) {
  if (!o.json.empty() && o.json != "-") write_file(o.json, gate_json(report));
  if (!o.junit.empty()) write_file(o.junit, gate_junit(report));
  if (!o.html.empty()) write_file(o.html, gate_html(report));
}

// The attributes of a case that the command line goes over; `bound`: it names another one. A budget
// loosens whatever bound the case has.
std::vector<std::string> overridden_by(const ToleranceOptions& tolerance, bool bound) {
  std::vector<std::string> names;
  if (bound || tolerance.equal_nan) names.emplace_back("equal_nan");
  if (bound || !tolerance.infinity.empty()) names.emplace_back("infinity");
  if (bound || tolerance.max_mismatches || tolerance.max_mismatch_fraction || tolerance.max_blind) {
    names.insert(names.end(), {"rtol", "atol", "standard", "max_mismatches",
                               "max_mismatch_fraction", "max_blind"});
  }
  return names;
}

// Says it where the command line goes over what cases carry.
std::string override_note(const DatasetFile& golden, const GateReport& report,
                          const ToleranceOptions& tolerance) {
  const auto is_overridden = [&](const CaseReport& c) {
    if (!c.error.empty() || !golden.has_case(c.name)) return false;
    const auto attributes = golden.attributes_of(c.name);
    return std::any_of(c.verdicts.begin(), c.verdicts.end(), [&](const Verdict& v) {
      const std::vector<std::string> names = overridden_by(tolerance, v.bound.origin == "command");
      return std::any_of(names.begin(), names.end(),
                         [&](const std::string& name) { return attributes.count(name) != 0; });
    });
  };
  const auto overridden = std::count_if(report.cases.begin(), report.cases.end(), is_overridden);
  if (overridden == 0) return "";
  return format("judged by{} of the command line, over the own bounds of {} cases",
                tolerance.text(), overridden);
}

// The cases of the file of outputs that match, and have one of this producer, but no golden case.
std::vector<std::string> outputs_without_golden(const GateOptions& o, const DatasetFile& golden,
                                                const Source& source) {
  std::vector<std::string> names;
  for (const std::string& name : source.file->case_names()) {
    if (golden.has_case(name) || (!o.glob.empty() && !glob_match(o.glob, name))) continue;
    const std::vector<std::string> producers = source.file->producers_of(name);
    const bool has =
        std::find(producers.begin(), producers.end(), source.outputs.name) != producers.end();
    if (has) names.push_back(name);
  }
  return names;
}

CaseReport no_golden_case(const GateOptions& o, const Source& source, const std::string& name) {
  CaseReport report;
  report.name = name;
  report.producer = source.outputs.name;
  report.verdicts = {not_comparable(format("{} has no such case", o.golden))};
  return report;
}

// A wrong name is refused also where no standard asks for a benchmark.
void check_benchmark(const GateOptions& o, const DatasetFile& golden, const Source& source,
                     const std::vector<std::string>& cases) {
  if (o.benchmark == source.outputs.name) {
    throw std::invalid_argument(
        format("--benchmark {}: an output is no benchmark of itself", o.benchmark));
  }
  std::vector<std::string> known = producers_of(golden, cases);
  if (source.file != nullptr) {
    std::vector<std::string> present;
    for (const std::string& name : cases) {
      if (source.file->has_case(name)) present.push_back(name);
    }
    for (const std::string& producer : producers_of(*source.file, present)) {
      known.push_back(producer);
    }
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  if (std::find(known.begin(), known.end(), o.benchmark) == known.end()) {
    throw std::invalid_argument(
        format("--benchmark: {}", unknown_word("producer", o.benchmark, known)));
  }
}

// The case as it is stored, with all outputs that were judged.
void save_failure(DatasetWriter& failures, const DatasetFile& golden, const Source& source,
                  const std::vector<GatedCase>& outputs) {
  const std::string &name = outputs.front().report.name, &producer = source.outputs.name;
  failures.copy(golden, name);
  for (const GatedCase& gated : outputs) {
    if (!gated.output) continue;
    const std::string& output = gated.report.output;
    failures.put_output(name, producer, *gated.output, {}, output);
    failures.put_epilogue(name, producer,
                          source.file == nullptr
                              ? gated.epilogue
                              : source.file->read_epilogue(name, producer, output),
                          output);
  }
}

int run_gate(const GateOptions& o, const Context& context) {
  GateRequest request;
  request.bounds = o.tolerance.request();
  if (!o.abft.empty()) request.checksums = parse_threshold(o.abft);
  request.benchmark = o.benchmark;
  if (!o.machine.empty()) request.machine = &machine_named(o.machine);
  request.mutate = o.mutate;
  const DatasetFile golden(o.golden);
  const std::vector<std::string> cases = golden.case_names(o.glob);
  Source source = find_source(o, golden, cases);
  if (!o.outputs.empty()) source.without_golden = outputs_without_golden(o, golden, source);
  if (!o.benchmark.empty()) check_benchmark(o, golden, source, cases);
  std::unique_ptr<DatasetWriter> failures;
  if (!o.save_failures.empty()) failures = std::make_unique<DatasetWriter>(o.save_failures);
  GateReport report;
  report.golden_file = o.golden;
  report.command = context.command_line;
  report.version = version();
  report.simd_target = simd::target_name();
  bool unreadable = false;
  std::size_t saved = 0;
  for (const std::string& name : cases) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<GatedCase> outputs;  // one each
    try {
      outputs = gate_file_case(golden, name, source.outputs, request);
    } catch (const FileError& e) {
      print_error(format("error: {}", e.what()));
      CaseReport& entry = outputs.emplace_back().report;
      entry.name = name;
      entry.producer = source.outputs.name;
      entry.error = e.what();
      unreadable = true;
    }
    bool is_saved = false;
    for (GatedCase& gated : outputs) {
      CaseReport& entry = gated.report;
      entry.reproduce = format("{} gate {} --case {}{}{}", context.program, shell_word(o.golden),
                               name, source.text, o.tolerance.text());
      if (!o.benchmark.empty()) entry.reproduce += " --benchmark " + shell_word(o.benchmark);
      if (request.checksums) entry.reproduce += " --abft " + shell_word(request.checksums->text());
      if (failures && entry.error.empty() && entry.outcome() != Outcome::kPass) {
        is_saved = true;
      }
      entry.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
          static_cast<double>(outputs.size());
    }
    if (is_saved) {
      save_failure(*failures, golden, source, outputs);
      ++saved;
    }
    for (GatedCase& gated : outputs) report.cases.push_back(std::move(gated.report));
  }
  for (const std::string& name : source.without_golden) {
    if (o.strict) {
      report.cases.push_back(no_golden_case(o, source, name));
    } else {
      report.without_golden.push_back(name);
    }
  }
  report.note = override_note(golden, report, o.tolerance);
  if (o.json == "-")
    print(gate_json(report));
  else if (!context.quiet)
    print(gate_table(report, use_color()) + (o.mutate ? report::mutation_table(report) : ""));
  write_reports(o, report);
  if (saved > 0) {
    failures->commit();
    if (!context.quiet && o.json != "-") {
      print(format("\nfailing cases saved to {}\n", o.save_failures));
    }
  }
  if (unreadable) return 2;
  const int code = exit_code(report_outcome(report));
  if (code != 0 || !o.mutate_min) return code;
  const report::MutationScore score = report::mutation_score(report);
  if (score.applied > 0 && score.fraction() >= *o.mutate_min) return 0;
  print_error(format("error: {} of {} mutations caught, and --mutate-min asks for {}", score.caught,
                     score.applied, *o.mutate_min));
  return score.applied == 0 ? exit_code(Outcome::kUntrusted) : 1;
}

}  // namespace

void add_gate(Context& context) {
  auto options = std::make_shared<GateOptions>();
  CLI::App* command = subcommand(
      context, "gate", "judge outputs against golden results",
      "assay gate datasets/samples/transformer_gemms.h5 --recorded h200 --json result.json");
  FileOptions& files = context.files;
  files.input(command->add_option("GOLDEN", options->golden, "golden file"))->required();
  files.input(command->add_option("--outputs", options->outputs, "file that holds the outputs"));
  command->add_option("--recorded", options->recorded,
                      "judge the recorded outputs of this producer");
  command->add_option("--machine", options->machine,
                      "judge what this machine computes, emulated now; beside --recorded: "
                      "the machine that computed those outputs");
  command->add_option("--case", options->glob, "only cases whose name matches this glob");
  options->tolerance.add(context, command);
  command
      ->add_option("--abft", options->abft,
                   "check products by checksums as well, with this threshold (`assay list "
                   "thresholds`; default rounding_variance; residual_compensated takes what lies "
                   "beside the outputs, or the emulator's accumulator)")
      ->expected(1);
  command->add_option("--benchmark", options->benchmark,
                      "producer that dual-benchmark standards compare with (default: the one other "
                      "producer of the case)");
  command->add_flag("--strict", options->strict,
                    "outputs without a golden case are not comparable (exit code 3)");
  auto* mutate = command->add_flag(
      "--mutate", options->mutate,
      "corrupt each output that passed in fixed ways, and say which the gate would let through");
  command
      ->add_option("--mutate-min", options->mutate_min,
                   "exit 1 where a smaller fraction of the mutations is caught")
      ->check(CLI::Range(0.0, 1.0))
      ->needs(mutate);
  files.output_or_standard_output(command->add_option(
      "--json", options->json, "write the result as JSON ('-': standard output)"));
  files.output(command->add_option("--junit", options->junit, "write the result as JUnit XML"));
  files.output(
      command->add_option("--html", options->html, "write the result as one self-contained page"));
  files.output(
      command->add_option("--save-failures", options->save_failures,
                          "write the cases that did not pass, with their outputs, to this file"));
  on_run(context, command, [options, &context] { return run_gate(*options, context); });
}

}  // namespace assay::tools
