// Runs work over a tensor in parts, on all threads, and combines the results in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/judge/metrics_pass.h"
#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

// Calls run(begin, end) for every part of MetricsPass::kPart elements, and take() for each result
// in the order of the parts. Only some parts are in work at a time, so memory does not grow with
// the tensor. `threads` is 0 for default_threads().
template <typename Run, typename Take>
void for_parts(std::int64_t size, int threads, const Run& run, const Take& take) {
  constexpr std::int64_t kPart = MetricsPass::kPart;
  const std::int64_t parts = (size + kPart - 1) / kPart;
  const std::int64_t at_once =
      std::max<std::int64_t>(64, 8 * std::int64_t{threads > 0 ? threads : default_threads()});
  for (std::int64_t begin = 0; begin < parts; begin += at_once) {
    const std::int64_t count = std::min(at_once, parts - begin);
    std::vector<decltype(run(begin, begin))> results(static_cast<std::size_t>(count));
    parallel_for(count, threads, [&](std::int64_t p) {
      const std::int64_t first = (begin + p) * kPart;
      results[static_cast<std::size_t>(p)] = run(first, std::min(size, first + kPart));
    });
    for (auto& result : results) take(result);
  }
}

// Returns the elements of a view in place if they are contiguous, aligned float32 numbers, and
// nullptr if not.
inline const float* floats_in_place(const TensorView& v) {
  const bool are = v.format->name == "float32" && v.is_contiguous() &&
                   reinterpret_cast<std::uintptr_t>(v.data) % alignof(float) == 0;
  return are ? reinterpret_cast<const float*>(v.data) : nullptr;
}
// Returns the elements of a view in place if they are contiguous, aligned float64 numbers, and
// nullptr if not.
inline const double* doubles_in_place(const TensorView& v) {
  const bool are = v.format->is_float64() && v.is_contiguous() &&
                   reinterpret_cast<std::uintptr_t>(v.data) % alignof(double) == 0;
  return are ? reinterpret_cast<const double*>(v.data) : nullptr;
}
// Returns float64 numbers of a view from `first` on: in place, or copied to `room`.
inline const double* doubles_of(const TensorView& v, std::int64_t first, std::int64_t count,
                                double* room) {
  if (const double* const in_place = doubles_in_place(v)) return in_place + first;
  v.read(first, count, room);
  return room;
}

}  // namespace assay
