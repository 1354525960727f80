// The models that are tried: parameters as rows of a table that carry their code, and the grids
// that they span.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/identify/divisions.h"
#include "assay/identify/sums.h"

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
// Each of them once.
std::vector<Candidate> each_once(const std::vector<Candidate>& candidates);

// A dot model of the table (or of a file) as a candidate of these sums.
Candidate candidate_of(const Sums& sums, const Machine& machine, const DotModel& row,
                       const Conversion& conversion);

// The rows of all machines whose matrix unit takes the operands, as they are or so converted.
std::vector<Candidate> row_candidates(const Sums& sums, const Conversion& conversion);
// Those that differ from a candidate in one parameter.
std::vector<Candidate> neighbours(const Sums& sums, const Candidate& candidate,
                                  bool with_intervals);
// Every chunk from 1 to 64, order, rounding, kept bits and so on, K undivided; `small`: chunks that
// are powers of two, and the roundings that hardware is known for.
std::vector<Candidate> grid(const Sums& sums, const Conversion& conversion, bool small);
// A candidate with every value of what the data exercise beyond ordinary sums: floors of emax and
// flushed subnormals.
std::vector<Candidate> with_rare_parameters(const Sums& sums, const Candidate& candidate);

// Whether `split.terms` is the case's promotion_interval, not its split_k. The bits are the same;
// dot and scaled_matmul do not split K, and short parts of 8-bit floats are promoted.
bool divides_by_promotion(const Sums& sums, const Candidate& candidate);

// The candidate as users ask for it: the machine's text, and the case's parameters.
struct CandidateText {
  std::string machine;  // a text that --machine takes; empty where no machine takes the formats
  std::map<std::string, Attribute> parameters;
  int changes = 0;  // parameters that differ from the machine's row
  int place = 0;    // of the machine in the table
  bool is_row = false;
  bool has_rows_unit = false;  // a row but for where a bias enters and how sums are promoted
};
CandidateText text_of(const Sums& sums, const Candidate& candidate);

}  // namespace assay::identify
