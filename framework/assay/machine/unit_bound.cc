#include "assay/machine/unit_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>

#include "assay/base/parallel.h"
#include "assay/base/quad.h"
#include "assay/simd/size_sums.h"

namespace assay::inline v0_2 {
namespace {

using device::kFloat32Roundoff;

bool rounds_to_nearest(const DotModel& model) {
  return model.rounding.value == Rounding::kNearestEven ||
         model.rounding.value == Rounding::kNearestAway;
}

double ceil_of(std::int64_t a, std::int64_t b) {
  return b > 0 ? static_cast<double>((a + b - 1) / b) : 0;
}

// Returns the sum of the unit roundoffs of all roundings between a product and the final sum.
double roundoff_of(const DotModel& model, std::int64_t k, bool starts) {
  const RoundingCounts counts = rounding_counts(model, k);
  const double u = unit_roundoff(accumulator_format(model)) * (rounds_to_nearest(model) ? 1 : 2);
  // The start is rounded to float32 before it is added.
  return counts.path * u + counts.promotions * kFloat32Roundoff + (starts ? kFloat32Roundoff : 0);
}

// Returns the relative error of a float64 sum of k sizes. The sizes of flushed products need it,
// because their bound is this computed sum.
double float64_sums(std::int64_t k) { return static_cast<double>(k) * 0x1p-52; }

// The number of units 2^(emax - F) that a chunk may lose if terms are aligned: one for each term
// and the accumulator. If the accumulator is added afterwards, the sum of each interleaved group
// and the sum of these lose one more each, because they are rounded down.
double lost_units(const DotModel& model) {
  const int joins = model.sum_bits.value > 0 ? model.interleave.value + 1 : 0;
  return static_cast<double>(model.chunk.value + 1 + joins);
}

// The sizes of one operand's values as a unit reads them. `size` is |x|, `aligned` is |x| as it
// counts if terms are aligned, and both are 0 if the value is flushed. `flushed` is |x| of the
// flushed values.
struct OperandSizes {
  std::vector<double> size, aligned, flushed;
  bool flushes = false;  // true if any value is flushed
};
OperandSizes sizes_of(std::span<const double> values, const Format& f, bool flush) {
  OperandSizes s;
  s.size.assign(values.begin(), values.end());
  s.aligned.reserve(values.size());
  s.flushed.assign(flush ? values.size() : 0, 0.0);
  const double least = f.is_float() ? min_normal(f) : 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& v = s.size[i];
    v = std::abs(v);
    if (flush && f.is_float() && v < least) {
      s.flushes = s.flushes || v > 0;
      s.flushed[i] = v;
      v = 0;
    }
    s.aligned.push_back(v == 0 ? 0 : std::max(v, least));
  }
  return s;
}

// Adds the sizes of products that are missing from the sums because the unit flushes one of their
// factors.
void add_flushed(const OperandSizes& rows, const OperandSizes& columns, std::int64_t n,
                 std::int64_t k, int threads, SumBounds& bounds) {
  const auto width = static_cast<std::size_t>(n), depth = static_cast<std::size_t>(k);
  const auto height = static_cast<std::int64_t>(width > 0 ? bounds.size.size() / width : 0);
  parallel_for(height, threads, [&](std::int64_t i) {
    std::vector<double> lost(width, 0.0);
    for (std::size_t kk = 0; kk < depth; ++kk) {
      const std::size_t at = static_cast<std::size_t>(i) * depth + kk;
      const double* sizes = columns.size.data() + kk * width;
      const double* dropped = columns.flushed.data() + kk * width;
      for (std::size_t j = 0; j < width; ++j) {
        lost[j] += rows.size[at] * dropped[j] + rows.flushed[at] * (sizes[j] + dropped[j]);
      }
    }
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t to = static_cast<std::size_t>(i) * width + j;
      bounds.size[to] += lost[j];
      bounds.error[to] += lost[j] * (1 + float64_sums(k));
    }
  });
}

}  // namespace

RoundingCounts rounding_counts(const DotModel& model, std::int64_t k) {
  RoundingCounts counts;
  const std::int64_t chunk = model.chunk.value, interval = model.promotion_interval.value;
  const std::int64_t part = interval > 0 ? std::min<std::int64_t>(interval, k) : k;
  const auto products = static_cast<double>(k);
  if (model.order.value == ChunkOrder::kSequential) {
    counts.inside = static_cast<double>(chunk - 1);
  } else if (model.order.value == ChunkOrder::kPairwise) {
    counts.inside = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(chunk - 1)));
  }
  const bool rounds_products = model.rounds_products();
  if (rounds_products) counts.inside += 1;
  counts.path = ceil_of(part, chunk) + counts.inside;
  // A chunk ends when the partial sum is promoted, so the last chunk of each part may be shorter.
  double chunks = ceil_of(part, chunk);
  if (interval > 0) {
    counts.promotions = ceil_of(k, part);
    if (part > 0) chunks = chunks * static_cast<double>(k / part) + ceil_of(k % part, chunk);
  }
  counts.all = counts.inexact = chunks;
  if (model.kept_bits.value > 0) return counts;  // one rounding for each chunk, whatever `order` is
  if (model.order.value == ChunkOrder::kFused) {
    if (!rounds_products) return counts;
    counts.all += products;
  } else {
    // Counts each rounded product, the sums of a chunk, and its sum with the accumulator. If fused
    // multiply-adds are chained, the products have no rounding of their own.
    const bool fuses = model.order.value == ChunkOrder::kSequential && !rounds_products;
    counts.all = products + (fuses ? chunks : products);
  }
  // Below the normal range only products lose bits, because sums of subnormals are exact.
  counts.inexact = products;
  return counts;
}

std::string why_no_sum_bounds(const DotModel& model, std::int64_t k, bool starts) {
  return roundoff_of(model, k, starts) >= 0.5 ? "the roundings leave no digit" : "";
}

SumBounds sum_bounds(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                     std::span<const double> a, std::span<const double> b,
                     const std::vector<double>& start, int threads) {
  const double total = roundoff_of(model, k, !start.empty()), growth = total / (1 - total);
  const RoundingCounts counts = rounding_counts(model, k);
  const Format accumulator = accumulator_format(model);
  const std::int64_t chunk = model.chunk.value, interval = model.promotion_interval.value;
  const int kept = model.kept_bits.value;
  const double share = kept > 0 ? lost_units(model) * std::ldexp(1.0, -kept) : 0;
  const double floor =
      model.emax_floor.value > DotModel::kNoFloor ? std::ldexp(1.0, model.emax_floor.value) : 0;
  const bool is_float = accumulator.is_float();
  const double least_normal = is_float ? min_normal(accumulator) : 0;
  double tiny = is_float ? counts.inexact * min_subnormal(accumulator) : 0;
  if (!start.empty()) tiny += 0x1p-150;
  const double flush = is_float && model.flush_sums.value ? counts.all * least_normal : 0;
  const bool flush_inputs = model.flush_inputs.value;
  const OperandSizes rows = sizes_of(a, format_named(model.input), flush_inputs);
  const OperandSizes columns = sizes_of(b, format_named(model.b_input()), flush_inputs);
  constexpr std::int64_t kWidth = simd::kSizedColumns, kRows = 32, kPanels = 64;
  const simd::SizedUnit unit = {.chunk = chunk,
                                .promotion_interval = interval,
                                .share = share,
                                .floor = floor,
                                .least_normal = least_normal,
                                .sum_error = float64_sums(k)};
  // The number of products that are summed at a time. This stretch ends where a chunk, or a part
  // that is promoted, ends.
  constexpr std::int64_t kStretch = 4096;
  const std::int64_t whole = interval > 0 ? interval : chunk,
                     stretch = whole * std::max<std::int64_t>(1, kStretch / whole);
  SumBounds bounds;
  bounds.size.resize(static_cast<std::size_t>(m * n));
  bounds.error.resize(bounds.size.size());
  const std::int64_t blocks = (m + kRows - 1) / kRows, panels = (n + kWidth - 1) / kWidth,
                     stripes = (panels + kPanels - 1) / kPanels;
  parallel_for(blocks * stripes, threads, [&](std::int64_t part) {
    const std::int64_t first_row = part / stripes * kRows,
                       row_count = std::min(kRows, m - first_row),
                       first_panel = part % stripes * kPanels,
                       end = std::min(panels, first_panel + kPanels);
    // Memory for the panel's columns of B in a stretch. Columns beyond the last one are filled with
    // 0.
    const auto panel_size = static_cast<std::size_t>(std::min(stretch, k) * kWidth);
    const auto memory = std::make_unique_for_overwrite<double[]>(2 * panel_size);
    double *const size = memory.get(), *const aligned = size + panel_size;
    for (std::int64_t panel = first_panel; panel < end; ++panel) {
      const std::int64_t column = panel * kWidth, count = std::min(kWidth, n - column);
      double sums[kRows * kWidth] = {}, cuts[kRows * kWidth] = {};
      for (std::int64_t i = 0; i < row_count && !start.empty(); ++i) {
        for (std::int64_t j = 0; j < count; ++j) {
          sums[i * kWidth + j] = std::abs(start[static_cast<std::size_t>(column + j)]);
        }
      }
      for (std::int64_t first = 0; first < k; first += stretch) {
        const std::int64_t depth = std::min(stretch, k - first);
        for (std::int64_t kk = 0; kk < depth; ++kk) {
          for (std::int64_t j = 0; j < kWidth; ++j) {
            const auto to = static_cast<std::size_t>(kk * kWidth + j),
                       from = static_cast<std::size_t>((first + kk) * n + column + j);
            size[to] = j < count ? columns.size[from] : 0;
            aligned[to] = j < count ? columns.aligned[from] : 0;
          }
        }
        const std::int64_t at = first_row * k + first;
        simd::size_sums(unit, row_count, depth,
                        {rows.size.data() + at, rows.aligned.data() + at, k},
                        {size, aligned, kWidth}, sums, cuts);
      }
      for (std::int64_t i = 0; i < row_count; ++i) {
        for (std::int64_t j = 0; j < count; ++j) {
          const auto to = static_cast<std::size_t>((first_row + i) * n + column + j);
          const double sum = sums[i * kWidth + j], cut = cuts[i * kWidth + j];
          // Digits that were cut off or lost below the normal range change the sum, and later
          // roundings err relative to the changed sum.
          double error = growth * (sum + cut + tiny) + cut + tiny;
          if (flush > 0) error += std::min(flush, (1 + growth) * sum);
          bounds.size[to] = sum;
          bounds.error[to] = error;
        }
      }
    }
  });
  if (rows.flushes || columns.flushes) add_flushed(rows, columns, n, k, threads, bounds);
  return bounds;
}

RowSumBounds::RowSumBounds(const DotModel& model, std::int64_t n, std::int64_t k, bool starts)
    : model_(model),
      n_(n),
      k_(k),
      starts_(starts),
      size_(static_cast<std::size_t>(k)),
      aligned_(size_.size()),
      flushed_(size_.size()) {}

void RowSumBounds::take(std::int64_t kk, std::span<const double> row) {
  const OperandSizes sizes =
      sizes_of(row, format_named(model_.b_input()), model_.flush_inputs.value);
  const auto at = static_cast<std::size_t>(kk);
  size_[at] = std::accumulate(sizes.size.begin(), sizes.size.end(), 0.0);
  aligned_[at] = std::accumulate(sizes.aligned.begin(), sizes.aligned.end(), 0.0);
  flushed_[at] = std::accumulate(sizes.flushed.begin(), sizes.flushed.end(), 0.0);
}

RowSumBounds::Row RowSumBounds::of(std::span<const double> a, double start) const {
  const double total = roundoff_of(model_, k_, starts_), growth = total / (1 - total);
  const RoundingCounts counts = rounding_counts(model_, k_);
  const Format accumulator = accumulator_format(model_);
  const bool is_float = accumulator.is_float();
  const auto columns = static_cast<double>(n_);
  const double least_normal = is_float ? min_normal(accumulator) : 0;
  const double floor =
      model_.emax_floor.value > DotModel::kNoFloor ? std::ldexp(1.0, model_.emax_floor.value) : 0;
  double tiny = is_float ? counts.inexact * min_subnormal(accumulator) : 0;
  if (starts_) tiny += 0x1p-150;
  tiny *= columns;
  const double flush =
      is_float && model_.flush_sums.value ? columns * counts.all * least_normal : 0;
  const int kept = model_.kept_bits.value;
  const double share = kept > 0 ? lost_units(model_) * std::ldexp(1.0, -kept) : 0;
  const OperandSizes row = sizes_of(a, format_named(model_.input), model_.flush_inputs.value);
  const std::int64_t chunk = model_.chunk.value, interval = model_.promotion_interval.value;
  double sum = start, lost = 0, cut = 0, low = 0;
  bool is_zero = start == 0;
  for (std::int64_t first = 0, last = 0; first < k_; first = last) {
    last = std::min(k_, first + chunk);
    if (interval > 0) last = std::min(last, (first / interval + 1) * interval);
    // The largest term of a column is at most the accumulator and all products together.
    double largest = sum, least = columns * floor;
    if (sum > 0) least = columns * std::max(least_normal, floor);
    for (std::int64_t kk = first; kk < last; ++kk) {
      const auto at = static_cast<std::size_t>(kk);
      // Tests the factors and not their product, which may underflow.
      is_zero = is_zero && (a[at] == 0 || (size_[at] == 0 && flushed_[at] == 0));
      sum += row.size[at] * size_[at];
      largest += row.size[at] * size_[at];
      // A subnormal factor counts as the smallest normal one.
      if (row.aligned[at] != row.size[at] || aligned_[at] != size_[at]) {
        least += row.aligned[at] * aligned_[at] - row.size[at] * size_[at];
      }
      lost += row.size[at] * flushed_[at];
      if (row.flushes) lost += row.flushed[at] * (size_[at] + flushed_[at]);
    }
    cut += share * largest;
    low += share * least;
  }
  Row bounds;
  if (is_zero) return bounds;  // no error, because sums of zeros are exact
  bounds.size = sum + lost;
  bounds.absolute = (1 + growth) * (low + tiny);
  if (flush > 0) bounds.absolute += std::min(flush, (1 + growth) * sum);
  bounds.absolute += lost * (1 + float64_sums(k_));
  bounds.error = growth * (sum + cut) + cut + bounds.absolute;
  return bounds;
}

Accumulation::Accumulation(const DotModel* model, std::int64_t k) : k_(k) {
  terms_.k = k;
  terms_.chunk = model != nullptr ? model->chunk.value : 1;
  std::int64_t segment = std::max<std::int64_t>(k, 1);
  terms_.roundings = std::ceil(static_cast<double>(k) / static_cast<double>(terms_.chunk));
  counts_ = {.path = terms_.roundings, .all = terms_.roundings, .inexact = terms_.roundings};
  if (model != nullptr) {
    counts_ = rounding_counts(*model, k);
    terms_.cuts_sums = !rounds_to_nearest(*model);
    terms_.aligned = model->kept_bits.value > 0;
    terms_.cuts_terms = terms_.aligned && model->alignment.value == Rounding::kTowardZero;
    terms_.truncates = terms_.cuts_sums || terms_.aligned;
    flushes_inputs_ = model->flush_inputs.value;
    if (model->flush_sums.value) terms_.flushed = counts_.all;
    terms_.kept = model->kept_bits.value;
    lost_units_ = lost_units(*model);
    const Format accumulator = accumulator_format(*model);
    if (accumulator.is_float()) {
      terms_.mantissa = std::min(23, accumulator.mantissa_bits());
      least_normal_ = min_normal(accumulator);
    }
    terms_.unit = std::ldexp(1.0, -terms_.mantissa - 1);
    const Format &a = format_named(model->input), &b = format_named(model->b_input());
    if (a.is_float()) least_a_ = min_normal(a);
    if (b.is_float()) least_b_ = min_normal(b);
    if (model->emax_floor.value > DotModel::kNoFloor) {
      floor_ = std::ldexp(1.0, model->emax_floor.value);
    }
    const int bits = a.precision + b.precision;
    terms_.product_bits = bits;
    terms_.coarse = bits <= 16;
    if (model->promotion_interval.value > 0)
      segment = std::min<std::int64_t>(segment, model->promotion_interval.value);
    // Counts the roundings inside a chunk, where sums start at 0.
    const auto length = static_cast<double>(terms_.chunk);
    if (model->order.value == ChunkOrder::kSequential) inner_products_ = length / 2;
    if (model->order.value == ChunkOrder::kPairwise)
      inner_products_ = static_cast<double>(quad::log(length) / quad::log(2));
    if (inner_products_ > 0)
      inner_square_ = length * length / (3 * static_cast<double>(std::max<std::int64_t>(k, 1)));
    if (model->rounds_products()) inner_products_ += 1;
  }
  terms_.segments =
      std::ceil(static_cast<double>(std::max<std::int64_t>(k, 1)) / static_cast<double>(segment));
  terms_.segment = segment;
  if (terms_.segments > 1) {
    // The sums of each segment start at 0. S is the sum of the squared results, and V that of the
    // squared products. If the products are exchangeable, the mean square of a segment's total is V
    // / segments + S / segments^2.
    terms_.chain_products = terms_.roundings / (2 * terms_.segments);
    terms_.chain_square = terms_.roundings / (3 * terms_.segments * terms_.segments);
    terms_.promote_products = terms_.segments / 6;
    terms_.promote_square = terms_.segments / 3;
  } else {
    terms_.chain_products = terms_.roundings / 6;
    terms_.chain_square = terms_.roundings / 3;
  }
  terms_.chain_products += inner_products_;
  terms_.chain_square += inner_square_;
  terms_.flushed *= least_normal_;
  worst_ = std::max(terms_.roundings + counts_.inside, counts_.path + counts_.promotions);
}

double Accumulation::aligned_size(double value, double least) const {
  const double size = std::abs(value);
  if (size >= least || size == 0) return size;
  return flushes_inputs_ ? 0 : terms_.aligned ? least : size;
}

ElementError Accumulation::element_bound(double bias, double reference, const double* a,
                                         const double* b) const {
  double absolute = std::abs(bias), squares = bias * bias, prefix = bias, prefix_squares = 0;
  double cut = 0, largest = 0, sums = 0, total = 0, segment = 0, lost = 0;
  // True if partial sums start at 0 and are promoted to a sum that starts at the bias.
  const bool promotes = terms_.segments > 1;
  if (!promotes) largest = std::abs(bias);
  // An accumulator below the normal range is aligned like the smallest normal number.
  const auto as_aligned = [&](double sum) {
    return absolute > 0 ? std::max(sum, std::max(least_normal_, floor_)) : sum;
  };
  std::int64_t of_segment = 0, of_chunk = 0;  // products so far
  for (std::int64_t kk = 0; kk < k_; ++kk) {
    double product = a[kk] * b[kk];
    const double aligned = aligned_size_a(a[kk]) * aligned_size_b(b[kk]);
    if (aligned == 0 && flushes_inputs_) {
      lost += std::abs(product);
      product = 0;
    }
    absolute += std::abs(product);
    squares += product * product;
    prefix += product;
    segment += product;
    largest = std::max(largest, aligned);
    ++of_segment;
    if (++of_chunk != terms_.chunk && kk + 1 != k_ && of_segment != terms_.segment) continue;
    of_chunk = 0;
    prefix_squares += prefix * prefix;
    // Truncation loses up to an ulp of the sum, and one unit of the largest term for each term. The
    // accumulator is not larger than `sum`, no matter if the bias is added first or last.
    const double sum = promotes ? std::abs(segment) : std::max(std::abs(segment), std::abs(prefix));
    sums += sum;
    cut += as_aligned(std::max(largest, sum));
    largest = sum;
    if (of_segment == terms_.segment) {
      total += std::abs(prefix);
      segment = largest = 0;
      of_segment = 0;
    }
  }
  lost *= 1 + float64_sums(k_);
  if (!terms_.truncates) {
    const ElementError sum = chain_bound({reference, absolute, squares, prefix_squares});
    return {sum.chance + lost, sum.worst + lost};
  }
  const double floor =
      absolute > 0 ? counts_.inexact * std::ldexp(1.0, -126 - terms_.mantissa) + terms_.flushed : 0;
  const double worst = 2 * terms_.unit * sums + 2 * kFloat32Roundoff * (total + std::abs(bias)) +
                       floor +
                       (terms_.aligned ? lost_units_ * std::ldexp(1.0, -terms_.kept) * cut
                                       : 2 * terms_.unit * counts_.inside * absolute) +
                       lost;
  return {worst, worst};
}

ElementError Accumulation::chain_bound(const simd::ElementSums& s) const {
  // The largest error that the roundings allow would hide products that are computed with lower
  // precision. So `chance` is limited to kDeviations standard deviations, which is far beyond
  // chance, whether k is summed in order or in any other order.
  constexpr double kDeviations = 16;
  const double any_order = terms_.roundings * (s.reference * s.reference / 3 + s.squares / 6);
  // Roundings inside a chunk come in addition to those of the accumulator.
  const double inside = inner_square_ * (s.reference * s.reference) + inner_products_ * s.squares;
  const double variance = (std::max(s.prefix_squares, any_order) + inside) / 3;
  const double floor =
      s.absolute > 0 ? counts_.inexact * std::ldexp(1.0, -127 - terms_.mantissa) + terms_.flushed
                     : 0;
  const double worst = worst_ * s.absolute, chance = kDeviations * std::sqrt(variance);
  return {terms_.unit * std::min(worst, chance) + floor, terms_.unit * worst + floor};
}

double Accumulation::largest_element_bound(double size) const {
  const double floor = std::max(worst_, counts_.inexact) * std::ldexp(1.0, -126 - terms_.mantissa) +
                       terms_.flushed + (flushes_inputs_ ? size * (1 + float64_sums(k_)) : 0);
  if (!terms_.truncates) return worst_ * (terms_.unit * size) + floor;
  const double aligned = std::max(size, std::max(least_normal_, floor_));
  return 2 * terms_.unit * worst_ * size + 2 * kFloat32Roundoff * (terms_.segments + 1) * size +
         floor +
         (terms_.aligned ? lost_units_ * std::ldexp(1.0, -terms_.kept) * terms_.roundings * aligned
                         : 0);
}

}  // namespace assay
