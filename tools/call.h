// The subcommands as functions, for callers in the same process. They return their results instead
// of printing them, and throw errors instead of printing them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "assay/gate/case_report.h"
#include "assay/identify/identify.h"

namespace assay::inline v0_2::tools {

// The callbacks through which a subcommand reports to its caller. All may be empty.
struct Listener {
  std::function<void(const GateReport&)> gate = {};  // Called once by `gate`.
  // Called once by `campaign`, with its results as JSON (docs/campaigns.md) and as text.
  std::function<void(const std::string& json, const std::string& text)> campaign = {};
  // Called once by `identify`.
  std::function<void(const std::vector<identify::Finding>&)> identify = {};
  // Called after each case of `gate` and each matrix of `campaign`, with the number done and the
  // total. May be called from any thread, but not by two at a time. An exception that it throws
  // stops the subcommand, and CommandCall::run() throws it.
  std::function<void(std::int64_t done, std::int64_t all)> step = {};
};

// A member of a structure of options. A number that may be left out is optional.
using OptionMember = std::variant<bool*, int*, std::string*, std::vector<std::string>*,
                                  std::optional<std::int64_t>*, std::optional<double>*>;

// An option of a subcommand. A caller sets it by a value of its member, and by `is_given`.
struct CommandOption {
  std::string name;  // as in a command line: "--max-blind", or "GOLDEN" for an argument
  OptionMember member;
  std::string without_value;  // the value of `--option` without one, or empty if it needs a value
  bool names_file = false;
  bool is_given = false;
};

// One call of `gate`, `campaign` or `identify`. It has the same structure of options as a command
// line fills, and the same rules check it. The subcommand runs as with -qq.
class CommandCall {
 public:
  explicit CommandCall(const std::string& command);
  CommandCall(const CommandCall&) = delete;
  CommandCall& operator=(const CommandCall&) = delete;
  ~CommandCall();

  // The options of the subcommand, in the order of its help text.
  std::vector<CommandOption>& options() { return options_; }
  // Returns an option by its name, or null if the subcommand does not have it.
  CommandOption* find(std::string_view name);
  // Throws Refusal, with the message of the command line, if `text` is not a value of the option.
  void check_text(const CommandOption& option, const std::string& text);

  // Runs the subcommand, once. Returns the exit code. Throws Refusal if an option is wrong,
  // FileError if a file cannot be read, NoCaseError if there are no cases, and any other exception
  // that stops the subcommand.
  int run(const Listener& listener);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::vector<CommandOption> options_;
};

std::string version();

}  // namespace assay::tools
