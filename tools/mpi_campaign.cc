// Rank 0 reads the plan, hands out blocks one at a time, and computes some itself. Only rank 0
// writes. The other ranks send their results as the text of a block's file, which carries the
// plan's fingerprint and a checksum of the text. So the results equal those of `assay campaign`.
// After an error, all ranks end within the time of one matrix.
#include "mpi_campaign.h"

#include <atomic>
#include <deque>
#include <filesystem>
#include <mutex>

#include "assay/base/parallel.h"
#include "assay/campaign/engine.h"

namespace assay::inline v0_2::tools {
namespace {

// Message tags. Rank 0 receives reports. The others receive blocks: kBlock plus the number of a
// thread is the block for that thread of the rank.
constexpr int kBlockReport = kFirstOfCommand, kBlock = kFirstOfCommand + 1;

// A thread's report to rank 0 that it has started or has computed a block. In a message, the
// block's results follow the report as text.
struct BlockReport {
  std::int64_t thread = 0;
  std::int64_t block = -1;  // -1 if the thread asks for its first block
  std::int64_t verdicts = 0;
};

int threads_of(const CampaignFlags& flags) {
  return flags.threads > 0 ? flags.threads : default_threads();
}

class CampaignRoot {
 public:
  CampaignRoot(Mpi& mpi, const CampaignFlags& flags) : mpi_(mpi), flags_(flags) {}

  BlockRunner runner() {
    return {.start = [this](const std::string& plan) { mpi_.send_to_others(kStart, plan); },
            .run = [this](const campaign::Campaign& campaign,
                          const std::vector<campaign::BlockAddress>& blocks, const BlockDone& done,
                          const CountWork& count) { run(campaign, blocks, done, count); },
            .after_matrix =
                [this] {
                  if (failed_) throw Stopped();
                }};
  }

 private:
  struct Asking {
    int rank;
    std::int64_t thread;
  };

  void run(const campaign::Campaign& campaign, const std::vector<campaign::BlockAddress>& blocks,
           const BlockDone& done, const CountWork& count) {
    std::mutex mutex;
    std::size_t next = 0, arrived = 0;
    const auto take = [&]() -> const campaign::BlockAddress* {
      const std::lock_guard lock(mutex);
      return failed_ || next == blocks.size() ? nullptr : &blocks[next++];
    };
    const auto arrive = [&](const campaign::BlockAddress& block,
                            const campaign::BlockTally& tally) {
      const std::lock_guard lock(mutex);
      done(block, tally);
      ++arrived;
    };
    const auto all_arrived = [&] {
      const std::lock_guard lock(mutex);
      return arrived == blocks.size();
    };
    const auto hand_out = [&] {
      while (!asking_.empty()) {
        const campaign::BlockAddress* block = take();
        if (block == nullptr) return;
        const Asking to = asking_.front();
        asking_.pop_front();
        mpi_.send(to.rank, kBlock + static_cast<int>(to.thread), bytes_of(block->index));
      }
    };
    const auto receive = [&](const Message& message) {
      if (message.tag == kFailure) throw std::runtime_error(message.bytes);
      const auto report = value_of<BlockReport>(message.bytes);
      const std::string text = message.bytes.substr(sizeof report);
      if (report.block >= 0) {
        const campaign::BlockAddress& block =
            campaign.blocks().at(static_cast<std::size_t>(report.block));
        arrive(block, campaign::parse_block(text, block, campaign.plan().fingerprint));
        count(block.last - block.first, report.verdicts);
      }
      asking_.push_back({message.source, report.thread});
    };
    // One part of this loop serves the other ranks. The other parts are this rank's own threads.
    const int parts = threads_of(flags_) + 1;
    parallel_for(parts, parts, [&](std::int64_t part) {
      try {
        if (part > 0) {
          while (const campaign::BlockAddress* block = take()) arrive(*block, campaign.run(*block));
          return;
        }
        while (!failed_ && !all_arrived()) {
          hand_out();
          if (const auto message = mpi_.look()) {
            receive(*message);
          } else {
            nap();
          }
        }
      } catch (const Stopped&) {
        // Another part has failed. Its error is reported, so this part ends without one.
      } catch (...) {
        failed_ = true;
        throw;
      }
    });
  }

  Mpi& mpi_;
  const CampaignFlags& flags_;
  // The threads of other ranks that wait for a block. They may wait from one call of run() to the
  // next.
  std::deque<Asking> asking_;
  std::atomic<bool> failed_ = false;
};

class CampaignWorker {
 public:
  explicit CampaignWorker(OtherRank& rank) : rank_(rank), mpi_(rank.mpi()) {}

  void work(const CampaignFlags& flags) {
    const std::optional<std::string> text = rank_.start();
    if (!text) return;
    const campaign::Plan plan = campaign::check_plan(wire::parse_plan(
        *text, flags.plan, std::filesystem::path(flags.plan).parent_path().string(), list_dataset));
    const campaign::Campaign campaign(plan, {.threads = flags.threads,
                                             .exact = flags.exact,
                                             .load = load_dataset_case,
                                             .progress = [this](std::int64_t verdicts) {
                                               verdicts_of_block() += verdicts;
                                               if (rank_.stopped()) throw Stopped();
                                             }});
    const int threads = threads_of(flags);
    parallel_for(threads, threads, [&](std::int64_t thread) {
      try {
        compute(campaign, thread);
      } catch (const Stopped&) {
      } catch (const std::exception& e) {
        // Sends the error at once, because the other threads end only when rank 0 says so.
        rank_.fail(e.what());
      }
    });
  }

 private:
  void compute(const campaign::Campaign& campaign, std::int64_t thread) {
    BlockReport report = {.thread = thread};
    std::string text;
    for (;;) {
      mpi_.send(0, kBlockReport, bytes_of(report) + text);
      std::optional<Message> answer;
      while (!(answer = mpi_.look(0, kBlock + static_cast<int>(thread)))) {
        if (rank_.stopped()) return;
        nap();
      }
      report.block = value_of<std::int64_t>(answer->bytes);
      const campaign::BlockAddress& block =
          campaign.blocks().at(static_cast<std::size_t>(report.block));
      verdicts_of_block() = 0;
      text = campaign::block_text(block, campaign.plan().fingerprint, campaign.run(block));
      report.verdicts = verdicts_of_block();
    }
  }

  // Returns the number of verdicts of the block that the calling thread computes. Each thread has a
  // number of its own, because one thread computes all of a block.
  static std::int64_t& verdicts_of_block() {
    thread_local std::int64_t verdicts = 0;
    return verdicts;
  }

  OtherRank& rank_;
  Mpi& mpi_;
};

}  // namespace

int run_campaign_on_ranks(Mpi& mpi, const CampaignFlags& flags, const Context& context) {
  CampaignRoot root(mpi, flags);
  return run_campaign(flags, context, {}, root.runner());
}

void work_on_campaign(OtherRank& rank, const CampaignFlags& flags) {
  CampaignWorker(rank).work(flags);
}

}  // namespace assay::tools
