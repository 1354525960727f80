// assay audit: finds the wrong outputs that a check accepts.
#include "assay/audit/audit.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/standards.h"
#include "assay/judge/standards_file.h"
#include "assay/report/audit_report.h"
#include "assay/wire/audit_results.h"
#include "audit_program.h"
#include "audit_subjects.h"
#include "scratch_folder.h"
#include "status_line.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
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

// Returns one name for each target that the command line names.
std::vector<std::string> target_words(const AuditCommandOptions& o) {
  std::vector<std::string> words;
  for (const std::string& word : o.targets) {
    if (word != kStandards) {
      words.push_back(word);
      continue;
    }
    const std::vector<std::string> names = standard_names();
    words.insert(words.end(), names.begin(), names.end());
  }
  std::set<std::string> seen;
  for (const std::string& word : words) {
    if (!seen.insert(word).second) refuse("--target {} is given twice", word);
  }
  return words;
}

struct Targets {
  std::vector<std::unique_ptr<audit::Target>> all;
  // For each target: the program that reads files, or null if it is not a program.
  std::vector<const ProgramTarget*> programs;
  std::vector<std::string> words;  // The targets' names. The command after "--" has the name "".
};

Targets make_targets(const AuditCommandOptions& o, const ScratchFolder& scratch) {
  Targets targets;
  const auto add = [&](std::unique_ptr<audit::Target> target, const std::string& word) {
    targets.programs.push_back(dynamic_cast<const ProgramTarget*>(target.get()));
    targets.all.push_back(std::move(target));
    targets.words.push_back(word);
  };
  if (!o.command.empty()) {
    ProgramOptions program = o.program;
    program.words = o.command;
    add(std::make_unique<ProgramTarget>(std::move(program)), "");
  }
  GateRequest request;
  if (!o.standards.empty()) request.bounds.custom = read_standards(o.standards);
  if (!o.files.machine.empty()) request.machine = &machine_named(o.files.machine);
  request.reference_implementation = o.reference_implementation;
  for (const std::string& word : target_words(o)) {
    if (auto adapter = adapter_target(word, o.python,
                                      scratch.fresh(formatted("adapter{}", targets.all.size())),
                                      o.program.limits)) {
      add(std::move(adapter), word);
      continue;
    }
    GateRequest own = request;
    if (word != kGate) own.bounds.standards = {word};
    add(std::make_unique<audit::StandardTarget>(word, own, word == kGate), word);
  }
  if (targets.all.empty()) {
    refuse("there is nothing to audit; give a command after --, or --target NAME");
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
  const auto option = [&line](std::string_view word, const std::string& value) {
    line += option_text(word, value);
  };
  for (const std::string& path : o.files.outputs) option("--outputs", path);
  option("--recorded", o.files.recorded);
  option("--machine", o.files.machine);
  if (o.rounded) line += " --rounded";
  // Stale outputs need two cases, because one case gets the output of the other. So --case is left
  // out for them.
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

// Writes the wrong outputs that were let through, each to a folder of its own.
class SavedOutputs {
 public:
  explicit SavedOutputs(std::string folder) : folder_(std::move(folder)) {
    if (folder_.empty()) return;
    std::error_code error;
    if (fs::exists(folder_, error) &&
        !(fs::is_directory(folder_, error) && fs::is_empty(folder_, error))) {
      throw FileError(folder_, "", "already exists and is not empty; name a new folder");
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
    const std::size_t saved = std::min(count_, kMostSaved);
    return formatted("{} that {} let through {} saved in {}{}",
                     counted(static_cast<std::int64_t>(saved), "wrong output"),
                     saved == 1 ? "was" : "were", saved == 1 ? "is" : "are", folder_,
                     count_ > saved ? formatted("; {} more are not saved",
                                                grouped(static_cast<std::int64_t>(count_ - saved)))
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
    print_error(formatted("error: the score of {} is {:.4f}, but --min asks for {}", t.name,
                          t.score->share, *min));
    refuses = true;
  }
  if (refuses) return 1;
  if (passes_all) return 4;
  return unasked ? 3 : 0;
}

std::string summary_of(const audit::AuditResult& result) {
  const auto lenient = std::ranges::count_if(result.targets, [](const audit::TargetResult& t) {
    return std::ranges::any_of(t.corruptions, [](const audit::Caught& c) { return c.escaped > 0; });
  });
  return formatted("{} of {} let wrong outputs through, in {} verdicts", lenient,
                   counted(std::ssize(result.targets), "target"), grouped(result.trials));
}

int run_audit_command(AuditCommandOptions o, const Context& context) {
  o.command = context.behind_dashes;
  o.files.check();
  if (o.command.empty() && o.program.batch) {
    refuse("--batch needs a command after --");
  }
  constexpr double kMib = 1 << 20;
  o.program.limits = {o.seconds, static_cast<std::int64_t>(kMib) * o.memory_mib,
                      static_cast<std::int64_t>(kMib) * o.output_mib};
  o.audit.searches = !o.no_searches;
  const ScratchFolder scratch;
  const Targets targets = make_targets(o, scratch);
  AuditSubjects found = read_subjects(o.files, o.rounded);
  for (const std::string& note : found.notes) print_note(context, note);
  SavedOutputs saved(o.save);
  StatusLine line(context.quiet > 0, 0);
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

  const wire::AuditHead head{joined(o.files.given(), " "), context.command_line, version()};
  if (o.json != "-") {
    const std::string note = saved.note();
    print_result(context,
                 report::audit_text(result, o.all ? -1 : 4) + (note.empty() ? "" : note + "\n"),
                 summary_of(result));
  }
  write_result(o.json, [&] { return wire::audit_json(result, head); });
  if (!o.html.empty()) write_file(o.html, report::audit_html(result, head));
  return code_of(result, o.min);
}

}  // namespace

void add_audit(Context& context) {
  auto options = std::make_shared<AuditCommandOptions>();
  AuditCommandOptions& o = *options;
  CLI::App* command = subcommand(
      context, "audit",
      "Find the wrong outputs that a command, a standard or a Python check lets through.",
      "assay audit datasets/samples/operators.h5 --case 'softmax/*' --golden-as output -- python3 "
      "compare.py {output} {golden}");
  FileOptions& files = context.files;
  o.files.add(context, command,
              "Golden files, folders of them, or globs in quotes. The command to audit follows as "
              "`-- COMMAND ...`, in which {output} and {golden} stand for files.",
              "File with right outputs. By default, the recorded outputs in GOLDEN are right. "
              "Without recorded outputs, the rounded golden results are.");
  command->add_option("--recorded", o.files.recorded,
                      "Use the recorded outputs of this producer as right outputs.");
  command->add_option("--machine", o.files.machine,
                      "Emulate this machine and use its outputs as right outputs.");
  command->add_flag("--rounded", o.rounded,
                    "Use the golden results, rounded to the output's dtype, as right outputs.");
  o.files.filter.add(context, command);
  o.files.source.add(context, command);
  command
      ->add_option("--target", o.targets,
                   "Also audit this check: a standard (see `assay list standards`), standards (all "
                   "of them), gate (the bounds that `assay gate` chooses), "
                   "numpy.testing.assert_allclose or torch.testing.assert_close. The last two take "
                   "settings: NAME(rtol=1e-3,atol=0). Can be repeated.")
      ->allow_extra_args(false);
  files.input(command->add_option("--standards", o.standards,
                                  "JSON file with more standards (docs/judging.md)."));
  command->add_option("--reference-implementation", o.reference_implementation,
                      "Producer that standards with a reference implementation compare with.");
  command->add_option("--python", o.python, "Interpreter that runs the Python checks.")
      ->capture_default_str();
  command->add_flag("--batch", o.program.batch,
                    "Start COMMAND only once. It reads lines with the two paths separated by a "
                    "tab, and answers each with a line: pass or fail.");
  command->add_option("--as", o.program.kind.name, "Kind of the files that COMMAND reads.")
      ->capture_default_str()
      ->check(one_of("kind of file", file_kinds()));
  command->add_option("--golden-as", o.program.kind.golden_as,
                      "Dtype of the golden results in these files (default: their own). `output` "
                      "is the dtype of the output.");
  command->add_option("--pass-regex", o.program.pass_regex,
                      "COMMAND passes if its output matches this regular expression (POSIX "
                      "extended), whatever its exit status is.");
  command->add_option("--fail-regex", o.program.fail_regex,
                      "COMMAND does not pass if its output matches this regular expression.");
  command->add_option("--time-limit", o.seconds, "Time limit of one verdict, in seconds.")
      ->capture_default_str()
      ->check(in_range(0.01, 1e6));
  command
      ->add_option("--memory-limit", o.memory_mib,
                   "Limit of the address space of each process, in MiB.")
      ->capture_default_str()
      ->check(in_range(1, 1 << 30));
  command
      ->add_option("--output-limit", o.output_mib,
                   "Limit of the text that COMMAND prints and of each file that it writes, in MiB.")
      ->capture_default_str()
      ->check(in_range(1, 1 << 30));
  command
      ->add_option("--corruption", o.audit.only,
                   "Only try corruptions whose name matches this glob. Can be repeated.")
      ->allow_extra_args(false);
  command->add_option("--draws", o.audit.draws, "Number of draws of each random corruption.")
      ->capture_default_str()
      ->check(in_range(1, 1 << 20));
  command->add_option("--seed", o.audit.seed, "Number of the first draw.")->capture_default_str();
  command
      ->add_option("--yardstick", o.audit.yardstick,
                   "Count a passed output as let through if its errors are larger than this "
                   "standard allows.")
      ->capture_default_str();
  command->add_flag(
      "--no-searches", o.no_searches,
      "Do not search for the smallest error that is caught, for blind elements and for sizes.");
  add_positive_threads(context, command, o.audit.threads);
  command->add_option("--min", o.min, "Exit with 1 if a target has a smaller score.")
      ->check(in_range(0.0, 1.0));
  add_json(context, command, o.json);
  add_html(context, command, o.html);
  command->add_option("--save", o.save,
                      "Write each wrong output that was let through to its own folder in this one, "
                      "which must be new or empty.");
  command->add_flag("--all", o.all,
                    "List all corruptions that were let through, instead of four of each class.");
  on_run(context, command, [options, &context] { return run_audit_command(*options, context); });
}

}  // namespace assay::tools
