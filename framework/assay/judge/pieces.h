// Judges arrays that do not fit into memory, piece by piece. The verdict is that of judge(), but it
// names no cause of a failure and has no map of the mismatches.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "assay/judge/elements.h"
#include "assay/judge/metrics_pass.h"
#include "assay/judge/statistic_table.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

class PiecewiseJudge {
 public:
  // Every piece except the last has a multiple of kUnit elements.
  static constexpr std::int64_t kUnit = MetricsPass::kPart;

  // Calls its argument with every piece of both arrays in order, as views of rank 1. May be called
  // again.
  using TakePiece = std::function<void(const TensorView& actual, const TensorView& expected)>;
  using Pass = std::function<void(const TakePiece&)>;

  // True if a bound can be judged in pieces: rules for single elements, budgets, and limits on
  // statistics of only the output. False for draws, indices, bounds of each element and reference
  // implementations.
  static bool can_judge(const Bound& bound);

  // `shape` is the shape of both whole arrays, and `actual` is the output's format. The options
  // from `reference_implementation` on are not used. Throws Refusal if
  // can_judge(bound) is false.
  PiecewiseJudge(const Format& actual, Shape shape, const Bound& bound,
                 const JudgeOptions& options = {});
  // Not copied, because the metrics point to its bound.
  PiecewiseJudge(const PiecewiseJudge&) = delete;
  PiecewiseJudge& operator=(const PiecewiseJudge&) = delete;

  // Adds the next piece of both arrays, as views of rank 1 with the same number of elements. Throws
  // std::invalid_argument if this is not the next piece.
  void add(const TensorView& actual, const TensorView& expected);

  // The results of a piece of at most kUnit elements, before it is added.
  struct Part {
    const Format* expected = nullptr;
    std::int64_t begin = 0, size = 0;
    ElementFindings found = {};
    // For the sampled elements in the piece: |expected|, and the bits of both sides if the bound
    // has limits.
    std::vector<double> sizes = {};
    std::vector<std::uint64_t> actual_bits = {}, expected_bits = {};
  };
  // judge_part() and this add() do in two steps what the other add() does. Several threads may
  // judge parts at the same time and in any order. The parts are then added in order. Both
  // functions throw std::invalid_argument if the piece does not fit.
  Part judge_part(const TensorView& actual, const TensorView& expected, std::int64_t begin) const;
  void add(Part part);

  // Returns the verdict after the last piece. `again` reads all pieces once more. It is called if
  // the bound has limits that the metrics do not decide. Throws Refusal if the bound
  // has limits and `again` is empty. The verdict says where mismatches lie, but does not name a
  // change that would make the output pass: only failure_pattern() finds it.
  Verdict result(const Pass& again = {}) const;

 private:
  // Asks for all metrics or for none. Statistics that the metrics do not hold need another pass
  // over the pieces.
  MetricsRequest wanted() const {
    return {.parts = options_.metrics || !bound_.limits.empty() ? unsigned{simd::kAllParts} : 0};
  }
  StatisticsResult statistics(const Pass& again) const;
  void check_piece(const TensorView& actual, const TensorView& expected, std::int64_t begin) const;
  // Adds the sampled elements of the piece to the part.
  void sample(const TensorView& actual, const TensorView& expected, Part& part) const;
  void add_samples(const Part& part);

  Bound bound_;
  JudgeOptions options_;
  Verdict sum_;
  ElementFindings found_;
  const Format* expected_ = nullptr;   // of the pieces
  std::vector<std::int64_t> sampled_;  // positions
  std::vector<double> sizes_;          // |expected| there
  // Kept to find blind elements by trial if the bound has limits.
  std::vector<std::uint64_t> actual_bits_, expected_bits_;
};

}  // namespace assay
