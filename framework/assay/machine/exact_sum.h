// A sum of products without any rounding: a fixed-point register wide enough for every product of
// two float32 values (Kulisch's long accumulator). The scalar oracle of the dot engine stands on
// it.
#pragma once

#include <array>
#include <cstdint>

namespace assay {

class ExactSum {
 public:
  // Adds a * b. Both must be finite and representable in float32 (or narrower) or be such a value
  // times one that is; |a b| must lie in [2^-560, 2^300) or be 0. At most 2^31 additions.
  void add_product(double a, double b);
  void add(double value) { add_product(value, 1.0); }

  // The sum rounded to float64 by rounding to odd. Rounding it once more, to at most 51 bits, gives
  // what rounding the exact sum would give (Boldo and Melquiond, IEEE Transactions on Computers
  // 57(4), 2008). An exact zero is +0.
  double to_odd() const;

 private:
  static constexpr int kLowest = -640;  // weight of bit 0
  static constexpr int kLimbs = 32;     // of 32 bits, carries saved in the upper half
  std::array<std::int64_t, kLimbs> limbs_{};
};

}  // namespace assay
