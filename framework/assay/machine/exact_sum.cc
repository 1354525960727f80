#include "assay/machine/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "assay/base/index.h"
#include "assay/base/int128.h"

namespace assay::inline v0_2 {
namespace {

// |value| = significand * 2^exponent.
struct Parts {
  std::uint64_t significand;
  int exponent;
};

Parts parts_of(double value) {
  const auto word = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t fraction = word & 0xfffffffffffff;
  const int exponent = static_cast<int>(word >> 52 & 0x7ff);
  if (exponent == 0) return {fraction, -1074};
  return {fraction | 0x10000000000000, exponent - 1075};
}

// The leading bits of a register's magnitude. The last of these bits is set if any bit below it is
// set.
struct Head {
  bool is_negative = false;
  std::uint64_t bits = 0;
  int exponent = 0;  // exponent of the last bit of `bits`
};

// Number of limbs that are added below those of the sum. With them a quotient has more than 64
// bits.
constexpr int kLimbsBelow = 4;

// Divides a number of 32-bit digits, lowest digit first. Returns true if there is a remainder.
bool divide(std::span<std::uint32_t> digits, std::uint64_t divisor) {
  UInt128 rest = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    const UInt128 whole = (rest << 32) | digits[i];
    digits[i] = static_cast<std::uint32_t>(whole / divisor);
    rest = whole % divisor;
  }
  return rest != 0;
}

// Returns at most `count` leading bits of the sum divided by `divisor`, without bits below 2^least.
// Bit 0 of the limbs has the weight 2^lowest.
Head head_of(std::span<const std::int64_t> limbs, int lowest, int count, int least,
             std::uint64_t divisor) {
  // Carries are propagated, so that every digit is in [0, 2^32) and the sign is in the last carry.
  const std::size_t below = divisor == 1 ? 0 : kLimbsBelow;
  lowest -= 32 * static_cast<int>(below);
  std::array<std::uint32_t, ExactSum::kLimbs + kLimbsBelow> space{};
  const std::span<std::uint32_t> digits(space.data(), limbs.size() + below);
  std::int64_t carry = 0;
  for (std::size_t i = 0; i < limbs.size(); ++i) {
    const std::int64_t sum = limbs[i] + carry;
    digits[i + below] = static_cast<std::uint32_t>(sum & 0xffffffff);
    carry = sum >> 32;
  }
  Head head{.is_negative = carry < 0};
  // A negative register is replaced by its magnitude, its two's complement.
  if (head.is_negative) {
    std::uint64_t up = 1;
    for (auto& digit : digits) {
      const std::uint64_t flipped = static_cast<std::uint64_t>(~digit) + up;
      digit = static_cast<std::uint32_t>(flipped);
      up = flipped >> 32;
    }
  }
  bool sticky = divisor != 1 && divide(digits, divisor);
  int top = static_cast<int>(digits.size()) - 1;
  while (top >= 0 && digits[at(top)] == 0) --top;
  if (top < 0) return head;
  // The 96 leading bits hold all requested bits. Everything below goes into the last bit.
  UInt128 leading = 0;
  for (int i = top; i > top - 3; --i) leading = (leading << 32) | (i >= 0 ? digits[at(i)] : 0u);
  for (int i = top - 3; i >= 0; --i) sticky |= digits[at(i)] != 0;
  const int width = 64 + static_cast<int>(std::bit_width(digits[at(top)]));
  const int weight = lowest + 32 * (top - 2);  // exponent of the last of the 96 bits
  const int drop = std::min(std::max(width - count, least - weight), 96);
  head.bits = static_cast<std::uint64_t>(leading >> drop);
  sticky |= (leading & ((static_cast<UInt128>(1) << drop) - 1)) != 0;
  head.bits |= sticky ? 1 : 0;
  head.exponent = weight + drop;
  return head;
}

}  // namespace

void ExactSum::add_product(double a, double b) {
  const Parts x = parts_of(a), y = parts_of(b);
  UInt128 size = static_cast<UInt128>(x.significand) * y.significand;
  if (size == 0) return;
  const bool is_negative = std::signbit(a) != std::signbit(b);
  const int position = x.exponent + y.exponent - kLowest;
  const int shift = position % 32;
  auto limb = at(position / 32);
  first_ = std::min(first_, limb);
  // The product has 106 bits and is shifted by less than 32, so it spans at most five limbs.
  std::uint64_t carry = 0;
  for (; size != 0 || carry != 0; ++limb) {
    const std::uint64_t part = (static_cast<std::uint64_t>(size & 0xffffffffu) << shift) + carry;
    const auto low = static_cast<std::int64_t>(part & 0xffffffffu);
    limbs_[limb] += is_negative ? -low : low;
    carry = part >> 32;
    size >>= 32;
  }
  end_ = std::max(end_, limb);
}

std::span<const std::int64_t> ExactSum::used() const {
  if (end_ == 0) return {};
  return {limbs_.data() + first_, std::min<std::size_t>(end_ + 2, kLimbs) - first_};
}

double ExactSum::to_odd() const { return odd_quotient(1); }

double ExactSum::nearest() const { return nearest_quotient(1); }

double ExactSum::odd_quotient(std::uint64_t divisor) const {
  const int least = kLowest - 32 * kLimbsBelow;
  const Head head = head_of(used(), kLowest + 32 * static_cast<int>(first_), 53, least, divisor);
  const double size = std::ldexp(static_cast<double>(head.bits), head.exponent);
  return head.is_negative ? -size : size;
}

double ExactSum::nearest_quotient(std::uint64_t divisor) const {
  // Takes two bits more than a float64 result keeps, also if the result is subnormal. They decide
  // the rounding.
  const Head head = head_of(used(), kLowest + 32 * static_cast<int>(first_), 55, -1076, divisor);
  const std::uint64_t rest = head.bits & 3, whole = head.bits >> 2;
  const std::uint64_t rounded = whole + (rest > 2 || (rest == 2 && whole % 2 != 0) ? 1 : 0);
  const double size = std::ldexp(static_cast<double>(rounded), head.exponent + 2);
  return head.is_negative ? -size : size;
}

}  // namespace assay
