// Rounding of float64 values to a format, to nearest even, in a few instructions a value.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "assay/format/format.h"
#include "assay/simd/square_moments_kernel.h"

namespace assay::inline v0_2 {

// Rounds to one format, which must outlive this object. Up to the format's largest value,
// arithmetic on the bits of the float64 is enough. Larger values, and formats that are not made
// like IEEE's, use the functions of the format.
class NearestRounding {
 public:
  explicit NearestRounding(const Format& format);

  // Returns the same as round_to(format, x).
  double rounded(double x) const {
    const double size = std::abs(x);
    if (!(size < digits_.most)) return round_to(format_, x);
    if (size < digits_.least) return std::copysign(size + digits_.magic - digits_.magic, x);
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t odd = bits >> digits_.dropped & 1;
    const std::uint64_t half = std::uint64_t{1} << (digits_.dropped - 1);
    return std::bit_cast<double>((bits + half - 1 + odd) >> digits_.dropped << digits_.dropped);
  }
  // Returns the same as ulp_of(format, x).
  double ulp(double x) const {
    const double size = std::abs(x);
    if (!(size < digits_.most)) return ulp_of(format_, x);
    const auto octave = std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) >> 52 << 52);
    return std::max(octave * digits_.ulp_of_one, digits_.tiny);
  }
  // Returns the format's next number above x, which is a number of the format.
  double next(double x) const {
    const double size = std::abs(x);
    if (!(size < digits_.most)) return next_by_order(x);
    if (size <= digits_.least) return x + digits_.tiny;
    const std::uint64_t step = std::uint64_t{1} << digits_.dropped;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    return std::bit_cast<double>(x > 0 ? bits + step : bits - step);
  }

  // Returns the rounding in the form that kernels use. `most` is 0 if only the functions of the
  // format can round.
  const simd::LastDigits& digits() const { return digits_; }

 private:
  double next_by_order(double x) const;

  const Format& format_;
  simd::LastDigits digits_;
};

}  // namespace assay
