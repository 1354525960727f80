// Runs a function in a child process, so that a crash or a hang does not end the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace assay::inline v0_2 {

// Memory that a child process of run_in_child() shares with its parent. It is filled with 0 at
// first. Throws std::bad_alloc if there is no memory.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::byte* bytes() const { return bytes_; }

 private:
  std::byte* bytes_;
  std::size_t count_;
};

// The end of a child process.
struct ChildEnd {
  enum class How : std::uint8_t { kDone, kSignal, kExit, kTime };
  How how = How::kDone;
  int code = 0;  // the number of the signal, or the exit status
  std::string text(double seconds) const;
};

// Forks, and calls `function` in the child process, which then ends without the handlers that
// std::exit() would call. Only what `function` writes to SharedMemory remains. The child has only
// the calling thread of the program. Kills the child after `seconds`. Throws std::runtime_error if
// no process can be started.
ChildEnd run_in_child(const std::function<void()>& function, double seconds);

}  // namespace assay
