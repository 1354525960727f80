// Reduces a failing input to a smaller one that still fails in the same way: the simplest memory
// layout, default attributes, the smallest sizes, and few elements that are not 0.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "assay/trial/examine.h"

namespace assay::inline v0_2::trial {

// Returns true if the input fails with the finding that is being reduced.
using StillFails = std::function<bool(const Subject&)>;

// Makes the failing input again with other sizes of its recipe. It is used for operators whose
// inputs cannot be cut, because their scales or regions depend on all sizes.
struct Remake {
  std::vector<std::int64_t> sizes = {};  // of the failing input
  std::function<Subject(const std::vector<std::int64_t>& sizes)> make = {};
};

// The reduced input, and how it was found.
struct Shrunk {
  Subject subject;
  std::int64_t tries = 0;
  bool is_minimal = false;  // no single step reduces it further. False if the tries ran out
};

// The largest number of inputs that shrink() tries.
inline constexpr std::int64_t kShrinkTries = 2000;

// Reduces `failing`. `still_fails(failing)` must be true. Stops after `most` tries, or when
// `is_late()` returns true.
Shrunk shrink(const Subject& failing, const StillFails& still_fails, Remake remake = {},
              std::int64_t most = kShrinkTries, const std::function<bool()>& is_late = {});

}  // namespace assay::trial
