// How campaigns run, read datasets and print their results; shared by the commands and the MPI
// program.
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

namespace assay::tools {

struct CampaignFlags {
  std::string plan, out, shard, json, csv, published, published_dtype;
  std::vector<std::string> dirs;
  bool resume = false, exact = false, full = false;
  int threads = 0;
};

using BlockDone = std::function<void(const campaign::BlockAddress&, const campaign::BlockTally&)>;
// For the line that says how far it is: what others computed. The campaign counts its own work.
using CountWork = std::function<void(std::int64_t matrices, std::int64_t verdicts)>;

// Who computes the blocks of a campaign.
struct BlockRunner {
  // Called with the plan's text once it is read and its folder is open. May be empty.
  std::function<void(const std::string& plan)> start = {};
  // Computes all these blocks and calls `done` with each, one at a time.
  std::function<void(const campaign::Campaign&, const std::vector<campaign::BlockAddress>&,
                     const BlockDone&, const CountWork&)>
      run = {};
  // Called after each matrix computed here, from any thread; what it throws ends the block. May be
  // empty.
  std::function<void()> after_matrix = {};
};

// The campaign from its plan to its results, which this process alone writes. Gives the exit code.
int run_campaign(const CampaignFlags& o, const Context& context, const Shard& shard,
                 const BlockRunner& runner);

// The subcommand with the options that every program has; the caller says what it does (on_run).
CLI::App* campaign_command(Context& context, const std::string& example, CampaignFlags& o);

wire::DatasetCases list_dataset(const std::string& file, const std::string& glob);
Case load_dataset_case(const std::string& file, const std::string& name);

// The files that a plan file, or the folder of a shard, leads to, itself among them.
std::vector<std::string> files_of_plan(const std::string& path);
std::vector<std::string> files_of_shard(const std::string& dir);

// Whether `assay report` of a result, a file or the folder of a campaign, or a campaign that goes
// on there, reads a file at `target`.
bool results_read(const std::string& result, const std::string& target);

// The table of --published, else that which the plan names, none where it names none. Throws
// std::invalid_argument that names the option, or `source` and the plan's key.
std::vector<campaign::PublishedRate> published_rates(const CampaignFlags& o,
                                                     const campaign::Plan& plan,
                                                     const std::string& source);

// Tables, and published rates beside ours where there are some.
std::string results_text(const campaign::Plan& plan,
                         const std::vector<campaign::CellResult>& results,
                         const std::vector<campaign::PublishedRate>& published, bool full);

}  // namespace assay::tools
