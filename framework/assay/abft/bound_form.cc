#include "assay/abft/bound_form.h"

#include <vector>

#include "assay/abft/operands.h"
#include "assay/format/convert.h"
#include "assay/simd/checksum.h"

namespace assay::inline v0_2::abft {

double peak_of(const OutputStats& s, double columns) { return s.largest / (s.absolute / columns); }

void output_stats(const Format& f, simd::Storage storage, const void* elements, std::int64_t n,
                  std::int64_t width, OutputStats* to, StatsUsed used) {
  const auto groups = static_cast<std::size_t>((n + width - 1) / width);
  const auto count = static_cast<std::size_t>(n), group = static_cast<std::size_t>(width);
  // For formats of at least float32's precision, the kernel that sums ulps also sums squares.
  const bool wide = f.precision >= 24;
  std::vector<simd::OutputSums> sums(used.ulps || (used.square && wide) ? groups : 0);
  if (!sums.empty()) {
    simd::output_sums(storage, elements, count, group, f.is_float() ? f.mantissa_bits() : 0,
                      min_subnormal(f), wide, sums.data());
  }
  std::vector<simd::OutputSizes> sizes(used.largest ? groups : 0);
  if (used.largest) {
    simd::output_sizes(storage, elements, count, group, used.absolute, sizes.data());
  }
  std::vector<double> plain(sums.empty() && sizes.empty() ? groups : 0), squares;
  if (used.square && !wide) {
    plain.resize(groups);
    squares.resize(groups);
  }
  if (!plain.empty()) {
    simd::group_sums(storage, elements, count, group, plain.data(),
                     squares.empty() ? nullptr : squares.data());
  }
  for (std::size_t g = 0; g < groups; ++g) {
    // Each kernel sums the elements in the same order, so any of the sums will do.
    to[g] = {.sum = !sums.empty() ? sums[g].sum : !sizes.empty() ? sizes[g].sum : plain[g]};
    if (used.ulps) {
      to[g].ulp = sums[g].ulp;
      to[g].ulp_square = sums[g].ulp_square;
    }
    if (used.square) to[g].square = wide ? sums[g].square : squares[g];
    if (used.absolute) to[g].absolute = sizes[g].absolute;
    if (used.largest) to[g].largest = sizes[g].largest;
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
