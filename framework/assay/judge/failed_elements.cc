#include "assay/judge/failed_elements.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "assay/base/int128.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/judge/elements.h"
#include "assay/judge/exact.h"
#include "assay/judge/location.h"
#include "assay/judge/rule_table.h"
#include "assay/judge/statistic_table.h"

namespace assay::inline v0_2 {
namespace {

// kLooked is the number of elements that are examined, to which at most kMismatchesLooked known
// mismatches are added. A change is first tried on kFirst mismatches, and then on kTried mismatches
// and kRight elements that are right.
constexpr std::int64_t kLooked = std::int64_t{1} << 20;
constexpr std::size_t kMismatchesLooked = 65536, kFirst = 256, kTried = 4096, kRight = 1024;

// Returns a copy of the view's elements at these positions.
Tensor gathered(const TensorView& view, const Positions& positions) {
  const ElementBits bits(view);
  Tensor some(*view.format, {std::ssize(positions)});
  for (std::size_t i = 0; i < positions.size(); ++i) {
    some.set_bits(static_cast<std::int64_t>(i), bits[positions[i]]);
  }
  return some;
}

}  // namespace

Positions evenly(const Positions& all, std::size_t most) {
  if (all.size() <= most) return all;
  Positions some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

ElementSample::ElementSample(const TensorView& expected, const JudgeOptions& options,
                             const Bound& bound, Positions positions)
    : positions_(std::move(positions)), expected_(gathered(expected, positions_)) {
  if (by_element_bounds(bound)) bounds_ = gathered(*options.element_bounds, positions_);
  if (bound.needs_reference()) reference_ = gathered(*options.reference_implementation, positions_);
  // Weights belong to limits on sums over all elements, so a sample does not use them.
  const bool all = std::ssize(positions_) == expected.size();
  if (all && options.error_weights) weights_ = gathered(*options.error_weights, positions_);
}

std::vector<std::int64_t> ElementSample::mismatches(const Tensor& output, const Bound& bound,
                                                    std::vector<Mismatch>* worst) const {
  // A piece has so few elements that the positions of all its mismatches are kept.
  constexpr std::int64_t kPiece = 65536;
  std::vector<std::int64_t> places;
  for (std::int64_t begin = 0; begin < output.size(); begin += kPiece) {
    const std::int64_t count = std::min(kPiece, output.size() - begin);
    JudgeOptions options{.metrics = false, .worst = worst != nullptr ? 5u : 0u, .threads = 1};
    if (bounds_) options.element_bounds = bounds_->view().slice(begin, count);
    ElementFindings found;
    judge_elements(output.view().slice(begin, count), expected().slice(begin, count), bound,
                   options, {.parts = 0}, begin, found);
    places.insert(places.end(), found.positions.begin(), found.positions.end());
    if (worst != nullptr && begin == 0) *worst = std::move(found.worst);
  }
  return places;
}

bool ElementSample::meets_limits(const Tensor& output, const Bound& bound) const {
  if (bound.limits.empty()) return true;
  const StatisticsResult result = judge_statistics(
      output, expected_, reference_, bound.round_expected, bound.limits,
      {.trivial = false, .blindness = false, .threads = 1, .error_weights = weights_});
  return result.why_not.empty() && result.met;
}

FailedElements::FailedElements(const TensorView& actual, const TensorView& expected,
                               const JudgeOptions& options, const Verdict& verdict,
                               const Positions& mismatches)
    : actual_(actual),
      expected_(expected),
      verdict_(verdict),
      out_(*actual.format),
      bits_(actual_),
      by_limits_(verdict.mismatches <= verdict.forgiven || verdict.bound.rule == Rule::kStatistics),
      bound_(verdict.bound),
      looked_(expected, options, verdict.bound, looked_at(mismatches)) {
  if (by_limits_) bound_ = far_off();
  const bool known = !by_limits_ && std::ssize(mismatches) == verdict.mismatches;
  if (known && looks_at_all()) {
    mismatches_ = mismatches;
  } else {
    for (const std::int64_t place : looked_.mismatches(unchanged(looked_), bound_)) {
      mismatches_.push_back(looked_.positions()[at(place)]);
    }
  }
  Positions right;
  for (const std::int64_t p : evenly(looked_.positions(), 4 * kRight)) {
    if (!is_mismatch(p)) right.push_back(p);
  }
  first_.emplace(expected_, options, bound_, evenly(mismatches_, kFirst));
  tried_.emplace(expected_, options, bound_, evenly(mismatches_, kTried));
  right_.emplace(expected_, options, bound_, evenly(right, kRight));
}

// Returns all positions, or kLooked (2^20) evenly spread ones together with the known mismatches.
Positions FailedElements::looked_at(const Positions& mismatches) const {
  const std::int64_t size = actual_.size();
  Positions positions(at(std::min(size, kLooked)));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    positions[i] = size <= kLooked
                       ? static_cast<std::int64_t>(i)
                       : static_cast<std::int64_t>(static_cast<Int128>(i) * size / kLooked);
  }
  if (size <= kLooked) return positions;
  const Positions known = evenly(mismatches, kMismatchesLooked);
  Positions all;
  std::set_union(positions.begin(), positions.end(), known.begin(), known.end(),
                 std::back_inserter(all));
  return all;
}

// Returns the bound that is used if no single element failed. Elements outside it are far off for
// the output's dtype.
Bound FailedElements::far_off() const {
  double squares = 0, finite = 0;
  for (std::int64_t i = 0; i < looked_.expected().size(); ++i) {
    const double e = looked_.expected().value_at(i);
    if (!std::isfinite(e)) continue;
    squares += e * e;
    ++finite;
  }
  Bound bound = verdict_.bound;
  bound.rule = Rule::kTolerance;
  bound.rtol = std::max(0x1p-5, 2 * unit_roundoff(out_));
  bound.atol = finite > 0 ? bound.rtol * std::sqrt(squares / finite) : 0;
  bound.floor = bound.small_value = bound.small_atol = 0;
  bound.limits.clear();
  return bound;
}

bool FailedElements::is_mismatch(std::int64_t position) const {
  return std::ranges::binary_search(mismatches_, position);
}

Tensor FailedElements::unchanged(const ElementSample& sample) const {
  return sample.output(out_, [&](std::int64_t p) { return bits_[p]; });
}

double FailedElements::rounded(double value) const {
  round_array(out_, &value, 1);
  return value;
}

std::uint64_t FailedElements::expected_at(std::int64_t position) const {
  const double e = expected_.value_at(position);
  return expected_bits(out_, expected_, position, expected_.format == &out_ ? e : rounded(e));
}

bool FailedElements::is_most(std::size_t explained, std::size_t all) {
  const std::size_t others = all - explained;
  return explained <= all && others <= std::max(all / 10, std::min<std::size_t>(4, all / 5));
}

bool FailedElements::beats_chance(std::size_t passes, double chance) {
  return static_cast<double>(passes) * std::log(chance) <= std::log(1e-3);
}

std::string FailedElements::mismatches_text() const {
  const std::string_view word = by_limits_ ? "elements that are far off" : "mismatches";
  return formatted("{} {}{}", grouped(std::ssize(mismatches_)),
                   mismatches_.size() == 1 && !by_limits_ ? "mismatch" : word,
                   looks_at_all() ? ""
                                  : formatted(" among {} elements that were looked at",
                                              grouped(std::ssize(looked_))));
}

std::string FailedElements::explains(std::size_t passes) const {
  return formatted("explains {} of {}", grouped(static_cast<std::int64_t>(passes)),
                   mismatches_text());
}

std::string FailedElements::whole_lines(const Positions& positions) const {
  return looks_at_all() ? whole_lines_text(positions, shape()) : "";
}

}  // namespace assay
