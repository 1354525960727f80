// Compares the kernel that judges flips with its scalar version. Both give the same bin for every
// element and bit, on every SIMD target.
#include "assay/campaign/flips.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "assay/abft/bound_form.h"
#include "assay/abft/rounding_tail.h"
#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/campaign/trial_tally.h"
#include "assay/format/convert.h"
#include "emulated.h"
#include "simd/target_fixture.h"

namespace assay::campaign {
namespace {

using simd::FlipCheck;
using simd::OnEveryTarget;
using simd::Storage;

struct Kind {
  const char* name;
  Storage storage;
};
constexpr Kind kKinds[] = {
    {"float32", Storage::kF32}, {"float16", Storage::kF16}, {"bfloat16", Storage::kBf16}};

// A check of a few elements, with the values that its threshold needs.
struct ElementsCheck {
  const Format& format;
  std::vector<std::uint64_t> bits;
  std::vector<unsigned char> bytes;
  simd::RoundSpec rounding;
  FlipCheck check;

  ElementsCheck(const Format& f, const std::vector<std::uint64_t>& elements)
      : format(f),
        bits(elements),
        bytes(elements.size() * static_cast<std::size_t>(f.storage_bytes)),
        rounding{53 - f.precision, min_normal(f), min_subnormal(f), max_finite(f)} {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      std::memcpy(bytes.data() + i * static_cast<std::size_t>(f.storage_bytes), &bits[i],
                  static_cast<std::size_t>(f.storage_bytes));
    }
    simd::OutputStats stats;
    abft::output_stats(f, bytes.data(), static_cast<std::int64_t>(bits.size()),
                       static_cast<std::int64_t>(bits.size()), &stats);
    check.elements = bytes.data();
    check.n = bits.size();
    check.stats = stats;
    check.expected = stats.sum;
    check.guard = 4 * static_cast<double>(bits.size()) * 0x1p-53 * stats.absolute;
    check.mantissa_bits = f.mantissa_bits();
    check.min_subnormal = min_subnormal(f);
    std::vector<double> sizes;
    for (const std::uint64_t b : bits) sizes.push_back(std::abs(decode(f, b)));
    std::sort(sizes.rbegin(), sizes.rend());
    check.second = sizes.size() > 1 ? sizes[1] : 0;
  }
  double value(std::size_t i) const { return decode(format, bits[i]); }
  // Returns the tail of the rounding errors, with the budget of the form.
  abft::RoundingTail tail() const {
    std::vector<double> values;
    for (std::size_t i = 0; i < bits.size(); ++i) values.push_back(value(i));
    return abft::rounding_tail(format, values, check.form.kappa, false);
  }

  void add_tail() {
    const abft::RoundingTail all = tail();
    check.stats.tail = all.value;
    check.stats.tail_slope = all.slope;
  }

  std::vector<std::uint16_t> scalar(const std::vector<int>& flipped) const {
    std::vector<std::uint16_t> bins;
    for (const int b : flipped) {
      for (const std::uint64_t e : bits) bins.push_back(flip_bin(check, format, e, b));
    }
    return bins;
  }
  std::vector<std::uint16_t> kernel(Storage storage, const std::vector<int>& flipped,
                                    bool* special = nullptr) const {
    const std::size_t stride = bits.size() + 3;
    std::vector<std::uint16_t> wide(flipped.size() * stride, 0xabcd), bins;
    const bool found =
        simd::flip_bins(storage, check, flipped.data(), flipped.size(), stride, wide.data());
    if (special != nullptr) *special = found;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      if (i % stride < bits.size()) {
        bins.push_back(wide[i]);
      } else {
        EXPECT_EQ(wide[i], 0xabcd) << "wrote beyond its row";
      }
    }
    return bins;
  }
};

std::vector<int> all_bits(const Format& f) {
  std::vector<int> bits(static_cast<std::size_t>(f.bits));
  std::iota(bits.begin(), bits.end(), 0);
  return bits;
}

// Returns a bin without its direction and doubt.
int plain(std::uint16_t bin) {
  const int b = bin & ~simd::kFlipDoubtful;
  return b >= simd::kFlipBins ? b - simd::kFlipBins : b;
}

class FlipsTest : public OnEveryTarget {
 protected:
  void expect_same(const ElementsCheck& made, Storage storage, const std::string& what) {
    const std::vector<int> flipped = all_bits(made.format);
    bool special = false;
    const std::vector<std::uint16_t> right = made.scalar(flipped),
                                     got = made.kernel(storage, flipped, &special);
    for (std::size_t i = 0; i < right.size(); ++i) {
      const std::size_t j = i % made.bits.size();
      ASSERT_EQ(got[i], right[i]) << what << ": element " << j << " = " << made.value(j) << ", bit "
                                  << flipped[i / made.bits.size()];
      seen_[static_cast<std::size_t>(plain(right[i]))] = true;
      doubtful_ = doubtful_ || (right[i] & simd::kFlipDoubtful) != 0;
      if (plain(right[i]) == simd::kBinUnsure || (right[i] & simd::kFlipDoubtful) != 0) {
        ASSERT_TRUE(special) << what;
      }
    }
  }
  std::array<bool, simd::kFlipBins> seen_{};
  bool doubtful_ = false;
};

INSTANTIATE_TEST_SUITE_P(OnTarget, FlipsTest, testing::ValuesIn(simd::available_targets()),
                         simd::target_of);

// Returns finite elements: near each other, of every size, subnormals, zeros, huge ones, and ties.
std::vector<std::uint64_t> elements_of(const Format& f, int recipe, std::size_t n, Random& random) {
  std::vector<std::uint64_t> bits;
  while (bits.size() < n) {
    std::uint64_t b = 0;
    switch (recipe) {
      case 0:
        b = encode(f, random.normal());
        break;
      case 1:  // every pattern
        b = random.below(std::uint64_t{1} << f.bits);
        break;
      case 2:  // subnormals and zeros of both signs
        b = encode(f, (random.uniform() - 0.5) * 8 * min_normal(f));
        if (random.below(3) == 0) b = encode(f, random.below(2) == 0 ? 0.0 : -0.0);
        break;
      case 3:
        b = encode(f, (random.uniform() - 0.5) * max_finite(f));
        break;
      default:  // two values and their negatives: ties of the largest
        b = encode(f, (random.below(2) == 0 ? 1.5 : 3.0) * (random.below(2) == 0 ? 1 : -1));
    }
    if (std::isfinite(decode(f, b))) bits.push_back(b);
  }
  return bits;
}

TEST_P(FlipsTest, EveryThresholdEveryLength) {
  Random random(20260801, 1);
  for (const Kind& kind : kKinds) {
    const Format& f = format_named(kind.name);
    for (int recipe = 0; recipe < 5; ++recipe) {
      for (std::size_t n = 1; n <= 40; ++n) {
        // A share has every third length, and other lengths in the next recipe.
        if (walks_a_share() && (n + static_cast<std::size_t>(recipe)) % 3 != 0) continue;
        ElementsCheck made(f, elements_of(f, recipe, n, random));
        FlipCheck& c = made.check;
        const double scale = std::max(std::abs(c.stats.largest), min_subnormal(f));
        c.expected = c.stats.sum + scale * 0x1p-6 * random.normal();
        const auto of_form = [&](int form) {
          c.form.constant = form % 2 == 0 ? 0 : scale * std::exp2(-8 * random.uniform());
          c.form.per_largest = form == 1 || form == 2 ? std::exp2(-6 * random.uniform()) : 0;
          c.form.kappa = form >= 3 ? 3 + random.uniform() : 0;
          c.form.ulp_weight = 1.0 / 12;
          c.form.half_ulps = 0.5;
          c.form.tail_from = random.below(2) == 0 ? 0 : 0.25;
          c.form.deviations = form >= 4 ? 4 : 0;
          c.form.accumulation = form >= 4 ? std::pow(scale * 0x1p-20, 2) : 0;
          c.form.per_square = form >= 5 ? 0x1p-40 : 0;
          c.form.per_ulp_square = form >= 5 ? 0.25 : 0;
          c.stats.tail = std::numeric_limits<double>::quiet_NaN();
          if (form == 6) made.add_tail();
        };
        for (int form = 0; form < 7; ++form) {
          of_form(form);
          for (const bool rounded : {false, true}) {
            c.rounding = rounded ? &made.rounding : nullptr;
            if (rounded && !std::isfinite(round_to(f, c.expected))) continue;
            const double expected = c.expected;
            if (rounded) c.expected = round_to(f, c.expected);
            for (const double error : {-1.0, 0.0, scale * 0x1p-9}) {
              c.element_error = error;
              expect_same(made, kind.storage,
                          std::string(kind.name) + " recipe " + std::to_string(recipe) + " n " +
                              std::to_string(n) + " form " + std::to_string(form) +
                              (rounded ? " rounded" : "") + " error " + std::to_string(error));
              if (HasFatalFailure()) return;
            }
            c.expected = expected;
          }
        }
      }
    }
  }
  // The inputs reach every kind of bin: both ends of the range, the edge, and each bin that is not
  // a ratio.
  EXPECT_TRUE(seen_[0]);
  EXPECT_TRUE(seen_[simd::kBinAtOne]);
  EXPECT_TRUE(seen_[simd::kBinAtOne + 1]);
  EXPECT_TRUE(seen_[simd::kRatioBins - 1]);
  EXPECT_TRUE(seen_[simd::kBinNotFinite]);
  EXPECT_TRUE(seen_[simd::kBinMasked]);
  EXPECT_TRUE(seen_[simd::kBinUnsure]);
  EXPECT_FALSE(seen_[simd::kBinDismissed]);
  EXPECT_TRUE(doubtful_);
}

// With the tail of the rounding errors, the verdict equals that of a new tail with the changed
// element among the others, unless the bin is kBinUnsure. Few bins are.
TEST(Flips, ATailThatChangesWithTheElement) {
  Random random(20261122, 3);
  std::int64_t flips = 0, unsure = 0, other_bin = 0, near = 0;
  for (const Kind& kind : kKinds) {
    const Format& f = format_named(kind.name);
    if (f.mantissa_bits() > 10) continue;
    for (int round = 0; round < 60; ++round) {
      ElementsCheck made(f, elements_of(f, round % 3 == 0 ? 3 : 0, 16, random));
      FlipCheck& c = made.check;
      c.form = {.kappa = 7.62, .ulp_weight = 1.0 / 12, .half_ulps = 0.5, .tail_from = 1.0 / 3};
      made.add_tail();
      c.expected = c.stats.sum + c.stats.tail * 0.3 * random.normal();
      for (const int bit : all_bits(f)) {
        for (std::size_t i = 0; i < made.bits.size(); ++i) {
          const int bin = plain(flip_bin(c, f, made.bits[i], bit));
          ++flips;
          unsure += bin == simd::kBinUnsure ? 1 : 0;
          if (bin >= simd::kRatioBins) continue;
          ElementsCheck changed = made;
          changed.bits[i] ^= std::uint64_t{1} << bit;
          const double difference =
              std::abs(c.stats.sum + (changed.value(i) - made.value(i)) - c.expected);
          const double tail = changed.tail().value;
          // So far below the tail, the bin may be that of D over the bound of the tail.
          if (difference <= tail / 2) {
            ASSERT_LE(bin, simd::kBinAtOne - 8);
            continue;
          }
          ASSERT_EQ(bin > simd::kBinAtOne, difference > tail)
              << f.name << " element " << made.value(i) << " bit " << bit << ": D " << difference
              << ", tail before " << c.stats.tail << ", after " << tail;
          const int right = int{simd::ratio_bin(difference / tail, difference > tail)};
          other_bin += bin != right ? 1 : 0;
          near += std::abs(bin - right) <= 1 ? 0 : 1;
        }
      }
    }
  }
  EXPECT_LT(unsure, flips / 200);
  EXPECT_LT(other_bin, flips / 50);
  EXPECT_LT(near, flips / 10000);
}

// The elements are 1, 2, 4 and 8. The top mantissa bit of 2 is flipped, so that D is 1.
TEST_P(FlipsTest, AtTheThreshold) {
  for (const Kind& kind : kKinds) {
    const Format& f = format_named(kind.name);
    ElementsCheck made(f, {encode(f, 1), encode(f, 2), encode(f, 4), encode(f, 8)});
    made.check.guard = 0;
    const std::vector<int> top = {f.mantissa_bits() - 1};
    const auto bin_with = [&](double threshold) {
      made.check.form.constant = threshold;
      const std::uint16_t right = flip_bin(made.check, f, made.bits[1], top[0]);
      EXPECT_EQ(made.kernel(kind.storage, top)[1], right) << kind.name << " " << threshold;
      return plain(right);
    };
    EXPECT_EQ(bin_with(1), simd::kBinUnsure);
    EXPECT_EQ(bin_with(1 + 0x1p-17), simd::kBinUnsure);
    EXPECT_EQ(bin_with(1 - 0x1p-17), simd::kBinUnsure);
    EXPECT_EQ(bin_with(1 + 0x1p-15), simd::kBinAtOne);
    EXPECT_EQ(bin_with(1 - 0x1p-15), simd::kBinAtOne + 1);
    EXPECT_EQ(bin_with(2), simd::kBinAtOne - 8);
    EXPECT_EQ(bin_with(0.5), simd::kBinAtOne + 8);
    EXPECT_EQ(bin_with(0), simd::kRatioBins - 1);
    EXPECT_EQ(bin_with(0x1p30), 0);
    // There is neither a difference nor a threshold, so that there is no ratio.
    made.check.expected = made.check.stats.sum + 1;
    EXPECT_EQ(bin_with(0), simd::kBinUnsure);
    EXPECT_EQ(bin_with(1), 0);
  }
}

// The threshold follows the largest of the other elements. It is 8 if there is a second 8, and 4 if
// there is not.
TEST_P(FlipsTest, TiesOfTheLargest) {
  for (const Kind& kind : kKinds) {
    const Format& f = format_named(kind.name);
    for (const bool tie : {false, true}) {
      ElementsCheck made(f, {encode(f, 8), encode(f, 4), encode(f, tie ? -8 : 2), encode(f, 1)});
      made.check.form.per_largest = 1;
      EXPECT_EQ(made.check.second, tie ? 8 : 4);
      // A flip of its lowest exponent bit makes 8 a half of it, so that D is 4. (8 is 2^3, and the
      // exponent field of an odd exponent is even.) T is the largest element that is left.
      const int low = f.mantissa_bits();
      const std::uint16_t right = flip_bin(made.check, f, made.bits[0], low);
      EXPECT_EQ(made.kernel(kind.storage, {low})[0], right);
      const double after = decode(f, made.bits[0] ^ (std::uint64_t{1} << low));
      const double t = std::max(tie ? 8.0 : 4.0, after), d = std::abs(after - 8);
      if (d == t) {
        EXPECT_EQ(plain(right), simd::kBinUnsure);
      } else {
        EXPECT_EQ(plain(right), simd::ratio_bin(d / t, d > t));
      }
    }
  }
}

TEST_P(FlipsTest, Directions) {
  const Format& f = format_named("bfloat16");
  ElementsCheck made(f, {0x3f80, 0x3f81, 0x0000, 0x8000});
  const auto bins = made.kernel(Storage::kBf16, {0, 15});
  EXPECT_LT(bins[0] & ~simd::kFlipDoubtful, simd::kFlipBins);  // bit 0 was 0
  EXPECT_GE(bins[1] & ~simd::kFlipDoubtful, simd::kFlipBins);  // and was 1
  EXPECT_EQ(bins[4 + 2], simd::kBinMasked);                    // +0 to -0
  EXPECT_EQ(bins[4 + 3], simd::kBinMasked + simd::kFlipBins);  // and back
}

// This test shows why there is a guard. In a row of one large element and many small ones, float64
// sums in another order differ in their last bits. If D differs from T by no more than that, the
// sum in constant time contradicts a new summation. With its guard, the sum in constant time does
// not decide.
TEST(FlipGuard, WithoutItAVerdictIsWrong) {
  const Format& f = format_named("float32");
  const std::vector<double> values = {0x1p60, 1, -0x1p60, 0x1p-1, 0x1p-2};
  std::vector<std::uint64_t> bits;
  for (const double v : values) bits.push_back(encode(f, v));
  ElementsCheck made(f, bits);
  FlipCheck& c = made.check;
  // Summed in this order, the five values lose the 1, because it is added to a much larger number.
  c.stats.sum = ((values[0] + values[1]) + values[2]) + values[3] + values[4];
  ASSERT_EQ(c.stats.sum, 0.75);
  c.expected = 1.75;  // in exact arithmetic
  c.form.constant = 0.5;
  // The last element becomes 0.125. The real D is 0.125, below T. D of the stale sum is 1.125.
  const int low = f.mantissa_bits();
  ASSERT_EQ(decode(f, bits[4] ^ (std::uint64_t{1} << low)), 0.125);
  c.guard = 0;
  EXPECT_GT(plain(flip_bin(c, f, bits[4], low)), simd::kBinAtOne) << "the wrong verdict";
  EXPECT_LT(plain(made.kernel(Storage::kF32, {low})[4]), simd::kBinUnsure);
  c.guard = 4 * 5 * 0x1p-53 * 0x1p61;
  EXPECT_EQ(plain(flip_bin(c, f, bits[4], low)), simd::kBinUnsure);
  EXPECT_EQ(plain(made.kernel(Storage::kF32, {low})[4]), simd::kBinUnsure);
}

// The guard is also needed if sums are rounded before they are compared. Half a quantum away, one
// bit of the sum decides to which side it is rounded.
TEST(FlipGuard, BeforeRounding) {
  const Format& f = format_named("bfloat16");
  ElementsCheck made(f, {encode(f, 256), encode(f, 1), encode(f, 1)});
  FlipCheck& c = made.check;
  c.rounding = &made.rounding;
  c.expected = 256;
  c.form.constant = 1;
  // If the 1 becomes 0.5, the sum becomes 257 + 2^-44, and 257 is half way between 256 and 258.
  c.stats.sum = 257.5 + 0x1p-44;
  const int low = f.mantissa_bits();
  ASSERT_EQ(decode(f, made.bits[1] ^ (std::uint64_t{1} << low)), 0.5);
  c.guard = 0;
  EXPECT_GT(plain(flip_bin(c, f, made.bits[1], low)), simd::kBinAtOne);
  c.guard = 0x1p-43;
  EXPECT_EQ(plain(flip_bin(c, f, made.bits[1], low)), simd::kBinUnsure);
  EXPECT_EQ(plain(made.kernel(Storage::kBf16, {low})[1]), simd::kBinUnsure);
}

TEST(RatioBin, Edges) {
  using simd::ratio_bin;
  for (int bin = 1; bin < simd::kRatioBins - 1; ++bin) {
    const double edge = ratio_edge(bin);
    const bool above = bin > simd::kBinAtOne;
    EXPECT_EQ(ratio_bin(edge, above), bin) << edge;
    EXPECT_EQ(ratio_bin(std::nextafter(edge, 0), above), bin) << edge;
    if (bin != simd::kBinAtOne) {
      EXPECT_EQ(ratio_bin(std::nextafter(edge, kInfinity), above), bin + 1) << edge;
    }
  }
  EXPECT_EQ(ratio_edge(simd::kBinAtOne), 1);
  EXPECT_EQ(ratio_edge(simd::kBinAtOne + 1), 1.125);
  EXPECT_EQ(ratio_edge(simd::kBinAtOne - 1), 0.9375);
  EXPECT_EQ(ratio_edge(0), 0x1p-16);
  // The verdict decides the side of 1, whether the ratio was rounded to 1 or lies on the other
  // side.
  EXPECT_EQ(ratio_bin(1, false), simd::kBinAtOne);
  EXPECT_EQ(ratio_bin(1, true), simd::kBinAtOne + 1);
  EXPECT_EQ(ratio_bin(1.5, false), simd::kBinAtOne);
  EXPECT_EQ(ratio_bin(0.5, true), simd::kBinAtOne + 1);
  EXPECT_EQ(ratio_bin(0, false), 0);
  EXPECT_EQ(ratio_bin(0x1p-16, false), 0);
  EXPECT_EQ(ratio_bin(std::nextafter(0x1p-16, 1), false), 1);
  EXPECT_EQ(ratio_bin(0x1p16, true), simd::kRatioBins - 2);
  EXPECT_EQ(ratio_bin(std::nextafter(0x1p16, kInfinity), true), simd::kRatioBins - 1);
  EXPECT_EQ(ratio_bin(kInfinity, true), simd::kRatioBins - 1);
}

}  // namespace
}  // namespace assay::campaign
