// Explains recorded outputs that the same unit may have computed. Models that explain one of them
// are tried first on the others. If one output leaves several models, the others may decide between
// them.
#pragma once

#include <vector>

#include "assay/identify/model_search.h"

namespace assay::inline v0_2::identify {

struct Explanation {
  SearchResult result;
  bool by_others = false;  // true if other outputs ruled out models that explain this one
};

// Sorts the outputs, the most informative ones first, and returns an explanation of each. All
// outputs have the same producer, and operands of the same formats. `threads` may be 0, which means
// default_threads(). The result does not depend on it.
std::vector<Explanation> explain_group(std::vector<Sums>& outputs, int threads);

// The models that fit an output, divided into two groups. More data of the same kind would
// distinguish `rivals` from the first model, and would not distinguish `alike` from it.
struct Doubts {
  std::vector<Candidate> rivals;
  // Models that give the results of the first model on such data, including the first model.
  std::vector<Candidate> alike;
  // The number of further models that differ from the first in at most one of Rival::kSeldom sums.
  // They do not count as rivals, because the first model is a row of the table and they are not.
  int seldom = 0;
};
Doubts doubts_about(const Sums& sums, const SearchResult& result, int threads);

}  // namespace assay::identify
