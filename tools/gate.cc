// assay gate: judges outputs against golden results.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/fault/mutation.h"
#include "assay/op/accumulation.h"
#include "assay/op/dot.h"
#include "assay/report/report.h"
#include "assay/simd/targets.h"
#include "tools.h"

namespace assay::tools {
namespace {

struct GateOptions {
  std::string golden, outputs, recorded, machine, glob, json, junit, html, save_failures, abft,
      benchmark;
  bool mutate = false;
  std::optional<double> mutate_min;
  ToleranceOptions tolerance;
};

// Where a gate's outputs come from.
struct Source {
  std::unique_ptr<DatasetFile> file;  // of recorded outputs; null: emulated
  std::string producer;
  const Machine* machine = nullptr;
  std::string text;  // the options that chose it, for a reproducer line

  std::string name() const { return machine != nullptr ? std::string(machine->name) : producer; }
};

std::string listed(const std::vector<std::string>& producers) { return joined(producers); }

Source find_source(const GateOptions& o, const DatasetFile& golden,
                   const std::vector<std::string>& cases) {
  Source source;
  if (o.outputs.empty() && o.recorded.empty() && !o.machine.empty()) {
    source.machine = &machine_named(o.machine);
    source.text = " --machine " + shell_word(o.machine);
    return source;
  }
  const std::string path = o.outputs.empty() ? o.golden : o.outputs;
  source.file = std::make_unique<DatasetFile>(path);
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
      const std::string near = nearest_word(o.recorded, producers);
      throw std::invalid_argument(format("{} has no outputs of '{}'{}; it has {}", path, o.recorded,
                                         near.empty() ? "" : format(" (did you mean '{}'?)", near),
                                         listed(producers)));
    }
    source.producer = o.recorded;
  } else if (!o.machine.empty()) {
    if (!has(o.machine)) {
      throw std::invalid_argument(
          format("{} has no outputs of '{}'; it has {}", path, o.machine, listed(producers)));
    }
    source.producer = o.machine;
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
    source.producer = producers[0];
  }
  source.text += " --recorded " + shell_word(source.producer);
  return source;
}

// The output to judge; a verdict where there is none.
std::optional<Tensor> output_of(const Source& source, const Case& c,
                                std::vector<Verdict>& verdicts) {
  if (source.machine != nullptr) {
    try {
      return emulate(c, *source.machine);
    } catch (const std::invalid_argument& e) {
      verdicts = {
          not_comparable(std::string(without_prefix(e.what(), format("case {}: ", c.name))))};
      return std::nullopt;
    }
  }
  if (!source.file->has_case(c.name)) {
    verdicts = {not_comparable(format("{} has no such case", source.file->path()))};
    return std::nullopt;
  }
  if (source.file->info(c.name).outputs.count(source.producer) == 0) {
    verdicts = {not_comparable(format("there is no recorded output of '{}'", source.producer))};
    return std::nullopt;
  }
  return source.file->read_output(c.name, source.producer);
}

void write_reports(const GateOptions& o, const GateReport& report) {
  if (!o.json.empty() && o.json != "-") write_file(o.json, gate_json(report));
  if (!o.junit.empty()) write_file(o.junit, gate_junit(report));
  if (!o.html.empty()) write_file(o.html, gate_html(report));
}

// Reports never replace what they are about.
void refuse_inputs_as_reports(const GateOptions& o) {
  for (const std::string& report : {o.json, o.junit, o.html, o.save_failures}) {
    for (const std::string& input : {o.golden, o.outputs}) {
      if (same_file(report, input)) {
        throw std::invalid_argument(
            format("{} is an input; a report or --save-failures would replace it", report));
      }
    }
  }
}

// What the judging of one case needs besides the case.
struct Gate {
  const GateOptions& options;
  const Source& source;
  const BoundRequest& request;
  const std::optional<AbftOptions>& abft;
  const DatasetFile& golden;
};

// Whether some standard that the case is judged by reads its operands.
bool reads_operands(const Gate& gate, const std::string& name) {
  std::vector<std::string> standards = gate.request.standards;
  const auto attributes = gate.golden.attributes_of(name);
  if (const auto own = attributes.find("standard"); own != attributes.end()) {
    for (const std::string& s : split(attribute_text(own->second), ',')) {
      standards.push_back(s.substr(std::min(s.find_first_not_of(' '), s.size())));
    }
  }
  return std::any_of(standards.begin(), standards.end(),
                     [](const std::string& s) { return needs_operands(s); });
}

// What dual-benchmark standards and `accumulation` need, and why it is missing where it is.
struct Aids {
  std::optional<Tensor> benchmark, element_bounds;
  std::string no_benchmark, no_bounds;

  JudgeOptions options() const {
    JudgeOptions o;
    if (benchmark) o.benchmark = benchmark->view();
    if (element_bounds) o.element_bounds = element_bounds->view();
    return o;
  }
};

// The benchmark's output: of --benchmark, else of the one producer besides the one that is judged.
void find_benchmark(const Gate& gate, const std::string& name, Aids& aids) {
  const std::string judged = gate.source.name(), &asked = gate.options.benchmark;
  std::vector<std::pair<std::string, const DatasetFile*>> found;
  for (const DatasetFile* file :
       {&gate.golden, static_cast<const DatasetFile*>(gate.source.file.get())}) {
    if (file == nullptr || !file->has_case(name)) continue;
    for (const auto& output : file->info(name).outputs) {
      const std::string& producer = output.first;
      const bool known = std::any_of(found.begin(), found.end(),
                                     [&](const auto& f) { return f.first == producer; });
      if (!known && (asked.empty() ? producer != judged : producer == asked)) {
        found.emplace_back(producer, file);
      }
    }
  }
  if (found.size() == 1) {
    aids.benchmark = found[0].second->read_output(name, found[0].first);
    return;
  }
  std::vector<std::string> producers;
  for (const auto& f : found) producers.push_back(f.first);
  aids.no_benchmark =
      !asked.empty() ? format("there is no recorded output of the benchmark '{}'", asked)
      : found.empty()
          ? format("the standard compares with a benchmark's output, and there is none but '{}'",
                   judged)
          : format(
                "the standard compares with a benchmark's output; choose one with --benchmark: "
                "{}",
                joined(producers));
}

Aids aids_for(const Gate& gate, const Case& c, const Format& output) {
  Aids aids;
  std::optional<std::string> machine;
  for (const ChosenBound& chosen : choose_bounds(c, output, gate.request)) {
    if (!chosen.bound) continue;
    if (chosen.bound->needs_benchmark() && !aids.benchmark && aids.no_benchmark.empty()) {
      find_benchmark(gate, c.name, aids);
    }
    if (chosen.bound->rule != Rule::kGiven) continue;
    if (machine && *machine != chosen.bound->machine) {
      throw std::invalid_argument("the accumulation of one machine at a time; gate twice");
    }
    machine = chosen.bound->machine;
    try {
      aids.element_bounds =
          accumulation_bounds(c, accumulation_machine(c, *machine, gate.source.name()));
    } catch (const std::invalid_argument& e) {
      aids.no_bounds = e.what();
    }
  }
  return aids;
}

// The checksums of an output; of an emulated one with its machine's own accumulator in mind.
AbftVerdict check_sums(const Gate& gate, const Case& c, const Tensor& output) {
  AbftOptions options = *gate.abft;
  std::optional<DotModel> model;
  if (gate.source.machine != nullptr) {
    model = product_model(c, *gate.source.machine, output.format());
  }
  if (model) options.model = &*model;
  return abft_check(c, output, options);
}

// What the gate says of each corruption of an output that it passed.
std::vector<MutationResult> try_mutations(const Gate& gate, const Case& c, const Tensor& output,
                                          JudgeOptions options) {
  options.metrics = false;
  std::vector<MutationResult> results;
  for (const Mutation& mutation : mutations()) {
    MutationResult result;
    result.name = mutation.name;
    if (const auto changed = mutate(mutation, c, output)) {
      result.applied = true;
      result.elementwise = worst_outcome(judge_case(c, *changed, gate.request, options));
      if (gate.abft) result.abft = check_sums(gate, c, *changed).outcome;
    }
    results.push_back(result);
  }
  return results;
}

// Fills the report of a case; its output stays in `output` where there is one.
void judge_into(CaseReport& entry, const Gate& gate, std::optional<Tensor>& output) {
  const bool inputs = gate.source.machine != nullptr || gate.abft.has_value() ||
                      gate.options.mutate || reads_operands(gate, entry.name);
  const Case c = gate.golden.read(entry.name, {.inputs = inputs, .golden = true, .outputs = false});
  entry.op = c.op;
  entry.tags = c.tags();
  if (c.golden) {
    entry.dtype = c.output_format().name;
    entry.shape = c.golden->shape();
  }
  output = output_of(gate.source, c, entry.verdicts);
  if (!output) return;
  entry.dtype = output->format().name;
  entry.shape = output->shape();
  Aids aids;
  try {
    aids = aids_for(gate, c, output->format());
    entry.verdicts = judge_case(c, *output, gate.request, aids.options());
  } catch (const std::invalid_argument& e) {
    // What was asked for was checked before: it is the case that is wrong.
    throw FileError(gate.golden.path(), "", e.what());
  }
  for (Verdict& v : entry.verdicts) {
    if (v.outcome != Outcome::kNotComparable) continue;
    if (v.bound.needs_benchmark() && !aids.no_benchmark.empty()) v.because = aids.no_benchmark;
    if (v.bound.rule == Rule::kGiven && !aids.no_bounds.empty()) v.because = aids.no_bounds;
  }
  if (gate.abft && may_be_product(c)) entry.abft = check_sums(gate, c, *output);
  if (gate.options.mutate && entry.outcome() == Outcome::kPass) {
    entry.mutations = try_mutations(gate, c, *output, aids.options());
  }
}

// Says it where the command line goes over what cases carry.
std::string override_note(const DatasetFile& golden, const std::vector<std::string>& cases,
                          const ToleranceOptions& tolerance) {
  if (tolerance.text().empty()) return "";
  std::size_t overridden = 0;
  for (const std::string& name : cases) {
    const auto attributes = golden.attributes_of(name);
    overridden += attributes.count("rtol") + attributes.count("atol") +
                      attributes.count("standard") + attributes.count("equal_nan") +
                      attributes.count("infinity") + attributes.count("max_mismatches") +
                      attributes.count("max_mismatch_fraction") >
                  0;
  }
  if (overridden == 0) return "";
  return format("judged by{} of the command line, over the own bounds of {} cases",
                tolerance.text(), overridden);
}

int run_gate(const GateOptions& o, const Context& context) {
  refuse_inputs_as_reports(o);
  const BoundRequest request = o.tolerance.request();
  std::optional<AbftOptions> abft;
  if (!o.abft.empty()) abft.emplace().spec = parse_threshold(o.abft);
  const DatasetFile golden(o.golden);
  const std::vector<std::string> cases = golden.case_names(o.glob);
  const Source source = find_source(o, golden, cases);
  if (!o.benchmark.empty() && o.benchmark == source.name()) {
    throw std::invalid_argument(
        format("--benchmark {}: an output is no benchmark of itself", o.benchmark));
  }
  std::unique_ptr<DatasetWriter> failures;
  if (!o.save_failures.empty()) failures = std::make_unique<DatasetWriter>(o.save_failures);
  GateReport report;
  report.golden_file = o.golden;
  report.command = context.command_line;
  report.version = version();
  report.simd_target = simd::target_name();
  report.note = override_note(golden, cases, o.tolerance);
  bool unreadable = false;
  std::size_t saved = 0;
  for (const std::string& name : cases) {
    const auto start = std::chrono::steady_clock::now();
    CaseReport entry;
    entry.name = name;
    entry.producer = source.name();
    entry.reproduce = format("{} gate {} --case {}{}{}", context.program, shell_word(o.golden),
                             name, source.text, o.tolerance.text());
    if (!o.benchmark.empty()) entry.reproduce += " --benchmark " + shell_word(o.benchmark);
    if (abft) entry.reproduce += " --abft " + shell_word(abft->spec.text());
    std::optional<Tensor> output;
    try {
      judge_into(entry, {o, source, request, abft, golden}, output);
    } catch (const FileError& e) {
      print_error(format("error: {}", e.what()));
      entry.error = e.what();
      entry.verdicts.clear();
      unreadable = true;
    }
    if (failures && entry.error.empty() && entry.outcome() != Outcome::kPass) {
      failures->copy(golden, name);
      if (output) failures->put_output(name, source.name(), *output);
      ++saved;
    }
    entry.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report.cases.push_back(std::move(entry));
  }
  if (o.json == "-")
    print(gate_json(report));
  else if (!context.quiet)
    print(gate_table(report, use_color()) + (o.mutate ? mutation_table(report) : ""));
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
  const MutationScore score = mutation_score(report);
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
  command->add_option("GOLDEN", options->golden, "golden file")->required();
  command->add_option("--outputs", options->outputs, "file that holds the outputs");
  command->add_option("--recorded", options->recorded,
                      "judge the recorded outputs of this producer");
  command->add_option("--machine", options->machine,
                      "judge what this machine computes, emulated now");
  command->add_option("--case", options->glob, "only cases whose name matches this glob");
  options->tolerance.add(command);
  command
      ->add_option("--abft", options->abft,
                   "check products by checksums as well, with this threshold (`assay list "
                   "thresholds`; default rounding_variance)")
      ->expected(1);
  command->add_option("--benchmark", options->benchmark,
                      "producer that dual-benchmark standards compare with (default: the one other "
                      "producer of the case)");
  auto* mutate = command->add_flag(
      "--mutate", options->mutate,
      "corrupt each output that passed in fixed ways, and say which the gate would let through");
  command
      ->add_option("--mutate-min", options->mutate_min,
                   "exit 1 where a smaller fraction of the mutations is caught")
      ->check(CLI::Range(0.0, 1.0))
      ->needs(mutate);
  command->add_option("--json", options->json, "write the result as JSON ('-': standard output)");
  command->add_option("--junit", options->junit, "write the result as JUnit XML");
  command->add_option("--html", options->html, "write the result as one self-contained page");
  command->add_option("--save-failures", options->save_failures,
                      "write the cases that did not pass, with their outputs, to this file");
  command->callback([options, &context] { context.exit_code = run_gate(*options, context); });
}

}  // namespace assay::tools
