// Options of a check by checksums.
#pragma once

#include <functional>

#include "assay/abft/threshold.h"
#include "assay/machine/machine.h"

namespace assay::inline v0_2::abft {

// The threshold that a check uses, the machine's way of summing, and the limits on the check's
// work.
struct AbftOptions {
  ThresholdSpec spec = parse_threshold(kDefaultThreshold);
  // The way in which the machine sums. Null means float32 in any order.
  const DotModel* model = nullptr;
  // For a check by a golden result without operands: returns the largest error that an element may
  // have. It includes the accumulation, because the order of the accumulation is not known. If
  // empty, the largest error is 2^-16 of the root mean square of the elements that a check sums.
  std::function<double(double expected)> golden_tolerance = {};
  // Budget of confirmation, in multiply-adds. After it, if a fault was found, the remaining checks
  // above their threshold count as faults. AbftVerdict::all_looked_at is then false.
  double closer_look = 4e9;
  int threads = 0;
};

}  // namespace assay::abft

namespace assay::inline v0_2 {
using abft::AbftOptions;
}  // namespace assay
