#include "assay/base/parallel.h"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "assay/base/float_environment.h"
#include "assay/base/interruptible.h"

namespace assay::inline v0_2 {

int default_threads() {
  if (const char* text = std::getenv("ASSAY_THREADS")) {
    if (const int asked = std::atoi(text); asked > 0) return asked;
  }
  // The number of cores is read only once, because the C library reads files of the kernel to find
  // it.
  static const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return cores;
}

void parallel_for(std::int64_t parts, int threads, const std::function<void(std::int64_t)>& body) {
  if (threads <= 0) threads = default_threads();
  const std::int64_t workers = std::min<std::int64_t>(threads, parts);
  if (workers <= 1) {
    for (std::int64_t part = 0; part < parts; ++part) {
      Interruptible::ask_whether_to_go_on();
      body(part);
    }
    return;
  }
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::int64_t failed = parts;  // the part that threw the exception `failure`
  std::mutex failure_mutex;
  const auto work = [&] {
    const FloatEnvironment environment;
    for (std::int64_t part; (part = next.fetch_add(1)) < parts;) {
      try {
        Interruptible::ask_whether_to_go_on();  // asks the Interruptible of the caller's thread
        body(part);
      } catch (...) {
        // Parts begin in order, so all earlier parts have begun. If one of them fails too, its
        // exception replaces this one.
        const std::lock_guard lock(failure_mutex);
        if (part < failed) {
          failure = std::current_exception();
          failed = part;
        }
        next = parts;
      }
    }
  };
  // If a thread cannot be created (a limit on processes or memory), this costs speed but does not
  // change the result. The other threads take its parts, and this thread always exists.
  std::vector<std::thread> pool;
  try {
    pool.reserve(static_cast<std::size_t>(workers - 1));
    while (std::ssize(pool) < workers - 1) pool.emplace_back(work);
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  work();
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
}

void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t)>& body,
                     std::int64_t range) {
  parallel_for((count + range - 1) / range, threads, [&](std::int64_t part) {
    body(part * range, std::min(range, count - part * range));
  });
}

}  // namespace assay
