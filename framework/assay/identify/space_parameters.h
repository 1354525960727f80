// The parameters of the models that a search tries, as rows of a table that carry their code.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/identify/space.h"

namespace assay::inline v0_2::identify {

// One parameter of a candidate.
struct SpaceParameter {
  std::string_view name;  // the name that --machine or the operator gives the parameter
  // True if the parameter has a meaning in this candidate, and the data could show its value.
  std::function<bool(const Sums& sums, const Candidate& candidate)> matters;
  std::function<std::string(const Sums& sums, const Candidate& candidate)> value;
  // Returns copies of the candidate, one for each other value that a search tries.
  std::function<std::vector<Candidate>(const Sums& sums, const Candidate& candidate)> others;
};
std::vector<SpaceParameter> const& space_parameters();

// Returns the candidates that differ from a candidate in one parameter. `with_intervals` includes
// the parameter "interval".
std::vector<Candidate> neighbours(const Sums& sums, const Candidate& candidate,
                                  bool with_intervals);
// Returns copies of a candidate, one for each combination of values of the parameters that only
// unusual data exercise: floors of emax and flushing of subnormals.
std::vector<Candidate> with_rare_parameters(const Sums& sums, const Candidate& candidate);

}  // namespace assay::identify
