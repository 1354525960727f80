// The search for the models that give every recorded bit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/identify/space.h"

namespace assay::identify {

// The influence of a parameter on a result: the number of elements that another value would change.
struct Evidence {
  std::string parameter, value;
  // The other value that changes the fewest elements, `differ` of `of` elements. Empty if no value
  // changes any.
  std::string rival;
  std::int64_t differ = 0, of = 0;
  // Values that give the same bits. The data do not decide between them.
  std::vector<std::string> same;
};

// The model that fits best although none fits.
struct Nearest {
  Candidate candidate;
  std::int64_t agree = 0, of = 0;
  std::uint64_t largest_ulps = 0;  // between its results and the recorded ones
  std::int64_t first = 0;          // first element that differs
};

struct SearchResult {
  // The models that give every recorded element. The one nearest to a machine's row comes first.
  // The search stops at kMostFits models, or earlier for large outputs.
  static constexpr std::size_t kMostFits = 400;
  std::vector<Candidate> fits;
  std::int64_t tried = 0;
  bool has_more = false;  // true if the search stopped because too many models fit
};

enum class Effort : std::uint8_t {
  kRows,       // rows of machines, K divided in likely parts, and models near those that fit
  kUndivided,  // all models with K undivided, and those of known hardware also with K divided
  kAll,        // every model with K divided, as far as its size allows
};
// Searches from the likely models on until some fit, and then near those. `threads` may be 0, which
// means default_threads(). The result does not depend on it.
SearchResult search(const Sums& sums, Effort effort, int threads);
// Tries only these models, with every likely division of K, or with every division if that is
// affordable. `widen` adds every value of the parameters that only unusual data exercise.
SearchResult search_among(const Sums& sums, const std::vector<Candidate>& models, bool widen,
                          int threads);

// Tries only these candidates, with K divided as they say.
SearchResult search_exactly(const Sums& sums, const std::vector<Candidate>& candidates,
                            int threads);

// Returns the models that explain the most informative elements, by some division of K. Tries as
// many divisions as is affordable for this number of models, and every value of the parameters that
// only unusual data exercise. Unlike that of search(), the list is complete.
std::vector<Candidate> explaining(const Sums& sums, const std::vector<Candidate>& models,
                                  int threads);
// Returns every model of the large grids, with K undivided.
std::vector<Candidate> whole_grid(const Sums& sums);
// Returns the models, with K undivided, that explain the most informative elements of all outputs,
// each by a likely division of K. The list is complete. Returns nothing if more than `most` models
// do. Such a number decides nothing, and finding the rest would take long.
std::optional<std::vector<Candidate>> explaining_all(std::span<const Sums* const> outputs,
                                                     const std::vector<Candidate>& models,
                                                     std::size_t most, int threads);

// A candidate that does not compute the same as the first one.
struct Rival {
  static constexpr std::int64_t kSeldom = 128;
  Candidate candidate;
  bool differs_seldom = false;  // in at most one of kSeldom sums
};
// Returns the fits that differ from the first one on more data of the same kind: the recorded
// operands in new pairs. Compares the sums before they are rounded to the output's format. Tries
// only a few pairings if the search stopped early, because the fits then decide nothing.
std::vector<Rival> rivals_of(const Sums& sums, const SearchResult& result, int threads);

std::vector<Evidence> evidence_for(const Sums& sums, const Candidate& candidate, int threads);
Nearest nearest_model(const Sums& sums, int threads);

}  // namespace assay::identify
