// The common declarations of the subcommands of `assay`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/gate/bounds.h"
#include "assay/gate/case_report.h"
#include "call.h"
#include "files.h"

namespace assay::inline v0_2 {
struct Operator;  // op/operator.h
}

namespace assay::inline v0_2::tools {

// The place where an option's value is stored, for a caller that sets it without a command line.
struct OptionPlace {
  OptionMember member;
  std::string without_value{};  // the value of `--option` without one, or empty if it needs a value
};

// Passed to the functions below, each of which registers its subcommand. on_run() sets `exit_code`
// and adds to `runs`.
struct Context {
  CLI::App& app;
  int exit_code = 0;
  int quiet = 0;               // the number of times that -q was given: see print_result()
  bool trust = false;          // if true, files are read without a check in another process
  bool parses_alone = false;   // only reads and checks the options, and runs no subcommand
  std::string program{};       // the program's name as it was typed, quoted for a shell
  std::string command_line{};  // the command line as it was typed, quoted for a shell
  // The words after "--" in a command line of `audit` or `trial`.
  std::vector<std::string> behind_dashes{};
  FileOptions files{};                 // of all subcommands
  const Listener* listener = nullptr;  // gets the results; is null if there is no caller
  // The places of the options that add_option() and add_flag() of this struct added.
  std::map<const CLI::Option*, OptionPlace> places{};
  std::map<const CLI::App*, std::function<void()>> runs{};  // what each subcommand runs

  // Add an option or a flag to a subcommand, as CLI11 does. A caller in the same process can set
  // the same member (call.h).
  template <typename Member>
  CLI::Option* add_option(CLI::App* command, const std::string& name, Member& member,
                          const std::string& help) {
    CLI::Option* option = command->add_option(name, member, help);
    places[option] = {&member};
    return option;
  }
  CLI::Option* add_flag(CLI::App* command, const std::string& name, bool& member,
                        const std::string& help) {
    CLI::Option* option = command->add_flag(name, member, help);
    places[option] = {&member};
    return option;
  }

  // Calls a function of the listener, if it has this one: tell(&Listener::step, done, all).
  template <typename Function, typename... Values>
  void tell(Function Listener::*function, const Values&... values) const {
    if (listener != nullptr && listener->*function) (listener->*function)(values...);
  }
};
void add_gate(Context& context);
void add_audit(Context& context);
void add_trial(Context& context);
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

// Adds the subcommands, with the options that every subcommand has. If the word names one of them,
// only this one is added, because the options of all of them take longer to make than many commands
// run. completion and man are added with all others, which they list.
void add_commands(Context& context, std::string_view word);
// Returns the arguments in a form for CLI11. `--abft` may be followed by a threshold or not, and
// must not take a file name for a threshold.
std::vector<std::string> own_words(std::vector<std::string> arguments);

// Sets the context's texts of the command line: the program, the whole line, and the words after
// "--". Returns the arguments that are the program's own.
std::vector<std::string> take_command_line(Context& context, int argc, char** argv);

// Sets the function that runs after the subcommand's options were read. `run` returns the exit
// code. Before it runs, the subcommand's outputs are cleared (FileOptions). The subcommand is
// refused if outputs would replace its inputs. A caller in the same process runs the same function
// (Context::runs).
void on_run(Context& context, CLI::App* command, std::function<int()> run);

// split_empty_values() returns the arguments with "--option=" as two words, and
// refuse_empty_values() makes all options refuse an empty value. An empty value is mostly a shell
// variable that is not set, and must not count as an option that was not given.
std::vector<std::string> split_empty_values(const std::vector<std::string>& arguments);
void refuse_empty_values(CLI::App& command);

// Returns an error message for the words that the program or its subcommand did not expect. If an
// option looks mistyped, the message suggests the right one.
std::string unexpected(const CLI::App& app);

// Must be called first in main(). It opens the standard descriptors, so that no file becomes one of
// them. It also makes this program the one that checks files. A process that was started to check a
// file does so here, and ends.
void begin_program(int argc, char** argv);

// Parses the arguments and runs the subcommand that they name. An error becomes one line on
// standard error. Returns the exit code.
int run_command_line(Context& context, const std::vector<std::string>& arguments);

// Parses the arguments and runs the subcommand, as run_command_line() does, but throws errors. The
// error is a Refusal if the arguments are not understood, and otherwise the subcommand's exception.
int parse_and_run(Context& context, const std::vector<std::string>& arguments);

// Returns true if standard output shows colours: it is a terminal, and NO_COLOR is not set.
bool use_color();

// Adds a subcommand with an example at the end of its help.
CLI::App* subcommand(Context& context, const std::string& name, const std::string& what,
                     const std::string& example);

// Returns the names of all subcommands.
std::vector<std::string> command_names(const CLI::App& app);

// Returns a check of an option's value. The value must be one of these words. The error is that
// of unknown_word() (base/words.h).
CLI::Validator one_of(const std::string& kind, const std::vector<std::string>& words);

// Return a check of an option's value: a number from `low` to `high`. The integer versions require
// an integer.
CLI::Validator in_range(double low, double high);
CLI::Validator in_range(std::int64_t low, std::int64_t high);
CLI::Validator in_range(int low, int high);

// Add options that several subcommands have. 0 threads means all cores, which is the default. With
// add_positive_threads() it cannot be given.
void add_threads(Context& context, CLI::App* command, int& threads);
void add_positive_threads(Context& context, CLI::App* command, int& threads);
CLI::Option* add_json(Context& context, CLI::App* command, std::string& json);
void add_html(Context& context, CLI::App* command, std::string& html);

// Writes the text to a file, or prints it if the path is "-". Does nothing if the path is empty.
void write_result(const std::string& path, const std::function<std::string()>& text);

// Returns the names of all standards that need no argument.
std::vector<std::string> standard_names();

// Returns an option of a command line with a blank in front, " --machine hopper". Returns an empty
// string if the value is empty.
std::string option_text(std::string_view option, const std::string& value);

// Tolerance options of gate and compare: --standard, --standards, --rtol, --atol, --equal-nan,
// --nan-accepts, --infinity, --max-mismatches, --max-mismatch-fraction, --max-blind.
struct ToleranceOptions {
  std::vector<std::string> standards;
  std::string file, infinity;
  std::optional<std::int64_t> max_mismatches;
  std::optional<double> max_mismatch_fraction, max_blind;
  bool nan_accepts = false, allow_empty = false;
  std::optional<double> rtol, atol;
  bool equal_nan = false;
  void add(Context& context, CLI::App* command);
  // Throws Refusal if a standard is unknown or a file of standards is not valid.
  BoundRequest request() const;
  // Returns the options for a reproducer line, with a blank in front unless the text is empty.
  std::string text() const;
  // Returns a note on each standard that applies to only one dtype, if none of `dtypes` is that
  // dtype.
  std::vector<std::string> unused_notes(const std::set<std::string>& dtypes) const;
  // Adds unused_notes() to the report, for the dtypes of its outputs.
  void note_unused(GateReport& report) const;
};

// Returns an operator's inputs and parameters, as `assay list operators` prints them.
std::string operator_text(const Operator& op);

// Calls `read`. If it refuses what it reads, `advice` follows the message: how to make such a file.
template <typename Read>
auto with_advice(const std::string& advice, Read read) {
  try {
    return read();
  } catch (const Refusal& e) {
    refuse("{}; {}", e.what(), advice);
  }
}

// Writes to standard output. Only ends of lines, tabs and our own colours can control the terminal.
// Other control characters are printed as escapes (base/printable.h).
void print(const std::string& text);
// Writes one line to standard error, with the same escapes.
void print_error(const std::string& line);
// Writes "note: ..." to standard error, unless -q was given.
void print_note(const Context& context, const std::string& text);

// Prints the result of a subcommand: `text`, or only the line `summary` if -q was given once, or
// nothing if it was given twice.
void print_result(const Context& context, const std::string& text, const std::string& summary);
// Prints a result that is only a summary, unless -q was given twice. print_result() and
// print_summary() add the end of the line if it is missing.
void print_summary(const Context& context, const std::string& summary);

// Collects errors, of which there may be many. If more than 5 end in the same reason, end() prints
// only the first of them and how many more there are. It prints at most 10 lines, and then the
// number of the other errors.
class ErrorLines {
 public:
  void add(const std::string& error) { errors_.push_back(error); }
  // `advice` follows the number of the errors that are not printed. It may be empty.
  void end(const std::string& advice = "") const;
  std::size_t count() const { return errors_.size(); }

 private:
  std::vector<std::string> errors_;
};

}  // namespace assay::tools
