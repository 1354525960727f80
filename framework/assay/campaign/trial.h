// Drawn faults: one trial is one fault in one matrix, at an address of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/campaign/gate.h"

namespace assay {

// The trials of fault `fault` that fall into this matrix; their counts go to series `s` of the
// tally.
void run_trials(const Plan& plan, const Cell& cell, std::size_t fault, std::int64_t index,
                const Matrix& matrix, const std::vector<MatrixGate>& gates, std::size_t s,
                BlockTally& tally);

}  // namespace assay
