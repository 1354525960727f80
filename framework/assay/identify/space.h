// The models that are tried: rows of the table of machines, and grids of their parameters.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "assay/identify/sums.h"

namespace assay::identify {

inline constexpr int kMostKeptBits = 40, kLeastKeptBits = 6;
inline constexpr int kLeastMantissaBits = 7;
// The floors of emax that are tried.
inline constexpr int kLowestFloor = -150, kHighestFloor = -120;
// An emax_floor below the exponent of every product of float32 values, which acts on none of them.
inline constexpr int kFloorless = -300;
// The mantissa bits of an accumulator of this format, all of which are kept.
int full_mantissa_bits(std::string_view accumulator);
// The roundings that are tried: all but stochastic ones.
std::vector<Rounding> all_roundings();

template <typename T>
Known<T> measured(T value) {
  return {value, Provenance::kMeasured};
}

// What operands of these sums may be converted to first: nothing, and of float32 operands the
// formats and roundings that the operators take.
struct Conversion {
  const Format* compute = nullptr;
  Rounding rounding = Rounding::kNearestEven;
  bool in_two_terms = false;
  bool is_rare = false;  // tried with the rows of machines alone
};
std::vector<Conversion> conversions_of(const Sums& sums);

// The candidate in the words that compare equal where nothing differs: the accumulator's mantissa
// bits in full, and nothing of parameters that mean nothing in it.
Candidate plain(Candidate candidate);
bool same(const Candidate& a, const Candidate& b);
// Replaces what cannot change any sum of these operands by one value: chunks that hold all terms,
// floors of emax below every product, and flushing where nothing is subnormal. Candidates that are
// then the same() compute alike on these operands.
Candidate canonical(const Sums& sums, Candidate candidate);
// The most terms that are summed before scales change: K where they do not.
std::int64_t longest_stretch(const Sums& sums);
// Returns each candidate once.
std::vector<Candidate> each_once(const std::vector<Candidate>& candidates);
// Returns the first of those that are canonically the same.
std::vector<Candidate> each_once(const Sums& sums, const std::vector<Candidate>& candidates);

// A dot model of the table (or of a file) as a candidate of these sums.
Candidate candidate_of(const Sums& sums, const Machine& machine, const DotModel& row,
                       const Conversion& conversion);

// The machine's row that takes the operands, as they are or so converted. Null if it has none.
const DotModel* row_of(const Sums& sums, const Machine& machine, const Conversion& conversion);
// The rows of all machines whose matrix unit takes the operands, as they are or so converted.
std::vector<Candidate> row_candidates(const Sums& sums, const Conversion& conversion);
// Every chunk from 1 to 64, order, rounding, kept bits and so on, K undivided; `small`: chunks that
// are powers of two, and the roundings that hardware is known for.
std::vector<Candidate> grid(const Sums& sums, const Conversion& conversion, bool small);

}  // namespace assay::identify
