#include "assay/campaign/attention_detector.h"

#include <cmath>
#include <map>

#include "assay/base/index.h"
#include "assay/campaign/clean_rows.h"

namespace assay::inline v0_2::campaign {
AttentionDetector::AttentionDetector(const AbftOptions& options, const Case& c,
                                     const Tensor& output)
    : rows_(c, output.format(), options), output_(&output) {}

std::vector<double> AttentionDetector::values_of(std::int64_t row) const {
  std::vector<double> values(at(rows_.columns()));
  output_->view().read(row * rows_.columns(), rows_.columns(), values.data());
  return values;
}

CleanCounts AttentionDetector::clean(RatioCounts& ratios) const {
  CleanRows rows(ratios);
  std::vector<abft::Reading> readings(at(rows_.groups_per_row()));
  for (std::int64_t i = 0; i < rows_.rows(); ++i) {
    const abft::AttentionRow row = rows_.row(i);
    const std::vector<double> values = values_of(i);
    for (std::int64_t g = 0; g < rows_.groups_per_row(); ++g) {
      readings[at(g)] = row.read(g, values.data());
    }
    rows.add(readings, [&](std::int64_t g) { return row.is_wrong(g, values.data()); });
  }
  return rows.counts();
}

void AttentionDetector::census(std::span<const int> bits, std::uint16_t* bins) const {
  const Format& f = output_->format();
  const std::int64_t n = rows_.columns();
  for (std::int64_t i = 0; i < rows_.rows(); ++i) {
    const abft::AttentionRow row = rows_.row(i);
    std::vector<double> values = values_of(i);
    for (std::size_t b = 0; b < bits.size(); ++b) {
      const std::uint64_t mask = std::uint64_t{1} << bits[b];
      for (std::int64_t j = 0; j < n; ++j) {
        const std::uint64_t old_bits = output_->bits_at(i * n + j);
        const double before = values[at(j)], after = decode(f, old_bits ^ mask);
        int bin = simd::kBinMasked;
        if (after != before && !(std::isnan(after) && std::isnan(before))) {
          const std::int64_t g = j / rows_.group_width();
          values[at(j)] = after;
          const abft::Reading r = row.read(g, values.data());
          bin = !r.checkable                                     ? simd::kBinUnsure
                : r.flagged() && !row.is_wrong(g, values.data()) ? simd::kBinDismissed
                                                                 : int{bin_of(r)};
          values[at(j)] = before;
        }
        bins[b * at(rows_.rows() * n) + at(i * n + j)] =
            static_cast<std::uint16_t>(bin + ((old_bits & mask) != 0 ? int{simd::kFlipBins} : 0));
      }
    }
  }
}

Detection AttentionDetector::detect(std::span<const ElementChange> changes) const {
  std::map<std::int64_t, std::vector<ElementChange>> by_row;
  for (const ElementChange& c : changes) by_row[c.row].push_back(c);
  Detection all{.not_checkable = true};
  for (const auto& [i, changed] : by_row) {
    const abft::AttentionRow row = rows_.row(i);
    std::vector<double> values = values_of(i);
    std::vector<bool> touched(at(rows_.groups_per_row()));
    for (const ElementChange& c : changed) {
      values[at(c.column)] = decode(output_->format(), c.bits);
      touched[at(c.column / rows_.group_width())] = true;
    }
    for (std::int64_t g = 0; g < rows_.groups_per_row(); ++g) {
      if (!touched[at(g)]) continue;
      const abft::Reading r = row.read(g, values.data());
      if (!r.checkable) continue;
      const bool wrong = r.flagged() && row.is_wrong(g, values.data());
      all.flagged = all.flagged || wrong;
      all.dismissed = all.dismissed || (r.flagged() && !wrong);
      if (all.not_checkable || abft::ratio_of(r) > all.ratio) {
        all.ratio = abft::ratio_of(r);
        all.difference = r.difference;
        all.threshold = r.threshold;
      }
      all.not_checkable = false;
    }
  }
  all.dismissed = all.dismissed && !all.flagged;
  return all;
}

}  // namespace assay::campaign
