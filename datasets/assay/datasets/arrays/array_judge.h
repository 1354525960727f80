// Judges two arrays in pieces, as they are read. Several threads each read the part that they
// judge. If only one thread can read a file, that thread reads the next piece while others judge.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/datasets/store/array_source.h"
#include "assay/gate/gate.h"
#include "assay/judge/pieces.h"

namespace assay::inline v0_2 {

// Returns true if every check can judge pieces (PiecewiseJudge::can_judge) or says why nothing can
// be judged.
bool judges_in_pieces(const std::vector<ElementCheck>& checks);

// Returns the default number of elements of a piece: enough work for `threads`, and little memory
// compared with an array that is worth judging in pieces.
std::int64_t piece_for(int threads);

// Returns the verdict of each check. It equals the verdict of judge_by() on the whole arrays,
// except for Verdict::where. That has the places of up to 64 mismatches, without a search for
// changes that would repair them. The value of judges_in_pieces(checks) must be true, and `piece`
// must be a multiple of PiecewiseJudge::kUnit. Data that the checks share is read once; it is read
// again for limits on statistics that the metrics do not settle. Memory is two pieces of each side
// and what the sources hold. If threads read, each thread needs a few times kUnit elements of each
// side instead of the pieces. Throws FileError.
std::vector<Verdict> judge_arrays(ArraySource& actual, ArraySource& expected,
                                  const std::vector<ElementCheck>& checks,
                                  const JudgeOptions& options, std::int64_t piece);

}  // namespace assay
