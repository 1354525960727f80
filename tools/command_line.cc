#include "assay/command_line.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>

#include "assay/abft/threshold.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/machine/machine_file.h"
#include "assay/simd/targets.h"
#include "commit.h"
#include "help.h"
#include "sources.h"
#include "tools.h"

// Highway's library measures its clock before main(), for benchmarks that this program does not
// have. That takes some 3 ms of each start. This function replaces the one that measures.
namespace hwy::platform {
std::uint64_t TimerResolution();
std::uint64_t TimerResolution() { return 1; }
}  // namespace hwy::platform

namespace assay::inline v0_2 {
namespace {

// Returns the number of arguments that are assay's own. For `audit` and `trial` these are the ones
// before "--", because another program's command follows it unchanged.
int own_arguments(int argc, char** argv) {
  if (argc < 2 || (argv[1] != std::string("audit") && argv[1] != std::string("trial"))) return argc;
  for (int i = 2; i < argc; ++i) {
    if (argv[i] == std::string("--")) return i;
  }
  return argc;
}

struct Command {
  std::string_view heading;  // the subcommand's heading in the help text
  std::string_view name;
  void (*add)(tools::Context& context);
  bool needs_others = false;  // it lists the options of the other subcommands
};
// The subcommands in the order of the help text. completion and man are last, because they list the
// other ones.
constexpr Command kCommands[] = {
    {"Judge outputs", "gate", tools::add_gate},
    {"Judge outputs", "trial", tools::add_trial},
    {"Judge outputs", "compare", tools::add_compare},
    {"Judge outputs", "regate", tools::add_regate},
    {"Judge outputs", "join", tools::add_join},
    {"Judge outputs", "repro", tools::add_repro},
    {"Make data", "generate", tools::add_generate},
    {"Make data", "golden", tools::add_golden},
    {"Make data", "emulate", tools::add_emulate},
    {"Make data", "probes", tools::add_probes},
    {"Make data", "pack", tools::add_pack},
    {"Make data", "unpack", tools::add_unpack},
    {"Break outputs, and measure what is detected", "inject", tools::add_inject},
    {"Break outputs, and measure what is detected", "audit", tools::add_audit},
    {"Break outputs, and measure what is detected", "campaign", tools::add_campaign},
    {"Break outputs, and measure what is detected", "merge", tools::add_merge},
    {"Break outputs, and measure what is detected", "replay", tools::add_replay},
    {"Understand arithmetic", "identify", tools::add_identify},
    {"Understand arithmetic", "study", tools::add_study},
    {"Understand arithmetic", "calibrate", tools::add_calibrate},
    {"Look at files and tables", "inspect", tools::add_inspect},
    {"Look at files and tables", "list", tools::add_list},
    {"Look at files and tables", "report", tools::add_report},
    {"Look at files and tables", "completion", tools::add_completion, true},
    {"Look at files and tables", "man", tools::add_man, true},
};

}  // namespace

std::vector<std::string> tools::own_words(std::vector<std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != "--abft") continue;
    const bool has_next = i + 1 < arguments.size() && !arguments[i + 1].starts_with("-");
    const std::string name =
        has_next ? arguments[i + 1].substr(0, arguments[i + 1].find(',')) : std::string("/");
    if (name.find_first_of("./") == std::string::npos) {
      arguments[i] += "=" + arguments[i + 1];
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      arguments[i] += "=" + std::string(kDefaultThreshold);
    }
  }
  return arguments;
}

std::vector<std::string> tools::take_command_line(Context& context, int argc, char** argv) {
  context.program = shell_word(argv[0]);
  for (int i = 0; i < argc; ++i) {
    context.command_line += (i > 0 ? " " : "") + shell_word(argv[i]);
  }
  const int own = own_arguments(argc, argv);
  if (own < argc) context.behind_dashes.assign(argv + own + 1, argv + argc);
  return {argv + std::min(1, own), argv + own};
}

void tools::add_commands(Context& context, std::string_view word) {
  const Command* const named = find_row(kCommands, word, &Command::name);
  const bool adds_all = named == nullptr || named->needs_others;
  for (const Command& row : kCommands) {
    if (!adds_all && &row != named) continue;
    row.add(context);
    CLI::App* command = context.app.get_subcommands({}).back();
    command->group(std::string(row.heading));
    command->add_flag("-q,--quiet", context.quiet,
                      "Print only a summary line. -qq prints only errors.");
    context.add_flag(command, "--trust", context.trust,
                     "Read files without first checking them in a separate process.");
    add_headings(*command);
  }
}

namespace {

std::terminate_handler previous_handler = nullptr;

// Called if an exception cannot be caught: before main(), in a destructor, or while another
// exception is in flight.
void end_without_memory() {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    std::fputs("error: out of memory\n", stderr);
    std::_Exit(2);
  } catch (...) {  // previous_handler() reports all other exceptions
    previous_handler();
  }
  previous_handler();
}

// Sets the handler before the static objects of libraries are created, because their constructors
// may run out of memory.
[[gnu::constructor(101)]] void expect_no_memory() {
  previous_handler = std::set_terminate(end_without_memory);
}

int run(int argc, char** argv) {
  const FloatEnvironment environment;
  // The help text has the name of the program, which may be a team's own program.
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  CLI::App app{name + ": judge the numerical precision of operator outputs."};
  app.footer("`" + name +
             " SUBCOMMAND --help` shows the options of a subcommand and an example.\n"
             "Exit codes: 0 pass, 1 fail, 2 wrong usage or unreadable file, 3 not comparable,\n"
             "            4 untrusted (the check could not have failed).");
  app.set_version_flag(
      "--version",
      [] {
        const std::string commit = tools::commit();
        return formatted("assay {} ({}HDF5 {}, SIMD target {})", tools::version(),
                         commit.empty() ? "" : formatted("commit {}, ", commit), hdf5_version(),
                         simd::target_name());
      },
      "Show the version.");
  app.name(name);
  tools::begin_help(app);
  app.require_subcommand(1);
  tools::Context context{app};
  const std::vector<std::string> arguments = tools::take_command_line(context, argc, argv);
  tools::add_commands(context, argc > 1 ? argv[1] : "");
  return tools::run_command_line(context, tools::own_words(arguments));
}

}  // namespace

int run_command_line(int argc, char** argv) {
  tools::begin_program(argc, argv);
  const Hdf5Program program;
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {  // This is thrown before a subcommand runs.
    tools::print_error("error: out of memory");
    return 2;
  }
}

}  // namespace assay
