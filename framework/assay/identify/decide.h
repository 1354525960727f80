// What would tell models apart that explain the same output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/identify/sums.h"

namespace assay::identify {

struct Decision {
  // Models that give every element of the output, and were compared: the first of them, as many as
  // there is time for.
  std::size_t models = 0;
  // How many of these give other results than the others do, on the probes.
  std::size_t arithmetics = 0;
  std::size_t like_first =
      0;                     // models that give the results of the first on all probes, it included
  std::int64_t results = 0;  // of probes that were computed by each model
  std::string command;       // that writes the probes
  std::string probe;         // the name of the probe that tells most of them apart,
  std::size_t told_apart = 0;  // into so many
  // The parameters in which the models differ, by name.
  std::vector<std::string> parameters;
};

// Computes the probes of the product's own shape (identify/probes.h), at most 8 x 8 results of
// each, by all of the models, the results rounded as the output was. For other operators, products
// with a bias and operands of two formats there are no probes: then only `models` and `parameters`
// are set. Models without a difference on all probes count as one. Returns nothing for fewer than 2
// models.
std::optional<Decision> what_decides(const Sums& sums, const std::vector<Candidate>& fits,
                                     int threads);

}  // namespace assay::identify
