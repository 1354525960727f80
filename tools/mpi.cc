// assay-mpi: runs a campaign on all ranks of an MPI job.
//
// Rank 0 reads the plan, hands out blocks one at a time, and computes some itself. Only rank 0
// writes. The other ranks send their results as the text of a block's file, which carries the
// plan's fingerprint and a checksum of the text. So the results equal those of `assay campaign`.
//
// No rank waits inside MPI, for two reasons: OpenMPI keeps a whole core busy while it waits, and an
// error must reach every waiting rank. Each rank looks for a message, and sleeps briefly if no
// message is there. An error on any rank is sent to rank 0, which reports it and stops all others
// within the time of one matrix.
#define OMPI_SKIP_MPICXX 1  // mpi.h then declares only MPI's C interface
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/campaign/engine.h"
#include "campaign.h"
#include "help.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

// Message tags. Rank 0 receives reports, and the last message of each rank. The others receive the
// plan's text, the end, and blocks: kBlock plus the number of a thread is the block for that thread
// of the rank.
enum Tag : int { kReport = 1, kLeaving, kPlan, kStop, kBlock };

// A thread's report to rank 0 that it has started, has computed a block, or has failed. In a
// message, text follows the report: the block's results or the error.
struct Report {
  std::int64_t thread = 0;
  std::int64_t block = -1;  // -1 if the thread asks for its first block
  std::int64_t verdicts = 0;
  std::int64_t failed = 0;  // 1 if the thread has ended with an error, which the text describes
};

struct Message {
  int source = 0, tag = 0;
  std::string bytes;
};

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }

// The MPI library, called by one thread at a time.
class Mpi {
 public:
  Mpi(int* argc, char*** argv) {
    int provided = 0;
    MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    if (provided < MPI_THREAD_SERIALIZED) {
      if (rank_ == 0) print_error("error: this MPI library does not support threads");
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  ~Mpi() { MPI_Finalize(); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::string name() const {
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(host, &length);
    return formatted("rank {} ({})", rank_, std::string(host, static_cast<std::size_t>(length)));
  }

  // Sends a message. Returns when the library no longer needs the bytes.
  void send(int to, int tag, const std::string& bytes) {
    MPI_Request request;
    {
      const std::lock_guard lock(mutex_);
      MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD,
                &request);
    }
    for (;; nap()) {
      const std::lock_guard lock(mutex_);
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done) return;
    }
  }
  // Returns a message that has arrived, or nothing.
  std::optional<Message> look(int from, int tag) {
    const std::lock_guard lock(mutex_);
    int there = 0, size = 0;
    MPI_Status status;
    MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, &status);
    if (!there) return std::nullopt;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Message message = {status.MPI_SOURCE, status.MPI_TAG,
                       std::string(static_cast<std::size_t>(size), '\0')};
    MPI_Recv(message.bytes.data(), size, MPI_BYTE, message.source, message.tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return message;
  }

 private:
  int rank_ = 0, size_ = 1;
  std::mutex mutex_;
};

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T>
T value_of(const std::string& bytes) {
  if (bytes.size() < sizeof(T))
    throw std::runtime_error("a message of an unknown program was received");
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

int threads_of(const CampaignFlags& flags) {
  return flags.threads > 0 ? flags.threads : default_threads();
}

// Thrown through the engine to end a block that is no longer needed.
struct Stopped {};

// -- Rank 0 -------------------------------------------------------------------------------------

class Root {
 public:
  Root(Mpi& mpi, const CampaignFlags& flags) : mpi_(mpi), flags_(flags) {}

  BlockRunner runner() {
    return {.start =
                [this](const std::string& plan) {
                  for (int rank = 1; rank < mpi_.size(); ++rank) mpi_.send(rank, kPlan, plan);
                },
            .run = [this](const campaign::Campaign& campaign,
                          const std::vector<campaign::BlockAddress>& blocks, const BlockDone& done,
                          const CountWork& count) { run(campaign, blocks, done, count); },
            .after_matrix =
                [this] {
                  if (failed_) throw Stopped();
                }};
  }

  // Ends all other ranks, after success as well as after an error. Receives the messages that they
  // still send, because a rank cannot end before that.
  void stop() {
    for (int rank = 1; rank < mpi_.size(); ++rank) mpi_.send(rank, kStop, "");
    for (int left = mpi_.size() - 1; left > 0;) {
      const std::optional<Message> message = mpi_.look(MPI_ANY_SOURCE, MPI_ANY_TAG);
      if (!message) nap();
      if (message && message->tag == kLeaving) --left;
    }
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
      const auto report = value_of<Report>(message.bytes);
      const std::string text = message.bytes.substr(sizeof report);
      if (report.failed != 0) throw std::runtime_error(text);
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
          if (const auto message = mpi_.look(MPI_ANY_SOURCE, kReport)) {
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

// -- The other ranks ----------------------------------------------------------------------------

class Worker {
 public:
  explicit Worker(Mpi& mpi) : mpi_(mpi) {}

  void work(const CampaignFlags& flags) {
    std::optional<Message> text;
    while (!(text = mpi_.look(0, kPlan))) {
      if (stopped()) return;
      nap();
    }
    const campaign::Plan plan = campaign::check_plan(
        wire::parse_plan(text->bytes, flags.plan,
                         std::filesystem::path(flags.plan).parent_path().string(), list_dataset));
    const campaign::Campaign campaign(plan, {.threads = flags.threads,
                                             .exact = flags.exact,
                                             .load = load_dataset_case,
                                             .progress = [this](std::int64_t verdicts) {
                                               verdicts_of_block() += verdicts;
                                               if (stopped()) throw Stopped();
                                             }});
    const int threads = threads_of(flags);
    parallel_for(threads, threads, [&](std::int64_t thread) {
      try {
        compute(campaign, thread);
      } catch (const Stopped&) {
      } catch (const std::exception& e) {
        // Sends the error at once, because the other threads end only when rank 0 says so.
        fail(e.what());
      }
    });
  }

  void fail(const std::string& why) {
    mpi_.send(0, kReport, bytes_of(Report{.failed = 1}) + mpi_.name() + ": " + why);
  }

  // Waits until rank 0 ends this rank. The plan may still arrive, and is received, because rank 0
  // cannot finish sending it otherwise.
  void leave() {
    while (!stopped()) {
      if (!mpi_.look(0, kPlan)) nap();
    }
    mpi_.send(0, kLeaving, "");
  }

 private:
  void compute(const campaign::Campaign& campaign, std::int64_t thread) {
    Report report = {.thread = thread};
    std::string text;
    for (;;) {
      mpi_.send(0, kReport, bytes_of(report) + text);
      std::optional<Message> answer;
      while (!(answer = mpi_.look(0, kBlock + static_cast<int>(thread)))) {
        if (stopped()) return;
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

  bool stopped() {
    if (!stopped_ && mpi_.look(0, kStop)) stopped_ = true;
    return stopped_;
  }

  // Returns the number of verdicts of the block that the calling thread computes. Each thread has a
  // number of its own, because one thread computes all of a block.
  static std::int64_t& verdicts_of_block() {
    thread_local std::int64_t verdicts = 0;
    return verdicts;
  }

  Mpi& mpi_;
  std::atomic<bool> stopped_ = false;
};

int run_root(Mpi& mpi, CLI::App& app, Context& context, CampaignFlags& flags,
             const std::vector<std::string>& arguments) {
  Root root(mpi, flags);
  on_run(context, app.get_subcommand("campaign"),
         [&] { return run_campaign(flags, context, {}, root.runner()); });
  const int code = run_command_line(context, arguments);
  root.stop();
  return code;
}

// Runs a rank other than rank 0. It prints nothing, so that the user sees one error and not one for
// each rank.
void run_worker(Mpi& mpi, CLI::App& app, CampaignFlags& flags, int argc, char** argv) {
  Worker worker(mpi);
  app.get_subcommand("campaign")->callback([&] { worker.work(flags); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream nowhere;
    if (app.exit(e, nowhere, nowhere) != 0) worker.fail(e.what());
  } catch (const std::exception& e) {
    worker.fail(e.what());
  }
  worker.leave();
}

}  // namespace
}  // namespace assay::tools

int main(int argc, char** argv) {
  using namespace assay;
  tools::begin_program(argc, argv);
  tools::Mpi mpi(&argc, &argv);
  CLI::App app{
      "assay-mpi: run a campaign on all ranks of an MPI job. The results equal those of assay."};
  app.footer("Exit codes: 0 done, 2 wrong usage, unreadable file or an error on any rank.");
  app.set_version_flag(
      "--version", [] { return formatted("assay {}", tools::version()); }, "Show the version.");
  app.name("assay-mpi");
  app.require_subcommand(1);
  tools::Context context{app};
  tools::CampaignFlags flags;
  flags.threads = 1;  // The default is one thread, because mpirun starts a rank on each core.
  tools::begin_help(app);
  CLI::App* command = campaign_command(
      context, "mpirun -n 8 assay-mpi campaign plans/quick.json --out results", flags);
  command->add_option("--threads", flags.threads,
                      "Number of threads of each rank (default: 1). 0 means all cores. The result "
                      "does not depend on it.");
  command->add_flag("-q,--quiet", context.quiet,
                    "Print only a summary line. -qq prints only errors.");
  if (mpi.rank() == 0) {
    return run_root(mpi, app, context, flags, std::vector<std::string>(argv + 1, argv + argc));
  }
  run_worker(mpi, app, flags, argc, argv);
  return 0;
}
