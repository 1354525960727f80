// Judges two arrays as they are read, in pieces: by threads that each read what they judge, or, of
// files that one thread has to read, while that thread reads the next piece.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/datasets/store/array_source.h"
#include "assay/gate/gate.h"
#include "assay/judge/pieces.h"

namespace assay {

// Whether every check can be held against pieces (PiecewiseJudge::can_judge), or says why nothing
// can be judged.
bool judges_in_pieces(const std::vector<ElementCheck>& checks);

// Elements of a piece, where nothing else is asked for: enough for `threads`, and few beside what
// an array has that is worth it.
std::int64_t piece_for(int threads);

// The verdict of each check, the same as judge_by() gives of the whole arrays but for
// Verdict::where, which says the places of up to 64 misses and looks for no change that would mend
// them. judges_in_pieces(checks) holds. `piece`: a multiple of
// PiecewiseJudge::kUnit. What the checks share is read once; limits on statistics that metrics do
// not settle are read for again. Memory is two pieces of each side, or, where threads read, some
// kUnit elements of each side for each thread, and what the sources hold. Throws FileError.
std::vector<Verdict> judge_arrays(ArraySource& actual, ArraySource& expected,
                                  const std::vector<ElementCheck>& checks,
                                  const JudgeOptions& options, std::int64_t piece);

}  // namespace assay
