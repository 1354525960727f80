// assay trial: finds the input that breaks a kernel, without golden files.
#include "trial.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "assay/base/call_text.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/machine/machine_file.h"
#include "assay/report/trial_report.h"
#include "assay/report/trial_text.h"
#include "assay/trial/adapters.h"
#include "assay/trial/draw.h"
#include "assay/wire/trial_results.h"
#include "interrupt_flag.h"
#include "shard.h"
#include "status_line.h"
#include "tools.h"
#include "trial_keep.h"

namespace assay::inline v0_2::tools {
namespace {

// Returns the seconds of "60s", "10m", "500ms", "1h" or "60", the value of an option.
double seconds_of(const std::string& text, std::string_view option) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr Unit kUnits[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"", 1}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto value = read_number<double>(text.substr(0, text.size() - unit.name.size()));
    if (value && *value > 0 && *value < 1e9) return *value * unit.seconds;
  }
  refuse("{} {}: a time is needed, such as 60s, 10m, 500ms or a number of seconds", option, text);
}

// Returns the two ranks of "2-3", or of "2".
std::pair<int, int> ranks_of(const std::string& text) {
  const std::vector<std::string> parts = every_part(text, '-');
  const auto least = read_number<int>(parts.front()), most = read_number<int>(parts.back());
  constexpr int kMostRank = 8;
  if (parts.size() > 2 || !least || !most || *least < 0 || *least > *most || *most > kMostRank) {
    refuse("--rank {}: LEAST-MOST with ranks from 0 to {} is needed, such as 2-3", text, kMostRank);
  }
  return {*least, *most};
}

TrialKernel kernel_of(const Operator& op, const TrialCommandOptions& o, const Context& context) {
  TrialKernel kernel;
  if (o.emulate) {
    if (o.machine.empty()) refuse("--emulate needs --machine, which names what is emulated");
    if (!context.behind_dashes.empty()) {
      refuse("--emulate tries the emulated machine; leave out the program after --");
    }
    kernel = emulated_kernel(op, machine_named(o.machine));
  } else if (o.list && context.behind_dashes.empty()) {
    // Without a program, all that the operator has is listed.
    for (const Parameter& parameter : op.parameters) kernel.parameters.insert(parameter.name);
    for (const OperatorInput& input : op.inputs) {
      if (input.optional) kernel.sometimes.insert(input.name);
    }
    kernel.takes_offsets = false;
  } else {
    if (context.behind_dashes.empty()) {
      refuse(
          "there is no program to try; give it after --, as in `assay trial softmax -- "
          "./run_softmax {inputs} {output}`");
    }
    TrialProgramOptions program = o.program;
    program.seconds = seconds_of(o.timeout, "--timeout");
    program.words = context.behind_dashes;
    kernel = program_kernel(op, std::move(program));
  }
  kernel.output_dtype = o.output_dtype;
  if (!o.ranks.empty()) std::tie(kernel.least_rank, kernel.most_rank) = ranks_of(o.ranks);
  if (o.nonempty) kernel.takes_empty = false;
  return kernel;
}

TrialOptions options_of(const Operator& op, const TrialCommandOptions& o) {
  TrialOptions options;
  options.dtypes = o.dtypes;
  for (const std::string& text : o.parameters) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      refuse("--parameter {}: NAME=VALUE is needed, such as axis=0", text);
    }
    const std::string name = text.substr(0, equals);
    options.parameters[name] = trial_parameter(op, name, text.substr(equals + 1));
  }
  options.seed = o.seed;
  options.draws = o.draws;
  if (!o.budget.empty()) options.seconds = seconds_of(o.budget, "--budget");
  options.shrink_seconds = seconds_of(o.shrink_time, "--shrink-time");
  constexpr std::int64_t kProductsOfElement = 16;
  options.limits = {o.max_elements, o.max_elements * kProductsOfElement};
  options.contract.unordered = o.unordered;
  options.contract.batch_invariant = o.batch_invariant;
  options.contract.call_seconds = seconds_of(o.timeout, "--timeout");
  options.request.bounds = o.tolerance.request();
  if (!o.machine.empty()) options.request.machine = &machine_named(o.machine);
  options.keep_going = o.keep_going;
  options.only = o.only;
  options.on = o.on;
  options.threads = o.threads;
  return options;
}

// Returns the command line that repeats a failure. The reduced input is part of it, unless it is
// too long.
std::string repeat_line(const TrialCommandOptions& o, const Context& context,
                        const TrialFailure& failure) {
  constexpr std::size_t kLongest = 2000;
  std::string line = formatted("{} trial {}", context.program, shell_word(o.op));
  // A stale result needs the call before, which only the draw has.
  const bool needs_draw =
      failure.reduced.size() > kLongest || failure.finding == TrialFinding::kStale;
  if (failure.draw < 0 || !needs_draw) {
    line += option_text("--on", failure.reduced);
  } else {
    line += formatted(" --only {} --seed {}", failure.draw, o.seed);
    for (const std::string& dtype : o.dtypes) line += option_text("--dtype", dtype);
    for (const std::string& text : o.parameters) line += option_text("--parameter", text);
    line += option_text("--rank", o.ranks);
    if (o.nonempty) line += " --nonempty";
    line += formatted(" --max-elements {}", o.max_elements);
  }
  line += option_text("--output-dtype", o.output_dtype) + option_text("--machine", o.machine) +
          o.tolerance.text();
  if (o.unordered) line += " --unordered";
  if (o.batch_invariant) line += " --batch-invariant";
  if (o.emulate) return line + " --emulate";
  const TrialProgramOptions defaults;
  if (seconds_of(o.timeout, "--timeout") != defaults.seconds) {
    line += option_text("--timeout", o.timeout);
  }
  if (o.program.kind != defaults.kind) line += option_text("--as", o.program.kind);
  if (o.program.together != defaults.together)
    line += formatted(" --together {}", o.program.together);
  line += " --";
  for (const std::string& word : context.behind_dashes) line += " " + shell_word(word);
  return line;
}

// Prints the draws of a trial.
int list_draws(const PreparedTrial& prepared, const Context& context) {
  const auto& [op, kernel, options] = prepared;
  const trial::Drawing drawing(op, kernel, options.dtypes, options.parameters, options.limits,
                               options.seed);
  std::string text;
  const std::int64_t end = drawing.listed() + options.draws;
  const std::int64_t first = options.only.value_or(options.shard);
  const std::int64_t last = options.only ? first + 1 : end;
  std::int64_t count = 0;
  for (std::int64_t number = first; number < last; number += options.shards) {
    text += formatted("{}  {}\n", number, drawing.at(number).text());
    ++count;
  }
  print_result(context, text,
               formatted("{} of {}: {} of the fixed list, then random draws",
                         counted(count, "draw"), op.name, grouped(drawing.listed())));
  return 0;
}

void write_reports(const TrialReport& report, const TrialCommandOptions& o,
                   const Context& context) {
  const wire::TrialHead head{context.command_line, version()};
  write_result(o.json, [&] { return wire::trial_json(report, head); });
  if (!o.out.empty()) write_file(o.out, wire::trial_json(report, head));
  if (!o.junit.empty()) write_file(o.junit, report::trial_junit(report));
  if (!o.html.empty()) write_file(o.html, report::trial_html(report, head));
}

// Prints and writes the result. Returns the exit code.
int finish(const TrialReport& report, const TrialCommandOptions& o, const Context& context) {
  write_reports(report, o, context);
  if (!o.keep.empty() && !report.failures.empty()) {
    const std::vector<std::string> files = keep_failures(report, o.keep);
    print_note(context, formatted("wrote {} to {}", counted(std::ssize(files), "file"), o.keep));
  }
  if (o.json != "-") {
    std::string text =
        formatted("{}: {}\n", report.op, trial_text(report, TrialDoor::kCommandLine));
    const std::string coverage = trial_coverage_text(report);
    if (!coverage.empty()) text += "\n" + coverage;
    print_result(context, text, formatted("{}: {}", report.op, report.because()));
  }
  return exit_code(report.outcome());
}

int run_merge_of_trials(const TrialCommandOptions& o, const Context& context) {
  if (!context.behind_dashes.empty()) {
    refuse("--merge runs no program; leave out the program after --");
  }
  std::vector<TrialReport> shards;
  for (const std::string& path : o.merge) {
    shards.push_back(with_advice("`assay trial --shard I/N --out FILE` writes what is joined",
                                 [&] { return wire::read_trial_results(path); }));
  }
  TrialReport report = merged(shards);
  GateRequest request;
  request.bounds = o.tolerance.request();
  if (request.bounds.standards.empty()) request.bounds.standards = report.standards;
  if (!request.bounds.rtol) request.bounds.rtol = report.rtol;
  if (!request.bounds.atol) request.bounds.atol = report.atol;
  const std::string machine = o.machine.empty() ? report.machine : o.machine;
  try {
    if (!machine.empty()) request.machine = &machine_named(machine);
    judge_read_failures(report, request);
  } catch (const Refusal&) {
    // The machine comes from a file that is not here. The findings and their texts remain.
  }
  return finish(report, o, context);
}

// Returns the part of the inputs that this process tries: that of --shard or, in a Slurm job array,
// that of the task.
Shard part_of(const TrialCommandOptions& o) {
  if (!o.shard.empty()) return parse_shard(o.shard);
  if (o.only || !o.on.empty()) return {};
  const Shard shard = shard_of_slurm().value_or(Shard());
  // A pass of a part must not look like a pass of the whole trial.
  if (shard.count > 1 && o.out.empty() && o.json.empty() && !o.list) {
    refuse(
        "this is task {} of {} of a Slurm job array, which tries only its part of the inputs; add "
        "--out FILE for `assay trial --merge`, or --shard 1/1 to try all inputs",
        shard.index, shard.count);
  }
  return shard;
}

}  // namespace

void judge_read_failures(TrialReport& report, const GateRequest& request) {
  for (TrialFailure& failure : report.failures) {
    try {
      judge_again(failure, request);
    } catch (const Refusal&) {
      failure.report.reset();
    }
  }
}

PreparedTrial prepared_trial(const TrialCommandOptions& o, const Context& context) {
  if (o.op.empty()) refuse("the operator is missing, as in `assay trial softmax -- PROGRAM`");
  if (!o.resume.empty() && (o.only || !o.on.empty())) {
    refuse("--resume continues a whole trial; leave out --only and --on");
  }
  const Operator& op = operator_named(o.op);
  TrialKernel kernel = kernel_of(op, o, context);
  return {op, std::move(kernel), options_of(op, o)};
}

int run_trial_command(const TrialCommandOptions& o, const Context& context, const Shard& part,
                      const TrialRunner& runner) {
  PreparedTrial prepared = prepared_trial(o, context);
  TrialOptions& options = prepared.options;
  options.shard = part.index - 1;
  options.shards = part.count;
  if (o.list) return list_draws(prepared, context);
  if (!o.keep.empty()) check_keep_folder(o.keep);

  std::optional<TrialReport> earlier;
  if (!o.resume.empty()) {
    earlier = with_advice("`assay trial --out FILE` writes what is continued",
                          [&] { return wire::read_trial_results(o.resume); });
    judge_read_failures(*earlier, options.request);
    options.earlier = &*earlier;
  }
  const InterruptFlag interrupt;
  StatusLine line(context.quiet > 0, 30);
  options.progress = [&](const TrialProgress& progress) {
    if (line.is_due()) {
      std::string text = formatted("{}, {}", counted(progress.draws, "input"),
                                   counted(progress.failures, "finding"));
      if (progress.is_shrinking) text += ", reducing a failing input";
      const double left = options.seconds - line.seconds();
      if (options.seconds > 0 && left > 0) text += formatted(", {} left", duration_text(left));
      line.show(text);
    }
    return !InterruptFlag::is_set();
  };
  constexpr double kSecondsOfSave = 5;
  double last_save = 0;
  if (!o.out.empty()) {
    options.save = [&](const TrialReport& report) {
      if (line.seconds() - last_save < kSecondsOfSave) return;
      last_save = line.seconds();
      write_file(o.out, wire::trial_json(report, {context.command_line, version()}));
    };
  }
  TrialReport report = runner(prepared);
  line.end();
  for (TrialFailure& failure : report.failures) {
    if (failure.repeat.empty()) failure.repeat = repeat_line(o, context, failure);
  }
  const int code = finish(report, o, context);
  if (report.was_interrupted && !o.out.empty()) {
    print_note(context, formatted("add --resume {} to continue{}", shell_word(o.out),
                                  report.shard_nexts.empty()
                                      ? ""
                                      : formatted(" on {} ranks", report.shard_nexts.size())));
  }
  return code;
}

namespace {

void add_drawing_options(CLI::App* command, TrialCommandOptions& o) {
  command
      ->add_option("--dtype", o.dtypes,
                   "Dtype of the inputs (default: float32 or the first one that the operator "
                   "takes). Can be repeated.")
      ->allow_extra_args(false);
  command->add_option("--output-dtype", o.output_dtype,
                      "Dtype of the output, if it is not the operator's default.");
  command
      ->add_option("--parameter", o.parameters,
                   "Give a parameter of the operator this value in every input. Can be repeated.")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command->add_option("--draws", o.draws, "Number of random inputs, after a fixed list of inputs.")
      ->capture_default_str()
      ->check(in_range(std::int64_t{0}, std::int64_t{1} << 40));
  command
      ->add_option("--budget", o.budget,
                   "Draw random inputs for this time instead, such as 60s, 10m or 500ms.")
      ->type_name("TIME");
  command->add_option("--seed", o.seed, "Seed of the random inputs.")->capture_default_str();
  command->add_option("--max-elements", o.max_elements, "Largest number of elements of an input.")
      ->capture_default_str()
      ->check(in_range(std::int64_t{1}, std::int64_t{1} << 32));
  command->add_option("--rank", o.ranks, "Ranks of the first input (default: 1-4).")
      ->type_name("LEAST-MOST");
  command->add_flag("--nonempty", o.nonempty, "Only draw sizes of at least 1.");
  command->add_option("--only", o.only, "Only try the input of this number.")
      ->check(in_range(std::int64_t{0}, std::int64_t{1} << 40));
  command
      ->add_option("--on", o.on,
                   "Only try this input, as a failure's text has it: "
                   "'x=float32[2,3]{0:1.5,5:-2} axis=0'.")
      ->type_name("CASE");
  command->add_flag("--list", o.list, "Print what would be drawn, and try nothing.");
}

void add_program_options(CLI::App* command, TrialCommandOptions& o) {
  command->add_option("--as", o.program.kind, "Kind of the files that the program reads.")
      ->capture_default_str()
      ->check(one_of("kind of file", {"npy", "bin"}));
  command
      ->add_option("--timeout", o.timeout,
                   "Time limit of a call, such as 10s or 500ms. A start for {folder} gets a tenth "
                   "of it for each further case.")
      ->capture_default_str()
      ->type_name("TIME");
  command
      ->add_option("--jobs", o.program.jobs,
                   "Number of programs that run at a time. No result depends on it.")
      ->capture_default_str()
      ->check(in_range(1, 4096));
  command
      ->add_option("--together", o.program.together,
                   "Number of cases that a start for {folder} computes.")
      ->capture_default_str()
      ->check(in_range(1, 10000));
  command->add_flag("--emulate", o.emulate,
                    "Try assay's own emulation of --machine instead of a program.");
}

void add_result_options(Context& context, CLI::App* command, TrialCommandOptions& o) {
  FileOptions& files = context.files;
  add_json(context, command, o.json);
  files.output(command->add_option("--junit", o.junit, "Write the result as JUnit XML."));
  add_html(context, command, o.html);
  files.output_in_place(
      command->add_option("--out", o.out,
                          "Write the result as JSON during the run, too, so that --resume can "
                          "continue it."),
      "--resume");
  files.input(command->add_option("--resume", o.resume,
                                  "Continue the trial whose result is in this file."));
  command
      ->add_option(
          "--keep", o.keep,
          "Write each reduced failing case to this folder, as a dataset file and as a test "
          "for GoogleTest. The folder must be new or empty.")
      ->type_name("FOLDER");
}

}  // namespace

CLI::App* trial_command(Context& context, const std::string& example, TrialCommandOptions& o) {
  CLI::App* command = subcommand(
      context, "trial", "Find the input for which a program computes an operator wrong.", example);
  command->add_option("OP", o.op,
                      "Operator that the program computes (see `assay list operators`). The "
                      "program follows as `-- PROGRAM ...`, in which {inputs} and {output} stand "
                      "for files.");
  add_drawing_options(command, o);
  command->add_option("--machine", o.machine,
                      "Machine that runs the program. Its expected errors then bound the result.");
  o.tolerance.add(context, command);
  command->add_flag("--unordered", o.unordered,
                    "Repeated calls may give other bits, because of atomics.");
  command->add_flag("--batch-invariant", o.batch_invariant,
                    "A row must have the same bits with and without other rows.");
  command
      ->add_option("--shrink-time", o.shrink_time,
                   "Longest time for reducing a failing input. A program that starts slowly may "
                   "need more.")
      ->capture_default_str()
      ->type_name("TIME");
  command->add_flag("--keep-going", o.keep_going,
                    "Do not stop at the first failure, but look for other findings.");
  add_program_options(command, o);
  add_result_options(context, command, o);
  return command;
}

void add_trial(Context& context) {
  auto options = std::make_shared<TrialCommandOptions>();
  TrialCommandOptions& o = *options;
  CLI::App* command = trial_command(
      context, "assay trial softmax --budget 60s -- ./run_softmax {inputs} {output}", o);
  command
      ->add_option("--shard", o.shard,
                   "Only try every n-th input, beginning with input i. --merge joins the results. "
                   "By default, SLURM_ARRAY_TASK_* of the environment give the shard.")
      ->type_name("i/n");
  context.files.input(
      command->add_option("--merge", o.merge, "Join the results of all shards, and run nothing."));
  on_run(context, command, [options, &context] {
    if (!options->merge.empty()) return run_merge_of_trials(*options, context);
    const Shard part = part_of(*options);
    const int code = run_trial_command(*options, context, part, [](const PreparedTrial& prepared) {
      return run_trial(prepared.op.name, prepared.kernel, prepared.options);
    });
    if (options->shard.empty() && part.count > 1 && !options->list) {
      print_note(context,
                 formatted("this is the part of task {} of {} of a Slurm job array; `assay "
                           "trial --merge` joins the parts, and --shard 1/1 tries all "
                           "inputs",
                           part.index, part.count));
    }
    return code;
  });
}

}  // namespace assay::tools
