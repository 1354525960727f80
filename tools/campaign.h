// Runs campaigns, reads their datasets and prints their results. The commands and the MPI program
// share this code.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "assay/campaign/published_campaigns.h"
#include "assay/campaign/results.h"
#include "assay/wire/plan_file.h"
#include "shard.h"
#include "tools.h"

namespace assay::inline v0_2::tools {

struct CampaignFlags {
  std::string plan, out, shard, json, csv, published, published_dtype;
  std::vector<std::string> dirs;
  bool resume = false, exact = false, full = false;
  int threads = 0;
};

using BlockDone = std::function<void(const campaign::BlockAddress&, const campaign::BlockTally&)>;
// Reports work that others computed, for the progress line. The campaign counts its own work.
using CountWork = std::function<void(std::int64_t matrices, std::int64_t verdicts)>;

// Computes the blocks of a campaign.
struct BlockRunner {
  // Called with the plan's text after the plan was read and the folder of the results was opened.
  // May be empty.
  std::function<void(const std::string& plan)> start = {};
  // Computes all these blocks and calls `done` for each of them, one at a time.
  std::function<void(const campaign::Campaign&, const std::vector<campaign::BlockAddress>&,
                     const BlockDone&, const CountWork&)>
      run = {};
  // Called after each matrix that this process computed, from any thread. An exception that it
  // throws ends the block. May be empty.
  std::function<void()> after_matrix = {};
};

// Runs the campaign from its plan to its results, which only this process writes. Returns the exit
// code.
int run_campaign(const CampaignFlags& o, const Context& context, const Shard& shard,
                 const BlockRunner& runner);

// Returns the subcommand `campaign` with the options that it has in every program. The caller sets
// the function that it runs (on_run).
CLI::App* campaign_command(Context& context, const std::string& example, CampaignFlags& o);

wire::DatasetCases list_dataset(const std::string& file, const std::string& glob);
Case load_dataset_case(const std::string& file, const std::string& name);

// files_of_plan() returns a plan file and the files that it names. files_of_shard() returns the
// files that the plan in the folder of a shard names.
std::vector<std::string> files_of_plan(const std::string& path);
std::vector<std::string> files_of_shard(const std::string& dir);

// Returns true if a command that uses `result` reads a file at `target`. `result` is the argument
// of `assay report` (a file, or the folder of a campaign) or the folder of a campaign that is
// resumed.
bool results_read(const std::string& result, const std::string& target);

// Returns the table of --published, or the one that the plan names, or an empty table if there is
// neither. Throws Refusal, which names the option, or `source` and the plan's key.
std::vector<campaign::PublishedRate> published_rates(const CampaignFlags& o,
                                                     const campaign::Plan& plan,
                                                     const std::string& source);

// Returns the result tables, with published rates beside ours if there are any.
std::string results_text(const campaign::Plan& plan,
                         const std::vector<campaign::CellResult>& results,
                         const std::vector<campaign::PublishedRate>& published, bool full);

}  // namespace assay::tools
