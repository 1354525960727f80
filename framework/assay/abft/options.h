// What a check by checksums asks for.
#pragma once

#include <functional>

#include "assay/abft/threshold.h"
#include "assay/machine/machine.h"

namespace assay::abft {

struct AbftOptions {
  ThresholdSpec spec = parse_threshold(kDefaultThreshold);
  const DotModel* model = nullptr;  // how the product was accumulated; null: float32, any order
  // Of a golden result without operands: how far an element may be from its expected value, by its
  // own bound, for nothing says how it was accumulated. Empty: 2^-16 of the root mean square of
  // what a check sums.
  std::function<double(double expected)> golden_tolerance = {};
  // Multiply-adds of a closer look at checks above their threshold, after which, with a fault
  // found, the rest of them is believed; AbftVerdict::all_looked_at says so.
  double closer_look = 4e9;
  int threads = 0;
};

}  // namespace assay::abft

namespace assay {
using abft::AbftOptions;
}  // namespace assay
