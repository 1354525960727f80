// The search for the models that give every recorded bit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/identify/space.h"

namespace assay::identify {

// How much of a result depends on a parameter: in how many elements another value would show.
struct Evidence {
  std::string parameter, value;
  // The other value that differs least, in so many of `of` elements; "" where none differs.
  std::string rival;
  std::int64_t differ = 0, of = 0;
  // Values that give the same bits: the data do not decide between them.
  std::vector<std::string> same;
};

// A model that fits nearly.
struct Nearest {
  Candidate candidate;
  std::int64_t agree = 0, of = 0;
  std::uint64_t largest_ulps = 0;  // between what it gives and what was recorded
  std::int64_t first = 0;          // element that differs
};

struct SearchResult {
  // Those that give every recorded element, the one that is nearest to a machine's row first. More
  // than kMostFits are not looked for.
  static constexpr std::size_t kMostFits = 400;
  std::vector<Candidate> fits;
  std::int64_t tried = 0;
  bool has_more = false;  // so many fitted that the search was ended
};

enum class Effort : std::uint8_t {
  kRows,       // the rows of machines, K divided in likely parts; what is near to them if some fit
  kUndivided,  // all models with K in one; of models that hardware is known for, K divided, too
  kAll,        // every model with K divided, as far as its size allows
};
// From the likely models on, until some fit; then what is near to those. `threads`: 0 for
// default_threads(); the result does not depend on it.
SearchResult search(const Sums& sums, Effort effort, int threads);
// These models alone, with every likely division of K (where that is affordable: every division).
// `widen`: with every value of the parameters that only such data exercise, too.
SearchResult search_among(const Sums& sums, const std::vector<Candidate>& models, bool widen,
                          int threads);

// These candidates alone, K divided as they say.
SearchResult search_exactly(const Sums& sums, const std::vector<Candidate>& candidates,
                            int threads);

// Those of the models that explain the elements that tell most, by some division of K that is
// affordable for so many models. With every value of the parameters that only such data exercise.
// Unlike a search's, the list is complete.
std::vector<Candidate> explaining(const Sums& sums, const std::vector<Candidate>& models,
                                  int threads);
// Every model of the large grids, K undivided.
std::vector<Candidate> whole_grid(const Sums& sums);
// Those of the models, K undivided, that explain the telling elements of all outputs, each by a
// likely division of K. The list is complete. Returns nothing once more than `most` of them do: so
// many decide nothing, and the search for the others would take long.
std::optional<std::vector<Candidate>> explaining_all(std::span<const Sums* const> outputs,
                                                     const std::vector<Candidate>& models,
                                                     std::size_t most, int threads);

// A candidate that does not compute as the first one does.
struct Rival {
  static constexpr std::int64_t kSeldom = 128;
  Candidate candidate;
  bool differs_seldom = false;  // in one sum of kSeldom at most
};
// Which of the fits do not give the same sums as the first, before they are rounded to the
// output's format, on more data of the same kind: the recorded operands, paired anew. Few pairings
// are tried if the search was ended early, because the fits then decide nothing.
std::vector<Rival> rivals_of(const Sums& sums, const SearchResult& result, int threads);

std::vector<Evidence> evidence_for(const Sums& sums, const Candidate& candidate, int threads);
Nearest nearest_model(const Sums& sums, int threads);

}  // namespace assay::identify
