// Trials on all ranks of an MPI job.
#pragma once

#include "mpi_messages.h"
#include "trial.h"

namespace assay::inline v0_2::tools {

// Runs the trial from its options to its results, on rank 0. Returns the exit code.
int run_trial_on_ranks(Mpi& mpi, const TrialCommandOptions& o, const Context& context);

// Tries this rank's share of the inputs, and sends the report to rank 0.
void work_on_trial(OtherRank& rank, const TrialCommandOptions& o, const Context& context);

}  // namespace assay::tools
