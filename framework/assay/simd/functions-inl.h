// exp, log, sqrt, 1/sqrt, tanh and erf of float64 vectors, with the same bits on every target:
// multiply-adds are fused only where the code says so, and no instruction is used that
// approximates. This header is compiled once for each target. The oracle, with the same steps in
// scalars, is machine/functions.cc.
#if defined(ASSAY_SIMD_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_FUNCTIONS_INL_H_
#undef ASSAY_SIMD_FUNCTIONS_INL_H_
#else
#define ASSAY_SIMD_FUNCTIONS_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "assay/simd/function_terms.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns a * b + c, rounded once on every target.
template <class D>
HWY_INLINE hn::Vec<D> fused_multiply_add(D d, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulAdd(a, b, c);
#else
  hn::TFromD<D> x[hn::MaxLanes(d)], y[hn::MaxLanes(d)], z[hn::MaxLanes(d)];
  hn::StoreU(a, d, x), hn::StoreU(b, d, y), hn::StoreU(c, d, z);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) x[i] = std::fma(x[i], y[i], z[i]);
  return hn::LoadU(d, x);
#endif
}

// Returns sum t_i x^i, for the terms t_i, by Horner's rule.
template <class D, std::size_t kCount>
HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D> x, const double (&terms)[kCount]) {
  auto sum = hn::Set(d, terms[kCount - 1]);
  for (std::size_t i = kCount - 1; i-- > 0;) {
    sum = fused_multiply_add(d, sum, x, hn::Set(d, terms[i]));
  }
  return sum;
}

// Returns 2^k for a whole number k in [-1022, 1023].
template <class D>
HWY_INLINE hn::Vec<D> power_of_two(D d, hn::Vec<D> k) {
  const hn::RebindToUnsigned<D> du;
  const auto field = hn::BitCast(du, hn::Add(k, hn::Set(d, kWholeMagic + 1023)));
  return hn::BitCast(d, hn::ShiftLeft<52>(field));
}

// The parts k and p of exp(x) = 2^k (1 + p), with |p| < 0.42.
template <class D>
struct Reduced {
  hn::Vec<D> k, p;
};
template <class D>
HWY_INLINE Reduced<D> reduce_exp(D d, hn::Vec<D> x) {
  const auto magic = hn::Set(d, kWholeMagic);
  const auto k = hn::Sub(hn::Add(hn::Mul(x, hn::Set(d, kLog2E)), magic), magic);
  const auto high = hn::Sub(x, hn::Mul(k, hn::Set(d, kLn2High)));
  const auto low = hn::Mul(k, hn::Set(d, kLn2Low));
  const auto r = hn::Sub(high, low);
  const auto rest = hn::Sub(hn::Sub(high, r), low);  // the digits that the rounding of r lost
  const auto q = hn::Mul(hn::Mul(r, r), polynomial(d, r, kExpTerms));
  return {k, hn::Add(r, hn::Add(q, rest))};
}

template <class D>
HWY_INLINE hn::Vec<D> exp_of(D d, hn::Vec<D> x) {
  // Beyond these limits the result is infinite or 0, so x may be replaced by the limit.
  const auto held = hn::Max(hn::Min(x, hn::Set(d, 710.0)), hn::Set(d, -750.0));
  const auto reduced = reduce_exp(d, held);
  const auto value = hn::Add(hn::Set(d, 1.0), reduced.p);
  // Multiplies by 2^k in two steps, because 2^k may be beyond float64's range.
  const auto magic = hn::Set(d, kWholeMagic);
  const auto half = hn::Sub(hn::Add(hn::Mul(reduced.k, hn::Set(d, 0.5)), magic), magic);
  const auto scaled =
      hn::Mul(hn::Mul(value, power_of_two(d, half)), power_of_two(d, hn::Sub(reduced.k, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, scaled);
}

template <class D>
HWY_INLINE hn::Vec<D> log_of(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto one = hn::Set(d, 1.0), two = hn::Set(d, 2.0);
  // Subnormal numbers are multiplied by 2^54, which makes them normal.
  const auto tiny = hn::Lt(x, hn::Set(d, 0x1p-1022));
  const auto bits = hn::BitCast(du, hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 0x1p54)), x));
  // Finds k and f of x = 2^k (1 + f), with 1 + f from sqrt(1/2) to sqrt(2).
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
  const auto field = hn::ShiftRight<52>(hn::Add(bits, hn::Set(du, kOne - kSqrtHalfBits)));
  const auto m = hn::Sub(bits, hn::Sub(hn::ShiftLeft<52>(field), hn::Set(du, kOne)));
  const auto f = hn::Sub(hn::BitCast(d, m), one);
  auto k = hn::Sub(hn::BitCast(d, hn::Or(field, hn::Set(du, std::uint64_t{0x433} << 52))),
                   hn::Set(d, 0x1p52 + 1023));
  k = hn::Sub(k, hn::IfThenElseZero(tiny, hn::Set(d, 54.0)));
  const auto s = hn::Div(f, hn::Add(two, f));
  const auto z = hn::Mul(s, s);
  const auto series = hn::Mul(z, polynomial(d, z, kLogTerms));
  // 2 s = f - s f, and s f = f^2 / 2 - s f^2 / 2. With these, f itself, the largest part, is added
  // last.
  const auto square = hn::Mul(hn::Mul(hn::Set(d, 0.5), f), f);
  const auto part = hn::Add(hn::Mul(s, hn::Add(square, series)), hn::Mul(k, hn::Set(d, kLn2Low)));
  auto result = hn::Sub(hn::Mul(k, hn::Set(d, kLn2High)), hn::Sub(hn::Sub(square, part), f));
  result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), result);
  const auto nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), result, nan);
}

// Computes tanh as -expm1(-2 a) / (2 + expm1(-2 a)) for a = |x|, with the sign of x.
template <class D>
HWY_INLINE hn::Vec<D> tanh_of(D d, hn::Vec<D> x) {
  const auto a = hn::Min(hn::Abs(x), hn::Set(d, 22.0));  // above 22, tanh is rounded to 1
  const auto reduced = reduce_exp(d, hn::Mul(a, hn::Set(d, -2.0)));
  const auto scale = power_of_two(d, reduced.k);
  const auto below = hn::Add(hn::Sub(scale, hn::Set(d, 1.0)), hn::Mul(scale, reduced.p));
  const auto result = hn::Div(hn::Neg(below), hn::Add(hn::Set(d, 2.0), below));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(result, x));
}

template <class D>
HWY_INLINE hn::Vec<D> erf_of(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0), three = hn::Set(d, 3.0);
  const auto a = hn::Min(hn::Abs(x), hn::Set(d, 6.0));  // above 6, erf is rounded to 1
  const auto square = hn::Mul(a, a);
  const auto small = hn::Add(a, hn::Mul(a, polynomial(d, square, kErfTerms)));
  const auto t = hn::Div(hn::Sub(a, three), hn::Add(a, three));
  const auto rest = hn::Mul(exp_of(d, hn::Neg(square)), polynomial(d, t, kErfcTerms));
  const auto result = hn::IfThenElse(hn::Lt(a, one), small, hn::Sub(one, rest));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(result, x));
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_SIMD_FUNCTIONS_INL_H_
