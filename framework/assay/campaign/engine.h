// Runs a plan block by block. What a block gives depends on the plan alone: not on threads, shards,
// order, or what ran before.
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

namespace assay::campaign {

struct CampaignOptions {
  int threads = 0;     // 0: default_threads()
  bool exact = false;  // sum every check again instead of the verdicts in constant time
  CaseLoader load = {};
  // Called after each matrix, from any thread: what was injected (times gates) in it.
  std::function<void(std::int64_t verdicts)> progress = {};
};

class Campaign {
 public:
  // Throws std::invalid_argument that names cell and gate where a gate cannot judge the cell's
  // results; makes each cell's first matrix to know.
  Campaign(Plan plan, CampaignOptions options);

  const Plan& plan() const { return plan_; }
  // All blocks, cell by cell; some kBlocksPerCell a cell.
  const std::vector<BlockAddress>& blocks() const { return blocks_; }
  std::int64_t matrices() const;  // of all cells

  // Whether a cell's precision is looked at after this block; of cells without one, its last block.
  bool is_look(const BlockAddress& block) const;

  // What is to be done next: missing blocks, of a cell with a precision up to its next look. Empty
  // where all is done.
  std::vector<BlockAddress> next_blocks(
      const std::function<bool(const BlockAddress&)>& has,
      const std::function<BlockTally(const BlockAddress&)>& load) const;

  BlockTally run(const BlockAddress& block) const;
  // Several, on the options' threads; `done` is called with each, one at a time.
  void run(const std::vector<BlockAddress>& blocks,
           const std::function<void(const BlockAddress&, const BlockTally&)>& done) const;
  // One matrix with all its gates and faults, alone in a block.
  BlockTally run_matrix(const Cell& cell, std::int64_t index) const;

  static constexpr std::int64_t kBlocksPerCell = 64;

 private:
  void add_blocks(std::size_t cell);
  Plan plan_;
  CampaignOptions options_;
  std::vector<BlockAddress> blocks_;
};

// Blocks [0, count) that a shard computes: every shards-th from `shard` (counted from 1) on.
std::vector<std::int64_t> blocks_of_shard(std::int64_t count, int shard, int shards);

}  // namespace assay::campaign
