#include "assay/abft/row_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "assay/abft/arithmetic.h"
#include "assay/abft/confirm.h"
#include "assay/abft/residual_compensated.h"
#include "assay/abft/rounding_tail.h"
#include "assay/base/constants.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/simd/bound_form-inl.h"

namespace assay::inline v0_2::abft {
namespace {

// True if the kernels read elements of the format as they are stored. If not, they read them as
// float64.
bool is_own(const Format& f, simd::Storage storage) {
  simd::Storage own;
  return checksum_storage(f, own) && own == storage;
}

const std::byte* element(const Format& f, simd::Storage storage, const void* elements,
                         std::int64_t index) {
  const std::size_t bytes =
      is_own(f, storage) ? static_cast<std::size_t>(f.storage_bytes) : sizeof(double);
  return static_cast<const std::byte*>(elements) + at(index) * bytes;
}

// Converts elements of a row of C to float64, from the storage that the kernels read.
class Values {
 public:
  // The largest number of elements for which no heap memory is needed.
  static constexpr std::int64_t kFew = 64;
  Values(const Format& f, simd::Storage storage, const void* elements, std::int64_t first,
         std::int64_t count) {
    if (count > kFew) many_.resize(at(count));
    all_ = {many_.empty() ? few_.data() : many_.data(), at(count)};
    const std::byte* from = element(f, storage, elements, first);
    if (is_own(f, storage)) {
      decode_array(f, from, all_.size(), all_.data());
    } else {
      std::memcpy(all_.data(), from, all_.size_bytes());
    }
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  std::span<const double> all() const { return all_; }

 private:
  std::array<double, kFew> few_;
  std::vector<double> many_;
  std::span<double> all_;
};

// Returns the largest absolute value of `count` elements.
double largest_of(const Format& f, simd::Storage storage, const void* elements, std::int64_t first,
                  std::int64_t count) {
  if (count <= Values::kFew) {
    const Values values(f, storage, elements, first, count);
    double most = 0;
    for (const double v : values.all()) most = std::max(most, std::abs(v));
    return most;
  }
  OutputStats stats;
  output_stats(f, storage, element(f, storage, elements, first), count, count, &stats,
               {.largest = true, .ulps = false});
  return stats.largest;
}

}  // namespace

double row_peak(const Format& output, simd::Storage storage, const void* elements, std::int64_t n) {
  OutputStats stats;
  output_stats(output, storage, elements, n, std::max<std::int64_t>(n, 1), &stats,
               {.largest = true, .absolute = true, .ulps = false});
  const double peak = peak_of(stats, static_cast<double>(n));
  return std::isnan(peak) ? -kInfinity : peak;
}

RowReader::RowReader(const CheckedProduct& product, const Format& output, double kappa)
    : product_(product),
      output_(output),
      prepared_(product.prepare(output)),
      forms_(product, output, kappa),
      used_(forms_.used()),
      width_(product.width()),
      groups_(prepared_.checksums.groups),
      least_peak_(kInfinity),
      second_peak_(kInfinity) {}

void RowReader::look_at_peaks(const MatrixRows& c, int threads) {
  if (!product_.threshold().reads_peaks || !output_.is_float()) return;
  std::vector<double> peaks(at(product_.m));
  parallel_for(product_.m, threads, [&](std::int64_t i) {
    peaks[at(i)] = row_peak(output_, c.storage(), c.row(i), product_.n);
  });
  for (std::int64_t i = 0; i < product_.m; ++i) {
    const double peak = peaks[at(i)];
    if (peak < least_peak_) {
      second_peak_ = least_peak_;
      least_peak_ = peak;
      least_row_ = i;
    } else {
      second_peak_ = std::min(second_peak_, peak);
    }
  }
}

double RowReader::expected(std::int64_t i, std::int64_t g) const {
  const std::size_t check = at(i * groups_ + g);
  const double checksum =
      prepared_.rounded.empty() ? prepared_.checksums.sums[check] : prepared_.rounded[check];
  return checksum + forms_.bias_of(i, g);
}

void RowReader::stats(simd::Storage storage, const void* elements, StatsUsed used, OutputStats* to,
                      const BoundForm* row) const {
  output_stats(output_, storage, elements, product_.n, width_, to, used);
  for (std::int64_t g = 0; g < groups_ && row != nullptr; ++g) {
    if (row[g].uses_tail() && std::isfinite(to[g].sum)) {
      add_tail(row[g], storage, elements, g, to[g]);
    }
  }
  if (!rounds_sums(product_.options.spec.arithmetic) || !output_.is_float()) return;
  const Values values(output_, storage, elements, 0, product_.n);
  std::vector<double> sums(at(groups_));
  row_sums_in(product_.options.spec.arithmetic, product_.options.model, values.all().data(),
              product_.n, width_, output_, sums.data());
  for (std::size_t g = 0; g < sums.size(); ++g) to[g].sum = sums[g];
}

void RowReader::add_tail(const BoundForm& form, simd::Storage storage, const void* elements,
                         std::int64_t g, OutputStats& to, double enough) const {
  const Values values(output_, storage, elements, g * width_, product_.columns_of(g));
  const RoundingTail tail =
      rounding_tail(output_, values.all(), form.kappa, product_.options.spec.coarse, enough);
  to.tail = tail.value;
  to.tail_slope = tail.slope;
}

double RowReader::least_threshold(const BoundForm& form, const OutputStats& stats, const Place& of,
                                  double difference) const {
  const double deviation = std::sqrt(form.ulp_weight * stats.ulp_square);
  if (!(deviation > 0)) return 0;
  const std::int64_t first = of.group * width_, columns = product_.columns_of(of.group);
  const bool coarse = product_.options.spec.coarse;
  const double largest = form.half_ulps * ulp_of(output_, largest_of(output_, of.storage,
                                                                     of.elements, first, columns));
  OutputStats least = stats;
  least.tail = 0;
  const double without = form.threshold(least);
  // Sums of ulps of wide rows are computed in float32, with a relative error below 2^-16.
  least.tail = (1 - 0x1p-16) * least_rounding_tail(deviation, largest, form.kappa, coarse);
  if (difference <= form.threshold(least)) return form.threshold(least);
  add_tail(form, of.storage, of.elements, of.group, least, difference - without);
  return form.threshold(least);
}

Reading RowReader::closer(const LooseReading& check, double ratio, simd::Storage storage,
                          const void* elements) const {
  OutputStats stats = check.stats;
  stats.tail = 0;
  const double enough = check.difference / ratio - check.form.threshold(stats);
  add_tail(check.form, storage, elements, check.group, stats, enough);
  return reading_of(check.form, stats, check.expected, check.arithmetic, output_);
}

Reading RowReader::reading(const Place& of, const BoundForm& form, OutputStats& stats,
                           double expected, Arithmetic arithmetic, LooseReadings* loose) const {
  const Reading by_bound = reading_of(form, stats, expected, arithmetic, output_);
  const bool wanted = by_bound.difference > form.tail_from * by_bound.threshold;
  if (!simd::inlined::uses_tail(form) || !wanted || by_bound.is_special()) return by_bound;
  if (loose != nullptr) {
    const double least = least_threshold(form, stats, of, by_bound.difference);
    if (by_bound.difference <= least) {
      const double most = by_bound.difference / least;
      if (most > loose->known) {
        loose->kept.push_back(
            {of.row, of.group, by_bound.difference, most, form, stats, expected, arithmetic});
      }
      return by_bound;
    }
  }
  add_tail(form, of.storage, of.elements, of.group, stats);
  return reading_of(form, stats, expected, arithmetic, output_);
}

void RowReader::read(std::int64_t i, simd::Storage storage, const void* elements, Reading* to,
                     const double* residual, LooseReadings* loose) const {
  if (!prepared_.integers.empty()) return read_integers(i, storage, elements, to);
  std::vector<OutputStats> sums(at(groups_));
  stats(storage, elements, used_, sums.data());
  BoundForm form;
  for (std::int64_t g = 0; g < groups_; ++g) {
    forms_.next(i, g, form);
    form.least_peak = i == least_row_ ? second_peak_ : least_peak_;
    if (residual != nullptr) sums[at(g)].sum += residual[g];
    to[g] = reading({i, g, storage, elements}, form, sums[at(g)], expected(i, g),
                    product_.options.spec.arithmetic, loose);
  }
}

void RowReader::read_residual(std::int64_t i, simd::Storage storage, const void* elements,
                              const double* residual, Reading* to, LooseReadings* loose) const {
  std::vector<OutputStats> sums(at(groups_));
  stats(storage, elements, used_, sums.data());
  for (std::int64_t g = 0; g < groups_; ++g) {
    OutputStats& s = sums[at(g)];
    s.sum = residual[g];
    to[g] = reading({i, g, storage, elements}, forms_.rounding(i, g), s, 0, Arithmetic::kFloat64,
                    loose);
  }
}

void RowReader::read_casts(std::int64_t i, simd::Storage storage, const void* elements,
                           const double* before, Reading* to) const {
  const Values values(output_, storage, elements, 0, product_.n);
  const std::span<const double> row = values.all();
  for (std::int64_t g = 0; g < groups_; ++g) {
    const std::int64_t first = g * width_;
    Reading worst;
    for (std::int64_t j = first; j < first + product_.columns_of(g); ++j) {
      const Reading r = cast_reading(output_, row[at(j)], before[j]);
      if (j == first || !(ratio_of(r) <= ratio_of(worst))) worst = r;
    }
    worst.checkable = std::isfinite(expected(i, g));
    to[g] = worst;
  }
}

std::vector<double> RowReader::explained(std::span<const std::int64_t> rows) const {
  constexpr double kDeviations = 5;
  static const DotModel& plain = dot_model(machine_named("cpu_fma"), format_named("float32"));
  const std::int64_t n = product_.n, k = product_.k, groups = groups_;
  const auto count = static_cast<std::int64_t>(rows.size());
  const Operands& o = product_.operands;
  const DotModel& model = product_.options.model != nullptr ? *product_.options.model : plain;
  std::vector<double> a(at(count * k)), worst(at(count * groups), 0.0);
  std::vector<float> sums(at(count * n));
  for (std::int64_t i = 0; i < count; ++i) {
    o.a.read(rows[at(i)], 0, k, a.data() + i * k);
    for (std::int64_t j = 0; j < n; ++j) {
      sums[at(i * n + j)] = static_cast<float>(o.bias_at(rows[at(i)], j));
    }
  }
  dot_matmul(model, count, n, k, a.data(), product_.b_values(), sums.data(),
             product_.options.threads);
  const std::vector<double> values(sums.begin(), sums.end());
  std::vector<BoundForm> forms(at(groups));
  std::vector<OutputStats> stats(at(groups));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = rows[at(i)];
    forms_.make(row, forms.data());
    output_stats(output_, simd::Storage::kF64, values.data() + i * n, n, width_, stats.data(),
                 used_);
    for (std::int64_t g = 0; g < groups; ++g) {
      const double error = std::abs(stats[at(g)].sum - expected(row, g));
      const double deviation = std::sqrt(forms[at(g)].variance(stats[at(g)]));
      if (!(error > kDeviations * deviation)) continue;
      const std::int64_t column = g * width_;
      worst[at(i * groups + g)] =
          worst_sum_error({.operands = &o, .golden = nullptr, .model = product_.options.model}, row,
                          column, column + product_.columns_of(g) - 1) +
          std::abs(forms_.bias_of(row, g));
    }
  }
  return worst;
}

void RowReader::read_integers(std::int64_t i, simd::Storage storage, const void* elements,
                              Reading* to) const {
  const Values values(output_, storage, elements, 0, product_.n);
  const std::span<const double> row = values.all();
  for (std::int64_t g = 0; g < groups_; ++g) {
    std::uint64_t sum = 0;
    for (std::int64_t j = g * width_; j < std::min(product_.n, (g + 1) * width_); ++j) {
      sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(row[at(j)]));
    }
    const auto wanted = static_cast<std::uint64_t>(prepared_.integers[at(i * groups_ + g)]);
    const auto difference = static_cast<std::int64_t>(sum - wanted);
    to[g] = Reading{};
    to[g].difference = std::abs(static_cast<double>(difference));
    to[g].below = difference < 0;
  }
}

}  // namespace assay::abft
