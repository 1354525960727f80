#include "assay/simd/vector_unit.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/vector_unit.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "assay/simd/functions-inl.h"
#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

using F = hn::ScalableTag<float>;
using One = hn::CappedTag<float, 1>;  // type of single elements, for those that fill no vector
template <class D>
using V = hn::Vec<D>;

// Rounds a float32 or float64 to float16, to nearest even. Overflow becomes infinity, and NaN
// stays.
template <class D>
HWY_INLINE V<D> round_half(D d, V<D> x) {
  using T = hn::TFromD<D>;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  // These targets have an instruction for this conversion.
  if constexpr (sizeof(T) == sizeof(float)) {
    return hn::PromoteTo(d, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), x));
  }
#endif
  const hn::RebindToUnsigned<D> du;
  using U = hn::TFromD<decltype(du)>;
  constexpr int kDrop = std::numeric_limits<T>::digits - 11;
  const auto size = hn::Abs(x);
  const auto bits = hn::BitCast(du, size);
  // Adds just under half of the last kept bit, or half if that bit is odd, and clears the bits
  // below.
  const auto odd = hn::And(hn::ShiftRight<kDrop>(bits), hn::Set(du, U{1}));
  const auto up = hn::Add(hn::Set(du, (U{1} << (kDrop - 1)) - 1), odd);
  const auto kept = hn::Set(du, ~((U{1} << kDrop) - 1));
  const auto normal = hn::BitCast(d, hn::And(hn::Add(bits, up), kept));
  // Adding this number and subtracting it again makes the hardware round to a multiple of 2^-24.
  const auto magic = hn::Set(d, T{3} * (T{1} / (1 << 24)) / 2 / std::numeric_limits<T>::epsilon());
  const auto small = hn::Sub(hn::Add(size, magic), magic);
  auto result = hn::IfThenElse(hn::Lt(size, hn::Set(d, T{0x1p-14f})), small, normal);
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  result = hn::IfThenElse(hn::Gt(result, hn::Set(d, T{65504})), infinity, result);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(result, x));
}

template <bool kHalf, class D>
HWY_INLINE V<D> flushed(D d, V<D> x) {
  const auto least = hn::Set(d, kHalf ? 0x1p-14f : 0x1p-126f);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), least), hn::CopySign(hn::Zero(d), x), x);
}

// Applies the unit's policies to a rounded result. kPlain is true if these are IEEE overflow and
// gradual subnormals.
template <bool kHalf, bool kPlain, class D>
HWY_INLINE V<D> settled(D d, const VectorUnit& unit, V<D> x) {
  if constexpr (!kPlain) {
    if (unit.saturate) {
      const auto most = hn::Set(d, kHalf ? 65504.0f : std::numeric_limits<float>::max());
      const auto held = hn::Max(hn::Min(x, most), hn::Neg(most));
      x = hn::IfThenElseZero(hn::Eq(x, x), held);
    }
    if (unit.flush) x = flushed<kHalf>(d, x);
  }
  return x;
}

// Returns a float32 operation's result as the unit writes it. Rounding it again to float16 gives
// the same as rounding once: 24 >= 2 * 11 + 2 (Figueroa, SIGNUM Newsletter 30(3), 1995), and sums
// of float16's subnormals are exact.
template <bool kHalf, bool kPlain, class D>
HWY_INLINE V<D> written(D d, const VectorUnit& unit, V<D> x) {
  if constexpr (kHalf) x = round_half(d, x);
  return settled<kHalf, kPlain>(d, unit, x);
}

template <bool kHalf, bool kPlain, class D>
HWY_INLINE V<D> operand(D d, const VectorUnit& unit, V<D> x) {
  if constexpr (!kPlain) {
    if (unit.flush) x = flushed<kHalf>(d, x);
  }
  return x;
}

// Returns a * b + c, not yet rounded to the unit's format.
template <bool kHalf, class D>
HWY_INLINE V<D> fused(D d, V<D> a, V<D> b, V<D> c) {
  if constexpr (kHalf) {
    // The product is exact in float32. The sum is rounded to odd, so that rounding it again gives
    // the same as rounding once (Boldo and Melquiond, IEEE TC 57(4), 2008). The error is Knuth's
    // TwoSum.
    const hn::RebindToUnsigned<D> du;
    const auto product = hn::Mul(a, b), sum = hn::Add(product, c), part = hn::Sub(sum, product);
    const auto error = hn::Add(hn::Sub(product, hn::Sub(sum, part)), hn::Sub(c, part));
    const auto bits = hn::BitCast(du, sum);
    const auto one = hn::Set(du, 1u);
    const auto zero = hn::Zero(d);
    const auto inexact = hn::Or(hn::Gt(error, zero), hn::Lt(error, zero));
    const auto even = hn::Eq(hn::And(bits, one), hn::Zero(du));
    const auto moves =
        hn::And(hn::VecFromMask(du, hn::RebindMask(du, inexact)), hn::VecFromMask(du, even));
    // Moves an even sum to its neighbour on the error's side, away from zero if the signs agree.
    const auto same_sign =
        hn::Eq(hn::ShiftRight<31>(hn::Xor(bits, hn::BitCast(du, error))), hn::Zero(du));
    const auto step = hn::IfThenElse(same_sign, one, hn::Set(du, ~0u));
    return hn::BitCast(d, hn::Add(bits, hn::And(moves, step)));
  } else {
    return fused_multiply_add(d, a, b, c);
  }
}

template <class Vector>
HWY_INLINE Vector larger(Vector a, Vector b) {
  const auto most = hn::IfThenElse(hn::Gt(a, b), a, b);
  const auto result = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), most);
  return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Add(a, b), result);
}
template <class Vector>
HWY_INLINE Vector smaller(Vector a, Vector b) {
  const auto least = hn::IfThenElse(hn::Lt(a, b), a, b);
  const auto result = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), least);
  return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Add(a, b), result);
}

template <bool kHalf, bool kPlain, VectorOp kOp, class D>
HWY_INLINE V<D> applied(D d, const VectorUnit& unit, V<D> a, V<D> b, V<D> c) {
  if constexpr (kOp == VectorOp::kMax) return larger(a, b);
  if constexpr (kOp == VectorOp::kMin) return smaller(a, b);
  a = operand<kHalf, kPlain>(d, unit, a), b = operand<kHalf, kPlain>(d, unit, b);
  V<D> x = a;
  if constexpr (kOp == VectorOp::kAdd) x = hn::Add(a, b);
  if constexpr (kOp == VectorOp::kSub) x = hn::Sub(a, b);
  if constexpr (kOp == VectorOp::kMul) x = hn::Mul(a, b);
  if constexpr (kOp == VectorOp::kDiv) x = hn::Div(a, b);
  if constexpr (kOp == VectorOp::kFma) {
    c = operand<kHalf, kPlain>(d, unit, c);
    if (unit.fused)
      x = fused<kHalf>(d, a, b, c);
    else
      x = hn::Add(written<kHalf, kPlain>(d, unit, hn::Mul(a, b)), c);
  }
  return written<kHalf, kPlain>(d, unit, x);
}

template <class D>
HWY_INLINE V<D> load(D d, const UnitOperand& x, std::size_t i) {
  return x.scalar ? hn::Set(d, *x.data) : hn::LoadU(d, x.data + i);
}

// Holds the elements of x from `begin` to `end`, fewer than a vector has, with zeros behind them.
template <class T>
struct Rest {
  T values[hn::MaxLanes(hn::ScalableTag<T>())] = {};
  Rest(const T* x, std::size_t begin, std::size_t end) { std::copy(x + begin, x + end, values); }
};

// This function and those below call themselves for the elements that do not fill a vector. They
// are not inlined, because the compiler takes long over each copy of their loops.
template <bool kHalf, bool kPlain, VectorOp kOp>
HWY_NOINLINE void apply_all(const VectorUnit& unit, std::size_t n, UnitOperand a, UnitOperand b,
                            UnitOperand c, float* to) {
  const F d;
  const std::size_t lanes = hn::Lanes(d);
  if (kOp != VectorOp::kFma) c = a;  // is not read
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(applied<kHalf, kPlain, kOp>(d, unit, load(d, a, i), load(d, b, i), load(d, c, i)), d,
               to + i);
  }
  if (i == n) return;
  const auto rest_of = [&](const UnitOperand& x) {
    return Rest<float>(x.data, x.scalar ? 0 : i, x.scalar ? 1 : n);
  };
  auto ra = rest_of(a), rb = rest_of(b), rc = rest_of(c);
  apply_all<kHalf, kPlain, kOp>(unit, lanes, {ra.values, a.scalar}, {rb.values, b.scalar},
                                {rc.values, c.scalar}, ra.values);
  std::copy(ra.values, ra.values + (n - i), to + i);
}

template <bool kHalf, bool kPlain>
HWY_INLINE void apply_op(const VectorUnit& unit, VectorOp op, std::size_t n, UnitOperand a,
                         UnitOperand b, UnitOperand c, float* to) {
  switch (op) {
    case VectorOp::kAdd:
      return apply_all<kHalf, kPlain, VectorOp::kAdd>(unit, n, a, b, c, to);
    case VectorOp::kSub:
      return apply_all<kHalf, kPlain, VectorOp::kSub>(unit, n, a, b, c, to);
    case VectorOp::kMul:
      return apply_all<kHalf, kPlain, VectorOp::kMul>(unit, n, a, b, c, to);
    case VectorOp::kDiv:
      return apply_all<kHalf, kPlain, VectorOp::kDiv>(unit, n, a, b, c, to);
    case VectorOp::kFma:
      return apply_all<kHalf, kPlain, VectorOp::kFma>(unit, n, a, b, c, to);
    case VectorOp::kMax:
      return apply_all<false, true, VectorOp::kMax>(unit, n, a, b, c, to);
    case VectorOp::kMin:
      return apply_all<false, true, VectorOp::kMin>(unit, n, a, b, c, to);
    default:
      return;
  }
}

// Calls body<kHalf, kPlain>(), with the two constants that fit the unit.
#define ASSAY_BY_UNIT(unit, body, ...)                \
  do {                                                \
    const bool plain = !unit.saturate && !unit.flush; \
    if (unit.half) {                                  \
      if (plain)                                      \
        body<true, true>(__VA_ARGS__);                \
      else                                            \
        body<true, false>(__VA_ARGS__);               \
    } else {                                          \
      if (plain)                                      \
        body<false, true>(__VA_ARGS__);               \
      else                                            \
        body<false, false>(__VA_ARGS__);              \
    }                                                 \
  } while (false)

void unit_apply_impl(const VectorUnit& unit, VectorOp op, std::size_t n, UnitOperand a,
                     UnitOperand b, UnitOperand c, float* to) {
  ASSAY_BY_UNIT(unit, apply_op, unit, op, n, a, b, c, to);
}

// -- Functions ------------------------------------------------------------------------------------

template <VectorOp kOp, class D>
HWY_INLINE V<D> function_of(D d, V<D> x) {
  if constexpr (kOp == VectorOp::kExp) return exp_of(d, x);
  if constexpr (kOp == VectorOp::kLog) return log_of(d, x);
  if constexpr (kOp == VectorOp::kSqrt) return hn::Sqrt(x);
  if constexpr (kOp == VectorOp::kRsqrt) return hn::Div(hn::Set(d, 1.0), hn::Sqrt(x));
  if constexpr (kOp == VectorOp::kTanh) return tanh_of(d, x);
  if constexpr (kOp == VectorOp::kErf) return erf_of(d, x);
}

template <VectorOp kOp>
HWY_NOINLINE void function64_all(std::size_t n, const double* x, double* to) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(function_of<kOp>(d, hn::LoadU(d, x + i)), d, to + i);
  }
  if (i == n) return;
  Rest<double> rest(x, i, n);
  function64_all<kOp>(lanes, rest.values, rest.values);
  std::copy(rest.values, rest.values + (n - i), to + i);
}

template <VectorOp kOp>
HWY_NOINLINE void function_all(const VectorUnit& unit, std::size_t n, const float* x, float* to) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t lanes = hn::Lanes(d);
  const auto result = [&](auto v) HWY_ATTR {
    if (unit.flush) v = unit.half ? flushed<true>(df, v) : flushed<false>(df, v);
    auto y = function_of<kOp>(d, hn::PromoteTo(d, v));
    if (unit.half) y = round_half(d, y);
// Highway's DemoteTo for this target would make infinity the largest number.
#if HWY_TARGET == HWY_SCALAR
    const auto rounded = hn::Set(df, static_cast<float>(hn::GetLane(y)));
#else
    const auto rounded = hn::DemoteTo(df, y);
#endif
    return unit.half ? settled<true, false>(df, unit, rounded)
                     : settled<false, false>(df, unit, rounded);
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(result(hn::LoadU(df, x + i)), df, to + i);
  if (i == n) return;
  Rest<float> rest(x, i, n);
  function_all<kOp>(unit, lanes, rest.values, rest.values);
  std::copy(rest.values, rest.values + (n - i), to + i);
}

// Calls `body` with the operation as a template argument.
#define ASSAY_BY_FUNCTION(op, body, ...)          \
  switch (op) {                                   \
    case VectorOp::kExp:                          \
      return body<VectorOp::kExp>(__VA_ARGS__);   \
    case VectorOp::kLog:                          \
      return body<VectorOp::kLog>(__VA_ARGS__);   \
    case VectorOp::kSqrt:                         \
      return body<VectorOp::kSqrt>(__VA_ARGS__);  \
    case VectorOp::kRsqrt:                        \
      return body<VectorOp::kRsqrt>(__VA_ARGS__); \
    case VectorOp::kTanh:                         \
      return body<VectorOp::kTanh>(__VA_ARGS__);  \
    case VectorOp::kErf:                          \
      return body<VectorOp::kErf>(__VA_ARGS__);   \
    default:                                      \
      return;                                     \
  }

void unit_function_impl(const VectorUnit& unit, VectorOp op, std::size_t n, const float* x,
                        float* to) {
  ASSAY_BY_FUNCTION(op, function_all, unit, n, x, to)
}
void float64_function_impl(VectorOp op, std::size_t n, const double* x, double* to) {
  ASSAY_BY_FUNCTION(op, function64_all, n, x, to)
}

// -- Sums and maxima ------------------------------------------------------------------------------

template <bool kHalf, bool kPlain>
HWY_INLINE void pair_sums(const VectorUnit& unit, std::size_t pairs, const float* x, float* to) {
  const One d1;
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const F d;
  const std::size_t lanes = hn::Lanes(d);
  for (; i + lanes <= pairs; i += lanes) {
    const auto low = hn::LoadU(d, x + 2 * i), high = hn::LoadU(d, x + 2 * i + lanes);
    const auto sum = hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
    hn::StoreU(written<kHalf, kPlain>(d, unit, sum), d, to + i);
  }
#endif
  for (; i < pairs; ++i) {
    const auto sum = hn::Add(hn::LoadU(d1, x + 2 * i), hn::LoadU(d1, x + 2 * i + 1));
    hn::StoreU(written<kHalf, kPlain>(d1, unit, sum), d1, to + i);
  }
}

void unit_pair_sums_impl(const VectorUnit& unit, std::size_t pairs, const float* x, float* to) {
  ASSAY_BY_UNIT(unit, pair_sums, unit, pairs, x, to);
}

// Adds the rows of kVectors vectors of columns at a time, because each sum of a column waits for
// the one before.
template <bool kHalf, bool kPlain, int kVectors, class D>
HWY_NOINLINE void chain_columns(D d, const VectorUnit& unit, std::size_t n, std::size_t w,
                                const float* x, float* sums) {
  const std::size_t lanes = hn::Lanes(d);
  V<D> sum[kVectors];
  ASSAY_UNROLL
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::LoadU(d, x + static_cast<std::size_t>(v) * lanes);
  for (std::size_t i = 1; i < n; ++i) {
    const float* row = x + i * w;
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const auto term = hn::LoadU(d, row + static_cast<std::size_t>(v) * lanes);
      sum[v] = written<kHalf, kPlain>(d, unit, hn::Add(sum[v], term));
    }
  }
  ASSAY_UNROLL
  for (int v = 0; v < kVectors; ++v)
    hn::StoreU(sum[v], d, sums + static_cast<std::size_t>(v) * lanes);
}

template <bool kHalf, bool kPlain>
HWY_INLINE void chain(const VectorUnit& unit, std::size_t n, std::size_t w, const float* x,
                      float* sums) {
  const F d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t j = 0;
  for (; j + 4 * lanes <= w; j += 4 * lanes) {
    chain_columns<kHalf, kPlain, 4>(d, unit, n, w, x + j, sums + j);
  }
  for (; j + lanes <= w; j += lanes) {
    chain_columns<kHalf, kPlain, 1>(d, unit, n, w, x + j, sums + j);
  }
  for (; j < w; ++j) chain_columns<kHalf, kPlain, 1>(One(), unit, n, w, x + j, sums + j);
}

void unit_chain_impl(const VectorUnit& unit, std::size_t n, std::size_t w, const float* x,
                     float* sums) {
  ASSAY_BY_UNIT(unit, chain, unit, n, w, x, sums);
}

float unit_maximum_impl(std::size_t n, const float* x) {
  const F d;
  const One d1;
  const std::size_t lanes = hn::Lanes(d);
  float folded[hn::MaxLanes(d)];
  auto most = hn::LoadU(d1, x);
  std::size_t i = 0;
  if (n >= lanes) {
    auto wide = hn::LoadU(d, x);
    for (i = lanes; i + lanes <= n; i += lanes) wide = larger(wide, hn::LoadU(d, x + i));
    hn::StoreU(wide, d, folded);
    for (std::size_t j = 0; j < lanes; ++j) most = larger(most, hn::LoadU(d1, folded + j));
  }
  for (; i < n; ++i) most = larger(most, hn::LoadU(d1, x + i));
  hn::StoreU(most, d1, folded);
  return folded[0];
}

// Reads one cache line of each row at a time, because rows that are a power of two apart share
// their places in the cache.
void transpose_impl(std::size_t rows, std::size_t n, const float* from, float* to) {
  constexpr std::size_t kTile = 16;
  const auto scalars = [&](std::size_t top, std::size_t bottom, std::size_t begin,
                           std::size_t end) {
    for (std::size_t j = top; j < bottom; ++j) {
      for (std::size_t i = begin; i < end; ++i) to[i * rows + j] = from[j * n + i];
    }
  };
#if HWY_TARGET == HWY_SCALAR
  const std::size_t whole_rows = 0, whole = 0;
#else
  const std::size_t whole_rows = rows / 4 * 4, whole = n / kTile * kTile;
  const hn::FixedTag<float, 4> d;
  for (std::size_t begin = 0; begin < whole; begin += kTile) {
    for (std::size_t j = 0; j < whole_rows; j += 4) {
      for (std::size_t i = begin; i < begin + kTile; i += 4) {
        const float* x = from + j * n + i;
        const auto a = hn::LoadU(d, x), b = hn::LoadU(d, x + n), c = hn::LoadU(d, x + 2 * n),
                   e = hn::LoadU(d, x + 3 * n);
        const auto ab = hn::InterleaveLower(d, a, b), ce = hn::InterleaveLower(d, c, e);
        const auto ab_up = hn::InterleaveUpper(d, a, b), ce_up = hn::InterleaveUpper(d, c, e);
        float* y = to + i * rows + j;
        hn::StoreU(hn::ConcatLowerLower(d, ce, ab), d, y);
        hn::StoreU(hn::ConcatUpperUpper(d, ce, ab), d, y + rows);
        hn::StoreU(hn::ConcatLowerLower(d, ce_up, ab_up), d, y + 2 * rows);
        hn::StoreU(hn::ConcatUpperUpper(d, ce_up, ab_up), d, y + 3 * rows);
      }
    }
  }
#endif
  scalars(0, whole_rows, whole, n);
  for (std::size_t begin = 0; begin < n; begin += kTile) {
    scalars(whole_rows, rows, begin, begin + kTile < n ? begin + kTile : n);
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(unit_apply_impl);
HWY_EXPORT(unit_function_impl);
HWY_EXPORT(float64_function_impl);
HWY_EXPORT(unit_pair_sums_impl);
HWY_EXPORT(unit_chain_impl);
HWY_EXPORT(unit_maximum_impl);
HWY_EXPORT(transpose_impl);

void unit_apply(const VectorUnit& unit, VectorOp op, std::size_t n, UnitOperand a, UnitOperand b,
                UnitOperand c, float* to) {
  HWY_DYNAMIC_DISPATCH(unit_apply_impl)(unit, op, n, a, b, c, to);
}

void unit_function(const VectorUnit& unit, VectorOp op, std::size_t n, const float* x, float* to) {
  HWY_DYNAMIC_DISPATCH(unit_function_impl)(unit, op, n, x, to);
}

void float64_function(VectorOp op, std::size_t n, const double* x, double* to) {
  HWY_DYNAMIC_DISPATCH(float64_function_impl)(op, n, x, to);
}

void unit_pair_sums(const VectorUnit& unit, std::size_t pairs, const float* x, float* to) {
  HWY_DYNAMIC_DISPATCH(unit_pair_sums_impl)(unit, pairs, x, to);
}

void unit_chain(const VectorUnit& unit, std::size_t n, std::size_t w, const float* x, float* sums) {
  HWY_DYNAMIC_DISPATCH(unit_chain_impl)(unit, n, w, x, sums);
}

float unit_maximum(std::size_t n, const float* x) {
  return HWY_DYNAMIC_DISPATCH(unit_maximum_impl)(n, x);
}

void transpose(std::size_t rows, std::size_t n, const float* from, float* to) {
  HWY_DYNAMIC_DISPATCH(transpose_impl)(rows, n, from, to);
}

}  // namespace assay::simd
#endif
