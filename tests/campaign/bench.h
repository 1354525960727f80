// Holds the first matrix of a plan's first cell, with everything that a trial needs.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "assay/campaign/engine.h"
#include "assay/campaign/trial.h"

namespace assay::testing_bench {

struct Bench {
  campaign::Plan plan;
  campaign::Matrix matrix;
  std::vector<campaign::MatrixDetector> gates;

  explicit Bench(campaign::Plan checked)
      : plan(std::move(checked)), matrix(campaign::make_matrix(plan, plan.cells[0], 0)) {
    for (const campaign::GateSpec& gate : cell().gates) gates.emplace_back(gate, cell(), matrix);
  }
  // A copy is not allowed, because the gates refer to the matrix.
  Bench(const Bench&) = delete;
  const campaign::Cell& cell() const { return plan.cells[0]; }
  campaign::Trial trial(std::int64_t number = 0, std::size_t fault = 0) const {
    return campaign::run_trial(plan, cell(), fault, number, matrix, gates);
  }
};

}  // namespace assay::testing_bench
