#include "assay/campaign/checksum_detector.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "assay/abft/checker.h"
#include "assay/abft/confirm.h"
#include "assay/abft/operands.h"
#include "assay/abft/reading.h"
#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/campaign/clean_rows.h"
#include "assay/campaign/flips.h"
#include "assay/cases/product.h"
#include "assay/format/convert.h"
#include "assay/machine/unit_bound.h"

namespace assay::campaign {
namespace {

// The checks along the rows of a matrix: C, or its transpose.
struct RowChecks {
  AbftChecker checker;
  Tensor kept;  // the transpose
  const Tensor* c;
  std::int64_t m, n, width, groups;
  bool confirms;
  // Of confirmation: how far accumulation may take an element of each row from its exact value.
  std::vector<double> element_error;
  mutable std::map<std::int64_t, bool> wrong_groups;  // clean groups with an element out of bound
  mutable std::map<std::int64_t, bool> adding_up;     // elements that the operands were asked about
  mutable std::vector<abft::ElementBound> bounds;     // of all elements, a group at a time
  mutable std::vector<bool> known;                    // groups whose bounds are there
  std::vector<double> peaks;  // of all rows, where the threshold looks at them
  // Where the threshold takes residuals: C before its cast, if that is known, and R of each check.
  std::vector<double> before, residuals;
  std::vector<double> explained;  // of each check of a sum, where confirmation asks for it

  RowChecks(AbftChecker made, const Tensor& output, const AbftOptions& options, const TensorView& a,
            const TensorView& b, const std::vector<double>& bias)
      : checker(std::move(made)),
        c(&output),
        m(a.shape[0]),
        n(b.shape[1]),
        width(checker.group_width()),
        groups(checker.groups_per_row()),
        confirms(options.spec.confirm) {
    if (!confirms || options.spec.threshold->takes_residuals) return;
    const std::int64_t k = a.shape[1];
    const Accumulation accumulation(options.model, k);
    // |a_i| |b_j| bounds sum_k |a_ik b_kj| (Cauchy and Schwarz), whichever j.
    std::vector<double> left = a.values(), right = b.values();
    for (double& v : left) v = std::max(std::abs(v), accumulation.aligned_size_a(v));
    for (double& v : right) v = std::max(std::abs(v), accumulation.aligned_size_b(v));
    std::vector<double> columns(at(n), 0.0);
    for (std::int64_t kk = 0; kk < k; ++kk) {
      for (std::int64_t j = 0; j < n; ++j) {
        columns[at(j)] += right[at(kk * n + j)] * right[at(kk * n + j)];
      }
    }
    const double column_norm = std::sqrt(*std::max_element(columns.begin(), columns.end()));
    double largest_bias = 0;
    for (const double v : bias) largest_bias = std::max(largest_bias, std::abs(v));
    for (std::int64_t i = 0; i < m; ++i) {
      double square = 0;
      for (std::int64_t kk = 0; kk < k; ++kk) square += left[at(i * k + kk)] * left[at(i * k + kk)];
      element_error.push_back(
          accumulation.largest_element_bound(std::sqrt(square) * column_norm + largest_bias));
    }
  }

  const Format& format() const { return c->format(); }
  const std::byte* row(std::int64_t i) const { return c->bytes() + i * n * format().storage_bytes; }
  // The smallest peak of the rows beside row i, where these are the peaks of all.
  static double least_beside(const std::vector<double>& peaks, std::int64_t i) {
    double least = HUGE_VAL;
    for (std::size_t r = 0; r < peaks.size(); ++r) {
      if (r != at(i)) least = std::min(least, peaks[r]);
    }
    return least;
  }
  // R of a check, as an epilogue sums it: float32, column by column.
  double summed(std::int64_t g, const std::byte* elements, const double* row_before) const {
    float sum = 0;
    for (std::int64_t j = g * width; j < std::min(n, (g + 1) * width); ++j) {
      const double cast =
          decode(format(), load_element(format(), elements + j * format().storage_bytes));
      sum += static_cast<float>(row_before[j] - cast);
    }
    return static_cast<double>(sum);
  }
  void take_accumulator(const TensorView& values) {
    before = values.values();
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t g = 0; g < groups; ++g) {
        residuals.push_back(summed(g, row(i), before.data() + i * n));
      }
    }
  }
  // How far confirmation lets the sum of a check be off.
  double explained_of(std::int64_t i, std::int64_t g) const {
    return explained.empty() ? 0 : explained[at(i * groups + g)];
  }
  bool compensated() const { return !residuals.empty(); }
  const double* residual_of(std::int64_t i) const {
    return compensated() ? residuals.data() + i * groups : nullptr;
  }

  void look_at_peaks() {
    if (!checker.looks_at_peaks(format())) return;
    for (std::int64_t i = 0; i < m; ++i) peaks.push_back(checker.peak(row(i), format()));
  }
  std::vector<abft::Reading> read(std::int64_t i) const {
    return read_as(i, row(i), least_beside(peaks, i), residual_of(i));
  }
  // The readings of row i with other elements: one a group, and behind them, where the threshold
  // takes residuals, one of each R. Checks of infinite or NaN elements are a fault, or not
  // checkable where these are right.
  std::vector<abft::Reading> read_as(std::int64_t i, const std::byte* elements, double least_peak,
                                     const double* residual) const {
    std::vector<abft::Reading> readings(at(checks()));
    checker.read_row(i, elements, format(), readings.data(), least_peak, residual);
    if (residual != nullptr) {
      checker.read_residual(i, elements, format(), residual, readings.data() + groups);
    }
    const auto bits_at = [&](std::int64_t j) {
      return load_element(format(), elements + j * format().storage_bytes);
    };
    for (std::int64_t check = 0; check < checks() && format().is_float(); ++check) {
      if (!readings[at(check)].is_special()) continue;
      const std::int64_t first = check % groups * width, last = std::min(n, first + width);
      const auto is_special = [&](std::int64_t j) {
        return !std::isfinite(decode(format(), bits_at(first + j)));
      };
      bool any = false;
      for (std::int64_t j = 0; j < last - first; ++j) any = any || is_special(j);
      abft::Specials specials;
      if (any) {  // else no bound need be known
        specials = abft::specials_among(
            last - first, confirms, is_special,
            [&](std::int64_t j) { return std::isfinite(bound_of(i, first + j).reference); },
            [&](std::int64_t j) { return outside(i, first + j, bits_at(first + j)); });
      }
      readings[at(check)].settle(specials.right, specials.wrong);
    }
    return readings;
  }
  std::int64_t checks() const { return compensated() ? 2 * groups : groups; }  // of a row
  // Whether a check is one of a sum that R was added to.
  bool is_of_sum(std::int64_t check) const { return compensated() && check < groups; }

  using Changed = std::vector<std::pair<std::int64_t, std::uint64_t>>;  // columns and their bits
  using Accumulated = std::vector<std::pair<std::int64_t, double>>;     // columns and their sums
  std::vector<std::byte> row_with(std::int64_t i, const Changed& changed) const {
    std::vector<std::byte> bytes(row(i), row(i) + n * format().storage_bytes);
    for (const auto& [j, bits] : changed) {
      store_element(format(), bytes.data() + j * format().storage_bytes, bits);
    }
    return bytes;
  }

  const abft::ElementBound& bound_of(std::int64_t i, std::int64_t j) const {
    if (bounds.empty()) {
      bounds.resize(at(m * n));
      known.assign(at(m * groups), false);
    }
    const std::int64_t g = j / width, first = g * width;
    if (!known[at(i * groups + g)]) {
      checker.element_bounds(i, first, std::min(width, n - first), format(),
                             bounds.data() + i * n + first);
      known[at(i * groups + g)] = true;
    }
    return bounds[at(i * n + j)];
  }
  bool outside(std::int64_t i, std::int64_t j, std::uint64_t bits) const {
    const abft::ElementBound& b = bound_of(i, j);
    const double value = decode(format(), bits), error = std::abs(value - b.reference);
    if (!std::isfinite(error)) {
      return !abft::special_is_right(format(), value, b.reference, b.accumulation);
    }
    if (error <= b.bound) return false;
    return !(error <= b.worst_bound) || !errors_add_up(i, j, b, value);
  }
  // Whether the rounding errors of an element's sum add up, which its worst bound is for. They do
  // not where the result as it is lies close to its reference; else the operands are asked, once an
  // element, with a value between its two bounds.
  bool errors_add_up(std::int64_t i, std::int64_t j, const abft::ElementBound& b,
                     double value) const {
    const double as_it_is = decode(format(), c->bits_at(i * n + j));
    const double error = std::abs(as_it_is - b.reference) + ulp_of(format(), as_it_is) / 2;
    if (error <= b.accumulation / 3) return false;
    const auto [place, added] = adding_up.try_emplace(i * n + j, false);
    if (added) place->second = !checker.element_bound(i, j, value, format()).outside;
    return place->second;
  }
  // Whether a group of the result as it is has an element outside its bound.
  bool wrong_as_it_is(std::int64_t i, std::int64_t g) const {
    const auto [place, added] = wrong_groups.try_emplace(i * groups + g, false);
    for (std::int64_t j = g * width; added && j < std::min(n, (g + 1) * width); ++j) {
      place->second = place->second || outside(i, j, c->bits_at(i * n + j));
    }
    return place->second;
  }

  // R of the checks of a row whose accumulators hold other values, and whose casts are `elements`.
  std::vector<double> residuals_with(std::int64_t i, const std::byte* elements,
                                     const Accumulated& accumulated) const {
    std::vector<double> r(residual_of(i), residual_of(i) + groups);
    if (accumulated.empty()) return r;
    if (before.empty()) {
      throw std::invalid_argument(
          "a fault before the cast changes R by what the accumulator was; record the accumulator "
          "of the output, not its residual");
    }
    std::vector<double> row_before(before.begin() + i * n, before.begin() + (i + 1) * n);
    for (const auto& [j, value] : accumulated) row_before[at(j)] = value;
    for (const auto& [j, value] : accumulated) {
      r[at(j / width)] = summed(j / width, elements, row_before.data());
    }
    return r;
  }

  // The largest reading of a row with other elements; least_peak is that of the rows beside it.
  Detection detect(std::int64_t i, const Changed& changed, double least_peak,
                   const Accumulated& accumulated = {}) const {
    const std::vector<std::byte> bytes = row_with(i, changed);
    std::vector<double> r;
    if (compensated()) r = residuals_with(i, bytes.data(), accumulated);
    const std::vector<abft::Reading> readings =
        read_as(i, bytes.data(), least_peak, compensated() ? r.data() : nullptr);
    Detection result;
    result.not_checkable = true;
    for (std::int64_t check = 0; check < checks(); ++check) {
      const std::int64_t g = check % groups;
      const auto is_here = [&](const auto& change) { return change.first / width == g; };
      const bool concerned =
          std::any_of(changed.begin(), changed.end(), is_here) ||
          (compensated() && std::any_of(accumulated.begin(), accumulated.end(), is_here));
      const abft::Reading& reading = readings[at(check)];
      if (!concerned) continue;
      result.not_checkable = result.not_checkable && !reading.checkable;
      if (!reading.checkable) continue;
      bool seen = reading.flagged();
      if (seen && is_of_sum(check)) {
        seen = !(reading.difference <= explained_of(i, g));
        result.dismissed = result.dismissed || !seen;
      } else if (seen && confirms && std::isfinite(reading.difference)) {
        seen = std::any_of(changed.begin(), changed.end(),
                           [&](const auto& change) {
                             return change.first / width == g &&
                                    outside(i, change.first, change.second);
                           }) ||
               wrong_as_it_is(i, g);
        result.dismissed = result.dismissed || !seen;
      }
      result.flagged = result.flagged || seen;
      if (!(abft::ratio_of(reading) < result.ratio)) {
        result.ratio = abft::ratio_of(reading);
        result.difference = reading.difference;
        result.threshold = reading.threshold;
      }
    }
    result.dismissed = result.dismissed && !result.flagged;
    return result;
  }
};

// The bin of |R| against what it is held against once an element's ulp, among those of its check,
// is another: kBinUnsure too near to it.
int residual_bin(const simd::BoundForm& form, const simd::OutputStats& stats, double r,
                 double old_ulp, double new_ulp) {
  simd::OutputStats changed = stats;
  changed.ulp += new_ulp - old_ulp;
  changed.ulp_square += new_ulp * new_ulp - old_ulp * old_ulp;
  if (changed.ulp_square < simd::kFlipCancelled * stats.ulp_square) return simd::kBinUnsure;
  const double threshold = form.threshold(changed);
  const double apart = simd::kFlipBand * threshold;
  // Where the tail of the roundings is asked for, a bound of it says nothing.
  if (form.uses_tail() && r > form.tail_from * threshold - apart) return simd::kBinUnsure;
  if (!(std::abs(r - threshold) > apart)) return simd::kBinUnsure;
  return int{simd::ratio_bin(r == 0 ? 0 : r / threshold, r > threshold)};
}

// Puts into the bins of the flips of one check what its R says of them, `clean` as C is: the larger
// D/T of both. A
// flip in C leaves R as it is, and moves what it is held against where it changes the element's
// ulp, which its mantissa and its sign have no part in. Returns whether any bin is kBinUnsure.
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
      if (bin - down >= simd::kRatioBins) continue;  // it has no ratio
      int own = as_it_is;
      if (!keeps_ulp) {
        const std::uint64_t old_bits = side.c->bits_at(i * side.n + j);
        own = residual_bin(form, stats, r, ulp_of(f, decode(f, old_bits)),
                           ulp_of(f, decode(f, old_bits ^ std::uint64_t{1} << bits[b])));
      }
      // What its elements say of an R above what it is held against is for a closer look.
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

struct ChecksumGate::Impl {
  AbftOptions options;
  TensorView left, right;        // the case's a and b
  std::vector<RowChecks> sides;  // rows; columns too where the threshold asks for them

  // R of each check, from what the kernel gave beside the result.
  void take(const Epilogue& epilogue, const Tensor& output);
  void census_rows(const RowChecks& side, std::span<const int> bits, bool exact,
                   std::uint16_t* bins) const;
  void settle_row(const RowChecks& side, std::int64_t i, std::span<const int> bits,
                  std::size_t stride, bool all, std::uint16_t* bins) const;
};

ChecksumGate::ChecksumGate(const AbftOptions& options, const Case& c, const Tensor& output,
                           const Epilogue& epilogue)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  AbftOptions each = options;
  each.threads = 1;
  each.spec.columns = false;
  if (output.shape().size() != 2) {
    throw std::invalid_argument(formatted("a campaign's checksums need one matrix; {} is {}",
                                          c.name, shape_text(output.shape())));
  }
  const TensorView a = matmul_matrix(c, "a", 0), b = matmul_matrix(c, "b", 0);
  const std::vector<double> bias = matmul_bias(c);
  if (options.spec.columns && !bias.empty()) {
    throw std::invalid_argument("a product with a bias is checked by rows alone");
  }
  impl_->left = a;
  impl_->right = b;
  const std::int64_t m = a.shape[0], n = b.shape[1];
  const auto checks_of = [&](std::int64_t rows, std::int64_t columns) {
    return rows * options.spec.groups_of(columns);
  };
  if (!each.spec.kappa) {
    // One budget for the checks of both directions.
    const std::int64_t checks = checks_of(m, n) + (options.spec.columns ? checks_of(n, m) : 0);
    each.spec.kappa =
        abft::kappa_for(options.spec.threshold->checks_each() * checks, options.spec.delta);
  }
  impl_->sides.emplace_back(AbftChecker::of_product(a, b, each, bias), output, each, a, b, bias);
  if (options.spec.columns) {
    const TensorView left = b.transposed(), right = a.transposed();
    RowChecks side(AbftChecker::of_product(left, right, each), output, each, left, right,
                   std::vector<double>());
    side.kept = copy_of(output.view().transposed());
    impl_->sides.push_back(std::move(side));
    impl_->sides.back().c = &impl_->sides.back().kept;
  }
  for (RowChecks& side : impl_->sides) side.look_at_peaks();
  if (options.spec.threshold->takes_residuals) impl_->take(epilogue, output);
  (void)reading(0);  // says what the threshold cannot judge
}

void ChecksumGate::Impl::take(const Epilogue& epilogue, const Tensor& output) {
  RowChecks& rows = sides.front();
  const Residual residual = Residual::of(epilogue);
  std::string why = why_no_epilogue(epilogue, output.format(), output.shape());
  if (why.empty()) why = rows.checker.why_not(output.format(), residual);
  const bool whole = residual.kind == Residual::Kind::kAccumulator;
  if (why.empty() && !whole && sides.size() > 1) {
    why = "checks of columns need C before its cast, not R of each row";
  }
  if (!why.empty()) throw std::invalid_argument(why);
  if (whole) {
    rows.take_accumulator(residual.values);
    if (sides.size() > 1) sides.back().take_accumulator(residual.values.transposed());
  } else {
    rows.residuals = residual.values.values();
  }
  for (RowChecks& side : sides) {
    if (options.spec.confirm) side.explained = side.checker.explained(output.format());
  }
}

ChecksumGate::~ChecksumGate() = default;
ChecksumGate::ChecksumGate(ChecksumGate&&) noexcept = default;

abft::Reading ChecksumGate::reading(std::int64_t row) const {
  return impl_->sides.front().read(row).front();
}

CleanCounts ChecksumGate::clean(RatioCounts& ratios) const {
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

// Looks again at what the fast path was not sure of (`all`: at everything). Bins become final:
// kBinDismissed what was dismissed, kBinUnsure what is not checkable.
void ChecksumGate::Impl::settle_row(const RowChecks& side, std::int64_t i,
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
            int{simd::ratio_bin(detection.ratio, detection.flagged)};  // a sum may have overflowed
      }
      bin = static_cast<std::uint16_t>(settled + down);
    }
  }
}

void ChecksumGate::Impl::census_rows(const RowChecks& side, std::span<const int> bits, bool exact,
                                     std::uint16_t* bins) const {
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
      // What confirmation says of a row that is not clean depends on its other elements.
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

void ChecksumGate::census(std::span<const int> bits, bool exact, std::uint16_t* bins) const {
  const RowChecks& rows = impl_->sides.front();
  impl_->census_rows(rows, bits, exact, bins);
  if (impl_->sides.size() == 1) return;
  // A change is seen by its row or by its column: the larger D/T of both.
  const auto elements = at(rows.m * rows.n);
  std::vector<std::uint16_t> columns(elements * bits.size());
  impl_->census_rows(impl_->sides.back(), bits, exact, columns.data());
  const auto rank = [](int bin) {  // not checkable, dismissed, then by D/T, masked
    return bin == simd::kBinUnsure ? -2 : bin == simd::kBinDismissed ? -1 : bin;
  };
  for (std::size_t b = 0; b < bits.size(); ++b) {
    for (std::int64_t i = 0; i < rows.m; ++i) {
      for (std::int64_t j = 0; j < rows.n; ++j) {
        std::uint16_t& bin = bins[b * elements + at(i * rows.n + j)];
        const std::uint16_t other = columns[b * elements + at(j * rows.m + i)];
        const int down = bin >= simd::kFlipBins ? int{simd::kFlipBins} : 0;
        // A dismissed check stands for none above its threshold.
        if (rank(other - down) > rank(bin - down)) bin = other;
      }
    }
  }
}

Detection ChecksumGate::detect(std::span<const ElementChange> changes,
                               std::span<const AccumulatorChange> before_cast) const {
  Detection all;
  all.not_checkable = true;
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

std::optional<ChecksumGate::ChangedChecksum> ChecksumGate::detect_checksum(
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
    // A checksum that is not finite any more is the fault's doing, and tells of it.
    abft::Reading r = abft::reading_of(forms[at(g)], stats[at(g)],
                                       side.checker.expected(i, g, side.format()) + a * shift,
                                       arithmetic, side.format());
    r.checkable = std::isfinite(side.checker.expected(i, g, side.format()));
    Detection one;
    one.not_checkable = !r.checkable;
    one.flagged = r.flagged();
    // The elements are as they were.
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
