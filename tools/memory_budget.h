// Limits the memory of cases that are judged at the same time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace assay::inline v0_2::tools {

// Returns half of the machine's memory, in bytes.
std::int64_t default_memory();

class MemoryBudget {
 public:
  explicit MemoryBudget(std::int64_t bytes) : bytes_(bytes) {}

  // A part of the budget, which is returned when this object is destroyed.
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
  // Waits until so much is left that the request fits. If no other share exists, a request always
  // succeeds, so that one that exceeds the budget runs without others.
  Share take(std::int64_t bytes);

  std::int64_t bytes() const { return bytes_; }

 private:
  const std::int64_t bytes_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::int64_t taken_ = 0;  // the bytes of all shares that exist
  int shares_ = 0;
};

}  // namespace assay::tools
