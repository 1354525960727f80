// The parameters of the models that are tried, as rows of a table that carry their code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/identify/divisions.h"
#include "assay/identify/space.h"

namespace assay::identify {

// One parameter of a candidate.
struct SpaceParameter {
  std::string_view name;  // as --machine or the operator takes it
  // Whether it means anything in this candidate, and the data could show it.
  bool (*matters)(const Sums& sums, const Candidate& candidate);
  std::string (*value)(const Sums& sums, const Candidate& candidate);
  // The candidate with every other value that is tried.
  std::vector<Candidate> (*others)(const Sums& sums, const Candidate& candidate);
};
std::vector<SpaceParameter> const& space_parameters();

// Those that differ from a candidate in one parameter.
std::vector<Candidate> neighbours(const Sums& sums, const Candidate& candidate,
                                  bool with_intervals);
// A candidate with every value of what the data exercise beyond ordinary sums: floors of emax and
// flushed subnormals.
std::vector<Candidate> with_rare_parameters(const Sums& sums, const Candidate& candidate);

}  // namespace assay::identify
