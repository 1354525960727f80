#include "assay/base/interruptible.h"

#include <utility>

namespace assay::inline v0_2 {
namespace {

constexpr std::chrono::milliseconds kBetween{100};

thread_local Interruptible* innermost = nullptr;

}  // namespace

Interruptible::Interruptible(std::function<void()> ask)
    : ask_(std::move(ask)),
      outer_(std::exchange(innermost, this)),
      next_(std::chrono::steady_clock::now() + kBetween) {}

Interruptible::~Interruptible() { innermost = outer_; }

void Interruptible::ask_whether_to_go_on() {
  if (innermost == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < innermost->next_) return;
  innermost->next_ = now + kBetween;
  innermost->ask_();
}

}  // namespace assay
