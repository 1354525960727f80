// Compares the published e_max grid of a real Ascend 910B for float32 (datasets/published) with the
// emulated cube unit, for several numbers of products between two roundings.
#pragma once

#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/abft/calibrate.h"
#include "assay/base/text.h"

namespace assay::emax_grid {

// Returns the published e_max by (K, N), as the mean of the runs, for M = 128 and K and N up to
// `largest`.
inline std::map<std::pair<std::int64_t, std::int64_t>, double> published(std::int64_t largest) {
  const std::string path =
      std::string(ASSAY_SOURCE_DIR "/datasets/published/ascend910b_fp32_emax_grid.csv");
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> all;
  std::string line;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line, ',');
    if (cells.size() < 7 || cells[1] != "128" || cells[5] != "max_all_rows") continue;
    const std::int64_t k = std::stoll(cells[2]), n = std::stoll(cells[3]);
    if (k <= largest && n <= largest) all[{k, n}].push_back(std::stod(cells[6]));
  }
  std::map<std::pair<std::int64_t, std::int64_t>, double> means;
  for (const auto& [cell, values] : all) {
    double sum = 0;
    for (const double v : values) sum += v;
    means[cell] = sum / static_cast<double>(values.size());
  }
  return means;
}

// Returns the root mean square of log(emulated / published) over the grid.
inline double distance(const std::string& machine, std::int64_t largest, std::int64_t trials) {
  double squares = 0, cells = 0;
  for (const auto& [cell, e_max] : published(largest)) {
    abft::CalibrationPlan plan;
    plan.machine = &machine_named(machine);
    plan.dtype = &format_named("float32");
    plan.k = cell.first;
    plan.n = cell.second;
    plan.inputs = abft::CalibrationInputs::kFolded;
    plan.trials = trials;
    const double ratio = std::log(abft::calibrate(plan).predicted / e_max);
    squares += ratio * ratio;
    cells += 1;
  }
  return std::sqrt(squares / cells);
}

}  // namespace assay::emax_grid
