// Judging arrays that do not fit into memory, piece by piece, to the same verdict as judge() gives.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/judge/elements.h"
#include "assay/judge/metrics_pass.h"
#include "assay/judge/statistic_table.h"
#include "assay/judge/verdict.h"

namespace assay {

class PiecewiseJudge {
 public:
  // Pieces, but for the last one, are multiples of this many elements.
  static constexpr std::int64_t kUnit = MetricsPass::kPart;

  // Calls its argument with every piece of both arrays in order, views of rank 1, each time anew.
  using TakePiece = std::function<void(const TensorView& actual, const TensorView& expected)>;
  using Pass = std::function<void(const TakePiece&)>;

  // Whether a bound can be held against pieces: rules of single elements, budgets, and limits on
  // statistics of the output alone. Not draws, indices, bounds of each element, benchmarks.
  static bool can_judge(const Bound& bound);

  // `shape` is that of both whole arrays, `actual` the output's format; of the options `benchmark`
  // and what follows it is not used. Throws std::invalid_argument where !can_judge(bound).
  PiecewiseJudge(const Format& actual, Shape shape, const Bound& bound,
                 const JudgeOptions& options = {});
  PiecewiseJudge(const PiecewiseJudge&) = delete;  // the metrics point to the bound
  PiecewiseJudge& operator=(const PiecewiseJudge&) = delete;

  // The next piece of both, as views of rank 1 with as many elements. Throws std::invalid_argument
  // where it is no next piece.
  void add(const TensorView& actual, const TensorView& expected);

  // What a piece of kUnit elements, or the last one, gave before it is added.
  struct Part {
    const Format* expected = nullptr;
    std::int64_t begin = 0, size = 0;
    ElementFindings found = {};
    // Of the sampled elements in it: |expected|, and both as bits where limits are tried on them.
    std::vector<double> sizes = {};
    std::vector<std::uint64_t> actual_bits = {}, expected_bits = {};
  };
  // The same in two steps: several threads may judge parts at a time, each by itself and out of
  // order, which are then added in order. Throw std::invalid_argument as above.
  Part judge_part(const TensorView& actual, const TensorView& expected, std::int64_t begin) const;
  void add(Part part);

  // After the last piece. `again`: reads all pieces once more, asked where the bound has limits
  // that the metrics do not settle; without it such a bound throws std::invalid_argument. Where
  // misses lie is told; which change would mend them is failure_pattern()'s to find.
  Verdict result(const Pass& again = {}) const;

 private:
  // All or none: where metrics do not hold a statistic, the pieces are read once more.
  MetricsRequest wanted() const {
    return {.parts = options_.metrics || !bound_.limits.empty() ? unsigned{simd::kAllParts} : 0};
  }
  StatisticsResult statistics(const Pass& again) const;
  void check_piece(const TensorView& actual, const TensorView& expected, std::int64_t begin) const;
  // Adds them to the part's samples.
  void sample(const TensorView& actual, const TensorView& expected, Part& part) const;
  void add_samples(const Part& part);

  Bound bound_;
  JudgeOptions options_;
  Verdict sum_;
  ElementFindings found_;
  const Format* expected_ = nullptr;                        // of the pieces
  std::vector<std::int64_t> sampled_;                       // positions
  std::vector<double> sizes_;                               // |expected| there
  std::vector<std::uint64_t> actual_bits_, expected_bits_;  // where limits are tried on them
};

}  // namespace assay
