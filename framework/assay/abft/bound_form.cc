#include "assay/abft/bound_form.h"

#include <vector>

#include "assay/abft/operands.h"
#include "assay/format/convert.h"
#include "assay/simd/checksum.h"

namespace assay::abft {

double peak_of(const OutputStats& s, double columns) { return s.largest / (s.absolute / columns); }

void output_stats(const Format& f, simd::Storage storage, const void* elements, std::int64_t n,
                  std::int64_t width, OutputStats* to, StatsUsed used) {
  const auto groups = static_cast<std::size_t>((n + width - 1) / width);
  const auto count = static_cast<std::size_t>(n), group = static_cast<std::size_t>(width);
  // One kernel a format, whatever is asked for, so that a sum is the same bits to all who ask.
  const bool wide = f.precision >= 24;
  std::vector<simd::OutputSums> sums(groups);
  simd::output_sums(storage, elements, count, group, f.is_float() ? f.mantissa_bits() : 0,
                    min_subnormal(f), wide, sums.data());
  std::vector<double> unused, squares;
  if (used.square && !wide) {
    unused.resize(groups);
    squares.resize(groups);
    simd::group_sums(storage, elements, count, group, unused.data(), squares.data());
  }
  std::vector<simd::OutputSizes> sizes(used.sizes ? groups : 0);
  if (used.sizes) simd::output_sizes(storage, elements, count, group, sizes.data());
  for (std::size_t g = 0; g < groups; ++g) {
    to[g] = {.sum = sums[g].sum, .ulp = sums[g].ulp, .ulp_square = sums[g].ulp_square};
    if (used.square) to[g].square = wide ? sums[g].square : squares[g];
    if (used.sizes) {
      to[g].absolute = sizes[g].absolute;
      to[g].largest = sizes[g].largest;
    }
  }
}

void output_stats(const Format& f, const void* elements, std::int64_t n, std::int64_t width,
                  OutputStats* to, StatsUsed used) {
  simd::Storage storage;
  if (checksum_storage(f, storage)) {
    output_stats(f, storage, elements, n, width, to, used);
    return;
  }
  std::vector<double> values(static_cast<std::size_t>(n));
  decode_array(f, static_cast<const std::byte*>(elements), values.size(), values.data());
  output_stats(f, simd::Storage::kF64, values.data(), n, width, to, used);
}

}  // namespace assay::abft
