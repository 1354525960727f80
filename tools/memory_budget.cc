#include "memory_budget.h"

#include <unistd.h>

#include <utility>

namespace assay::inline v0_2::tools {

std::int64_t default_memory() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2;
}

MemoryBudget::Share::Share(Share&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}

MemoryBudget::Share::~Share() {
  if (budget_ == nullptr) return;
  const std::lock_guard lock(budget_->mutex_);
  budget_->taken_ -= bytes_;
  --budget_->shares_;
  budget_->given_back_.notify_all();
}

MemoryBudget::Share MemoryBudget::take(std::int64_t bytes) {
  std::unique_lock lock(mutex_);
  given_back_.wait(lock, [&] { return shares_ == 0 || taken_ + bytes <= bytes_; });
  taken_ += bytes;
  ++shares_;
  return {*this, bytes};
}

}  // namespace assay::tools
