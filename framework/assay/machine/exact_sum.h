// A sum of products without any rounding: a fixed-point register wide enough for every product of
// two finite float64 values (Kulisch's long accumulator). The scalar oracle of the dot engine uses
// it, and so does exact_matmul() if a faster method does not decide how a sum is rounded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::inline v0_2 {

class ExactSum {
 public:
  // Number of limbs. Each limb holds 32 bits, and its upper half saves carries.
  static constexpr int kLimbs = 136;

  // Adds a * b, for finite a and b. At most 2^31 products may be added.
  void add_product(double a, double b);
  void add(double value) { add_product(value, 1.0); }

  // Returns the sum rounded to float64 by rounding to odd. Rounding it once more, to at most 51
  // bits, gives the same as rounding the exact sum (Boldo and Melquiond, IEEE Transactions on
  // Computers 57(4), 2008). An exact zero is +0. The sum must be 0 or a normal number.
  double to_odd() const;

  // Returns the sum rounded to float64, to nearest even, or infinity if it is beyond float64's
  // range.
  double nearest() const;

  // Return the sum divided by `divisor` (1 to 2^62), rounded once. nearest_quotient() rounds to
  // nearest even and returns infinity beyond float64's range. odd_quotient() rounds to odd, as
  // to_odd() does.
  double nearest_quotient(std::uint64_t divisor) const;
  double odd_quotient(std::uint64_t divisor) const;

 private:
  // Exponent of the weight of bit 0. Every bit of a product weighs at least 2^-2148.
  static constexpr int kLowest = -2176;

  // Returns the limbs that products were added to, and two more for carries.
  std::span<const std::int64_t> used() const;

  std::array<std::int64_t, kLimbs> limbs_{};
  // The range of the limbs that products were added to.
  std::size_t first_ = kLimbs, end_ = 0;
};

}  // namespace assay
