// Changes of a failed output that may explain its mismatches: moved elements, factors, bits of
// another dtype, flipped bits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "assay/judge/failed_elements.h"

namespace assay::inline v0_2 {

// A change of the output. A cause explains a failure if the output passes after the change that
// undoes this cause.
struct OutputChange {
  std::string says;  // the changed output in words, such as "the transpose of the output"
  // Returns the bits of the changed output at a position. They are bits of a value of `format`.
  std::function<std::uint64_t(std::int64_t)> bits;
  const Format* format;
  // Returns the position that an element came from. Empty if the change moves no elements.
  std::function<std::int64_t(std::int64_t)> source = {};
  bool is_flip = false;     // flips a bit back
  bool is_factor = false;   // multiplies all elements by one factor
  bool rescales = false;    // multiplies, which rounds each element once more
  bool is_fitted = false;   // the factor is fitted to the mismatches and is not a power of two
  bool is_reading = false;  // reads the bits as a value of another dtype
  bool alters_all = true;   // if false, the change is made only at the mismatches
  std::string adds = {};    // ends the text of the finding: ": it is 1 in every element"
};

// Returns the changes that are worth trying on this failure. They refer to `failed`, which must
// outlive them.
std::vector<OutputChange> possible_changes(const FailedElements& failed);

}  // namespace assay
