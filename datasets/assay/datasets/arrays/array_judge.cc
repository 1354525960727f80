#include "assay/datasets/arrays/array_judge.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "assay/base/parallel.h"
#include "assay/base/pool.h"
#include "assay/judge/parts.h"

namespace assay::inline v0_2 {
namespace {

// A piece of both arrays.
struct PieceOfBoth {
  Tensor actual, expected;
  std::int64_t count = 0;  // the elements of each that are in use
};

// Reads both arrays once, in pieces. One thread reads, and no other thread touches the sources.
void read_pieces(ArraySource& actual, ArraySource& expected, std::int64_t piece,
                 const PiecewiseJudge::TakePiece& take) {
  const std::int64_t size = element_count(actual.shape());
  const std::int64_t held = std::min(piece, size);
  PieceOfBoth buffers[2];
  for (PieceOfBoth& buffer : buffers) {
    buffer.actual = Tensor(actual.format(), {held});
    buffer.expected = Tensor(expected.format(), {held});
  }
  const auto start = [&](PieceOfBoth& buffer, std::int64_t begin) {
    buffer.count = std::min(piece, size - begin);
    // If no thread can be started, the pieces are read when someone waits for them.
    return std::async(std::launch::async | std::launch::deferred,
                      [&actual, &expected, &buffer, begin] {
                        actual.read(begin, buffer.count, buffer.actual.bytes());
                        expected.read(begin, buffer.count, buffer.expected.bytes());
                      });
  };
  // This is declared after the buffers, so that its destructor waits for the read before the
  // buffers are destroyed.
  std::future<void> reading;
  if (size > 0) reading = start(buffers[0], 0);
  for (std::int64_t begin = 0, i = 0; begin < size; begin += piece, ++i) {
    PieceOfBoth& read = buffers[i % 2];
    reading.get();
    if (begin + piece < size) reading = start(buffers[(i + 1) % 2], begin + piece);
    take(read.actual.view().slice(0, read.count), read.expected.view().slice(0, read.count));
  }
}

using Judges = std::vector<std::unique_ptr<PiecewiseJudge>>;  // null: judges nothing

// Each thread reads a part and judges it while its caches hold it.
class JudgeByThreads {
 public:
  JudgeByThreads(ArraySource& actual, ArraySource& expected, const Judges& judges, int threads)
      : actual_(actual),
        expected_(expected),
        judges_(judges),
        threads_(threads > 0 ? threads : default_threads()),
        most_judged_(2 * static_cast<std::size_t>(threads_)),
        checks_(actual.checks_parts() || expected.checks_parts()) {}

  void run() {
    for_parts(
        element_count(actual_.shape()), threads_,
        [&](std::int64_t begin, std::int64_t end) { return judge(begin, end - begin); },
        [&](Parts& parts) {
          auto part = parts.begin();
          for (const auto& judging : judges_) {
            if (judging != nullptr) judging->add(std::move(*part++));
          }
        });
  }

 private:
  using Parts = std::vector<PiecewiseJudge::Part>;

  Parts judge(std::int64_t begin, std::int64_t count) {
    auto buffer = buffers_.take();
    buffer->count = count;
    actual_.read_part(begin, count, buffer->actual.bytes());
    expected_.read_part(begin, count, buffer->expected.bytes());
    Parts parts;
    for (const auto& judging : judges_) {
      if (judging == nullptr) continue;
      parts.push_back(judging->judge_part(buffer->actual.view().slice(0, count),
                                          buffer->expected.view().slice(0, count), begin));
    }
    if (checks_) check(begin, std::move(buffer));
    return parts;
  }

  // The sources check parts in order. The thread that has judged the next part passes it to them,
  // and then the following parts that were judged before their turn.
  void check(std::int64_t begin, Pool<PieceOfBoth>::Taken buffer) {
    std::unique_lock lock(mutex_);
    judged_.emplace(begin, std::move(buffer));
    if (is_checking_) {
      // A reader that is ahead of the checking thread waits for it, to save memory. It does not
      // wait forever, because the checking thread may have failed.
      room_.wait_for(lock, std::chrono::milliseconds(100),
                     [&] { return judged_.size() <= most_judged_; });
      return;
    }
    // Stays true if the checks below throw, so that no other thread continues them.
    is_checking_ = true;
    while (!judged_.empty() && judged_.begin()->first == checked_) {
      const auto next = judged_.extract(judged_.begin());
      lock.unlock();
      const PieceOfBoth& read = *next.mapped();
      actual_.check_part(next.key(), read.count, read.actual.bytes());
      expected_.check_part(next.key(), read.count, read.expected.bytes());
      lock.lock();
      checked_ += read.count;
      room_.notify_all();
    }
    is_checking_ = false;
  }

  ArraySource &actual_, &expected_;
  const Judges& judges_;
  const int threads_;
  const std::size_t most_judged_;  // the number of judged parts that may wait to be checked
  const bool checks_;
  Pool<PieceOfBoth> buffers_{[this] {
    return std::unique_ptr<PieceOfBoth>(
        new PieceOfBoth{Tensor(actual_.format(), {PiecewiseJudge::kUnit}),
                        Tensor(expected_.format(), {PiecewiseJudge::kUnit})});
  }};
  std::mutex mutex_;
  std::condition_variable room_;
  // The judged parts that are not yet checked. The key is the position of a part's first element.
  std::map<std::int64_t, Pool<PieceOfBoth>::Taken> judged_;
  std::int64_t checked_ = 0;  // elements
  bool is_checking_ = false;
};

}  // namespace

bool judges_in_pieces(const std::vector<ElementCheck>& checks) {
  return std::ranges::all_of(checks, [](const ElementCheck& check) {
    return !check.bound || !check.why_not.empty() || PiecewiseJudge::can_judge(*check.bound);
  });
}

std::int64_t piece_for(int threads) {
  const int parts = threads > 0 ? threads : default_threads();
  return std::clamp(4 * parts, 8, 64) * PiecewiseJudge::kUnit;
}

std::vector<Verdict> judge_arrays(ArraySource& actual, ArraySource& expected,
                                  const std::vector<ElementCheck>& checks,
                                  const JudgeOptions& options, std::int64_t piece) {
  const TensorView whole_actual = view_bytes(nullptr, actual.format(), actual.shape());
  const TensorView whole_expected = view_bytes(nullptr, expected.format(), expected.shape());
  const bool comparable = why_not_comparable(whole_actual, whole_expected).empty();
  Judges judges;
  for (const ElementCheck& check : checks) {
    const bool judged = comparable && check.bound && check.why_not.empty();
    judges.push_back(judged ? std::make_unique<PiecewiseJudge>(actual.format(), actual.shape(),
                                                               *check.bound, options)
                            : nullptr);
  }
  const PiecewiseJudge::Pass pass = [&](const PiecewiseJudge::TakePiece& take) {
    read_pieces(actual, expected, piece, take);
  };
  const bool any =
      std::ranges::any_of(judges, [](const auto& judging) { return judging != nullptr; });
  if (any && actual.serves_threads() && expected.serves_threads()) {
    JudgeByThreads(actual, expected, judges, options.threads).run();
  } else if (any) {
    pass([&](const TensorView& a, const TensorView& e) {
      for (const auto& judging : judges) {
        if (judging != nullptr) judging->add(a, e);
      }
    });
  }
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (judges[i] == nullptr) {
      // The check says why nothing can be judged, without reading the data.
      verdicts.push_back(checks[i].judge(whole_actual, whole_expected, options));
      continue;
    }
    Verdict verdict = judges[i]->result(pass);
    verdict.notes.insert(verdict.notes.end(), checks[i].notes.begin(), checks[i].notes.end());
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace assay
