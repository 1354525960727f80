// The parameters of the models that a search tries, as rows of a table that carry their code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/identify/divisions.h"
#include "assay/identify/space.h"

namespace assay::identify {

// One parameter of a candidate.
struct SpaceParameter {
  std::string_view name;  // the name that --machine or the operator takes
  // True if the parameter has a meaning in this candidate, and the data could show its value.
  bool (*matters)(const Sums& sums, const Candidate& candidate);
  std::string (*value)(const Sums& sums, const Candidate& candidate);
  // Returns the candidate with every other value that a search tries.
  std::vector<Candidate> (*others)(const Sums& sums, const Candidate& candidate);
};
std::vector<SpaceParameter> const& space_parameters();

// Returns the candidates that differ from a candidate in one parameter. `with_intervals` includes
// the parameter "interval".
std::vector<Candidate> neighbours(const Sums& sums, const Candidate& candidate,
                                  bool with_intervals);
// Returns a candidate with every value of the parameters that only unusual data exercise: floors of
// emax and flushing of subnormals.
std::vector<Candidate> with_rare_parameters(const Sums& sums, const Candidate& candidate);

}  // namespace assay::identify
