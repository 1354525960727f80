// The models that a search tries: rows of the table of machines, and grids of their parameters.
#pragma once

#include <string_view>
#include <vector>

#include "assay/identify/sums.h"

namespace assay::inline v0_2::identify {

inline constexpr int kMostKeptBits = 40, kLeastKeptBits = 6;
inline constexpr int kLeastMantissaBits = 7;
// The range of emax floors that a search tries.
inline constexpr int kLowestFloor = -150, kHighestFloor = -120;
// An emax_floor below the exponent of every product of float32 values, which therefore has no
// effect.
inline constexpr int kFloorless = -300;
// Returns the number of mantissa bits of an accumulator of this format that keeps all of them.
int full_mantissa_bits(std::string_view accumulator);
// Returns the roundings that a search tries: all except stochastic ones.
std::vector<Rounding> all_roundings();

template <typename T>
Known<T> measured(T value) {
  return {value, Provenance::kMeasured};
}

// A conversion of the operands before they are multiplied. The default is no conversion. float32
// operands may be converted to the formats, with the roundings, that the operators take.
struct Conversion {
  const Format* compute = nullptr;
  Rounding rounding = Rounding::kNearestEven;
  bool in_two_terms = false;
  bool is_rare = false;  // true if it is tried only with the rows of machines
};
std::vector<Conversion> conversions_of(const Sums& sums);

// Returns the candidate in a form in which equal models compare equal. If all mantissa bits of the
// accumulator are kept, it has their number, and parameters without a meaning have their defaults.
Candidate plain(Candidate candidate);
bool same(const Candidate& a, const Candidate& b);
// Returns the candidate with one value for everything that cannot change a sum of these operands:
// chunks that hold all terms, floors of emax below every product, and flushing if nothing is
// subnormal. If the results for two candidates are the same(), the candidates compute the same on
// these operands.
Candidate canonical(const Sums& sums, Candidate candidate);
// Returns the largest number of terms that are summed before scales change, or K if they do not
// change.
std::int64_t longest_stretch(const Sums& sums);
// Returns the candidates without repetitions.
std::vector<Candidate> each_once(const std::vector<Candidate>& candidates);
// Returns the candidates without those whose canonical() form is the same() as that of an earlier
// one.
std::vector<Candidate> each_once(const Sums& sums, const std::vector<Candidate>& candidates);

// Returns a dot model of the table, or of a file, as a candidate for these sums.
Candidate candidate_of(const Sums& sums, const Machine& machine, const DotModel& row,
                       const Conversion& conversion);

// Returns the machine's row that takes operands of this format, and sums them in int32 if
// `integers` is true, in floats if not. Returns nullptr if the machine has no such row.
const DotModel* row_of(const Machine& machine, std::string_view input, bool integers);
// Returns the machine's row that takes the operands after the conversion, or nullptr if it has
// none.
const DotModel* row_of(const Sums& sums, const Machine& machine, const Conversion& conversion);
// Returns the rows of all machines whose matrix unit takes the operands after the conversion.
std::vector<Candidate> row_candidates(const Sums& sums, const Conversion& conversion);
// Returns candidates with K undivided: every chunk from 1 to 64, order, rounding, number of kept
// bits and so on. `small` limits this to chunks that are powers of two, and to the roundings of
// known hardware.
std::vector<Candidate> grid(const Sums& sums, const Conversion& conversion, bool small);

}  // namespace assay::identify
