// The folder of a campaign: the plan, and every finished block in a file of its own. A block's file
// is complete or missing. If a campaign is stopped, only the blocks in progress are lost.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/engine.h"

namespace assay::inline v0_2::campaign {

class CampaignStore {
 public:
  // Opens the folder DIR for the campaign, and creates it if it does not exist. Holds a lock on it
  // until this object is destroyed. Throws std::runtime_error, which names DIR and what to do, in
  // these cases: DIR holds another plan, it holds results and `resume` is not set, another process
  // uses it, or it cannot be written.
  CampaignStore(std::string dir, const Plan& plan, const std::string& plan_text,
                const std::string& plan_folder, bool resume);
  ~CampaignStore();
  CampaignStore(const CampaignStore&) = delete;
  CampaignStore& operator=(const CampaignStore&) = delete;

  const std::string& dir() const { return dir_; }
  bool has(const BlockAddress& block) const;
  // Writes the results of a block to its file. Several threads may save different blocks at the
  // same time.
  void save(const BlockAddress& block, const BlockTally& tally) const;
  // Reads the results of a block. Throws std::runtime_error, which names the file, if the file is
  // damaged or belongs to another block or plan.
  BlockTally load(const BlockAddress& block) const;

 private:
  std::string path(const BlockAddress& block) const;
  std::string dir_, fingerprint_;
  int lock_ = -1;
};

// The plan for which a folder of results was made.
struct StoredPlan {
  std::string text, folder, fingerprint;
};
StoredPlan stored_plan(const std::string& dir);

// Returns the paths of all blocks in the folders of a campaign's shards. Throws std::runtime_error,
// which names the folders, if a block is in two folders or in none, or if a folder has another
// plan.
std::vector<std::string> merged_blocks(const std::vector<std::string>& dirs,
                                       const Campaign& campaign);
// Reads a block from one of the paths that merged_blocks() returned.
BlockTally load_block(const std::string& path, const BlockAddress& block, const Plan& plan);

}  // namespace assay::campaign
