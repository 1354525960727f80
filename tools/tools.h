// What the subcommands of `assay` share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/datasets/store/dataset_file.h"
#include "assay/gate/bounds.h"
#include "assay/gate/case_report.h"
#include "call.h"
#include "files.h"

namespace assay {
struct Operator;  // op/operator.h
}

namespace assay::tools {

// Each registers its subcommand; on_run() sets `exit_code`.
struct Context {
  CLI::App& app;
  int exit_code = 0;
  bool quiet = false;
  bool trust = false;          // files, which then are not looked at by a process of its own
  bool parses_alone = false;   // options are read and checked, and no subcommand does anything
  std::string program{};       // as it was called, quoted for a shell
  std::string command_line{};  // as it was typed, quoted for a shell
  // Of `audit`: what stands behind "--".
  std::vector<std::string> behind_dashes{};
  FileOptions files{};                 // of all subcommands
  const Listener* listener = nullptr;  // null: nobody but the terminal
};
void add_gate(Context& context);
void add_audit(Context& context);
void add_emulate(Context& context);
void add_golden(Context& context);
void add_generate(Context& context);
void add_inject(Context& context);
void add_compare(Context& context);
void add_calibrate(Context& context);
void add_regate(Context& context);
void add_study(Context& context);
void add_identify(Context& context);
void add_probes(Context& context);
void add_campaign(Context& context);
void add_join(Context& context);
void add_merge(Context& context);
void add_replay(Context& context);
void add_report(Context& context);
void add_repro(Context& context);
void add_inspect(Context& context);
void add_list(Context& context);
void add_completion(Context& context);
void add_man(Context& context);

// All of these, with what every one of them takes.
void add_commands(Context& context);
// The arguments as CLI11 takes them: `--abft` may stand alone or with a threshold behind it, and
// must not take a file name for one.
std::vector<std::string> own_words(std::vector<std::string> arguments);

// What the subcommand does once its options are read; gives the exit code. Its outputs are cleared
// before (FileOptions), and it is refused where they would replace its inputs.
void on_run(Context& context, CLI::App* command, std::function<int()> run);

// The arguments with "--option=" as two words, and all options such that an empty value is refused:
// it is mostly a shell variable that is not set, and must not pass for an option that was not
// given.
std::vector<std::string> split_empty_values(const std::vector<std::string>& arguments);
void refuse_empty_values(CLI::App& command);

// What was left over of the program or of its subcommand; options that look mistyped with the one
// that was meant.
std::string unexpected(const CLI::App& app);

// What main() begins with: the standard descriptors are open, so that no file becomes one of them,
// and files are looked at by further processes of this program, which begin and end here.
void begin_program(int argc, char** argv);

// Parses the arguments and runs the subcommand that they name; errors become one line on standard
// error. Gives the exit code.
int run_command_line(Context& context, const std::vector<std::string>& arguments);

// The same, but throws: std::invalid_argument on arguments that are not understood, else whatever
// the subcommand throws.
int parse_and_run(Context& context, const std::vector<std::string>& arguments);

// Whether standard output takes colours: a terminal, and NO_COLOR is not set.
bool use_color();

// A subcommand with an example at the end of its help.
CLI::App* subcommand(Context& context, const std::string& name, const std::string& what,
                     const std::string& example);

// A check of an option's value: one of these words, else unknown_word() (base/words.h).
CLI::Validator one_of(const std::string& kind, const std::vector<std::string>& words);

// A check of an option's value: a number from `low` to `high`, whole where these are.
CLI::Validator in_range(double low, double high);
CLI::Validator in_range(std::int64_t low, std::int64_t high);
CLI::Validator in_range(int low, int high);
inline constexpr int kMostThreads = 4096;

// Tolerance options of gate and compare: --standard, --standards, --rtol, --atol, --equal-nan,
// --nan-accepts, --infinity, --max-mismatches, --max-mismatch-fraction, --max-blind.
struct ToleranceOptions {
  std::vector<std::string> standards;
  std::string file, infinity;
  std::optional<std::int64_t> max_mismatches;
  std::optional<double> max_mismatch_fraction, max_blind;
  bool nan_accepts = false;
  std::string rtol, atol;  // as typed; empty where not given
  bool equal_nan = false;
  void add(Context& context, CLI::App* command);
  // Throws std::invalid_argument on an unknown standard and on a wrong file of standards.
  BoundRequest request() const;
  // The options again, for a reproducer line; begins with a blank where there are any.
  std::string text() const;
  // A note on each standard of one dtype alone that none of these is.
  std::vector<std::string> unused_notes(const std::set<std::string>& dtypes) const;
  void note_unused(GateReport& report) const;  // adds them, by the dtypes of its outputs
};

// The producers recorded for these cases, in order of name.
std::vector<std::string> producers_of(const CaseSource& file,
                                      const std::vector<std::string>& cases);

// An operator's inputs and parameters, as `assay list operators` prints them.
std::string operator_text(const Operator& op);

// Writes to standard output. Only ends of lines, tabs and our own colours steer the terminal; other
// characters that would do so are printed as escapes (base/printable.h).
void print(const std::string& text);
// Writes one line to standard error, in the same way.
void print_error(const std::string& line);

}  // namespace assay::tools
