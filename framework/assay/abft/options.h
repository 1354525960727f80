// What a check by checksums asks for.
#pragma once

#include "assay/abft/threshold.h"
#include "assay/machine/machine.h"

namespace assay::abft {

struct AbftOptions {
  ThresholdSpec spec = parse_threshold(kDefaultThreshold);
  const DotModel* model = nullptr;  // how the product was accumulated; null: float32, any order
  int threads = 0;
};

}  // namespace assay::abft

namespace assay {
using abft::AbftOptions;
}  // namespace assay
