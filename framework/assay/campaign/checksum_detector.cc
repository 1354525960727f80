#include "assay/campaign/checksum_detector.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "assay/abft/checker.h"
#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/campaign/clean_rows.h"
#include "assay/campaign/flips.h"
#include "assay/campaign/row_checks.h"
#include "assay/cases/product.h"

namespace assay::inline v0_2::campaign {
namespace {

// Returns the bin of the residual |R| relative to its threshold T after the ulp of one element of
// the check changed. Returns kBinUnsure if |R| is too close to T.
int residual_bin(const simd::BoundForm& form, const simd::OutputStats& stats, double r,
                 double old_ulp, double new_ulp) {
  simd::OutputStats changed = stats;
  changed.ulp += new_ulp - old_ulp;
  changed.ulp_square += new_ulp * new_ulp - old_ulp * old_ulp;
  if (changed.ulp_square < simd::kFlipCancelled * stats.ulp_square) return simd::kBinUnsure;
  const double threshold = form.threshold(changed);
  const double apart = simd::kFlipBand * threshold;
  // `threshold` is computed from a bound of the tail of the rounding errors. If |R| is not well
  // below it, only the exact tail decides, which needs a new summation.
  if (form.uses_tail() && r > form.tail_from * threshold - apart) return simd::kBinUnsure;
  if (!(std::abs(r - threshold) > apart)) return simd::kBinUnsure;
  return int{simd::ratio_bin(r == 0 ? 0 : r / threshold, r > threshold)};
}

// Adds the check of the residual R to the bins of the flips of one check: each bin becomes the
// larger one of both ratios of a difference to its threshold. `clean` is the reading of R for the
// unchanged C. A flip in C does not change R. It changes the threshold of R if it changes the ulp
// of the element, which flips of the mantissa and the sign do not. Returns true if any bin is
// kBinUnsure.
bool join_residual_bins(const RowChecks& side, std::int64_t i, std::int64_t g,
                        const simd::BoundForm& form, const simd::OutputStats& stats,
                        const abft::Reading& clean, std::span<const int> bits, std::size_t stride,
                        std::uint16_t* row_bins) {
  const Format& f = side.format();
  const double r = clean.difference;
  const int as_it_is = bin_of(clean);
  bool unsure = false;
  for (std::size_t b = 0; b < bits.size(); ++b) {
    const int bit = bits[b] - f.padding;
    const bool keeps_ulp = bit < f.mantissa_bits() || bit == f.bits - 1;
    for (std::int64_t j = g * side.width; j < std::min(side.n, (g + 1) * side.width); ++j) {
      std::uint16_t& bin = row_bins[b * stride + at(j)];
      const int down = bin >= simd::kFlipBins ? int{simd::kFlipBins} : 0;
      // The bin is not one of ratios (it says "masked", for example), so it stays as it is.
      if (bin - down >= simd::kRatioBins) continue;
      int own = as_it_is;
      if (!keeps_ulp) {
        const std::uint64_t old_bits = side.c->bits_at(i * side.n + j);
        own = residual_bin(form, stats, r, ulp_of(f, decode(f, old_bits)),
                           ulp_of(f, decode(f, old_bits ^ std::uint64_t{1} << bits[b])));
      }
      // If R is above its threshold, the elements must confirm the fault, so the row is judged
      // again.
      if (side.confirms && own > simd::kBinAtOne) own = simd::kBinUnsure;
      unsure = unsure || own == simd::kBinUnsure;
      bin = static_cast<std::uint16_t>(std::max(bin - down, own) + down);
    }
  }
  return unsure;
}

void join(Detection& all, const Detection& one) {
  all.flagged = all.flagged || one.flagged;
  all.dismissed = (all.dismissed || one.dismissed) && !all.flagged;
  all.not_checkable = all.not_checkable && one.not_checkable;
  if (!(one.ratio <= all.ratio)) {
    all.ratio = one.ratio;
    all.difference = one.difference;
    all.threshold = one.threshold;
  }
}

}  // namespace

struct ChecksumDetector::Impl {
  AbftOptions options;
  TensorView left, right;  // the operands a and b of the case's product
  // The checks of rows, and those of columns if the threshold checks them too.
  std::vector<RowChecks> sides;

  // Sets the residual R of each check from the data that the kernel returned with the result.
  void take(const Epilogue& epilogue, const Tensor& output, const AbftChecker& whole);
  void census_rows(const RowChecks& side, std::span<const int> bits, bool exact,
                   std::uint16_t* bins) const;
  void settle_row(const RowChecks& side, std::int64_t i, std::span<const int> bits,
                  std::size_t stride, bool all, std::uint16_t* bins) const;
};

ChecksumDetector::ChecksumDetector(const AbftOptions& options, const Case& c, const Tensor& output,
                                   const Epilogue& epilogue)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  AbftOptions each = options;
  each.threads = 1;
  each.spec.columns = false;
  if (output.shape().size() != 2) {
    refuse(
        "checksums in a campaign need an output that is one matrix, but that of case {} has the "
        "shape {}",
        c.name, shape_text(output.shape()));
  }
  const TensorView a = matmul_matrix(c, "a", 0), b = matmul_matrix(c, "b", 0);
  const std::vector<double> bias = matmul_bias(c);
  if (options.spec.columns && !bias.empty()) {
    refuse("a product with a bias can be checked only by rows; leave out the checks of columns");
  }
  impl_->left = a;
  impl_->right = b;
  const AbftChecker whole = AbftChecker::of_product(a, b, options, bias);
  // The checks of rows and of columns share one budget of false alarms.
  each.spec.kappa = whole.kappa();
  impl_->sides.emplace_back(AbftChecker::of_product(a, b, each, bias), output, each);
  if (options.spec.columns) {
    RowChecks side(AbftChecker::of_product(b.transposed(), a.transposed(), each), output, each);
    side.kept = copy_of(output.view().transposed());
    impl_->sides.push_back(std::move(side));
    impl_->sides.back().c = &impl_->sides.back().kept;
  }
  for (RowChecks& side : impl_->sides) side.look_at_peaks();
  if (options.spec.threshold->takes_residuals) impl_->take(epilogue, output, whole);
  (void)reading(0);  // called only because it throws if the threshold cannot judge the result
}

void ChecksumDetector::Impl::take(const Epilogue& epilogue, const Tensor& output,
                                  const AbftChecker& whole) {
  RowChecks& rows = sides.front();
  const Residual residual = Residual::of(epilogue);
  std::string why = why_no_epilogue(epilogue, output.format(), output.shape());
  if (why.empty()) why = whole.why_not(output.format(), residual);
  if (!why.empty()) refuse(why);
  if (residual.kind == Residual::Kind::kAccumulator) {
    rows.take_accumulator(residual.values);
    if (sides.size() > 1) sides.back().take_accumulator(residual.values.transposed());
  } else {
    rows.residuals = residual.values.values();
  }
  for (RowChecks& side : sides) {
    if (options.spec.confirm) side.explained = side.checker.explained(output.format());
  }
}

ChecksumDetector::~ChecksumDetector() = default;
ChecksumDetector::ChecksumDetector(ChecksumDetector&&) noexcept = default;

abft::Reading ChecksumDetector::reading(std::int64_t row) const {
  return impl_->sides.front().read(row).front();
}

CleanCounts ChecksumDetector::clean(RatioCounts& ratios) const {
  CleanRows rows(ratios);
  for (const RowChecks& side : impl_->sides) {
    for (std::int64_t i = 0; i < side.m; ++i) {
      const std::vector<abft::Reading> readings = side.read(i);
      rows.add(readings, [&](std::int64_t check) {
        const std::int64_t g = check % side.groups;
        return side.is_of_sum(check) ? !(readings[at(check)].difference <= side.explained_of(i, g))
                                     : !side.confirms || side.wrong_as_it_is(i, g);
      });
    }
  }
  return rows.counts();
}

// Judges again the bins that the fast path left unsure, or all bins if `all` is set. Afterwards the
// bins are final: kBinDismissed stands for a dismissed check, and kBinUnsure for a row that is not
// checkable.
void ChecksumDetector::Impl::settle_row(const RowChecks& side, std::int64_t i,
                                        std::span<const int> bits, std::size_t stride, bool all,
                                        std::uint16_t* bins) const {
  const double least_peak = RowChecks::least_beside(side.peaks, i);
  for (std::size_t b = 0; b < bits.size(); ++b) {
    for (std::int64_t j = 0; j < side.n; ++j) {
      std::uint16_t& bin = bins[b * stride + at(j)];
      const std::uint64_t old_bits = side.c->bits_at(i * side.n + j);
      const std::uint64_t mask = std::uint64_t{1} << bits[b];
      const auto down =
          static_cast<std::uint16_t>((old_bits & mask) != 0 ? int{simd::kFlipBins} : 0);
      const bool doubtful = (bin & simd::kFlipDoubtful) != 0;
      if (!all && !doubtful && bin - down != simd::kBinUnsure) continue;
      const std::uint64_t new_bits = old_bits ^ mask;
      if (!all && doubtful) {
        const bool wrong = side.outside(i, j, new_bits) || side.wrong_as_it_is(i, j / side.width);
        bin = static_cast<std::uint16_t>(wrong ? bin & ~simd::kFlipDoubtful
                                               : int{simd::kBinDismissed} + down);
        continue;
      }
      const double before = decode(side.format(), old_bits),
                   after = decode(side.format(), new_bits);
      const Detection detection = side.detect(i, {{j, new_bits}}, least_peak);
      int settled;
      if (after == before || (std::isnan(after) && std::isnan(before))) {
        settled = simd::kBinMasked;
      } else if (detection.not_checkable) {
        settled = simd::kBinUnsure;
      } else if (detection.dismissed) {
        settled = simd::kBinDismissed;
      } else if (!std::isfinite(after)) {
        settled = simd::kBinNotFinite;
      } else {
        settled =
            // The element is finite, but the sum may have overflowed, which makes the ratio
            // infinite.
            int{simd::ratio_bin(detection.ratio, detection.flagged)};
      }
      bin = static_cast<std::uint16_t>(settled + down);
    }
  }
}

void ChecksumDetector::Impl::census_rows(const RowChecks& side, std::span<const int> bits,
                                         bool exact, std::uint16_t* bins) const {
  const Format& f = side.format();
  const auto stride = at(side.m * side.n);
  simd::Storage storage;
  const bool kernel = abft::checksum_storage(f, storage) && storage != simd::Storage::kF64;
  const bool rounded = options.spec.arithmetic == abft::Arithmetic::kOutput;
  const bool constant_time =
      !exact && f.is_float() && (rounded || options.spec.arithmetic == abft::Arithmetic::kFloat64);
  const simd::RoundSpec rounding{53 - f.precision, min_normal(f), min_subnormal(f), max_finite(f)};
  std::vector<simd::BoundForm> forms(at(side.groups)), residual_forms(at(side.groups));
  std::vector<simd::OutputStats> stats(at(side.groups));
  for (std::int64_t i = 0; i < side.m; ++i) {
    std::uint16_t* row_bins = bins + i * side.n;
    bool simple = constant_time;
    if (simple) {
      side.checker.forms(i, f, forms.data());
      side.checker.stats(f, side.row(i), stats.data(), forms.data());
      if (side.compensated()) side.checker.residual_forms(i, f, residual_forms.data());
    }
    const std::vector<abft::Reading> readings = side.read(i);
    for (std::int64_t g = 0; g < side.groups && simple; ++g) {
      if (side.compensated()) {
        const abft::Reading& r = readings[at(side.groups + g)];
        simple = !r.is_special() && !(side.confirms && r.flagged()) && side.explained_of(i, g) == 0;
      }
      // If the row is not clean, its confirmation depends on its other elements.
      simple = simple && std::isfinite(stats[at(g)].sum) && readings[at(g)].checkable &&
               !(side.confirms && readings[at(g)].flagged()) && forms[at(g)].branch == 0 &&
               forms[at(g)].per_absolute == 0;
    }
    if (!simple) {
      settle_row(side, i, bits, stride, true, row_bins);
      continue;
    }
    bool special = false;
    for (std::int64_t g = 0; g < side.groups; ++g) {
      const std::int64_t first = g * side.width, count = std::min(side.n - first, side.width);
      const simd::BoundForm& form = forms[at(g)];
      const simd::OutputStats& s = stats[at(g)];
      simd::FlipCheck check;
      check.elements = side.row(i) + first * f.storage_bytes;
      check.n = at(count);
      check.form = form;
      check.stats = s;
      if (side.compensated()) check.stats.sum += side.residual_of(i)[g];
      check.expected = side.checker.expected(i, g, side.format());
      if (rounded) {
        check.rounding = &rounding;
        check.expected = round_to(f, check.expected);
      }
      check.guard = 4 * static_cast<double>(count) * 0x1p-53 * s.absolute;
      check.mantissa_bits = f.mantissa_bits();
      check.min_subnormal = min_subnormal(f);
      if (side.confirms && !side.compensated()) check.element_error = side.element_error[at(i)];
      if (form.per_largest != 0) {
        for (std::int64_t j = first; j < first + count; ++j) {
          const double size = std::abs(decode(f, side.c->bits_at(i * side.n + j)));
          check.second = size == s.largest ? check.second : std::max(check.second, size);
        }
        std::int64_t largest = 0;
        for (std::int64_t j = first; j < first + count; ++j) {
          largest += std::abs(decode(f, side.c->bits_at(i * side.n + j))) == s.largest ? 1 : 0;
        }
        if (largest > 1) check.second = s.largest;
      }
      if (kernel) {
        special =
            simd::flip_bins(storage, check, bits.data(), bits.size(), stride, row_bins + first) ||
            special;
      } else {
        special = true;
        for (std::size_t b = 0; b < bits.size(); ++b) {
          for (std::int64_t j = first; j < first + count; ++j) {
            row_bins[b * stride + at(j)] =
                flip_bin(check, f, side.c->bits_at(i * side.n + j), bits[b]);
          }
        }
      }
      if (side.compensated()) {
        special = join_residual_bins(side, i, g, residual_forms[at(g)], s,
                                     readings[at(side.groups + g)], bits, stride, row_bins) ||
                  special;
      }
    }
    if (special) settle_row(side, i, bits, stride, false, row_bins);
  }
}

void ChecksumDetector::census(std::span<const int> bits, bool exact, std::uint16_t* bins) const {
  const RowChecks& rows = impl_->sides.front();
  impl_->census_rows(rows, bits, exact, bins);
  if (impl_->sides.size() == 1) return;
  // A change is detected by its row or by its column, so the larger ratio of difference to
  // threshold counts.
  const auto elements = at(rows.m * rows.n);
  std::vector<std::uint16_t> columns(elements * bits.size());
  impl_->census_rows(impl_->sides.back(), bits, exact, columns.data());
  // The order of bins: not checkable, dismissed, ratios from small to large, not finite, masked.
  const auto rank = [](int bin) {
    return bin == simd::kBinUnsure ? -2 : bin == simd::kBinDismissed ? -1 : bin;
  };
  for (std::size_t b = 0; b < bits.size(); ++b) {
    for (std::int64_t i = 0; i < rows.m; ++i) {
      for (std::int64_t j = 0; j < rows.n; ++j) {
        std::uint16_t& bin = bins[b * elements + at(i * rows.n + j)];
        const std::uint16_t other = columns[b * elements + at(j * rows.m + i)];
        const int down = bin >= simd::kFlipBins ? int{simd::kFlipBins} : 0;
        // The bin of the higher rank counts. So any ratio counts more than a dismissed check.
        if (rank(other - down) > rank(bin - down)) bin = other;
      }
    }
  }
}

Detection ChecksumDetector::detect(std::span<const ElementChange> changes,
                                   std::span<const AccumulatorChange> before_cast) const {
  Detection all{.not_checkable = true};
  struct ChangedRow {
    RowChecks::Changed elements;
    RowChecks::Accumulated accumulated;
  };
  for (std::size_t s = 0; s < impl_->sides.size(); ++s) {
    const RowChecks& side = impl_->sides[s];
    std::map<std::int64_t, ChangedRow> rows;
    for (const ElementChange& c : changes) {
      const std::int64_t i = s == 0 ? c.row : c.column, j = s == 0 ? c.column : c.row;
      rows[i].elements.emplace_back(j, c.bits);
    }
    for (const AccumulatorChange& c : before_cast) {
      if (!side.compensated()) break;
      const std::int64_t i = s == 0 ? c.row : c.column, j = s == 0 ? c.column : c.row;
      rows[i].accumulated.emplace_back(j, c.value);
    }
    std::vector<double> peaks = side.peaks;
    for (const auto& [i, changed] : rows) {
      if (peaks.empty()) break;
      peaks[at(i)] = side.checker.peak(side.row_with(i, changed.elements).data(), side.format());
    }
    for (const auto& [i, changed] : rows) {
      join(all, side.detect(i, changed.elements, RowChecks::least_beside(peaks, i),
                            changed.accumulated));
    }
  }
  return all;
}

std::optional<ChecksumDetector::ChangedChecksum> ChecksumDetector::detect_checksum(
    std::int64_t k, double where, const fault::Change& change, Random& random) const {
  const RowChecks& side = impl_->sides.front();
  const auto g = static_cast<std::int64_t>(where * static_cast<double>(side.groups));
  const abft::Arithmetic arithmetic = impl_->options.spec.arithmetic;
  const Format& kept =
      arithmetic == abft::Arithmetic::kOutput ? side.format() : format_named("float64");
  double sum = 0;
  std::vector<double> row(at(side.n));
  impl_->right.read(k * side.n, side.n, row.data());
  for (std::int64_t j = g * side.width; j < std::min(side.n, (g + 1) * side.width); ++j) {
    sum += row[at(j)];
  }
  const std::uint64_t before = encode(kept, sum);
  const auto after = fault::change_bits(change, kept, before, random);
  if (!after) return std::nullopt;
  const double shift = decode(kept, *after) - decode(kept, before);
  ChangedChecksum result;
  result.what = formatted("{} to {}", element_text(kept, before), element_text(kept, *after));
  result.detection.not_checkable = true;
  std::vector<simd::BoundForm> forms(at(side.groups));
  std::vector<simd::OutputStats> stats(at(side.groups));
  for (std::int64_t i = 0; i < side.m; ++i) {
    side.checker.forms(i, side.format(), forms.data());
    side.checker.stats(side.format(), side.row(i), stats.data());
    forms[at(g)].least_peak = RowChecks::least_beside(side.peaks, i);
    if (side.compensated()) stats[at(g)].sum += side.residual_of(i)[g];
    double a = 0;
    impl_->left.read(i * impl_->right.shape[0] + k, 1, &a);
    // The checksum was finite before the fault. If the fault makes it infinite or NaN, the fault
    // counts as detected.
    abft::Reading r = abft::reading_of(forms[at(g)], stats[at(g)],
                                       side.checker.expected(i, g, side.format()) + a * shift,
                                       arithmetic, side.format());
    r.checkable = std::isfinite(side.checker.expected(i, g, side.format()));
    Detection one{.flagged = r.flagged(), .not_checkable = !r.checkable};
    // The fault changed only the checksum. So the check is dismissed if the unchanged elements are
    // right.
    const bool clean = side.compensated() ? r.difference <= side.explained_of(i, g)
                                          : side.confirms && !side.wrong_as_it_is(i, g);
    if (one.flagged && clean) {
      one.flagged = false;
      one.dismissed = true;
    }
    one.ratio = abft::ratio_of(r);
    one.difference = r.difference;
    one.threshold = r.threshold;
    join(result.detection, one);
  }
  return result;
}

}  // namespace assay::campaign
