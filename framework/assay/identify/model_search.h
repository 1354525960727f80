// The search for the models that give every recorded bit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/identify/space.h"

namespace assay::inline v0_2::identify {

// The evidence for a parameter's value: the number of elements that another value would change.
struct Evidence {
  std::string parameter, value;
  // The other value that changes the fewest elements: `differ` of the `of` elements that were
  // tried. Empty if no other value changes an element.
  std::string rival;
  std::int64_t differ = 0, of = 0;
  // Other values that give the same bits, so that the data do not decide between them and `value`.
  std::vector<std::string> same;
};

// The model that gives the most elements, if no model gives all of them.
struct Nearest {
  Candidate candidate;
  std::int64_t agree = 0, of = 0;
  std::uint64_t largest_ulps = 0;  // largest distance of its results from the recorded ones
  std::int64_t first = 0;          // index of the first element that differs
};

struct SearchResult {
  // The models that give every recorded element. The one nearest to a machine's row comes first.
  // The search stops at kMostFits models, or earlier for large outputs.
  static constexpr std::size_t kMostFits = 400;
  std::vector<Candidate> fits = {};
  std::int64_t tried = 0;
  bool has_more = false;  // true if the search stopped because too many models fit
};

enum class Effort : std::uint8_t {
  // Tries rows of machines, with K divided in likely parts, and models near those that fit.
  kRows,
  // Also tries all models with K undivided, and those of known hardware also with K divided.
  kUndivided,
  // Also tries every model with K divided, as far as the size of K allows.
  kAll,
};
// Searches from the likely models on until some fit, and then among models near those that fit.
// `threads` may be 0, which means default_threads(). The result does not depend on it.
SearchResult search(const Sums& sums, Effort effort, int threads);
// Tries only these models, with every likely division of K, or with every division if there is
// time. If `widen` is set, also tries every value of the parameters that only unusual data
// exercise.
SearchResult search_among(const Sums& sums, const std::vector<Candidate>& models, bool widen,
                          int threads);

// Tries only these candidates, with the divisions of K that they have.
SearchResult search_exactly(const Sums& sums, const std::vector<Candidate>& candidates,
                            int threads);

// Returns those of the models that explain the most informative elements, by some division of K.
// Tries as many divisions as time allows for this number of models, and every value of the
// parameters that only unusual data exercise. Unlike the list of search(), the returned list is
// complete.
std::vector<Candidate> explaining(const Sums& sums, const std::vector<Candidate>& models,
                                  int threads);
// Returns every model of the large grids, with K undivided.
std::vector<Candidate> whole_grid(const Sums& sums);
// Returns those of the models that explain the most informative elements of all outputs, each by a
// likely division of K. K is undivided in the returned models, and their list is complete. Returns
// nothing if more than `most` models explain the outputs. Such a number decides nothing, and
// finding the rest would take long.
std::optional<std::vector<Candidate>> explaining_all(std::span<const Sums* const> outputs,
                                                     const std::vector<Candidate>& models,
                                                     std::size_t most, int threads);

// A candidate that fits, but does not compute the same as the first candidate that fits.
struct Rival {
  static constexpr std::int64_t kSeldom = 128;
  Candidate candidate;
  bool differs_seldom = false;  // true if it differs in at most one of kSeldom sums
};
// Returns the fits that differ from the first one on more data of the same kind: the rows of the
// recorded operands in new pairs. Compares the sums before they are rounded to the output's format,
// unless the fits differ in this rounding. Tries only a few pairings if the search stopped early,
// because the fits then decide nothing.
std::vector<Rival> rivals_of(const Sums& sums, const SearchResult& result, int threads);

std::vector<Evidence> evidence_for(const Sums& sums, const Candidate& candidate, int threads);
Nearest nearest_model(const Sums& sums, int threads);

}  // namespace assay::identify
