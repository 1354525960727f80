// assay audit: finds the wrong outputs that a check accepts.
#include "assay/audit/audit.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/standards.h"
#include "assay/report/audit_report.h"
#include "assay/wire/audit_results.h"
#include "assay/wire/standards_file.h"
#include "audit_program.h"
#include "audit_subjects.h"
#include "status_line.h"
#include "tools.h"

namespace assay::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGate = "gate", kStandards = "standards";
constexpr std::size_t kMostSaved = 1000;

struct AuditCommandOptions {
  GateFileOptions files;
  std::vector<std::string> targets;
  std::string standards, reference_implementation, python = "python3", json, html, save;
  ProgramOptions program;
  double seconds = 60;
  std::int64_t memory_mib = 16384, output_mib = 64;
  audit::AuditOptions audit;
  bool rounded = false, no_searches = false, all = false;
  std::optional<double> min;
  std::vector<std::string> command;  // the words after "--", as typed
};

// Returns the names of the targets, one for each.
std::vector<std::string> target_words(const AuditCommandOptions& o) {
  std::vector<std::string> words;
  for (const std::string& word : o.targets) {
    if (word != kStandards) {
      words.push_back(word);
      continue;
    }
    for (const Standard& row : standards()) words.emplace_back(row.name);
    for (const char* own : {"accumulation", "expected_error", "bit_equal"}) words.emplace_back(own);
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::find(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i), words[i]) !=
        words.begin() + static_cast<std::ptrdiff_t>(i)) {
      refuse("the target '{}' is given twice", words[i]);
    }
  }
  return words;
}

struct Targets {
  std::vector<std::unique_ptr<audit::Target>> all;
  // For each target: the program that reads files, or null if it is not a program.
  std::vector<const ProgramTarget*> programs;
  std::vector<std::string> words;  // Their names. Empty for the command.
};

Targets make_targets(const AuditCommandOptions& o, const ScratchFolder& scratch) {
  Targets targets;
  const auto add = [&](std::unique_ptr<audit::Target> target, const ProgramTarget* program,
                       std::string word) {
    targets.all.push_back(std::move(target));
    targets.programs.push_back(program);
    targets.words.push_back(std::move(word));
  };
  if (!o.command.empty()) {
    ProgramOptions program = o.program;
    program.words = o.command;
    auto made = std::make_unique<ProgramTarget>(std::move(program));
    const ProgramTarget* known = made.get();
    add(std::move(made), known, "");
  }
  GateRequest request;
  if (!o.standards.empty()) request.bounds.custom = wire::read_standards(o.standards);
  if (!o.files.machine.empty()) request.machine = &machine_named(o.files.machine);
  request.reference_implementation = o.reference_implementation;
  for (const std::string& word : target_words(o)) {
    if (auto adapter = adapter_target(word, o.python,
                                      scratch.fresh(formatted("adapter{}", targets.all.size())),
                                      o.program.limits)) {
      const ProgramTarget* known = adapter.get();
      add(std::move(adapter), known, word);
      continue;
    }
    GateRequest own = request;
    if (word != kGate) own.bounds.standards = {word};
    add(std::make_unique<audit::StandardTarget>(word, own, word == kGate), nullptr, word);
  }
  if (targets.all.empty()) {
    refuse("there is nothing to audit: give a command behind --, or --target NAME");
  }
  return targets;
}

// Returns the command line that tries one output on one target again.
std::string repeat_line(const AuditCommandOptions& o, const Context& context,
                        const std::string& target, const audit::Escape& escape,
                        const std::string& name) {
  std::string line = context.program + " audit";
  for (const std::string& path : o.files.golden) line += " " + shell_word(path);
  line += o.files.source.text();
  const auto option = [&line](const char* word, const std::string& value) {
    if (!value.empty()) line += formatted(" {} {}", word, shell_word(value));
  };
  for (const std::string& path : o.files.outputs) option("--outputs", path);
  option("--recorded", o.files.recorded);
  option("--machine", o.files.machine);
  if (o.rounded) line += " --rounded";
  // Stale outputs need two cases, because one case gets the output of the other.
  if (escape.corruption != "stale") option("--case", exact_glob(name));
  option("--corruption", exact_glob(escape.corruption));
  if (escape.is_drawn) line += formatted(" --seed {} --draws 1", escape.draw);
  line += " --no-searches";
  option("--standards", o.standards);
  option("--reference-implementation", o.reference_implementation);
  if (o.audit.yardstick != kDefaultStandard) option("--yardstick", o.audit.yardstick);
  if (o.python != "python3" && target.find('.') != std::string::npos) option("--python", o.python);
  if (!target.empty()) {
    option("--target", target);
    return line;
  }
  if (o.program.batch) line += " --batch";
  option("--as", o.program.kind.name == "npy" ? "" : o.program.kind.name);
  option("--golden-as", o.program.kind.golden_as);
  option("--pass-regex", o.program.pass_regex);
  option("--fail-regex", o.program.fail_regex);
  line += " --";
  for (const std::string& word : o.command) line += " " + shell_word(word);
  return line;
}

// Writes the wrong outputs that were accepted, each to a folder of its own.
class SavedOutputs {
 public:
  explicit SavedOutputs(std::string folder) : folder_(std::move(folder)) {
    if (folder_.empty()) return;
    std::error_code error;
    if (fs::exists(folder_, error) &&
        !(fs::is_directory(folder_, error) && fs::is_empty(folder_, error))) {
      throw FileError(folder_, "", "is there already, and not empty");
    }
    fs::create_directories(folder_);
  }
  void save(const ProgramTarget* program, bool is_command, const audit::Trial& trial,
            audit::Escape& escape) {
    if (folder_.empty() || count_++ >= kMostSaved) return;
    const std::string folder = formatted("{}/{:04}", folder_, count_);
    fs::create_directories(folder);
    escape.saved = folder;
    const std::string absolute = fs::absolute(folder).lexically_normal().string();
    if (program == nullptr) {
      (void)write_trial(trial, {"bin", ""}, absolute, false, {});
      return;
    }
    const std::string line = program->save(trial, absolute);
    if (is_command) escape.repeat = line;
  }
  std::string note() const {
    if (folder_.empty() || count_ == 0) return "";
    return formatted("{} outputs that were let through are saved below {}{}",
                     grouped(static_cast<std::int64_t>(std::min(count_, kMostSaved))), folder_,
                     count_ > kMostSaved
                         ? formatted("; {} more are not",
                                     grouped(static_cast<std::int64_t>(count_ - kMostSaved)))
                         : "");
  }

 private:
  std::string folder_;
  std::size_t count_ = 0;
};

int code_of(const audit::AuditResult& result, const std::optional<double>& min) {
  bool refuses = false, passes_all = false, unasked = false;
  for (const audit::TargetResult& t : result.targets) {
    for (const audit::Finding& f : t.findings) {
      refuses = refuses || f.kind == audit::Finding::Kind::kRefusesRight;
      passes_all = passes_all || f.kind == audit::Finding::Kind::kPassesWrong;
    }
    unasked = unasked || t.audited == 0;
    if (!min || !t.score || t.score->share >= *min) continue;
    print_error(formatted("error: {} has the score {:.4f}, and --min asks for {}", t.name,
                          t.score->share, *min));
    refuses = true;
  }
  if (refuses) return 1;
  if (passes_all) return 4;
  return unasked ? 3 : 0;
}

int run_audit_command(AuditCommandOptions o, const Context& context) {
  o.command = context.behind_dashes;
  if (o.files.golden.empty() == o.files.source.pairs.empty()) {
    refuse(o.files.golden.empty() ? "GOLDEN is required, or --pairs OUTPUTS GOLDEN"
                                  : "give GOLDEN or --pairs, not both");
  }
  if (o.command.empty() && o.program.batch) {
    refuse("--batch is about a command behind --, and there is none");
  }
  constexpr double kMib = 1 << 20;
  o.program.limits = {o.seconds, static_cast<std::int64_t>(kMib) * o.memory_mib,
                      static_cast<std::int64_t>(kMib) * o.output_mib};
  o.audit.searches = !o.no_searches;
  const ScratchFolder scratch;
  const Targets targets = make_targets(o, scratch);
  AuditSubjects found = read_subjects(o.files, o.rounded);
  if (!context.quiet) {
    for (const std::string& note : found.notes) print_error("note: " + note);
  }
  SavedOutputs saved(o.save);
  StatusLine line(context.quiet, 0);
  o.audit.progress = [&line](std::int64_t done, std::int64_t total) {
    if (!line.is_due()) return;
    line.show(formatted("{} of {} outputs tried, {}", grouped(done), grouped(total),
                        line.time_left(done, total)));
  };
  o.audit.save = [&](audit::Escape& escape, const audit::Trial& trial) {
    const std::string& word = targets.words[escape.target];
    escape.repeat = repeat_line(o, context, word, escape, trial.subject.test_case.name);
    saved.save(targets.programs[escape.target], word.empty(), trial, escape);
  };
  const audit::AuditResult result = audit::run_audit(found.subjects, targets.all, o.audit);
  line.end();

  const wire::AuditHead head{
      joined(o.files.golden.empty() ? o.files.source.pairs : o.files.golden, " "),
      context.command_line, version()};
  if (o.json == "-") {
    print(wire::audit_json(result, head));
  } else if (!context.quiet) {
    print(report::audit_text(result, o.all ? -1 : 4));
    if (const std::string note = saved.note(); !note.empty()) print(note + "\n");
  }
  if (!o.json.empty() && o.json != "-") write_file(o.json, wire::audit_json(result, head));
  if (!o.html.empty()) write_file(o.html, report::audit_html(result, head));
  return code_of(result, o.min);
}

}  // namespace

void add_audit(Context& context) {
  auto options = std::make_shared<AuditCommandOptions>();
  AuditCommandOptions& o = *options;
  CLI::App* command = subcommand(
      context, "audit",
      "find out what a check lets through: a command behind --, standards, checks of Python",
      "assay audit datasets/samples/operators.h5 --case 'softmax/*' --golden-as output -- "
      "python3 compare.py {output} {golden}");
  FileOptions& files = context.files;
  files
      .input(command->add_option("GOLDEN", o.files.golden,
                                 "golden files, folders of them, globs in quotes; then `-- COMMAND "
                                 "...`, in which {output} and {golden} stand for files"),
             source_reads)
      ->type_name("FILE");
  files
      .input(command
                 ->add_option("--outputs", o.files.outputs,
                              "file that holds right outputs (default: those in GOLDEN, else the "
                              "golden results rounded)")
                 ->allow_extra_args(false),
             source_reads)
      ->type_name("FILE");
  command->add_option("--recorded", o.files.recorded,
                      "the recorded outputs of this producer are the right ones");
  command->add_option("--machine", o.files.machine,
                      "what this machine computes is right, emulated now");
  command->add_flag("--rounded", o.rounded,
                    "the golden results rounded to the output's dtype are right, whatever is "
                    "recorded");
  o.files.filter.add(command);
  o.files.source.add(context, command);
  command
      ->add_option("--target", o.targets,
                   "ask this as well: a standard (`assay list standards`), gate (what `assay gate` "
                   "chooses), standards (all of them), numpy.testing.assert_allclose, "
                   "torch.testing.assert_close, also with settings: NAME(rtol=1e-3,atol=0)")
      ->allow_extra_args(false);
  files.input(command->add_option("--standards", o.standards,
                                  "JSON file of further standards (docs/judging.md)"));
  command->add_option("--reference-implementation", o.reference_implementation,
                      "producer that dual-benchmark standards compare with");
  command->add_option("--python", o.python, "interpreter of the checks of Python")
      ->capture_default_str();
  command->add_flag("--batch", o.program.batch,
                    "start COMMAND once: it reads a pair of paths a line, with a tab between, and "
                    "answers pass or fail a line");
  command->add_option("--as", o.program.kind.name, "what the files for COMMAND are")
      ->capture_default_str()
      ->check(one_of("kind of file", file_kinds()));
  command->add_option("--golden-as", o.program.kind.golden_as,
                      "dtype of golden results in those files (default: their own); output: the "
                      "output's");
  command->add_option("--pass-regex", o.program.pass_regex,
                      "COMMAND passes where it prints a match (POSIX extended), whatever its exit "
                      "status");
  command->add_option("--fail-regex", o.program.fail_regex,
                      "COMMAND does not pass where it prints a match");
  command->add_option("--time-limit", o.seconds, "seconds that one verdict may take")
      ->capture_default_str()
      ->check(in_range(0.01, 1e6));
  command->add_option("--memory-limit", o.memory_mib, "MiB of address space of each process")
      ->capture_default_str()
      ->check(in_range(1, 1 << 30));
  command
      ->add_option("--output-limit", o.output_mib,
                   "MiB that COMMAND may print, and of each file that it may write")
      ->capture_default_str()
      ->check(in_range(1, 1 << 30));
  command
      ->add_option("--corruption", o.audit.only,
                   "only corruptions whose name matches this glob; several: one of them")
      ->allow_extra_args(false);
  command->add_option("--draws", o.audit.draws, "how often what is drawn is drawn")
      ->capture_default_str()
      ->check(in_range(1, 1 << 20));
  command->add_option("--seed", o.audit.seed, "number of the first draw")->capture_default_str();
  command
      ->add_option("--yardstick", o.audit.yardstick,
                   "an output that passes is let through where it is more wrong than this "
                   "standard allows")
      ->capture_default_str();
  command->add_flag("--no-searches", o.no_searches,
                    "leave out the smallest error, the blind elements and the sizes");
  command
      ->add_option("--threads", o.audit.threads,
                   "threads (default: all cores); no result depends on it")
      ->check(in_range(1, 4096));
  command->add_option("--min", o.min, "exit 1 where a target has a smaller score")
      ->check(in_range(0.0, 1.0));
  files.output_or_standard_output(
      command->add_option("--json", o.json, "write the result as JSON ('-': standard output)"));
  files.output(
      command->add_option("--html", o.html, "write the result as one self-contained page"));
  command->add_option("--save", o.save,
                      "write each output that was let through to a folder of its own in this one, "
                      "new or empty");
  command->add_flag("--all", o.all,
                    "list all corruptions that were let through, not four of a class");
  on_run(context, command, [options, &context] { return run_audit_command(*options, context); });
}

}  // namespace assay::tools
