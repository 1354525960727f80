#include "assay/machine/factor_panels.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

#include "assay/base/parallel.h"

namespace assay::inline v0_2 {
namespace {

// Values of a panel, each with the powers of two of its lowest and its leading bit, which the
// kernels of simd/factors.h need.
class PanelFactors {
 public:
  PanelFactors(const Format& format, bool flush)
      : least_exponent_(format.is_float() ? std::ldexp(1.0, format.min_exponent()) : 0),
        flush_below_(flush && format.is_float() ? min_normal(format) : 0) {}

  // Reads `rows` rows of `count` values. The rows are `stride` apart. Rows of fewer than `width`
  // values are filled up with their last value. Returns true if a value was flushed.
  bool read(const double* from, std::int64_t rows, std::int64_t count, std::int64_t stride,
            std::int64_t width) {
    const auto size = static_cast<std::size_t>(rows * width);
    // Allocates one memory block and does not clear it, because clearing the many pages of long
    // sums would take time.
    if (3 * size > capacity_) {
      capacity_ = 3 * size;
      memory_ = std::make_unique_for_overwrite<double[]>(capacity_);
    }
    double *const value = memory_.get(), *const lowest = value + size,
                  *const leading = lowest + size;
    factors_ = {value, lowest, leading};
    return simd::read_factors({.from = from,
                               .rows = rows,
                               .count = count,
                               .stride = stride,
                               .width = width,
                               .least_exponent = least_exponent_,
                               .flush_below = flush_below_},
                              value, lowest, leading);
  }
  const simd::SumFactors& all() const { return factors_; }

 private:
  double least_exponent_, flush_below_;
  std::size_t capacity_ = 0;  // of memory_
  std::unique_ptr<double[]> memory_;
  simd::SumFactors factors_ = {};
};

}  // namespace

bool for_factor_panels(const DotModel& model, const FactorMatrices& of, int threads,
                       const std::function<void(const FactorPanel&)>& body) {
  // The sizes of blocks of rows and of stripes of panels. The factors of a block's sums fit into
  // the cache.
  constexpr std::int64_t kRows = FactorPanel::kMostRows, kWidth = simd::kFactorColumns,
                         kPanels = 64;
  const std::int64_t blocks = (of.m + kRows - 1) / kRows, panels = (of.n + kWidth - 1) / kWidth,
                     stripes = (panels + kPanels - 1) / kPanels;
  const bool flush = model.flush_inputs.value;
  std::atomic<bool> flushes = false;
  parallel_for(blocks * stripes, threads, [&](std::int64_t part) {
    const std::int64_t row = part / stripes * kRows, rows = std::min(kRows, of.m - row),
                       first = part % stripes * kPanels, end = std::min(panels, first + kPanels);
    PanelFactors of_rows(format_named(model.input), flush),
        of_columns(format_named(model.b_input()), flush);
    bool flushed = of_rows.read(of.a + row * of.a_stride, rows, of.k, of.a_stride, of.k);
    for (std::int64_t panel = first; panel < end; ++panel) {
      const std::int64_t column = panel * kWidth, columns = std::min(kWidth, of.n - column);
      flushed |= of_columns.read(of.b + column, of.k, columns, of.n, kWidth);
      body({row, rows, column, columns, of_rows.all(), of_columns.all()});
    }
    if (flushed) flushes = true;
  });
  return flushes;
}

}  // namespace assay
