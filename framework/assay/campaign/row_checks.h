// Applies one checksum threshold to the rows of a matrix of a campaign.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "assay/abft/checker.h"
#include "assay/abft/confirm.h"
#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/campaign/checksum_detector.h"
#include "assay/format/convert.h"

namespace assay::inline v0_2::campaign {

// The checks of the rows of C. For checks of columns, the matrix is the transpose of C.
struct RowChecks {
  AbftChecker checker;
  Tensor kept;  // the transpose of C for column checks, and empty for row checks
  const Tensor* c;
  std::int64_t m, n, width, groups;
  bool confirms;
  // The largest error that accumulation may give an element of each row. Filled only if flagged
  // checks are confirmed by their elements and the threshold takes no residuals.
  std::vector<double> element_error;
  // Cache of wrong_as_it_is(). For a group of columns in a row of the unchanged result, it holds
  // true if an element of the group is outside its bound.
  mutable std::map<std::int64_t, bool> wrong_groups;
  // Cache of errors_add_up(). For an element, it holds true if the rounding errors of its sum add
  // up.
  mutable std::map<std::int64_t, bool> adding_up;
  // The bounds of all elements, filled group by group.
  mutable std::vector<abft::ElementBound> bounds;
  mutable std::vector<bool> known;  // true for the groups whose bounds are computed
  std::vector<double> peaks;        // the peak of each row, if the threshold reads the peaks
  // Filled if the threshold takes residuals: C before its cast, if it is known, and the residual R
  // of each check.
  std::vector<double> before, residuals;
  // For each check of a sum: the largest difference that confirmation accepts. Filled if
  // confirmation is on and the threshold takes residuals.
  std::vector<double> explained;

  RowChecks(AbftChecker made, const Tensor& output, const AbftOptions& options)
      : checker(std::move(made)),
        c(&output),
        m(checker.rows()),
        n(checker.columns()),
        width(checker.group_width()),
        groups(checker.groups_per_row()),
        confirms(options.spec.confirm) {
    if (confirms && !options.spec.threshold->takes_residuals) {
      element_error = checker.largest_element_errors();
    }
  }

  const Format& format() const { return c->format(); }
  const std::byte* row(std::int64_t i) const { return c->bytes() + i * n * format().storage_bytes; }
  // Returns the smallest peak of the rows other than row i. `peaks` has the peaks of all rows.
  static double least_beside(const std::vector<double>& peaks, std::int64_t i) {
    double least = HUGE_VAL;
    for (std::size_t r = 0; r < peaks.size(); ++r) {
      if (r != at(i)) least = std::min(least, peaks[r]);
    }
    return least;
  }
  // Returns the residual R of a check as an epilogue sums it: in float32, column by column.
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
  // Returns the largest difference of the check of row i and group g that confirmation accepts.
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
  // Returns the readings of row i with other elements in place of its own: one reading for each
  // group. If the threshold takes residuals, one reading of R for each group follows. Checks with
  // infinite or NaN elements are faults, or not checkable if these elements are right.
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
      if (any) {  // the bounds are needed only if the group has infinite or NaN elements
        specials = abft::specials_among(
            last - first, confirms, is_special,
            [&](std::int64_t j) { return std::isfinite(bound_of(i, first + j).reference); },
            [&](std::int64_t j) { return outside(i, first + j, bits_at(first + j)); });
      }
      readings[at(check)].settle(specials.right, specials.wrong);
    }
    return readings;
  }
  std::int64_t checks() const { return compensated() ? 2 * groups : groups; }  // per row
  // True if the check is that of a sum to which the residual R was added, and not that of R itself.
  bool is_of_sum(std::int64_t check) const { return compensated() && check < groups; }

  // Changed columns and their new bits.
  using Changed = std::vector<std::pair<std::int64_t, std::uint64_t>>;
  // Changed columns and their new sums.
  using Accumulated = std::vector<std::pair<std::int64_t, double>>;
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
    const double value = decode(format(), bits);
    return abft::is_outside(format(), b, value, [&] { return errors_add_up(i, j, b, value); });
  }
  // True if the rounding errors of an element's sum add up, so that the larger of its two bounds
  // applies. If the unchanged result is close to its reference, the errors do not add up. If it is
  // not close, the operands decide. They are read at most once per element, and only if a value
  // lies between its two bounds.
  bool errors_add_up(std::int64_t i, std::int64_t j, const abft::ElementBound& b,
                     double value) const {
    const double as_it_is = decode(format(), c->bits_at(i * n + j));
    const double error = std::abs(as_it_is - b.reference) + ulp_of(format(), as_it_is) / 2;
    if (error <= b.accumulation / 3) return false;
    const auto [place, added] = adding_up.try_emplace(i * n + j, false);
    if (added) place->second = !checker.element_bound(i, j, value, format()).outside;
    return place->second;
  }
  // True if a group of the unchanged result has an element outside its bound.
  bool wrong_as_it_is(std::int64_t i, std::int64_t g) const {
    const auto [place, added] = wrong_groups.try_emplace(i * groups + g, false);
    for (std::int64_t j = g * width; added && j < std::min(n, (g + 1) * width); ++j) {
      place->second = place->second || outside(i, j, c->bits_at(i * n + j));
    }
    return place->second;
  }

  // Returns the residual R of each check of a row after its accumulators changed. `elements` is the
  // row that these accumulators are cast to.
  std::vector<double> residuals_with(std::int64_t i, const std::byte* elements,
                                     const Accumulated& accumulated) const {
    std::vector<double> r(residual_of(i), residual_of(i) + groups);
    if (accumulated.empty()) return r;
    if (before.empty()) {
      refuse(
          "a fault before the cast changes the residual, which can be computed again only from the "
          "accumulator; record the accumulator of the output, not only its residual");
    }
    std::vector<double> row_before(before.begin() + i * n, before.begin() + (i + 1) * n);
    for (const auto& [j, value] : accumulated) row_before[at(j)] = value;
    for (const auto& [j, value] : accumulated) {
      r[at(j / width)] = summed(j / width, elements, row_before.data());
    }
    return r;
  }

  // Returns the result for row i with other elements in place of its own. Its ratio is the largest
  // one of the row's checks. least_peak is the smallest peak of the other rows.
  Detection detect(std::int64_t i, const Changed& changed, double least_peak,
                   const Accumulated& accumulated = {}) const {
    const std::vector<std::byte> bytes = row_with(i, changed);
    std::vector<double> r;
    if (compensated()) r = residuals_with(i, bytes.data(), accumulated);
    const std::vector<abft::Reading> readings =
        read_as(i, bytes.data(), least_peak, compensated() ? r.data() : nullptr);
    Detection result{.not_checkable = true};
    for (std::int64_t check = 0; check < checks(); ++check) {
      const std::int64_t g = check % groups;
      const auto is_here = [&](const auto& change) { return change.first / width == g; };
      const bool concerned = std::ranges::any_of(changed, is_here) ||
                             (compensated() && std::ranges::any_of(accumulated, is_here));
      const abft::Reading& reading = readings[at(check)];
      if (!concerned) continue;
      result.not_checkable = result.not_checkable && !reading.checkable;
      if (!reading.checkable) continue;
      bool seen = reading.flagged();
      if (seen && is_of_sum(check)) {
        seen = !(reading.difference <= explained_of(i, g));
        result.dismissed = result.dismissed || !seen;
      } else if (seen && confirms && std::isfinite(reading.difference)) {
        seen = std::ranges::any_of(changed,
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

}  // namespace assay::campaign
