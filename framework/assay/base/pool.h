// A pool of objects that threads take and give back. Each thread has its own object, and no more
// objects are made than threads work at once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace assay::inline v0_2 {

template <typename T>
class Pool {
 public:
  // take() calls `make` if no object is idle. Only one thread calls it at a time.
  explicit Pool(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}

  struct GiveBack {
    Pool* pool = nullptr;
    void operator()(T* taken) const {
      const std::lock_guard lock(pool->mutex_);
      pool->idle_.emplace_back(taken);
    }
  };
  // Its destructor gives the object back to the pool, which must outlive it.
  using Taken = std::unique_ptr<T, GiveBack>;

  // Takes the object that came back last, or makes one. Throws what `make` throws.
  Taken take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      // Allocated now, so that giving the object back needs no memory and cannot throw.
      idle_.reserve(made_ + 1);
      Taken fresh(make_().release(), {this});
      ++made_;
      return fresh;
    }
    Taken taken(idle_.back().release(), {this});
    idle_.pop_back();
    return taken;
  }

  // Destroys all idle objects.
  void close() {
    const std::lock_guard lock(mutex_);
    idle_.clear();
  }

 private:
  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  // Objects that no thread uses, of which the last came back last.
  std::vector<std::unique_ptr<T>> idle_;
  std::size_t made_ = 0;
};

}  // namespace assay
