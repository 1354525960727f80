// Each rank tries its share of the draws, as a shard of `assay trial` does, and sends its report to
// rank 0 as JSON. Rank 0 joins the reports as --merge does. Only rank 0 writes and prints.
//
// Without --keep-going, a trial ends at its first failure. A rank that finds one tells rank 0,
// which tells the others. Each of them still tries its draws before the first failing one, so that
// all ranks together find the failure that one process finds.
#include "mpi_trial.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>

#include "assay/base/parallel.h"
#include "assay/wire/trial_results.h"
#include "interrupt_flag.h"

namespace assay::inline v0_2::tools {
namespace {

// Message tags. Rank 0 receives the progress of a rank, its report so far and its last report. The
// others receive the number of a draw from which on no draw is needed, and the request to end with
// what they have found.
constexpr int kProgress = kFirstOfCommand, kPart = kFirstOfCommand + 1, kDone = kFirstOfCommand + 2,
              kEnd = kFirstOfCommand + 3, kInterrupt = kFirstOfCommand + 4;

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

// mpirun passes Ctrl-C on as SIGTERM.
const std::vector<int> kInterrupts = {SIGINT, SIGTERM};

// Returns true once in each interval.
class Timer {
 public:
  explicit Timer(double seconds) : seconds_(seconds) {}
  bool is_due() {
    const auto now = Clock::now();
    if (std::chrono::duration<double>(now - last_).count() < seconds_) return false;
    last_ = now;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_;
  Clock::time_point last_ = Clock::now();
};

std::string text_of(const TrialReport& report) { return wire::trial_json(report, {}); }

// The seconds between two reports of a rank, and between two files of --out.
constexpr double kSecondsOfPart = 5;

// -- Rank 0 -------------------------------------------------------------------------------------

class TrialRoot {
 public:
  TrialRoot(Mpi& mpi, const PreparedTrial& prepared)
      : mpi_(mpi),
        prepared_(prepared),
        options_(prepared.options),
        parts_(static_cast<std::size_t>(mpi.size())),
        progress_(static_cast<std::size_t>(mpi.size())) {}

  TrialReport run() {
    std::vector<TrialReport> earlier;
    if (options_.earlier != nullptr) earlier = parts_of(*options_.earlier, mpi_.size());
    for (int rank = 1; rank < mpi_.size(); ++rank) {
      mpi_.send(rank, kStart,
                earlier.empty() ? "" : text_of(earlier[static_cast<std::size_t>(rank)]));
    }
    // One part of this loop tries this rank's share. The other part serves the other ranks.
    parallel_for(2, 2, [&](std::int64_t part) {
      try {
        part == 0 ? try_share(earlier) : serve();
      } catch (const Stopped&) {
        // The other part has failed. Its error is reported, so this part ends without one.
      } catch (...) {
        failed_ = true;
        throw;
      }
    });
    return joined();
  }

 private:
  void try_share(const std::vector<TrialReport>& earlier) {
    TrialOptions options = options_;
    options.shards = mpi_.size();
    if (!earlier.empty()) options.earlier = &earlier.front();
    options.end = [this] { return end_.load(); };
    options.progress = [this](const TrialProgress& progress) {
      if (failed_) throw Stopped();
      const std::lock_guard lock(mutex_);
      progress_.front() = progress;
      return !interrupted_;
    };
    if (options.save) {
      options.save = [this, timer = Timer(kSecondsOfPart)](const TrialReport& report) mutable {
        if (timer.is_due()) take(0, report);
      };
    }
    take(0, run_trial(prepared_.op.name, prepared_.kernel, options));
    const std::lock_guard lock(mutex_);
    ++done_;
  }

  void serve() {
    Timer shown(0.05), saved(kSecondsOfPart);
    while (!failed_ && !all_are_done()) {
      while (const std::optional<Message> message = mpi_.look()) receive(*message);
      if (shown.is_due()) show();
      if (options_.save && all_have_parts() && saved.is_due()) options_.save(joined());
      nap();
    }
  }

  void receive(const Message& message) {
    if (message.tag == kFailure) throw std::runtime_error(message.bytes);
    const auto rank = static_cast<std::size_t>(message.source);
    if (message.tag == kProgress) {
      const std::lock_guard lock(mutex_);
      progress_[rank] = value_of<TrialProgress>(message.bytes);
      return;
    }
    TrialReport part = wire::parse_trial_results(message.bytes, "a message");
    if (message.tag == kPart) {
      take(rank, std::move(part));
      return;
    }
    if (part.was_interrupted) interrupt();
    judge_read_failures(part, options_.request);
    take(rank, std::move(part));
    const std::lock_guard lock(mutex_);
    ++done_;
  }

  // Shows the progress of all ranks, and tells them if they may end.
  void show() {
    TrialProgress all;
    {
      const std::lock_guard lock(mutex_);
      for (const TrialProgress& one : progress_) {
        all.draws += one.draws;
        all.failures += one.failures;
        all.is_shrinking = all.is_shrinking || one.is_shrinking;
        if (one.first_failing >= 0 && !options_.keep_going) {
          end_ = std::min(end_.load(), one.first_failing);
        }
      }
    }
    if (end_ < told_end_) {
      told_end_ = end_;
      mpi_.send_to_others(kEnd, bytes_of(told_end_));
    }
    if (!options_.progress(all)) interrupt();
  }

  // Ends all ranks with what they have found.
  void interrupt() {
    if (interrupted_.exchange(true)) return;
    mpi_.send_to_others(kInterrupt, "");
  }

  void take(std::size_t rank, TrialReport part) {
    const std::lock_guard lock(mutex_);
    parts_[rank] = std::move(part);
  }
  bool all_are_done() {
    const std::lock_guard lock(mutex_);
    return done_ == mpi_.size();
  }
  bool all_have_parts() {
    const std::lock_guard lock(mutex_);
    return std::ranges::all_of(parts_, [](const auto& part) { return part.has_value(); });
  }

  TrialReport joined() {
    const std::lock_guard lock(mutex_);
    std::vector<TrialReport> parts;
    double seconds = 0;
    for (const std::optional<TrialReport>& part : parts_) {
      parts.push_back(part.value());
      seconds = std::max(seconds, part->seconds);
    }
    TrialReport report = merged(parts);
    report.seconds = seconds;  // The ranks work at the same time.
    return report;
  }

  Mpi& mpi_;
  const PreparedTrial& prepared_;
  const TrialOptions& options_;
  std::atomic<bool> failed_ = false, interrupted_ = false;
  std::atomic<std::int64_t> end_ = kNoEnd;
  std::int64_t told_end_ = kNoEnd;
  std::mutex mutex_;  // guards the members below
  std::vector<std::optional<TrialReport>> parts_;
  std::vector<TrialProgress> progress_;
  int done_ = 0;
};

}  // namespace

int run_trial_on_ranks(Mpi& mpi, const TrialCommandOptions& o, const Context& context) {
  const InterruptFlag interrupt(kInterrupts);
  return run_trial_command(o, context, {}, [&](const PreparedTrial& prepared) {
    // One input is not divided.
    if (o.only || !o.on.empty() || mpi.size() == 1) {
      return run_trial(prepared.op.name, prepared.kernel, prepared.options);
    }
    return TrialRoot(mpi, prepared).run();
  });
}

// -- The other ranks ----------------------------------------------------------------------------

void work_on_trial(OtherRank& rank, const TrialCommandOptions& o, const Context& context) {
  const InterruptFlag interrupt(kInterrupts);
  const std::optional<std::string> text = rank.start();
  if (!text) return;
  Mpi& mpi = rank.mpi();
  PreparedTrial prepared = prepared_trial(o, context);
  TrialOptions& options = prepared.options;
  options.shard = mpi.rank();
  options.shards = mpi.size();
  TrialReport earlier;
  if (!text->empty()) {
    earlier = wire::parse_trial_results(*text, "a message");
    options.earlier = &earlier;
  }
  std::int64_t end = kNoEnd, first_failing = -1;
  bool is_interrupted = false;
  options.end = [&] { return end; };
  options.progress = [&, timer = Timer(0.2)](const TrialProgress& progress) mutable {
    if (rank.stopped()) throw Stopped();
    while (const std::optional<Message> message = mpi.look(0, kEnd)) {
      end = value_of<std::int64_t>(message->bytes);
    }
    is_interrupted = is_interrupted || mpi.look(0, kInterrupt) || InterruptFlag::is_set();
    if (timer.is_due() || progress.first_failing != first_failing) {
      first_failing = progress.first_failing;
      mpi.send(0, kProgress, bytes_of(progress));
    }
    return !is_interrupted;
  };
  if (!o.out.empty()) {
    options.save = [&, timer = Timer(kSecondsOfPart)](const TrialReport& report) mutable {
      if (timer.is_due()) mpi.send(0, kPart, text_of(report));
    };
  }
  try {
    mpi.send(0, kDone, text_of(run_trial(prepared.op.name, prepared.kernel, options)));
  } catch (const Stopped&) {
    // Rank 0 needs no report.
  }
}

}  // namespace assay::tools
