#include "assay/machine/exact_sum.h"

#include <bit>
#include <cmath>

namespace assay {

void ExactSum::add_product(double a, double b) {
  int exponent_a, exponent_b;
  // 53-bit integers times powers of two; the product has at most 106 bits.
  const auto m = static_cast<std::int64_t>(std::ldexp(std::frexp(a, &exponent_a), 53));
  const auto n = static_cast<std::int64_t>(std::ldexp(std::frexp(b, &exponent_b), 53));
  __int128 product = static_cast<__int128>(m) * n;
  if (product == 0) return;
  const bool is_negative = product < 0;
  unsigned __int128 size = static_cast<unsigned __int128>(is_negative ? -product : product);
  int position = exponent_a + exponent_b - 106 - kLowest;
  // Trailing zeros reach below the register only for values that the contract excludes.
  if (position < 0) {
    size >>= -position;
    position = 0;
  }
  const int shift = position % 32;
  auto limb = static_cast<std::size_t>(position / 32);
  // Shifted by less than 32, the product spans five limbs.
  std::uint64_t carry = 0;
  for (; size != 0 || carry != 0; ++limb) {
    const std::uint64_t part = (static_cast<std::uint64_t>(size & 0xffffffffu) << shift) + carry;
    const auto low = static_cast<std::int64_t>(part & 0xffffffffu);
    limbs_[limb] += is_negative ? -low : low;
    carry = part >> 32;
    size >>= 32;
  }
}

double ExactSum::to_odd() const {
  // Carries are propagated, so that every limb is in [0, 2^32) and the sign is in the last carry.
  std::array<std::uint32_t, kLimbs> digits{};
  std::int64_t carry = 0;
  for (std::size_t i = 0; i < kLimbs; ++i) {
    const std::int64_t sum = limbs_[i] + carry;
    digits[i] = static_cast<std::uint32_t>(sum & 0xffffffff);
    carry = sum >> 32;
  }
  const bool is_negative = carry < 0;
  if (is_negative) {  // two's complement of the whole register
    std::uint64_t up = 1;
    for (auto& digit : digits) {
      const std::uint64_t flipped = static_cast<std::uint64_t>(~digit) + up;
      digit = static_cast<std::uint32_t>(flipped);
      up = flipped >> 32;
    }
  }
  int top = kLimbs - 1;
  while (top >= 0 && digits[static_cast<std::size_t>(top)] == 0) --top;
  if (top < 0) return 0.0;
  // The 96 leading bits hold 53 and more; everything below goes into the sticky bit.
  unsigned __int128 head = 0;
  for (int i = top; i > top - 3; --i) {
    head = (head << 32) | (i >= 0 ? digits[static_cast<std::size_t>(i)] : 0u);
  }
  bool sticky = false;
  for (int i = top - 3; i >= 0; --i) sticky |= digits[static_cast<std::size_t>(i)] != 0;
  const int width = 64 + static_cast<int>(std::bit_width(digits[static_cast<std::size_t>(top)]));
  const int drop = width - 53;
  const auto kept = static_cast<std::uint64_t>(head >> drop);
  sticky |= (head & ((static_cast<unsigned __int128>(1) << drop) - 1)) != 0;
  const double size =
      std::ldexp(static_cast<double>(kept | (sticky ? 1 : 0)), kLowest + 32 * (top - 2) + drop);
  return is_negative ? -size : size;
}

}  // namespace assay
