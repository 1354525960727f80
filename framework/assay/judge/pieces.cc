#include "assay/judge/pieces.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/judge/blindness.h"
#include "assay/judge/complex.h"
#include "assay/judge/indices.h"

namespace assay::inline v0_2 {
namespace {

Tensor tensor_of_bits(const Format& f, const std::vector<std::uint64_t>& bits) {
  Tensor tensor(f, {static_cast<std::int64_t>(bits.size())});
  for (std::size_t i = 0; i < bits.size(); ++i) {
    tensor.set_bits(static_cast<std::int64_t>(i), bits[i]);
  }
  return tensor;
}

[[noreturn]] void refuse_order() {
  throw std::invalid_argument("PiecewiseJudge: the pieces do not follow one another");
}

}  // namespace

bool PiecewiseJudge::can_judge(const Bound& bound) {
  Bound elements = bound;
  elements.limits.clear();
  if (bound.rule == Rule::kStatistics) elements.rule = Rule::kTolerance;
  return judges_single_elements(elements) && !bound.as_published && !bound.needs_reference() &&
         !any_needs_weights(bound.limits);
}

PiecewiseJudge::PiecewiseJudge(const Format& actual, Shape shape, const Bound& bound,
                               const JudgeOptions& options)
    : bound_(bound), options_(options) {
  const FloatEnvironment environment;
  if (!can_judge(bound)) {
    refuse("standard {} judges an array only as a whole, and not in pieces; judge the whole array",
           bound.standard);
  }
  options_.mismatch_map = false;  // the map would cover the whole array, but only pieces are here
  sum_.bound = bound;
  sum_.format = &actual;
  sum_.shape = std::move(shape);
  sampled_ = sampled_positions(element_count(sum_.shape));
}

void PiecewiseJudge::check_piece(const TensorView& actual, const TensorView& expected,
                                 std::int64_t begin) const {
  if (actual.format->is_complex()) {
    if (const std::string why_not = why_not_complex(bound_); !why_not.empty()) {
      refuse(why_not);
    }
  }
  if (actual.format != sum_.format || actual.rank() != 1 || actual.shape != expected.shape ||
      begin % kUnit != 0 || begin + actual.size() > element_count(sum_.shape)) {
    refuse_order();
  }
  if (const std::string why_not = why_not_comparable(actual, expected); !why_not.empty()) {
    refuse(why_not);
  }
}

void PiecewiseJudge::sample(const TensorView& actual, const TensorView& expected,
                            Part& part) const {
  auto next = std::lower_bound(sampled_.begin(), sampled_.end(), part.begin);
  for (; next != sampled_.end() && *next < part.begin + part.size; ++next) {
    const std::int64_t at = *next - part.begin;
    part.sizes.push_back(magnitude_at(expected, at));
    if (bound_.limits.empty()) continue;
    part.actual_bits.push_back(actual.bits_at(at));
    part.expected_bits.push_back(expected.bits_at(at));
  }
}

// Counts the part as seen. This happens before its findings are merged, so that a piece out of
// order is refused without any effect.
void PiecewiseJudge::add_samples(const Part& part) {
  if (part.begin != sum_.sites || (expected_ != nullptr && part.expected != expected_)) {
    refuse_order();
  }
  expected_ = part.expected;
  sum_.sites += part.size;
  const auto append = [](auto& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  append(sizes_, part.sizes);
  append(actual_bits_, part.actual_bits);
  append(expected_bits_, part.expected_bits);
}

void PiecewiseJudge::add(const TensorView& actual, const TensorView& expected) {
  const FloatEnvironment environment;
  const std::int64_t begin = sum_.sites;
  check_piece(actual, expected, begin);
  Part part{expected.format, begin, actual.size()};
  sample(actual, expected, part);
  add_samples(part);
  judge_elements(actual, expected, bound_, options_, wanted(), begin, found_);
}

PiecewiseJudge::Part PiecewiseJudge::judge_part(const TensorView& actual,
                                                const TensorView& expected,
                                                std::int64_t begin) const {
  const FloatEnvironment environment;
  check_piece(actual, expected, begin);
  if (actual.size() > kUnit) refuse_order();
  Part part{expected.format, begin, actual.size()};
  sample(actual, expected, part);
  JudgeOptions alone = options_;
  alone.threads = 1;
  judge_elements(actual, expected, bound_, alone, wanted(), begin, part.found);
  return part;
}

void PiecewiseJudge::add(Part part) {
  const FloatEnvironment environment;
  add_samples(part);
  found_.merge(std::move(part.found), options_.worst);
}

StatisticsResult PiecewiseJudge::statistics(const Pass& again) const {
  if (!again) {
    refuse(
        "standard {} limits statistics, which may need all pieces a second time; give a function "
        "that passes them again",
        bound_.standard);
  }
  const StatisticsPieces pieces = [&](const std::function<void(const StatisticsPiece&)>& take) {
    std::int64_t begin = 0;
    again([&](const TensorView& actual, const TensorView& expected) {
      take({actual, expected, nullptr, nullptr, begin});
      begin += actual.size();
    });
    if (begin != sum_.sites) {
      throw std::invalid_argument("PiecewiseJudge: another pass has other pieces");
    }
  };
  const std::function<StatisticsSample()> sample = [&] {
    return StatisticsSample{tensor_of_bits(*sum_.format, actual_bits_),
                            tensor_of_bits(*expected_, expected_bits_)};
  };
  const bool trivial = !found_.zeros_mismatch(bound_, sum_.sites) &&
                       found_.mismatches == found_.forgiven(bound_, sum_.sites);
  return judge_statistics(*sum_.format, *expected_, pieces, sample, bound_.round_expected,
                          bound_.limits,
                          {.metrics = &*found_.metrics,
                           .trivial = trivial,
                           .blindness = options_.blindness,
                           .threads = options_.threads});
}

Verdict PiecewiseJudge::result(const Pass& again) const {
  const FloatEnvironment environment;
  Verdict verdict = sum_;
  if (verdict.sites == 0) return decide_without_elements(verdict);
  std::optional<StatisticsResult> limits;
  if (!bound_.limits.empty()) limits = statistics(again);
  settle(verdict, found_, limits, options_.metrics, [&] { return sizes_; });
  return verdict;
}

}  // namespace assay
