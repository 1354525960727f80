#include "assay/campaign/element_detector.h"

#include <algorithm>
#include <cmath>

#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/campaign/matrix.h"
#include "assay/format/convert.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::campaign {
namespace {

std::uint16_t bin_of(double ratio) {
  return std::isfinite(ratio) ? simd::ratio_bin(ratio, true)
                              : static_cast<std::uint16_t>(simd::kBinNotFinite);
}

double ratio_of(const Mismatch& mismatch) {
  const double ratio = mismatch.error / mismatch.bound;
  return std::isfinite(ratio) ? std::max(ratio, 1.0) : HUGE_VAL;
}

}  // namespace

ElementDetector::ElementDetector(ElementCheck check, const Case& c, const Tensor& output)
    : check_(std::move(check)),
      output_(&output),
      golden_(c.output().golden ? *c.output().golden : golden_result(c, 1)),
      n_(columns_of(output)) {
  m_ = n_ == 0 ? 0 : output.size() / n_;
  const Verdict v = judged(output, at(output.size()), true);
  if (v.outcome == Outcome::kNotComparable) refuse(v.because);
  missed_.assign(at(output.size()), 0);
  row_ratios_.assign(at(m_), 0.0);
  for (const Mismatch& mismatch : v.worst) {
    missed_[at(mismatch.linear)] = 1;
    double& row = row_ratios_[at(mismatch.linear / n_)];
    row = std::max(row, ratio_of(mismatch));
  }
  worst_ratio_ = v.worst_ratio;
  fails_ = v.outcome == Outcome::kFail;
  untrusted_ = v.outcome == Outcome::kUntrusted;
  mismatches_ = v.mismatches;
  special_ = v.special_mismatches;
  forgiven_ = bound().forgiven(output.size());
}

Verdict ElementDetector::judged(const TensorView& output, std::size_t worst, bool ratios) const {
  // The ratios of elements within their bounds exist only if metrics are computed.
  return check_.judge(output, golden_,
                      {.metrics = ratios, .worst = worst, .threads = 1, .patterns = false});
}

CleanCounts ElementDetector::clean(RatioCounts& ratios) const {
  CleanCounts counts{.rows = m_,
                     .not_checkable = untrusted_ ? m_ : 0,
                     .checks = output_->size(),
                     .worst = worst_ratio_};
  for (const double ratio : row_ratios_) {
    if (fails_) counts.alarms += bound().limits.empty() && ratio == 0 ? 0 : 1;
    ++ratios[ratio == 0 ? 0 : bin_of(ratio)];
  }
  return counts;
}

void ElementDetector::census(std::span<const int> bits, std::uint16_t* bins) const {
  const Format& f = output_->format();
  std::vector<std::byte> changed(at(n_ * f.storage_bytes));
  for (std::int64_t i = 0; i < m_; ++i) {
    const auto row_of = [&](const Tensor& whole) {
      return view_bytes(whole.bytes() + i * n_ * whole.format().storage_bytes, whole.format(),
                        {n_});
    };
    const TensorView golden = row_of(golden_);
    JudgeOptions options{.metrics = false, .worst = at(n_), .threads = 1, .patterns = false};
    if (check_.element_bounds) options.element_bounds = row_of(*check_.element_bounds);
    for (std::size_t b = 0; b < bits.size(); ++b) {
      const std::uint64_t mask = std::uint64_t{1} << bits[b];
      std::uint16_t* out = bins + b * at(m_ * n_) + at(i * n_);
      for (std::int64_t j = 0; j < n_; ++j) {
        store_element(f, changed.data() + j * f.storage_bytes, output_->bits_at(i * n_ + j) ^ mask);
      }
      const Verdict v = judge(view_bytes(changed.data(), f, {n_}), golden, bound(), options);
      std::vector<double> ratios(at(n_), -1.0);
      for (const Mismatch& mismatch : v.worst) ratios[at(mismatch.linear)] = ratio_of(mismatch);
      for (std::int64_t j = 0; j < n_; ++j) {
        const std::uint64_t old_bits = output_->bits_at(i * n_ + j);
        const double before = decode(f, old_bits), after = decode(f, old_bits ^ mask);
        const bool missed = ratios[at(j)] >= 0, finite = std::isfinite(after);
        const std::int64_t mismatches = mismatches_ - missed_[at(i * n_ + j)] + (missed ? 1 : 0);
        const bool seen = mismatches > forgiven_ || special_ > 0 || (missed && !finite);
        int bin = 0;
        if (after == before || (std::isnan(after) && std::isnan(before))) {
          bin = simd::kBinMasked;
        } else if (seen) {
          bin = finite ? std::max<int>(bin_of(std::max(ratios[at(j)], 1.0)), simd::kBinAtOne + 1)
                       : static_cast<int>(simd::kBinNotFinite);
        } else if (missed) {
          // The element is a mismatch, but the budget of the standard forgives it.
          bin = simd::kBinDismissed;
        }
        out[j] =
            static_cast<std::uint16_t>(bin + ((old_bits & mask) != 0 ? int{simd::kFlipBins} : 0));
      }
    }
  }
}

Detection ElementDetector::detect(std::span<const ElementChange> changes) const {
  Tensor changed = *output_;
  for (const ElementChange& c : changes) changed.set_bits(c.row * n_ + c.column, c.bits);
  const Verdict v = judged(changed, 1);
  Detection detection;
  detection.flagged = v.outcome == Outcome::kFail;
  detection.ratio = v.worst_ratio;
  detection.dismissed = !detection.flagged && v.mismatches > 0;
  detection.not_checkable = v.outcome == Outcome::kUntrusted;
  detection.difference = v.worst_ratio;
  detection.threshold = 1;
  return detection;
}

}  // namespace assay::campaign
