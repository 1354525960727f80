#include "assay/base/double_double.h"

#include <bit>
#include <cstdint>

#include "assay/base/constants.h"

namespace assay::inline v0_2 {
namespace {

// 2^(i / 32) and 2^(i / 1024) for i = 0 to 31, with twice the precision of float64.
constexpr DoubleDouble kCoarse[] = {
    {0x1.0000000000000p+0, 0},
    {0x1.059b0d3158574p+0, 0x1.d73e2a475b465p-55},
    {0x1.0b5586cf9890fp+0, 0x1.8a62e4adc610bp-54},
    {0x1.11301d0125b51p+0, -0x1.6c51039449b3ap-54},
    {0x1.172b83c7d517bp+0, -0x1.19041b9d78a76p-55},
    {0x1.1d4873168b9aap+0, 0x1.e016e00a2643cp-54},
    {0x1.2387a6e756238p+0, 0x1.9b07eb6c70573p-54},
    {0x1.29e9df51fdee1p+0, 0x1.612e8afad1255p-55},
    {0x1.306fe0a31b715p+0, 0x1.6f46ad23182e4p-55},
    {0x1.371a7373aa9cbp+0, -0x1.63aeabf42eae2p-54},
    {0x1.3dea64c123422p+0, 0x1.ada0911f09ebcp-55},
    {0x1.44e086061892dp+0, 0x1.89b7a04ef80d0p-59},
    {0x1.4bfdad5362a27p+0, 0x1.d4397afec42e2p-56},
    {0x1.5342b569d4f82p+0, -0x1.07abe1db13cadp-55},
    {0x1.5ab07dd485429p+0, 0x1.6324c054647adp-54},
    {0x1.6247eb03a5585p+0, -0x1.383c17e40b497p-54},
    {0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54},
    {0x1.71f75e8ec5f74p+0, -0x1.16e4786887a99p-55},
    {0x1.7a11473eb0187p+0, -0x1.41577ee04992fp-55},
    {0x1.82589994cce13p+0, -0x1.d4c1dd41532d8p-54},
    {0x1.8ace5422aa0dbp+0, 0x1.6e9f156864b27p-54},
    {0x1.93737b0cdc5e5p+0, -0x1.75fc781b57ebcp-57},
    {0x1.9c49182a3f090p+0, 0x1.c7c46b071f2bep-56},
    {0x1.a5503b23e255dp+0, -0x1.d2f6edb8d41e1p-54},
    {0x1.ae89f995ad3adp+0, 0x1.7a1cd345dcc81p-54},
    {0x1.b7f76f2fb5e47p+0, -0x1.5584f7e54ac3bp-56},
    {0x1.c199bdd85529cp+0, 0x1.11065895048ddp-55},
    {0x1.cb720dcef9069p+0, 0x1.503cbd1e949dbp-56},
    {0x1.d5818dcfba487p+0, 0x1.2ed02d75b3707p-55},
    {0x1.dfc97337b9b5fp+0, -0x1.1a5cd4f184b5cp-54},
    {0x1.ea4afa2a490dap+0, -0x1.e9c23179c2893p-54},
    {0x1.f50765b6e4540p+0, 0x1.9d3e12dd8a18bp-54},
};
constexpr DoubleDouble kFine[] = {
    {0x1.0000000000000p+0, 0},
    {0x1.002c605e2e8cfp+0, -0x1.d7c96f201bb2fp-55},
    {0x1.0058c86da1c0ap+0, -0x1.5e00e62d6b30dp-56},
    {0x1.0085382faef83p+0, 0x1.da93f90835f75p-56},
    {0x1.00b1afa5abcbfp+0, -0x1.4f6b2a7609f71p-55},
    {0x1.00de2ed0ee0f5p+0, -0x1.406ac4e81a645p-57},
    {0x1.010ab5b2cbd11p+0, 0x1.c1d0660524e08p-54},
    {0x1.0137444c9b5b5p+0, -0x1.2b6aeb6176892p-56},
    {0x1.0163da9fb3335p+0, 0x1.b61299ab8cdb7p-54},
    {0x1.019078ad6a19fp+0, -0x1.008eff5142bf9p-56},
    {0x1.01bd1e77170b4p+0, 0x1.5e7626621eb5bp-56},
    {0x1.01e9cbfe113efp+0, -0x1.c11f5239bf535p-55},
    {0x1.02168143b0281p+0, -0x1.2bf310fc54eb6p-55},
    {0x1.02433e494b755p+0, -0x1.314aa16278aa3p-54},
    {0x1.027003103b10ep+0, -0x1.082ef51b61d7ep-56},
    {0x1.029ccf99d720ap+0, 0x1.64cbba902ca27p-58},
    {0x1.02c9a3e778061p+0, -0x1.19083535b085dp-56},
    {0x1.02f67ffa765e6p+0, -0x1.b8db0e9dbd87ep-55},
    {0x1.032363d42b027p+0, 0x1.fea8d61ed6016p-54},
    {0x1.03504f75ef071p+0, 0x1.bc2ee8e5799acp-54},
    {0x1.037d42e11bbccp+0, 0x1.56811eeade11ap-57},
    {0x1.03aa3e170aafep+0, -0x1.f1a93c1b824d3p-54},
    {0x1.03d7411915a8ap+0, 0x1.b7c00e7b751dap-54},
    {0x1.04044be896ab6p+0, 0x1.9dc3add8f9c02p-54},
    {0x1.04315e86e7f85p+0, -0x1.0a31c1977c96ep-54},
    {0x1.045e78f5640b9p+0, 0x1.35bc86af4ee9ap-56},
    {0x1.048b9b35659d8p+0, 0x1.21cd53d5e8b66p-57},
    {0x1.04b8c54847a28p+0, -0x1.e7992580447b0p-56},
    {0x1.04e5f72f654b1p+0, 0x1.4c3793aa0d08dp-55},
    {0x1.051330ec1a03fp+0, 0x1.79a8be239ca45p-54},
    {0x1.0540727fc1762p+0, -0x1.abcae24b819dfp-54},
    {0x1.056dbbebb786bp+0, 0x1.06c87433776c9p-55},
};

// log 2 / 1024 as the sum of three parts. A product of the first or the second part and a whole
// number below 2^21 is exact.
constexpr double kStep[] = {0x1.62e42fee00000p-11, 0x1.a39ef35600000p-43, 0x1.93c7673007e5fp-75};
constexpr double kSteps = 0x1.71547652b82fep+10;  // 1024 / log 2

// 1 / n! for n = 2, 3, 4, with twice the precision of float64.
constexpr DoubleDouble kHalf = 0x1p-1, kSixth = {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                       k24th = {0x1.5555555555555p-5, 0x1.5555555555555p-59};
// 1 / n! for n = 5 to 8.
constexpr double kTail[] = {0x1.1111111111111p-7, 0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13,
                            0x1.a01a01a01a01ap-16};

DoubleDouble scaled(const DoubleDouble& x, std::int64_t exponent) {
  const auto factor = std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  return {x.high * factor, x.low * factor};
}

}  // namespace

DoubleDouble sqrt(const DoubleDouble& x) {
  const double root = std::sqrt(x.high);
  if (root == 0) return 0;
  const DoubleDouble rest = x - exact_product(root, root);
  return sum_of_ordered(root, rest.high / (2 * root));
}

// Computes e^x. Writes x as k log 2 / 1024 + t with |t| <= log 2 / 2048. Tables hold the powers of
// 2. In the series of e^t, the terms from the fifth on need only float64.
DoubleDouble exp(const DoubleDouble& x) {
  const double k = std::nearbyint(x.high * kSteps);
  const auto steps = static_cast<std::int64_t>(k);
  const DoubleDouble most = exact_sum(x.high - k * kStep[0], -k * kStep[1]);
  const DoubleDouble t = most + exact_sum(x.low, -k * kStep[2]);
  const DoubleDouble power = kCoarse[steps >> 5 & 31] * kFine[steps & 31];
  const double tail = kTail[0] + t.high * (kTail[1] + t.high * (kTail[2] + t.high * kTail[3]));
  const DoubleDouble y = t + t * t * (kHalf + t * (kSixth + t * (k24th + t * tail)));
  return scaled(power + power * y, steps >> 10);
}

double hypot(double x, double y) {
  x = std::abs(x), y = std::abs(y);
  if (x == kInfinity || y == kInfinity) return kInfinity;
  if (std::isnan(x) || std::isnan(y)) return x + y;
  const double largest = x > y ? x : y;
  if (largest == 0) return 0;
  const auto root = [](double a, double b) {
    return sqrt(exact_product(a, a) + exact_product(b, b)).high;
  };
  if (largest > 0x1p-400 && largest < 0x1p400) return root(x, y);
  const int exponent = std::ilogb(largest);
  return std::ldexp(root(std::ldexp(x, -exponent), std::ldexp(y, -exponent)), exponent);
}

}  // namespace assay
