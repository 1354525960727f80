// Drawn faults. One trial is one fault in one matrix. Trial t of a fault is in matrix t /
// per_matrix and draws from its own stream, so it can be repeated without the other trials.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/campaign/detector.h"

namespace assay::inline v0_2::campaign {

// The fault of a trial, and its effect.
struct Trial {
  bool injectable = true;
  bool masked = false;                 // no value of the result changed
  bool not_finite = false;             // a value became infinite or NaN
  std::string what;                    // the fault in words: site, and bits before and after
  std::vector<ElementChange> changes;  // changed elements of the result
  std::vector<Detection> detections;   // one for each detector
};

// Makes trial `number` of the cell's fault and calls every detector. Throws Refusal,
// which names the cell, if the fault cannot be injected into it.
Trial run_trial(const Plan& plan, const Cell& cell, std::size_t fault, std::int64_t number,
                const Matrix& matrix, const std::vector<MatrixDetector>& gates);

// Runs all trials of the fault that are in this matrix. Adds their counts to series `s` of the
// tally.
void run_trials(const Plan& plan, const Cell& cell, std::size_t fault, std::int64_t index,
                const Matrix& matrix, const std::vector<MatrixDetector>& gates, std::size_t s,
                BlockTally& tally);

}  // namespace assay::campaign
