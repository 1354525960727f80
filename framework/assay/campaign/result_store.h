// A campaign's folder: the plan, and every block that is done, each in a file of its own that is
// whole or not there. Whatever stops a campaign, at most the blocks in work are lost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/campaign/engine.h"

namespace assay::campaign {

class CampaignStore {
 public:
  // Opens DIR for the campaign, and creates it where it is not there. Holds a lock on it until the
  // end of the process. Throws std::runtime_error that names DIR and says what to do: it holds
  // another plan; it holds results and `resume` is not set; another process works in it; it cannot
  // be written.
  CampaignStore(std::string dir, const Plan& plan, const std::string& plan_text,
                const std::string& plan_folder, bool resume);
  ~CampaignStore();
  CampaignStore(const CampaignStore&) = delete;
  CampaignStore& operator=(const CampaignStore&) = delete;

  const std::string& dir() const { return dir_; }
  bool has(const BlockAddress& block) const;
  // Thread-safe for different blocks.
  void save(const BlockAddress& block, const BlockTally& tally) const;
  // Throws std::runtime_error that names the file where it is damaged or belongs elsewhere.
  BlockTally load(const BlockAddress& block) const;

 private:
  std::string path(const BlockAddress& block) const;
  std::string dir_, fingerprint_;
  int lock_ = -1;
};

// What a folder says of the plan that it was made for.
struct StoredPlan {
  std::string text, folder, fingerprint;
};
StoredPlan stored_plan(const std::string& dir);

// The blocks in the folders of a campaign's shards, each in one of them. Throws std::runtime_error
// that names the folders: blocks in two of them, blocks in none, another plan.
std::vector<std::string> merged_blocks(const std::vector<std::string>& dirs,
                                       const Campaign& campaign);
// Reads one of them.
BlockTally load_block(const std::string& path, const BlockAddress& block, const Plan& plan);

}  // namespace assay::campaign
