#include "assay/simd/golden_functions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/golden_functions.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "assay/simd/golden_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

HWY_INLINE M between(V x, double least, double most) {
  return hn::And(hn::Ge(x, number(least)), hn::Le(x, number(most)));
}
HWY_INLINE Rounded sure_only(const Rounded& result, M where) {
  return {result.value, hn::And(result.sure, where)};
}
// Returns x in the lanes of `itself`, and `result` in the others.
HWY_INLINE Rounded or_itself(const Rounded& result, M itself, V x) {
  return {hn::IfThenElse(itself, x, result.value), hn::Or(result.sure, itself)};
}
// The largest |x| that exp_pair() supports, and 2^-400, the smallest number whose products keep all
// digits.
constexpr double kExpEnd = 600, kSmall = 0x1p-400;

// 1 + e.
HWY_INLINE VectorPair one_plus(VectorPair e) {
  const VectorPair sum = any_sum(number(1), e.high);
  return {sum.high, hn::Add(sum.low, e.low)};
}
// Returns 1 / x for |x.low| <= 2^-51 |x.high|. It adds a relative error of 2^-101 to that of x.
HWY_INLINE VectorPair reciprocal(VectorPair x) {
  const V first = hn::Div(number(1), x.high);
  const V rest = hn::NegMulAdd(first, x.low, remainder(number(1), first, x.high));
  return {first, hn::Mul(first, rest)};
}
// Returns a x. The sum of its two parts is not normalised.
HWY_INLINE VectorPair times(V a, VectorPair x) {
  const VectorPair p = product(a, x.high);
  return {p.high, hn::MulAdd(a, x.low, p.low)};
}

// Computes exp with a relative error below 2^-76. The test of the rounding allows for 2^-75.
struct Exp {
  const double* powers;
  HWY_INLINE Rounded operator()(V x) const {
    const VectorPair e = exp_pair<false>(powers, {x, number(0)});
    return sure_only(rounded(e, 0x1p-75), between(x, -kExpEnd, kExpEnd));
  }
};

// Computes 1 / (1 + exp(-x)). The sum and its reciprocal keep the relative error of exp, and add
// about 2^-101.
struct Sigmoid {
  const double* powers;
  HWY_INLINE Rounded operator()(V x) const {
    const VectorPair y = reciprocal(one_plus(exp_pair<false>(powers, {hn::Neg(x), number(0)})));
    return sure_only(rounded(y, 0x1p-75), between(x, -kExpEnd, kExpEnd));
  }
};

struct Silu {
  const double* powers;
  HWY_INLINE Rounded operator()(V x) const {
    const VectorPair y = reciprocal(one_plus(exp_pair<false>(powers, {hn::Neg(x), number(0)})));
    const M room = hn::And(between(x, -kExpEnd, kExpEnd), hn::Ge(hn::Abs(x), number(kSmall)));
    return or_itself(sure_only(rounded(times(x, y), 0x1p-75), room), hn::Eq(x, number(0)), x);
  }
};

// Computes x / (1 + exp(-2 u)) with -2 u = -sqrt(8 / pi) x (1 + 0.044715 x^2). |2 u| is at most
// 600, and its relative error is within 2^-98, which gives exp a relative error of 2^-88.
struct GeluTanh {
  const double* powers;
  HWY_INLINE Rounded operator()(V x) const {
    const VectorPair factor{number(-0x1.9884533d43651p+0), number(0x1.cbc0d30ebfd15p-54)};
    const VectorPair cubic{number(0x1.6e4e26d4801f7p-5), number(0x1.441355475a31ap-59)};
    constexpr double kLeast = -19.5, kMost = 16;
    const VectorPair bracket = one_plus(pair_product(cubic, product(x, x)));
    const VectorPair argument =
        pair_product(factor, pair_product(ordered_sum(bracket.high, bracket.low), x));
    const VectorPair y = reciprocal(one_plus(exp_pair<true>(powers, argument)));
    const M room = hn::And(between(x, kLeast, kMost), hn::Ge(hn::Abs(x), number(kSmall)));
    // Above 16, exp(-2 u) is below 2^-450, so the result is x.
    const M itself = hn::Or(hn::Eq(x, number(0)), hn::Gt(x, number(kMost)));
    return or_itself(sure_only(rounded(times(x, y), 0x1p-75), room), itself, x);
  }
};

// Computes (1 - e) / (1 + e) with e = exp(-2 |x|) = power (1 + series) and power = 2^(k / 128). If
// k is not 0, 1 - e is above 2^-8.6 and its error is below 2^-77, as that of exp, which is a
// relative error of 2^-68.4. If k is 0, power is 1 and 1 - e is -series, with a relative error
// within r^2 2^-52 < 2^-69. The following steps add about 2^-77 of the result.
struct Tanh {
  const double* powers;
  HWY_INLINE Rounded operator()(V x) const {
    constexpr double kEnd = 50;  // for larger x, exp(-2 x) is below 2^-144
    const V size = hn::Abs(x), held = hn::Min(size, number(kEnd));
    const ExpParts e = exp_parts<false>(powers, {hn::Mul(held, number(-2)), number(0)});
    const VectorPair below = ordered_sum(number(-1), e.power.high);
    const VectorPair first = product(e.power.high, e.series.high);
    const VectorPair sum = ordered_sum(below.high, first.high);
    const V low = hn::Add(hn::Add(sum.low, hn::Add(below.low, first.low)),
                          hn::MulAdd(e.power.high, e.series.low,
                                     hn::MulAdd(e.power.low, e.series.high, e.power.low)));
    const VectorPair above = ordered_sum(sum.high, low);  // e - 1
    const VectorPair under = ordered_sum(number(2), above.high);
    const V under_low = hn::Add(under.low, above.low);
    const V inverse = hn::Div(number(1), under.high);
    const V quotient = hn::Mul(above.high, inverse);
    const V rest = hn::NegMulAdd(quotient, under_low,
                                 hn::Add(remainder(above.high, quotient, under.high), above.low));
    const Rounded y = rounded({quotient, hn::Mul(rest, inverse)}, 0x1p-67);
    const Rounded sure = sure_only(y, hn::Ge(size, number(kSmall)));
    return or_itself({hn::CopySign(sure.value, x), sure.sure}, hn::Eq(x, number(0)), x);
  }
};

// Computes 1 / sqrt(x) by one step of Newton's iteration for 1 / y^2 = x. The relative error of y
// is within 2^-52, so the terms left out, 3/2 of its square, are below 2^-103.
struct Rsqrt {
  HWY_INLINE Rounded operator()(V x) const {
    const V y = hn::Div(number(1), hn::Sqrt(x));
    const VectorPair p = product(x, y);
    const V rest = hn::NegMulAdd(p.low, y, remainder(number(1), p.high, y));
    const VectorPair result{y, hn::Mul(hn::Mul(y, number(0.5)), rest)};
    return sure_only(rounded(result, 0x1p-98), between(x, 0x1p-900, 0x1p900));
  }
};

struct Sqrt {
  HWY_INLINE Rounded operator()(V x) const {
    const V y = hn::Sqrt(x);
    return {y, hn::Eq(y, y)};
  }
};

// Computes log x. With x = 2^k m, m in [11/16, 11/8), and m c = 1 + z, log x = k log 2 - log c + z
// - z^2 / 2 + t, with t = z^3 (1/3 - z / 4 + ...). c is 1 from 1 - 2^-8 to 1 + 2^-7. There log x is
// z - z^2 / 2 + t, and nothing cancels. Elsewhere |z| < 2^-7.9 and the result is above 2^-8.
//
// Errors: t is computed from z.high instead of z. Its relative error is within 7.6 2^-53, with and
// without fused multiply-adds. One more rounding adds it to the rest, and the test has another one.
// If c is 1, z.low is 0 and this error is 6.6 2^-53 z^2 / 3 < 2^-65.8 of the result. Elsewhere |t|
// < 2^-25.3, and its error is below 2^-75, which is below 2^-67 of the result. All other errors are
// below 2^-80 of the result, and so are the terms that the series leaves out, from z^12 / 12 on.
struct Log {
  const double* table;
  HWY_INLINE Rounded operator()(V x) const {
    const D d;
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
    constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;  // 42 bits
    constexpr double kTerms[] = {1.0 / 3,  -1.0 / 4, 1.0 / 5,   -1.0 / 6, 1.0 / 7,
                                 -1.0 / 8, 1.0 / 9,  -1.0 / 10, 1.0 / 11};
    const auto bits = hn::BitCast(du, x);
    const auto field = hn::Add(bits, hn::Set(du, kOne - kLogEnd));
    const auto exponent = hn::ShiftRight<52>(field);
    const V k = hn::Sub(hn::BitCast(d, hn::Or(exponent, hn::Set(du, std::uint64_t{0x433} << 52))),
                        number(0x1p52 + 1023));
    const V m =
        hn::BitCast(d, hn::Sub(bits, hn::Sub(hn::ShiftLeft<52>(exponent), hn::Set(du, kOne))));
    const auto index =
        hn::ShiftLeft<2>(hn::And(hn::ShiftRight<45>(field), hn::Set(du, kLogBins - 1)));
    const auto at = hn::BitCast(di, index);
    const V c = hn::GatherIndex(d, table, at);
    const VectorPair of_c{hn::GatherIndex(d, table + 1, at), hn::GatherIndex(d, table + 2, at)};

    const VectorPair scaled = product(m, c);
    const VectorPair z = ordered_sum(hn::Sub(scaled.high, number(1)), scaled.low);
    const VectorPair square = product(z.high, z.high);
    const V t = hn::Mul(hn::Mul(square.high, z.high), terms_at(z.high, kTerms));
    const V minus_half = number(-0.5);
    const VectorPair first = ordered_sum(hn::Mul(k, number(kLn2High)), of_c.high);
    const VectorPair second = ordered_sum(first.high, z.high);
    const VectorPair third = ordered_sum(second.high, hn::Mul(minus_half, square.high));
    // The factor of z.low is the derivative of log(1 + z), 1 / (1 + z).
    const V z_low = hn::MulAdd(z.low, hn::Sub(square.high, z.high), z.low);
    const V of_k = hn::MulAdd(k, number(kLn2Low), hn::Add(first.low, of_c.low));
    const V low = hn::Add(hn::MulAdd(minus_half, square.low, hn::Add(z_low, of_k)),
                          hn::Add(second.low, third.low));
    const Rounded y = rounded({third.high, hn::Add(low, t)}, 0x1p-65);
    return sure_only(y, between(x, 0x1p-1022, 0x1.fffffffffffffp1023));
  }
};

// Computes GELU as x / 2 erfc(z) with z = -x / sqrt(2). For z >= 0, with c a multiple of 1 / 128,
// h = z - c and s = 2 / sqrt(pi) exp(-c^2),
//   erfc(z) = erfc(c) - s h (1 + t_1 / 2 + t_2 / 3 + ...), t_0 = 1, t_1 = -2 c h,
//   t_(n + 1) = -2 h (c t_n + h t_(n - 1)) / (n + 1).
// The derivative of erfc is -s exp(-2 c h - h^2), and the t_n are the terms of that exponential.
// The factor of z.low is this derivative. erfc(-z) = 2 - erfc(z), whose relative error is smaller.
//
// Errors: let q = 2 c |h| < 0.194, |h| <= 2^-8. s / erfc(c) is at most 2 c + sqrt(2) (Abramowitz
// and Stegun 7.1.13), and erfc(z) at least 0.8 erfc(c). The terms from t_2 / 3 on add up to at most
// 1.1 (q^2 / 6 + h^2 / 3) and are computed in float64. Up to the test they have at most 17
// roundings, with and without fused multiply-adds. So they give erfc a relative error of at most
//   17 2^-53 1.1 / 0.8 (2 c^2 + 1) / 3 (2 c + sqrt(2)) 2^-24 < c^3 2^-71 + 2^-71.
// All other errors together are below 2^-71: z has a relative error within 2^-105, and the terms
// that the series leaves out, from t_14 / 15 on, are below 2^-75.
struct Gelu {
  const double* table;
  HWY_INLINE Rounded operator()(V x) const {
    const D d;
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    constexpr double kLeast = -35, kMost = 14.5;
    constexpr int kTerms = 14;
    const VectorPair root_half{number(0x1.6a09e667f3bcdp-1), number(-0x1.bdd3413b26456p-55)};
    const V unbounded = hn::Abs(x), end = number(-kLeast);
    // This also limits NaN, because the number becomes an index.
    const V size = hn::IfThenElse(hn::Lt(unbounded, end), unbounded, end);
    const VectorPair z = times(size, root_half);
    const V magic = number(0x1.8p52);
    const V shifted = hn::Add(hn::Mul(z.high, number(kErfcSteps)), magic);
    const V c = hn::Mul(hn::Sub(shifted, magic), number(1 / kErfcSteps));
    const auto index = hn::And(hn::BitCast(du, shifted), hn::Set(du, std::uint64_t{0xffff}));
    const auto at = hn::BitCast(di, hn::ShiftLeft<2>(index));
    const VectorPair of_c{hn::GatherIndex(d, table, at), hn::GatherIndex(d, table + 1, at)};
    const VectorPair slope{hn::GatherIndex(d, table + 2, at), hn::GatherIndex(d, table + 3, at)};

    const V h = hn::Sub(z.high, c), ch = hn::Mul(c, h), hh = hn::Mul(h, h);
    V before = number(1), term = hn::Mul(ch, number(-2)), tail = number(0);
    V density = hn::Add(before, term);  // exp(c^2 - z^2)
    for (int n = 2; n < kTerms; ++n) {
      const V next = hn::Mul(hn::MulAdd(ch, term, hn::Mul(hh, before)), number(-2.0 / n));
      before = term;
      term = next;
      tail = hn::MulAdd(term, number(1.0 / (n + 1)), tail);
      if (n < 7) density = hn::Add(density, term);
    }
    const VectorPair linear = product(c, h);
    const VectorPair bracket = ordered_sum(number(1), hn::Neg(linear.high));
    const V bracket_low = hn::Add(hn::Sub(bracket.low, linear.low), tail);
    const VectorPair step = product(slope.high, h);
    const V step_low = hn::MulAdd(slope.low, h, step.low);
    const VectorPair change = product(step.high, bracket.high);
    const V of_z_low = hn::MulAdd(hn::Mul(slope.high, z.low), density, change.low);
    const V change_low =
        hn::Add(hn::MulAdd(step.high, bracket_low, hn::Mul(step_low, bracket.high)), of_z_low);
    const VectorPair less = ordered_sum(of_c.high, hn::Neg(change.high));
    VectorPair erfc = ordered_sum(less.high, hn::Add(less.low, hn::Sub(of_c.low, change_low)));

    const M positive = hn::Gt(x, number(0));
    const V turned = hn::IfThenElse(positive, hn::Neg(erfc.high), erfc.high);
    const V turned_low = hn::IfThenElse(positive, hn::Neg(erfc.low), erfc.low);
    const VectorPair both = ordered_sum(hn::IfThenElseZero(positive, number(2)), turned);
    const VectorPair y = times(hn::Mul(x, number(0.5)), {both.high, hn::Add(both.low, turned_low)});
    const V error = hn::MulAdd(hn::Mul(c, hn::Mul(c, c)), number(0x1p-71), number(0x1p-69));
    const M room = hn::And(between(x, kLeast, kMost), hn::Ge(size, number(kSmall)));
    const M itself = hn::Or(hn::Eq(x, number(0)), hn::Gt(x, number(kMost)));
    return or_itself(sure_only(rounded(y, hn::Mul(hn::Abs(y.high), error)), room), itself, x);
  }
};

template <class Function>
HWY_INLINE std::size_t each(const Function& function, std::size_t n, double* values,
                            std::uint32_t* left) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t count = 0;
  const auto take = [&](std::size_t begin, std::size_t some, double* from) HWY_ATTR {
    const V x = hn::LoadU(d, from);
    const Rounded y = function(x);
    hn::StoreU(hn::IfThenElse(y.sure, y.value, x), d, from);
    if (HWY_LIKELY(hn::AllTrue(d, y.sure))) return;
    double sure[hn::MaxLanes(d)];
    hn::StoreU(hn::IfThenElseZero(y.sure, number(1)), d, sure);
    for (std::size_t j = 0; j < some; ++j) {
      if (sure[j] == 0) left[count++] = static_cast<std::uint32_t>(begin + j);
    }
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) take(i, lanes, values + i);
  if (i < n) {
    double rest[hn::MaxLanes(d)] = {};
    std::memcpy(rest, values + i, (n - i) * sizeof(double));
    take(i, n - i, rest);
    std::memcpy(values + i, rest, (n - i) * sizeof(double));
  }
  return count;
}

std::size_t golden_function_impl(GoldenFunction function, std::size_t n, double* values,
                                 std::uint32_t* left) {
  switch (function) {
    case GoldenFunction::kExp:
      return each(Exp{power_table()}, n, values, left);
    case GoldenFunction::kLog:
      return each(Log{log_table()}, n, values, left);
    case GoldenFunction::kSqrt:
      return each(Sqrt{}, n, values, left);
    case GoldenFunction::kRsqrt:
      return each(Rsqrt{}, n, values, left);
    case GoldenFunction::kTanh:
      return each(Tanh{power_table()}, n, values, left);
    case GoldenFunction::kSigmoid:
      return each(Sigmoid{power_table()}, n, values, left);
    case GoldenFunction::kSilu:
      return each(Silu{power_table()}, n, values, left);
    case GoldenFunction::kGelu:
      return each(Gelu{erfc_table()}, n, values, left);
    case GoldenFunction::kGeluTanh:
      return each(GeluTanh{power_table()}, n, values, left);
  }
  return 0;
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(golden_function_impl);

std::size_t golden_function(GoldenFunction function, std::size_t n, double* values,
                            std::uint32_t* left) {
  return HWY_DYNAMIC_DISPATCH(golden_function_impl)(function, n, values, left);
}

}  // namespace assay::simd
#endif
