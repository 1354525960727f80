// Finds data that would distinguish the models that explain the same output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/identify/sums.h"

namespace assay::identify {

struct Decision {
  // Number of models that give every element of the output and were compared: the first ones,
  // limited by time.
  std::size_t models = 0;
  // Number of different results that these models give on the probes.
  std::size_t arithmetics = 0;
  // Number of models with the results of the first one on all probes, including itself.
  std::size_t like_first = 0;
  std::int64_t results = 0;    // number of results that each model computed for the probes
  std::string command;         // the command that writes the probes
  std::string probe;           // the name of the probe that divides the models into the most groups
  std::size_t told_apart = 0;  // the number of these groups
  // The parameters in which the models differ, by name.
  std::vector<std::string> parameters;
};

// Computes the probes of the product's own shape (identify/probes.h) with all of the models, at
// most 8 x 8 results of each. The results are rounded as the output was. There are no probes for
// other operators than matmul, for products with a bias, and for operands of two formats. Then only
// `models` and `parameters` are set. Models that do not differ on any probe count as one. Returns
// nothing for fewer than 2 models.
std::optional<Decision> what_decides(const Sums& sums, const std::vector<Candidate>& fits,
                                     int threads);

}  // namespace assay::identify
