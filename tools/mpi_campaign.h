// Campaigns on all ranks of an MPI job.
#pragma once

#include "campaign.h"
#include "mpi_messages.h"

namespace assay::inline v0_2::tools {

// Runs the campaign from its plan to its results, on rank 0. Returns the exit code.
int run_campaign_on_ranks(Mpi& mpi, const CampaignFlags& flags, const Context& context);

// Computes blocks for rank 0 until it ends this rank.
void work_on_campaign(OtherRank& rank, const CampaignFlags& flags);

}  // namespace assay::tools
