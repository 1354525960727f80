// The options of `assay gate`.
#pragma once

#include <optional>
#include <string>

#include "gate_files.h"
#include "tools.h"

namespace assay::inline v0_2::tools {

struct GateOptions {
  GateFileOptions files;
  std::string json, junit, html, csv, save_failures, abft, sample, reference_implementation,
      baseline;
  std::string shard;
  std::string known_failures;
  int threads = 0;
  bool mutate = false, strict = false, all = false;
  bool update_baseline = false, repeat = false, histograms = false;
  std::optional<double> mutate_min;
  ToleranceOptions tolerance;
};

// Adds the options of `assay gate` to the subcommand.
void add_gate_options(Context& context, CLI::App* command, GateOptions& options);
// Throws Refusal if the options contradict each other.
void check_gate_options(const GateOptions& options);

}  // namespace assay::tools
