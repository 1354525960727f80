// Tests matchers for complex numbers.
#include <assay/matchers.h>
#include <gtest/gtest.h>

#include <complex>
#include <span>
#include <vector>

#include "matchers/texts.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Floats = std::vector<std::complex<float>>;
using Doubles = std::vector<std::complex<double>>;

template <typename T, typename M>
std::string said(const T& actual, const M& matcher) {
  testing::StringMatchResultListener listener;
  testing::SafeMatcherCast<const T&>(matcher).MatchAndExplain(actual, &listener);
  return listener.str();
}

TEST(ComplexMatchers, VectorsAndSpans) {
  const Doubles reference = {{1, 2}, {3, -4}, {0, 5}};
  const Floats out = {{1, 2}, {3, -4}, {0, 5}};
  Floats off = out;
  off[1] = {3, -4.5F};
  EXPECT_THAT(out, CloseTo(reference).standard("torch"));
  EXPECT_THAT(out, CloseTo(reference).rtol(1e-6).atol(0));
  EXPECT_THAT(std::span<const std::complex<float>>(out), CloseTo(reference).rtol(0).atol(1e-6));
  EXPECT_THAT(out, BitEqual(Floats(out)));
  const Floats same = out;
  EXPECT_THAT(view(out, {3, 1}), BitEqual(view(same, {3, 1})));
  EXPECT_THAT(off, Not(CloseTo(reference).standard("torch")));
  EXPECT_THAT(said(off, CloseTo(reference).rtol(0.01).atol(0)),
              HasSubstr("fails: 1 of 3 elements (33.3 %) differs by more than atol 0 + rtol 0.01 * "
                        "|expected|\nwhich are:\n  [1]: actual 3-4.5j (0x40400000, 0xc0900000), "
                        "expected 3-4j (0x40400000, 0xc0800000), error 0.5, bound 0.05\n"));
  EXPECT_THAT(out, CloseTo(reference)) << "complex64 as its parts, float32";
  EXPECT_THAT(
      said(out, CloseTo(reference).standard("triton_ascend")),
      HasSubstr("cannot be compared: standard triton_ascend has no tolerance for complex64, "
                "whose elements are complex numbers; default, torch, numpy, numpy_allclose, "
                "tensorflow and jax have one"));
  EXPECT_THAT(said(out, WithinUlps(reference, 4)),
              HasSubstr("standard ulp(4) has no tolerance for complex64"));
}

TEST(ComplexMatchers, Metrics) {
  const Doubles reference = {{1, 2}, {3, -4}, {0, 5}};
  Floats out = {{1, 2}, {3, -4}, {0, 5}};
  out[1] = {3, -4.5F};
  EXPECT_THAT(out, SnrAtLeast(reference, 20));
  EXPECT_THAT(out, CosineAtLeast(reference, 0.99));
  EXPECT_THAT(out, RelativeL2AtMost(reference, 0.1));
  EXPECT_THAT(said(out, SnrAtLeast(reference, 30)),
              HasSubstr("max abs error 0.5 at [1]: actual 3-4.5j, expected 3-4j\n"));
  Floats peer = out;
  peer[1] = {3, -5};
  EXPECT_THAT(out, NoWorseThan(peer, reference));
  EXPECT_THAT(peer, Not(NoWorseThan(out, reference).factor(1.5)));
  EXPECT_THAT(said(out, NoWorseThan(peer, reference).by("max_ulp")),
              HasSubstr("cannot be compared: max ulp needs an order of the values, and complex "
                        "numbers have none"));
  out[0] = {std::numeric_limits<float>::quiet_NaN(), 2};
  EXPECT_THAT(said(out, SnrAtLeast(reference, 20)),
              HasSubstr("NaN or infinity differ in 1 of 3 elements\n  [0]: actual nan+2j, expected "
                        "1+2j"));
}

TEST(ComplexMatchers, AreDeterministicAndPrinted) {
  int calls = 0;
  const auto same = [] { return Floats{{1, 2}, {3, 4}}; };
  const auto other = [&] { return Floats{{1, 2}, {3, static_cast<float>(calls++)}}; };
  EXPECT_THAT(same, Deterministic(3));
  EXPECT_THAT(said(other, Deterministic(2)),
              HasSubstr("in 1 of 2 elements, first at [1]: 3+0j (0x40400000, 0x00000000) in run 1, "
                        "3+1j (0x40400000, 0x3f800000) in run 2"));
  const Floats out = same();
  EXPECT_EQ(testing::PrintToString(view(out)), "complex64 [2] {1+2j, 3+4j}");
}

}  // namespace
}  // namespace assay
