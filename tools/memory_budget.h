// What cases that are judged side by side may have in memory together.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace assay::tools {

// Half of the memory that the machine has, in bytes.
std::int64_t default_memory();

class MemoryBudget {
 public:
  explicit MemoryBudget(std::int64_t bytes) : bytes_(bytes) {}

  // A part of it, which is given back at the end.
  class Share {
   public:
    Share(Share&& other) noexcept;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();

   private:
    friend class MemoryBudget;
    Share(MemoryBudget& budget, std::int64_t bytes) : budget_(&budget), bytes_(bytes) {}
    MemoryBudget* budget_;
    std::int64_t bytes_;
  };
  // Waits until so much is left. Where nobody has a part there always is: what is larger than all
  // of it goes alone.
  Share take(std::int64_t bytes);

  std::int64_t bytes() const { return bytes_; }

 private:
  const std::int64_t bytes_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::int64_t taken_ = 0;  // of what follows
  int shares_ = 0;
};

}  // namespace assay::tools
