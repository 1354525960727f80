// Finds data that would distinguish the models that explain the same output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/identify/probes.h"
#include "assay/identify/sums.h"

namespace assay::inline v0_2::identify {

struct Decision {
  // Number of models that were compared: of those that give every element of the output, the first
  // ones, as many as time allows.
  std::size_t models = 0;
  // Number of groups of these models: those of a group give the same results on all probes.
  std::size_t arithmetics = 0;
  // Size of the group of the first model, including this model.
  std::size_t like_first = 0;
  std::int64_t results = 0;  // number of results that each model computed for the probes
  // Dtypes of the operands and of the results of the probes, and the shape that decides as the
  // output did. Without probes, both dtypes are nullptr.
  const Format* format = nullptr;
  const Format* output = nullptr;
  ProbeShape shape{};
  std::string command;         // the command that writes these probes, which the caller adds
  std::string probe;           // the name of the probe that divides the models into the most groups
  std::size_t told_apart = 0;  // number of groups into which `probe` divides the models
  // The names of the parameters in which the models differ.
  std::vector<std::string> parameters;
};

// Compares the models on probes of the product's own shape (identify/probes.h), by at most 8 x 8
// results of each probe. The results are rounded as the output was. There are no probes for other
// operators than matmul, for products with a bias, and for operands of two formats. Then only
// `models` and `parameters` are set. Models that do not differ on any probe count as one. Returns
// nothing for fewer than 2 models.
std::optional<Decision> what_decides(const Sums& sums, const std::vector<Candidate>& fits,
                                     int threads);

}  // namespace assay::identify
