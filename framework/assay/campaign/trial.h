// Drawn faults: one trial is one fault in one matrix. Trial t of a fault lies in matrix
// t / per_matrix and draws from a stream of its own, so that it can be looked at again alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/campaign/detector.h"

namespace assay::campaign {

// What a trial broke, and what became of it.
struct Trial {
  bool injectable = true;
  bool masked = false;                 // no value of the result changed
  bool not_finite = false;             // one became infinite or NaN
  std::string what;                    // the fault in words: site, bits before and after
  std::vector<ElementChange> changes;  // of the result
  std::vector<Detection> detections;   // a gate
};

// Makes trial `number` of the cell's fault and lets every gate look. Throws std::invalid_argument
// that names the cell where the fault cannot be put into it.
Trial run_trial(const Plan& plan, const Cell& cell, std::size_t fault, std::int64_t number,
                const Matrix& matrix, const std::vector<MatrixGate>& gates);

// The trials that fall into this matrix; their counts go to series `s` of the tally.
void run_trials(const Plan& plan, const Cell& cell, std::size_t fault, std::int64_t index,
                const Matrix& matrix, const std::vector<MatrixGate>& gates, std::size_t s,
                BlockTally& tally);

}  // namespace assay::campaign
