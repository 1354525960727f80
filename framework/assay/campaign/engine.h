// Runs a plan block by block. The result of a block depends only on the plan. It does not depend on
// threads, shards, order, or earlier blocks.
//
//   Campaign campaign(plan, {});
//   for (const BlockAddress& b : campaign.blocks()) tally = campaign.run(b);
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "assay/campaign/matrix.h"
#include "assay/campaign/plan.h"
#include "assay/campaign/trial_tally.h"

namespace assay::inline v0_2::campaign {

struct CampaignOptions {
  int threads = 0;  // 0 means default_threads()
  // Sum every check again, instead of computing the verdict on a flip in constant time.
  bool exact = false;
  CaseLoader load = {};
  // Called after each matrix, from any thread. `verdicts` is the number of verdicts on the matrix:
  // its clean checks, and its injected faults times the number of detectors.
  std::function<void(std::int64_t verdicts)> progress = {};
};

class Campaign {
 public:
  // Makes the first matrix of each cell, and the first trial of each drawn fault, to find errors.
  // Throws Refusal, which names the cell and the detector, if a detector cannot judge
  // the cell's results.
  Campaign(Plan plan, CampaignOptions options);

  const Plan& plan() const { return plan_; }
  // Returns all blocks, those of the first cell first. A cell has about kBlocksPerCell blocks.
  const std::vector<BlockAddress>& blocks() const { return blocks_; }
  std::int64_t matrices() const;  // of all cells

  // True if a cell's precision is checked after this block. Without a precision, this is the last
  // block.
  bool is_look(const BlockAddress& block) const;

  // Returns the blocks to run next. These are the missing blocks; for a cell with a precision, only
  // those up to its next check. Empty if all work is done.
  std::vector<BlockAddress> next_blocks(
      const std::function<bool(const BlockAddress&)>& has,
      const std::function<BlockTally(const BlockAddress&)>& load) const;

  BlockTally run(const BlockAddress& block) const;
  // Runs several blocks on the options' threads. Calls `done` with each, one call at a time.
  void run(const std::vector<BlockAddress>& blocks,
           const std::function<void(const BlockAddress&, const BlockTally&)>& done) const;
  // Runs one matrix with all its detectors and faults. Returns a block with only this matrix.
  BlockTally run_matrix(const Cell& cell, std::int64_t index) const;

  static constexpr std::int64_t kBlocksPerCell = 64;

 private:
  void add_blocks(std::size_t cell);
  Plan plan_;
  CampaignOptions options_;
  std::vector<BlockAddress> blocks_;
};

// Returns the blocks of [0, count) that shard number `shard` of `shards` computes: every shards-th
// block, beginning with block shard - 1. Shards are counted from 1.
std::vector<std::int64_t> blocks_of_shard(std::int64_t count, int shard, int shards);

}  // namespace assay::campaign
