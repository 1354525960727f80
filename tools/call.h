// The subcommands as functions, for callers in the same process. They return their results instead
// of printing them, and throw errors instead of printing them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
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
  // stops the subcommand, and call() throws it.
  std::function<void(std::int64_t done, std::int64_t all)> step = {};
};

// Runs a subcommand: the words "gate", "golden.h5", "--recorded", "npu" run `assay gate golden.h5
// --recorded npu`, with -qq. Returns the exit code. Throws Refusal if the usage
// is wrong, FileError if a file cannot be read, NoCaseError if there are no cases, and any other
// exception that stops the subcommand.
int call(const std::vector<std::string>& words, const Listener& listener);

// An option of a subcommand.
struct CommandOption {
  std::string name;  // without dashes: "max-blind"
  bool takes_value = false;
  bool is_repeated = false;  // may be given several times
};
// Returns the options of a subcommand that a caller in the same process may give.
std::vector<CommandOption> command_options(const std::string& command);

std::string version();

}  // namespace assay::tools
