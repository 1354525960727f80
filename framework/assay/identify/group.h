// Recorded outputs that one unit may have computed: models that explain one of them are tried first
// on the others, and what one output leaves open the others may decide.
#pragma once

#include <vector>

#include "assay/identify/model_search.h"

namespace assay::identify {

struct Explanation {
  SearchResult result;
  bool by_others = false;  // other outputs ruled out models that explain this one
};

// Sorts the outputs, those that tell most first, and explains each of them. All have one producer,
// and operands of the same formats. `threads`: 0 for default_threads(); the result does not depend
// on it.
std::vector<Explanation> explain_group(std::vector<Sums>& outputs, int threads);

// The models that fit an output, by whether more data of the same kind would tell them from the
// first.
struct Doubts {
  std::vector<Candidate> rivals;
  std::vector<Candidate> alike;  // that no such data tell from the first, it included
  // How many more differ from the first in at most one sum of Rival::kSeldom. They are no doubt:
  // the first is a row of the table, and they are not.
  int seldom = 0;
};
Doubts doubts_about(const Sums& sums, const SearchResult& result, int threads);

}  // namespace assay::identify
