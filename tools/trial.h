// Runs trials and prints their results. `assay trial` and the MPI program share this code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/trial/draw.h"
#include "assay/trial/trial.h"
#include "shard.h"
#include "tools.h"
#include "trial_program.h"

namespace assay::inline v0_2::tools {

struct TrialCommandOptions {
  std::string op;
  std::vector<std::string> dtypes, parameters, merge;
  std::string output_dtype, budget, machine, on, ranks, shard;
  std::string json, junit, html, out, resume, keep, shrink_time = "20s", timeout = "10s";
  std::uint64_t seed = 1;
  std::int64_t draws = 200, max_elements = trial::DrawLimits().elements;
  std::optional<std::int64_t> only;
  ToleranceOptions tolerance;
  TrialProgramOptions program;
  int threads = 0;
  bool unordered = false, batch_invariant = false, keep_going = false, list = false,
       emulate = false, nonempty = false;
};

// The arguments of run_trial().
struct PreparedTrial {
  const Operator& op;
  TrialKernel kernel;
  TrialOptions options;
};

// Returns what the options ask for. Throws Refusal if an option is wrong.
PreparedTrial prepared_trial(const TrialCommandOptions& o, const Context& context);

// Runs a prepared trial, in this process or on all ranks.
using TrialRunner = std::function<TrialReport(const PreparedTrial&)>;

// Runs the trial from its options to its results, which only this process writes. `part` is the
// part of the inputs that it tries. Returns the exit code.
int run_trial_command(const TrialCommandOptions& o, const Context& context, const Shard& part,
                      const TrialRunner& runner);

// Computes the verdicts of failures that were read from JSON. A failure of an operator or machine
// that is not known here stays without one.
void judge_read_failures(TrialReport& report, const GateRequest& request);

// Returns the subcommand `trial` with the options that it has in every program. The caller sets the
// function that it runs (on_run).
CLI::App* trial_command(Context& context, const std::string& example, TrialCommandOptions& o);

}  // namespace assay::tools
