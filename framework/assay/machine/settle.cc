#include "assay/machine/settle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "assay/base/int128.h"
#include "assay/machine/dot_oracle.h"

namespace assay::inline v0_2 {
namespace {

template <typename T>
float by_oracle(const PackedChunk<T>& p, int row, int column, std::int64_t begin, std::int64_t end,
                float accumulator) {
  std::vector<double> a, b;
  for (std::int64_t k = begin; k < end; ++k) {
    a.push_back(static_cast<double>(p.a[k * p.a_stride + row]));
    b.push_back(static_cast<double>(p.b[k * p.b_stride + column]));
  }
  return static_cast<float>(dot_part_oracle(*p.model, end - begin, a.data(), 1, b.data(), 1,
                                            static_cast<double>(accumulator)));
}

// Adds value * 2^-lowest to `sum`. The added number is an integer below 2^101.
void add_scaled(Int128& sum, double value, int lowest) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int field = static_cast<int>((bits >> 52) & 0x7ff);
  const auto mantissa = static_cast<Int128>((bits & 0xfffffffffffffu) | (std::uint64_t{1} << 52));
  const int shift = field - 1075 - lowest;
  const Int128 size = shift >= 0 ? mantissa << shift : mantissa >> -shift;
  sum += value < 0 ? -size : size;
}

}  // namespace

float settle_fused(const void* context, int row, int column, std::int64_t begin, std::int64_t end,
                   float accumulator) {
  const auto& p = *static_cast<const PackedChunk<double>*>(context);
  double largest = 0;  // of the products
  bool all_minus = accumulator == 0 && std::signbit(accumulator);
  for (std::int64_t k = begin; k < end; ++k) {
    const double product = p.a[k * p.a_stride + row] * p.b[k * p.b_stride + column];
    largest = std::max(largest, std::abs(product));
    all_minus = all_minus && std::signbit(product);
  }
  if (largest == 0) return accumulator == 0 ? (all_minus ? -0.0f : 0.0f) : accumulator;
  // Sums the terms in fixed point with 128 bits if their range allows it, and by the oracle
  // otherwise.
  int lowest = p.lowest;
  if (accumulator != 0) {
    lowest = std::min(lowest, std::ilogb(accumulator) - 23);
    largest = std::max(largest, static_cast<double>(std::abs(accumulator)));
  }
  if (std::ilogb(largest) - lowest > 100 || end - begin > (1 << 20)) {
    return by_oracle(p, row, column, begin, end, accumulator);
  }
  Int128 sum = 0;
  if (accumulator != 0) add_scaled(sum, static_cast<double>(accumulator), lowest);
  for (std::int64_t k = begin; k < end; ++k) {
    const double product = p.a[k * p.a_stride + row] * p.b[k * p.b_stride + column];
    if (product != 0) add_scaled(sum, product, lowest);
  }
  const bool is_negative = sum < 0;  // a sum of 0 is +0, as not every term was -0
  auto size = static_cast<UInt128>(is_negative ? -sum : sum);
  // The sum is rounded to odd. That leaves more than twice the bits of float32, so that rounding to
  // float32 has the result of one rounding.
  const auto high = static_cast<std::uint64_t>(size >> 64);
  const int width = static_cast<int>(high != 0 ? 64 + std::bit_width(high)
                                               : std::bit_width(static_cast<std::uint64_t>(size)));
  const int drop = std::max(0, width - 53);
  const bool sticky = (size & ((static_cast<UInt128>(1) << drop) - 1)) != 0;
  size >>= drop;
  const double odd = std::ldexp(
      static_cast<double>(static_cast<std::uint64_t>(size) | (sticky ? 1 : 0)), lowest + drop);
  return static_cast<float>(is_negative ? -odd : odd);
}

float settle_aligned(const void* context, int row, int column, std::int64_t begin, std::int64_t end,
                     float accumulator) {
  return by_oracle(*static_cast<const PackedChunk<float>*>(context), row, column, begin, end,
                   accumulator);
}

}  // namespace assay
