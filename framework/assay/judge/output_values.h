// Causes that the values of a failed output show without any trial: NaN and infinity, elements that
// were never written or repeat their neighbours, results that are cut off instead of rounded.
#pragma once

#include <string>

#include "assay/judge/failed_elements.h"

namespace assay::inline v0_2 {

// The words that name a cause. They are empty if no cause was found.
struct CauseText {
  std::string text;
  bool says_where = false;  // the text also tells where the mismatches lie
};

// NaN or infinity in place of finite values, or finite values in place of a golden result that the
// output's format rounds to NaN. A flipped bit that explains a NaN is not named here.
CauseText special_values(const FailedElements& failed);

// Mismatches that nearly all have one value, although the expected values differ: elements that
// were never written, that saturate, or that were cut to 0.
CauseText one_value(const FailedElements& failed);

// Mismatches that have the bits of the element one row above or below, one column to the left or
// right, or a tile of 8 to 128 rows or columns away.
CauseText repeats(const FailedElements& failed);

// An output that is the expected result rounded toward zero instead of to the nearest value.
CauseText cut_off(const FailedElements& failed);

// Mismatches that fill the last part of the output, in rows or in memory order. It is tried only if
// no other cause was found.
CauseText wrong_tail(const FailedElements& failed);

}  // namespace assay
