// The subcommands as functions, for callers in the same process: they give what they found instead
// of printing it, and throw instead of printing what is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "assay/gate/case_report.h"
#include "assay/identify/identify.h"

namespace assay::tools {

// What a subcommand tells its caller. All may be empty.
struct Listener {
  std::function<void(const GateReport&)> gate = {};  // of `gate`, once
  // Of `campaign`, once: its results as JSON (docs/campaigns.md) and as text.
  std::function<void(const std::string& json, const std::string& text)> campaign = {};
  std::function<void(const std::vector<identify::Finding>&)> identify = {};  // of `identify`, once
  // After each case of `gate` and each matrix of `campaign`, of how many; from any thread, one at a
  // time. What it throws stops the subcommand, and call() throws it.
  std::function<void(std::int64_t done, std::int64_t all)> step = {};
};

// Runs "gate", "golden.h5", "--recorded", "npu" as `assay gate golden.h5 --recorded npu` does, with
// --quiet. Gives the exit code. Throws std::invalid_argument on wrong usage, FileError on a file
// that cannot be read, NoCaseError where no case is there, and whatever else stops the subcommand.
int call(const std::vector<std::string>& words, const Listener& listener);

std::string version();

}  // namespace assay::tools
