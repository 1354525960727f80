// Judging arrays that do not fit into memory, piece by piece, to the same verdict as judge() gives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/judge/elements.h"
#include "assay/judge/metrics_pass.h"
#include "assay/judge/verdict.h"

namespace assay {

class PiecewiseJudge {
 public:
  // Pieces, but for the last one, are multiples of this many elements.
  static constexpr std::int64_t kUnit = MetricsPass::kPart;

  // Whether a bound is one of elements alone, so that verdicts of pieces add up.
  static bool can_judge(const Bound& bound);

  // `shape` is that of both whole arrays, `actual` the output's format. Throws
  // std::invalid_argument where !can_judge(bound).
  PiecewiseJudge(const Format& actual, Shape shape, const Bound& bound);
  PiecewiseJudge(const PiecewiseJudge&) = delete;  // the metrics point to the bound
  PiecewiseJudge& operator=(const PiecewiseJudge&) = delete;

  // The next piece of both, as views of rank 1 with as many elements. Throws std::invalid_argument
  // where it is no next piece.
  void add(const TensorView& actual, const TensorView& expected);

  // After the last piece.
  Verdict result() const;

 private:
  Bound bound_;
  Verdict sum_;
  ElementFindings found_;
  std::vector<std::int64_t> sampled_;  // positions, of which so many have been seen:
  std::size_t next_ = 0;
  std::vector<double> sizes_;  // |expected| there
};

}  // namespace assay
