#include "assay/simd/draw.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/draw.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "assay/base/elementary.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using DU = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using VU = hn::Vec<DU>;
constexpr std::size_t kMaxLanes = hn::MaxLanes(D());

// low_product() multiplies the low halves of lanes, and store_in_turn() stores the lanes of two
// vectors in turn. Highway has no such functions for vectors of one number.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE VU low_product(VU a, VU b) {
  constexpr std::uint64_t kLow = 0xffffffffu;
  return hn::Set(DU(), (hn::GetLane(a) & kLow) * (hn::GetLane(b) & kLow));
}
template <class DT, typename T>
HWY_INLINE void store_in_turn(hn::Vec<DT> first, hn::Vec<DT> second, DT, T* to) {
  to[0] = hn::GetLane(first);
  to[1] = hn::GetLane(second);
}
#else
HWY_INLINE VU low_product(VU a, VU b) {
  const hn::Repartition<std::uint32_t, DU> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
}
template <class DT, typename T>
HWY_INLINE void store_in_turn(hn::Vec<DT> first, hn::Vec<DT> second, DT d, T* to) {
  hn::StoreInterleaved2(first, second, d, to);
}
#endif

// Computes Philox4x32-10, one block in each 64-bit lane. Each of a block's four words is in the low
// half of a lane. The high halves are never read.
struct Philox {
  std::uint64_t keys[10][2];
  std::uint64_t stream;

  Philox(std::uint64_t seed, std::uint64_t of_stream) : stream(of_stream) {
    auto low = static_cast<std::uint32_t>(seed), high = static_cast<std::uint32_t>(seed >> 32);
    for (auto& key : keys) {
      key[0] = low;
      key[1] = high;
      low += 0x9E3779B9u;
      high += 0xBB67AE85u;
    }
  }

  // Returns the two 64-bit words of each block.
  HWY_INLINE void words(VU block, VU& first, VU& second) const {
    const DU du;
    const VU first_factor = hn::Set(du, 0xD2511F53u), second_factor = hn::Set(du, 0xCD9E8D57u);
    VU c0 = block, c1 = hn::ShiftRight<32>(block);
    VU c2 = hn::Set(du, stream), c3 = hn::Set(du, stream >> 32);
    for (const auto& key : keys) {
      const VU p0 = low_product(c0, first_factor), p1 = low_product(c2, second_factor);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), hn::Set(du, key[0]));
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), hn::Set(du, key[1]));
      c1 = p1;
      c3 = p0;
    }
    const auto low = hn::Set(du, 0xffffffffu);
    first = hn::Or(hn::ShiftLeft<32>(c1), hn::And(c0, low));
    second = hn::Or(hn::ShiftLeft<32>(c3), hn::And(c2, low));
  }
};

// Returns the 53 high bits as a multiple of 2^-53 in [0, 1).
HWY_INLINE V uniform_of(VU word) {
  const D d;
  const hn::RebindToSigned<D> di;
  return hn::Mul(hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<11>(word))), hn::Set(d, 0x1p-53));
}

// Computes portable::log of positive, normal, finite numbers.
HWY_INLINE V log_of(V x) {
  using namespace portable;  // its coefficients
  const D d;
  const DU du;
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e00000000u, kOne = 0x3ff0000000000000u;
  const auto number = [&](double value) HWY_ATTR { return hn::Set(d, value); };
  const auto bits = hn::Add(hn::BitCast(du, x), hn::Set(du, kOne - kSqrtHalf));
  const auto mantissa =
      hn::Add(hn::And(bits, hn::Set(du, 0xfffffffffffffu)), hn::Set(du, kSqrtHalf));
  // The exponent becomes a float64: its bits are placed under those of 2^52, which is then
  // subtracted.
  const auto placed = hn::Or(hn::ShiftRight<52>(bits), hn::Set(du, 0x4330000000000000u));
  const auto k = hn::Sub(hn::BitCast(d, placed), number(0x1p52 + 1023));
  const auto f = hn::Sub(hn::BitCast(d, mantissa), number(1.0));
  const auto half = hn::Mul(hn::Mul(number(0.5), f), f);
  const auto s = hn::Div(f, hn::Add(number(2.0), f));
  const auto z = hn::Mul(s, s), w = hn::Mul(z, z);
  // Returns a + b c.
  const auto sum = [](V a, V b, V c) HWY_ATTR { return hn::Add(a, hn::Mul(b, c)); };
  const auto even = hn::Mul(w, sum(number(kLog[1]), w, sum(number(kLog[3]), w, number(kLog[5]))));
  const auto odd = hn::Mul(
      z,
      sum(number(kLog[0]), w, sum(number(kLog[2]), w, sum(number(kLog[4]), w, number(kLog[6])))));
  const auto r = hn::Add(half, hn::Add(even, odd));
  const auto low = hn::Add(hn::Mul(s, r), hn::Mul(k, number(kLn2Low)));
  return hn::Add(hn::Add(hn::Sub(low, half), f), hn::Mul(k, number(kLn2High)));
}

// Computes portable::expm1 of numbers in [0, 700].
HWY_INLINE V expm1_of(V x) {
  using namespace portable;
  const D d;
  const DU du;
  const auto number = [&](double value) HWY_ATTR { return hn::Set(d, value); };
  // The exponent k of the power of two also lies in the low bits of `shifted`.
  const auto shifted = hn::Add(hn::Mul(x, number(kInverseLn2)), number(0x1.8p52));
  const auto k = hn::Sub(shifted, number(0x1.8p52));
  const auto high = hn::Sub(x, hn::Mul(k, number(kLn2High))), low = hn::Mul(k, number(kLn2Low));
  const auto r = hn::Sub(high, low), z = hn::Mul(r, r);
  auto p = number(kExp[4]);
  for (int i = 3; i >= 0; --i) p = hn::Add(hn::Mul(p, z), number(kExp[i]));
  const auto c = hn::Sub(r, hn::Mul(z, p));
  const auto quotient = hn::Div(hn::Mul(r, c), hn::Sub(number(2.0), c));
  const auto near = hn::Add(number(1.0), hn::Add(hn::Sub(quotient, low), high));
  const auto exponent = hn::Add(hn::BitCast(du, shifted), hn::Set(du, std::uint64_t{1023}));
  const auto y = hn::Mul(near, hn::BitCast(d, hn::ShiftLeft<52>(exponent)));
  const auto less = hn::Sub(y, number(1.0));
  const auto exact = hn::Div(hn::Mul(less, x), log_of(y));
  const auto result = hn::IfThenElse(hn::Gt(y, number(0x1p60)), less, exact);
  return hn::IfThenElse(hn::Eq(y, number(1.0)), x, result);
}

// Computes portable::of_turns.
HWY_INLINE void of_turns(V x, V& sine_of, V& cosine_of) {
  using namespace portable;
  const D d;
  const DU du;
  const auto number = [&](double value) HWY_ATTR { return hn::Set(d, value); };
  const auto sum = [](V a, V b, V c) HWY_ATTR { return hn::Add(a, hn::Mul(b, c)); };
  // The number of the quarter turn also lies in the low bits of `shifted`.
  const auto shifted = hn::Add(hn::Mul(number(4.0), x), number(0x1.8p52));
  const auto quarter = hn::Sub(shifted, number(0x1.8p52));
  const auto t = hn::Mul(hn::Sub(x, hn::Mul(number(0.25), quarter)), number(kTwoPi));
  const auto z = hn::Mul(t, t), w = hn::Mul(z, z);
  const auto sine_rest =
      hn::Add(sum(number(kSine[1]), z, sum(number(kSine[2]), z, number(kSine[3]))),
              hn::Mul(hn::Mul(z, w), sum(number(kSine[4]), z, number(kSine[5]))));
  const auto sine = sum(t, hn::Mul(z, t), sum(number(kSine[0]), z, sine_rest));
  const auto cosine_rest = hn::Add(
      hn::Mul(z, sum(number(kCosine[0]), z, sum(number(kCosine[1]), z, number(kCosine[2])))),
      hn::Mul(hn::Mul(w, w),
              sum(number(kCosine[3]), z, sum(number(kCosine[4]), z, number(kCosine[5])))));
  const auto half = hn::Mul(number(0.5), z), near = hn::Sub(number(1.0), half);
  const auto cosine =
      hn::Add(near, hn::Add(hn::Sub(hn::Sub(number(1.0), near), half), hn::Mul(z, cosine_rest)));
  // In quarters 1 and 3 sine and cosine are exchanged. The sine is negative in quarters 2 and 3,
  // and the cosine in 1 and 2.
  const auto turn = hn::BitCast(du, shifted);
  const auto one = hn::Set(du, std::uint64_t{1});
  const auto exchange = hn::MaskFromVec(hn::BitCast(d, hn::Sub(hn::Zero(du), hn::And(turn, one))));
  const auto sine_sign = hn::ShiftLeft<63>(hn::ShiftRight<1>(turn));
  const auto cosine_sign = hn::ShiftLeft<63>(hn::ShiftRight<1>(hn::Add(turn, one)));
  sine_of = hn::Xor(hn::IfThenElse(exchange, cosine, sine), hn::BitCast(d, sine_sign));
  cosine_of = hn::Xor(hn::IfThenElse(exchange, sine, cosine), hn::BitCast(d, cosine_sign));
}

// Writes the draws [begin, begin + n). `blocks(block, to)` writes the two draws of each block of a
// vector of Philox blocks.
template <typename T, class Blocks>
HWY_INLINE void by_blocks(std::uint64_t begin, std::size_t n, T* to, Blocks blocks) {
  const DU du;
  const std::size_t lanes = hn::Lanes(du);
  const auto iota = hn::Iota(du, 0);
  const auto at = [&](std::uint64_t block) HWY_ATTR { return hn::Add(hn::Set(du, block), iota); };
  T rest[2 * kMaxLanes];
  std::uint64_t block = begin / 2;
  // The first draw is the second one of its block.
  if (begin % 2 == 1 && n > 0) {
    blocks(at(block++), rest);
    *to++ = rest[1];
    --n;
  }
  for (; n >= 2 * lanes; n -= 2 * lanes, to += 2 * lanes, block += lanes) blocks(at(block), to);
  if (n > 0) {
    blocks(at(block), rest);
    std::memcpy(to, rest, n * sizeof(T));
  }
}

void draw_words_impl(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, std::size_t n,
                     std::uint64_t* to) {
  const Philox philox(seed, stream);
  by_blocks(begin, n, to, [&](VU block, std::uint64_t* out) HWY_ATTR {
    VU first, second;
    philox.words(block, first, second);
    store_in_turn(first, second, DU(), out);
  });
}

void draw_uniforms_impl(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin,
                        std::size_t n, double* to) {
  const Philox philox(seed, stream);
  by_blocks(begin, n, to, [&](VU block, double* out) HWY_ATTR {
    VU first, second;
    philox.words(block, first, second);
    store_in_turn(uniform_of(first), uniform_of(second), D(), out);
  });
}

void draw_normals_impl(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, std::size_t n,
                       double* to) {
  const Philox philox(seed, stream);
  by_blocks(begin, n, to, [&](VU block, double* out) HWY_ATTR {
    const D d;
    VU first, second;
    philox.words(block, first, second);
    const auto log = log_of(hn::Sub(hn::Set(d, 1.0), uniform_of(first)));
    const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0), log));
    V sine, cosine;
    of_turns(uniform_of(second), sine, cosine);
    store_in_turn(hn::Mul(radius, cosine), hn::Mul(radius, sine), d, out);
  });
}

void draw_student_t_impl(double nu, std::uint64_t seed, std::uint64_t stream, std::uint64_t begin,
                         std::size_t n, double* to) {
  const D d;
  const Philox philox(seed, stream);
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, -2.0 / nu), freedom = hn::Set(d, nu);
  const auto draw = [&](std::uint64_t block) HWY_ATTR {
    const DU du;
    VU first, second;
    philox.words(hn::Add(hn::Set(du, block), hn::Iota(du, 0)), first, second);
    const auto log = log_of(hn::Sub(hn::Set(d, 1.0), uniform_of(first)));
    const auto radius = hn::Sqrt(hn::Mul(freedom, expm1_of(hn::Mul(scale, log))));
    V sine, cosine;
    of_turns(uniform_of(second), sine, cosine);
    return hn::Mul(radius, cosine);
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(draw(begin + i), d, to + i);
  if (i < n) {
    double rest[kMaxLanes];
    hn::StoreU(draw(begin + i), d, rest);
    std::memcpy(to + i, rest, (n - i) * sizeof(double));
  }
}

void affine_impl(double shift, double factor, std::size_t n, double* values) {
  const D d;
  const auto s = hn::Set(d, shift), f = hn::Set(d, factor);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Add(s, hn::Mul(f, hn::LoadU(d, values + i))), d, values + i);
  }
  for (; i < n; ++i) values[i] = shift + factor * values[i];
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(draw_words_impl);
HWY_EXPORT(draw_uniforms_impl);
HWY_EXPORT(draw_normals_impl);
HWY_EXPORT(draw_student_t_impl);
HWY_EXPORT(affine_impl);

void draw_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, std::size_t n,
                std::uint64_t* to) {
  HWY_DYNAMIC_DISPATCH(draw_words_impl)(seed, stream, begin, n, to);
}

void draw_uniforms(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, std::size_t n,
                   double* to) {
  HWY_DYNAMIC_DISPATCH(draw_uniforms_impl)(seed, stream, begin, n, to);
}

void draw_normals(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, std::size_t n,
                  double* to) {
  HWY_DYNAMIC_DISPATCH(draw_normals_impl)(seed, stream, begin, n, to);
}

void draw_student_t(double nu, std::uint64_t seed, std::uint64_t stream, std::uint64_t begin,
                    std::size_t n, double* to) {
  HWY_DYNAMIC_DISPATCH(draw_student_t_impl)(nu, seed, stream, begin, n, to);
}

void affine(double shift, double factor, std::size_t n, double* values) {
  HWY_DYNAMIC_DISPATCH(affine_impl)(shift, factor, n, values);
}

}  // namespace assay::simd
#endif
