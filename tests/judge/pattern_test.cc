// Tests the text of a failure whose values form a pattern, under every standard and in every kind
// of dtype. Also tests that nothing is said if there is no pattern, or if the data cannot show it.
#include "assay/judge/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "emulated.h"
#include "every_standard.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::bound_of;
using oracle::Dice;
using oracle::same_bits;
using oracle::tolerance;
using oracle::vector_of;
using oracle::within_ulps;
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kPatternDtypes[] = {"float32",     "float16",  "bfloat16", "float8_e4m3fn",
                                          "float8_e5m2", "hifloat8", "int8"};

double normal(Dice& dice) {
  return std::sqrt(-2 * std::log(dice.uniform() + 0x1p-60)) *
         std::cos(2 * std::numbers::pi * dice.uniform());
}

// Returns random expected values: normal ones for floats, and whole ones whose double fits into an
// int8.
Tensor drawn(std::string_view dtype, const Shape& shape, std::uint64_t seed = 5) {
  Dice dice(seed);
  const Format& f = format_named(dtype);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& v : values) {
    v = f.is_float() ? 4 * normal(dice) : static_cast<double>(dice.below(121)) - 60;
  }
  return Tensor::from_values(f, shape, values);
}

Tensor changed(const Tensor& golden, const std::function<std::uint64_t(std::int64_t)>& bits) {
  Tensor output = golden;
  for (std::int64_t i = 0; i < golden.size(); ++i) output.set_bits(i, bits(i));
  return output;
}
// Returns an output whose element p has the value of element from(p).
Tensor moved(const Tensor& golden, const std::function<std::int64_t(std::int64_t)>& from) {
  return changed(golden, [&](std::int64_t p) { return golden.bits_at(from(p)); });
}
Tensor scaled(const Tensor& golden, double by) {
  const Format& f = golden.format();
  return changed(golden,
                 [&](std::int64_t p) { return encode(f, by * decode(f, golden.bits_at(p))); });
}
std::int64_t exchanged(std::int64_t i, std::int64_t one, std::int64_t two) {
  return i == one ? two : i == two ? one : i;
}

struct Broken {
  std::string says;
  std::function<Tensor(const Tensor&)> make;
};

constexpr std::int64_t kSide = 48, kSize = kSide * kSide;

std::vector<Broken> broken() {
  return {
      {"every element of the output is 0: was it ever written?",
       [](const Tensor& g) { return changed(g, [](std::int64_t) { return 0; }); }},
      {"every element of the output is 0: was it ever written?",
       [](const Tensor& g) { return scaled(g, -0.0); }},
      {"the transpose of the output would pass",
       [](const Tensor& g) {
         return moved(g, [](std::int64_t p) { return p % kSide * kSide + p / kSide; });
       }},
      {"the output with rows 3 and 9 exchanged would pass",
       [](const Tensor& g) {
         return moved(
             g, [](std::int64_t p) { return exchanged(p / kSide, 3, 9) * kSide + p % kSide; });
       }},
      {"the output with columns 5 and 40 exchanged would pass",
       [](const Tensor& g) {
         return moved(g,
                      [](std::int64_t p) { return p - p % kSide + exchanged(p % kSide, 5, 40); });
       }},
      {"the output moved by one element towards its beginning would pass",
       [](const Tensor& g) {
         return moved(g, [](std::int64_t p) { return (p + kSize - 1) % kSize; });
       }},
      {"the output moved one row up would pass",
       [](const Tensor& g) {
         return moved(g, [](std::int64_t p) { return (p + kSize - kSide) % kSize; });
       }},
      {"the output moved one column to the right would pass",
       [](const Tensor& g) {
         return moved(g, [](std::int64_t p) { return p - p % kSide + (p + 1) % kSide; });
       }},
      {"the output times 0.5 ", [](const Tensor& g) { return scaled(g, 2); }},
      {"from position 1 024 on, every element of the output is 0",
       [](const Tensor& g) {
         return changed(g, [&](std::int64_t p) { return p < 1024 ? g.bits_at(p) : 0; });
       }},
  };
}

// Returns the output of a reference implementation: the golden results, with an error of an ulp
// here and there.
Tensor benchmark_of(const Tensor& golden) {
  const Format& f = golden.format();
  return changed(golden, [&](std::int64_t p) {
    const std::uint64_t bits = golden.bits_at(p);
    return p % 3 == 0 && std::abs(decode(f, bits)) < max_finite(f) / 2 ? next_up(f, bits) : bits;
  });
}

// Returns a quarter of the standards. The quarter depends on `place`, so that different dtypes get
// different standards.
std::vector<std::string> standards_from(std::size_t place) {
  std::vector<std::string> names = every_standard(4, place);
  names.insert(names.begin(), {"ulp(2)", "bit_equal"});
  return names;
}

TEST(Pattern, OfEveryStandardAndDtype) {
  int found = 0;
  std::size_t place = 0;
  for (const char* dtype : kPatternDtypes) {
    for (const std::string& standard : standards_from(place++)) {
      const auto bound = standard_bound(standard, format_named(dtype), 64);
      if (!bound) continue;
      const Tensor golden = drawn(dtype, {kSide, kSide});
      const Tensor other = benchmark_of(golden);
      JudgeOptions options;
      if (bound->needs_reference()) options.reference_implementation = other.view();
      ASSERT_EQ(judge(golden, golden, *bound, options).where, "") << standard;
      for (const Broken& b : broken()) {
        SCOPED_TRACE(standard + " " + dtype + ": " + b.says);
        const Tensor output = b.make(golden);
        const Verdict v = judge(output, golden, *bound, options);
        // If the standard does not fail the changed output, there is no text to test.
        if (v.outcome != Outcome::kFail) continue;
        // No text is expected if the bound is absolute and as wide as the data. The precision of
        // hifloat8 depends on the size of the values, so that statistics show no factor there.
        if (bound->rtol == 0 && bound->atol > 1) continue;
        const bool rounds =
            std::string_view(dtype) == "hifloat8" && bound->rule == Rule::kStatistics;
        if (rounds && b.says.find("times") != std::string::npos) continue;
        EXPECT_THAT(v.where, HasSubstr(b.says));
        ++found;
        options.threads = 2;
        EXPECT_EQ(judge(output, golden, *bound, options).where, v.where);
      }
    }
  }
  EXPECT_GT(found, walks_a_share() ? 25 : 100);
}

// Flips one bit of a single element, and of a whole column. If the standard finds the change, the
// text must name the flip.
TEST(Pattern, OfAFlippedBit) {
  int found = 0;
  std::size_t place = 0;
  for (const char* dtype : kPatternDtypes) {
    for (const std::string& standard : standards_from(place++)) {
      const Format& f = format_named(dtype);
      const auto bound = standard_bound(standard, f, 64);
      // Skips tapered formats, in which a flip changes the meaning of the other bits.
      if (!bound || f.specials == Specials::kTapered) continue;
      const Tensor golden = drawn(dtype, {kSide, kSide});
      const Tensor other = benchmark_of(golden);
      JudgeOptions options;
      if (bound->needs_reference()) options.reference_implementation = other.view();
      const int bit = f.bits - 2;
      for (const std::int64_t step : {kSize, kSide}) {
        // In 8 bits, a single wrong element is likely to be one flip away from the right one by
        // chance, so that no flip is named.
        if (step == kSize && f.bits == 8 && !(bound->is_plain() && bound->text() == "equality")) {
          continue;
        }
        SCOPED_TRACE(standard + " " + dtype + " " + std::to_string(step));
        const Tensor output = changed(golden, [&](std::int64_t p) {
          return p % step == 7 ? golden.bits_at(p) ^ std::uint64_t{1} << bit : golden.bits_at(p);
        });
        const Verdict v = judge(output, golden, *bound, options);
        if (v.outcome != Outcome::kFail) continue;
        // Under a bound as wide as the data, a flip gives values that many other elements have.
        if (standard.starts_with("hipblaslt")) continue;
        EXPECT_THAT(v.where, HasSubstr("the output with bit " + std::to_string(bit) +
                                       " flipped back would "
                                       "pass"));
        ++found;
      }
    }
  }
  EXPECT_GT(found, walks_a_share() ? 5 : 25);
}

TEST(Pattern, OfBitsOfAnotherDtype) {
  std::size_t place = 0;
  for (const auto& [held, said] :
       {std::pair("float16", "bfloat16"), std::pair("bfloat16", "float16"),
        std::pair("float8_e4m3fn", "float8_e5m2"), std::pair("float8_e5m2", "float8_e4m3fn"),
        std::pair("float32", "int32")}) {
    for (const std::string& standard : standards_from(place++)) {
      const Format &f = format_named(held), &other = format_named(said);
      const auto bound = standard_bound(standard, f, 64);
      if (!bound || bound->needs_reference()) continue;
      SCOPED_TRACE(standard + ": " + said + " in " + held);
      Tensor golden = drawn("float64", {kSide, kSide});
      if (!other.is_float()) golden = drawn("int8", {kSide, kSide});
      const Tensor exact =
          Tensor::from_values(format_named("float64"), golden.shape(), golden.view().values());
      const Tensor kept = Tensor::from_values(other, golden.shape(), golden.view().values());
      const TensorView output = view_bytes(kept.bytes(), f, kept.shape());
      const Verdict v = judge(output, exact, *bound, {});
      if (v.outcome != Outcome::kFail) continue;
      EXPECT_THAT(v.where, HasSubstr(std::string("the output read as ") + said));
    }
  }
}

TEST(Pattern, OfReversedBytes) {
  for (const char* dtype : {"float64", "float32", "float16", "bfloat16", "int32"}) {
    const Tensor golden = drawn(dtype, {kSide, kSide});
    const int width = golden.format().storage_bytes;
    const Tensor output = changed(golden, [&](std::int64_t p) {
      return __builtin_bswap64(golden.bits_at(p)) >> (64 - 8 * width);
    });
    EXPECT_THAT(judge(output, golden, tolerance(1e-3, 1e-3)).where,
                HasSubstr("the output with the bytes of each element reversed would pass"))
        << dtype;
  }
}

// An output of uint8 that is read as int8. The golden result has values that int8 does not hold.
TEST(Pattern, OfUnsignedIntegers) {
  Dice dice(3);
  std::vector<double> values(kSize);
  for (double& v : values) v = static_cast<double>(dice.below(256));
  const Tensor golden = Tensor::from_values(format_named("int32"), {kSide, kSide}, values);
  const Tensor kept = Tensor::from_values(format_named("uint8"), {kSide, kSide}, values);
  const Verdict v =
      judge(view_bytes(kept.bytes(), format_named("int8"), kept.shape()), golden, tolerance(0, 0));
  EXPECT_THAT(v.where, HasSubstr("the output read as uint8 would pass"));
}

// Compares whole texts, including the number of explained mismatches.
TEST(Pattern, Texts) {
  const Bound bound = tolerance(1e-3, 1e-3);
  const Tensor golden = drawn("float32", {kSide, kSide});
  const auto where = [&](const Tensor& output) { return judge(output, golden, bound).where; };
  EXPECT_EQ(where(scaled(golden, 2)),
            "every element; the output times 0.5 would pass (explains "
            "2 304 of 2 304 mismatches)");
  EXPECT_EQ(where(scaled(golden, -1)),
            "every element; the output times -1 would pass (explains "
            "2 304 of 2 304 mismatches)");
  EXPECT_EQ(
      where(scaled(golden, 1 / std::sqrt(128.0))),
      "every element; the output times 11.3137 would pass (explains 2 304 of 2 304 mismatches)");
  // A shift loses the values at one end. The values that came in at the other end are not golden
  // elements, so that not all mismatches are explained.
  EXPECT_EQ(where(moved(golden, [](std::int64_t p) { return std::max<std::int64_t>(p - 48, 0); })),
            "the output moved one row up explains 2 251 of 2 299 mismatches");
  // Only row 3 is changed, by a factor of 4.
  EXPECT_EQ(
      where(changed(golden,
                    [&](std::int64_t p) {
                      return p / kSide == 3 ? encode(golden.format(),
                                                     4 * decode(golden.format(), golden.bits_at(p)))
                                            : golden.bits_at(p);
                    })),
      "all in row 3; the output with row 3 times 0.25 would pass (explains 48 of 48 mismatches)");
  EXPECT_EQ(where(changed(golden,
                          [&](std::int64_t p) {
                            return p == 100 ? golden.bits_at(p) ^ 0x40000000u : golden.bits_at(p);
                          })),
            "the output with bit 30 flipped back would pass (explains 1 of 1 mismatch)");
  // A tile that was never written.
  EXPECT_EQ(where(changed(golden,
                          [&](std::int64_t p) {
                            return p / kSide >= 32 && p % kSide >= 32 ? 0 : golden.bits_at(p);
                          })),
            "in an aligned tile: rows 32 to 47, columns 32 to 47; the output is 0 at 256 of 256 "
            "mismatches: were they ever written?");
  EXPECT_EQ(where(changed(
                golden, [&](std::int64_t p) { return p < 2000 ? golden.bits_at(p) : 0xcdcdcdcd; })),
            "from position 2 000 on, every element of the output is -431602080 (0xcdcdcdcd) "
            "(explains 304 of 304 mismatches): was the tail ever written?");
  EXPECT_EQ(where(changed(golden, [&](std::int64_t) { return 0x7fc00000; })),
            "every element of the output is NaN, where finite values are expected");
}

// The NaN of arithmetic has only the first bit of its mantissa. With another exponent bit it
// is 1.5, but a lost bit is not its cause.
TEST(Pattern, TheNanOfArithmeticIsNoFlippedBit) {
  const std::vector<double> ones(100, 1.5);
  const Tensor golden = Tensor::from_values(format_named("float32"), {10, 10}, ones);
  const Tensor output = changed(golden, [](std::int64_t) { return 0x7fc00000; });
  EXPECT_EQ(judge(output, golden, tolerance(1e-3, 1e-3)).where,
            "every element of the output is NaN, where finite values are expected");
}

// The factor of one row is named from 2 % on. A smaller one could be rounding.
TEST(Pattern, ARowsFactorIsAtLeastTwoPercentOff) {
  const Tensor golden = drawn("float32", {kSide, kSide});
  const auto where = [&](double factor) {
    const Tensor output = changed(golden, [&](std::int64_t p) {
      const double value = decode(golden.format(), golden.bits_at(p));
      return p / kSide == 3 ? encode(golden.format(), value / factor) : golden.bits_at(p);
    });
    return judge(output, golden, tolerance(1e-6, 1e-5)).where;
  };
  EXPECT_EQ(where(1.03),
            "all in row 3; the output with row 3 times 1.03 would pass (explains 48 of 48 "
            "mismatches)");
  EXPECT_EQ(where(1.01), "all in row 3");
}

// A round factor is named if it is near the factor that fits (3 for 3.01). It is not named if it
// is 8 % off (3 for 3.25) and passes only because the bound is wide.
TEST(Pattern, AFactorIsNotRoundedFar) {
  const Bound loose = tolerance(1e-6, 0.125);
  const Tensor golden = drawn("float32", {kSide, kSide});
  EXPECT_THAT(judge(scaled(golden, 1 / 3.25), golden, loose).where,
              HasSubstr("the output times 3.25 would pass"));
  EXPECT_THAT(judge(scaled(golden, 1 / 3.01), golden, loose).where,
              HasSubstr("the output times 3 would pass"));
}

// If every element is 1 % off, a factor explains it. If few elements are off, their rounding may be
// the reason.
TEST(Pattern, AFactorNearOneNeedsManyMisses) {
  const Bound bound = tolerance(1e-6, 1e-3);
  const Tensor golden = drawn("float32", {kSide, kSide});
  const Tensor all = scaled(golden, 1 / 1.01);
  EXPECT_THAT(judge(all, golden, bound).where, HasSubstr("the output times 1.01 would pass"));
  const Tensor few = changed(
      golden, [&](std::int64_t p) { return p % 24 == 0 ? all.bits_at(p) : golden.bits_at(p); });
  const Verdict v = judge(few, golden, bound);
  EXPECT_EQ(v.mismatches, 96);
  EXPECT_THAT(v.where, Not(HasSubstr("times")));
}

// A factor near one is named from 32 mismatches on, if they are at least a tenth of the elements.
// The other elements are 0, which no factor changes.
TEST(Pattern, AFactorNearOneNeedsATenthOfMisses) {
  const Bound bound = tolerance(1e-6, 1e-3);
  const auto is_named = [&](std::int64_t size, std::int64_t mismatches) {
    const Tensor golden = changed(drawn("float32", {size}), [&](std::int64_t p) {
      return p < mismatches ? std::uint64_t{0x40000000} + static_cast<std::uint64_t>(p * 0x30001)
                            : 0;
    });
    const Verdict v = judge(scaled(golden, 1 / 1.01), golden, bound);
    EXPECT_EQ(v.mismatches, mismatches);
    return v.where.find("the output times 1.01") != std::string::npos;
  };
  EXPECT_TRUE(is_named(320, 32));
  EXPECT_FALSE(is_named(321, 32));
  EXPECT_TRUE(is_named(330, 33));
  EXPECT_FALSE(is_named(310, 31));
  EXPECT_TRUE(is_named(400, 40));
  EXPECT_FALSE(is_named(401, 40));
}

TEST(Pattern, OfWhatSaturatesOverflowsOrIsCut) {
  const Tensor large = vector_of("float64", {1e5, 2e5, 3e5, 4e5, 5e5, 7});
  EXPECT_EQ(
      judge(vector_of("float32", {65504, 65504, 65504, 65504, 65504, 7}), large, tolerance(0, 1e-3))
          .where,
      "a run of 5 elements from position 0; the output is 65504 (0x477fe000) at 5 of 5 mismatches: "
      "does it saturate as float16 does?");
  EXPECT_EQ(judge(vector_of("float32", {0, 1, 0, 0, 2, 0}),
                  vector_of("float32", {-3, 1, -2, -4, 2, -5}), tolerance(0, 1e-3))
                .where,
            "the output is 0 at 4 of 4 mismatches: are negative values cut to zero?");
  const Tensor wide = vector_of("float64", {200, 300, 250, 400, 500, 7});
  EXPECT_EQ(judge(vector_of("int8", {127, 127, 127, 127, 127, 7}), wide, tolerance(0, 0)).where,
            "a run of 5 elements from position 0; the output is 127 at 5 of 5 mismatches: does it "
            "saturate?");
  EXPECT_EQ(
      judge(vector_of("float32", {kInfinity, kInfinity, kInfinity, kInfinity, kInfinity, 7}), wide,
            tolerance(0, 0))
          .where,
      "a run of 5 elements from position 0; the output is infinite at 5 of 5 mismatches, where "
      "finite values are expected: does it overflow?");
  EXPECT_EQ(
      judge(vector_of("float32", {0, 0, 0, 0, 0, 1}),
            vector_of("float32", {1e-40, 2e-40, 3e-40, 4e-40, 5e-40, 1}), within_ulps(2))
          .where,
      "a run of 5 elements from position 0; the output is 0 at 5 of 5 mismatches: are subnormal "
      "numbers flushed to zero?");
}

// Tests exchanged dimensions of tensors with more dimensions than a matrix, and of matrices that
// are not square.
TEST(Pattern, OfExchangedDimensions) {
  const Bound bound = tolerance(1e-3, 1e-3);
  const Tensor tall = drawn("float32", {16, 40});
  // The matrix is written column by column.
  const Tensor columns = moved(tall, [](std::int64_t p) { return p % 16 * 40 + p / 16; });
  EXPECT_THAT(judge(columns, tall, bound).where,
              HasSubstr("the output read as [40, 16] and transposed would pass"));
  const Tensor heads = drawn("float32", {2, 12, 12, 8});
  const Tensor turned = moved(heads, [](std::int64_t p) {
    const std::int64_t b = p / 1152, s = p / 96 % 12, h = p / 8 % 12, d = p % 8;
    return ((b * 12 + h) * 12 + s) * 8 + d;
  });
  EXPECT_THAT(judge(turned, heads, bound).where,
              HasSubstr("the output with dimensions 1 and 2 exchanged would pass"));
  const Tensor unequal = drawn("float32", {2, 6, 20, 8});
  const Tensor mixed = moved(unequal, [](std::int64_t p) {  // stored as [2, 20, 6, 8]
    const std::int64_t b = p / 960, s = p / 48 % 20, h = p / 8 % 6, d = p % 8;
    return ((b * 6 + h) * 20 + s) * 8 + d;
  });
  EXPECT_THAT(
      judge(mixed, unequal, bound).where,
      HasSubstr("the output read as [2, 20, 6, 8] with dimensions 1 and 2 exchanged would pass"));
}

// Patterns are also found if the golden result has more precision, if the output has small errors
// of its own, in a view that is not contiguous, and with bounds for each element.
TEST(Pattern, OfHonestOutputs) {
  const Tensor golden = drawn("float64", {kSide, kSide});
  Tensor honest =
      Tensor::from_values(format_named("bfloat16"), {kSide, kSide}, golden.view().values());
  for (std::int64_t i = 0; i < kSize; i += 5) {
    honest.set_bits(i, next_up(honest.format(), honest.bits_at(i)));
  }
  const Bound bound = bound_of("transformer_engine", "bfloat16");
  EXPECT_EQ(judge(honest.view().transposed(), golden, bound).where.substr(0, 1), "t")
      << judge(honest.view().transposed(), golden, bound).where;
  EXPECT_THAT(judge(honest.view().transposed(), golden, bound).where,
              HasSubstr("the transpose of the output would pass"));
  EXPECT_THAT(judge(scaled(honest, 0.3), golden, bound).where, HasSubstr("the output times 3.3"));
  const Tensor bounds =
      changed(golden, [](std::int64_t) { return encode(format_named("float64"), 0.1); });
  JudgeOptions options;
  options.element_bounds = bounds.view();
  EXPECT_THAT(judge(honest.view().transposed(), golden,
                    *standard_bound("accumulation", honest.format()), options)
                  .where,
              HasSubstr("the transpose of the output would pass"));
}

// ---------------------------------------------------------------------------------- no pattern

bool says_nothing(const std::string& where) {
  for (const char* word : {"would pass", "explains", "written", "output is"}) {
    if (where.find(word) != std::string::npos) return false;
  }
  return true;
}

TEST(NoPattern, OfNoise) {
  Dice dice(18);
  std::size_t place = 0, turn = 0;
  for (const char* dtype : kPatternDtypes) {
    for (const std::string& standard : standards_from(place++)) {
      const Format& f = format_named(dtype);
      const auto bound = standard_bound(standard, f, 64);
      if (!bound) continue;
      const Tensor golden = drawn(dtype, {kSide, kSide});
      const Tensor other = benchmark_of(golden);
      JudgeOptions options;
      if (bound->needs_reference()) options.reference_implementation = other.view();
      for (const double size : {0.01, 0.3, 3.0}) {
        for (const std::uint64_t every : {1u, 7u, 400u}) {
          // A share has every fourth, so that the next standard has others.
          if (walks_a_share() && turn++ % 4 != 0) continue;
          const Tensor output = changed(golden, [&](std::int64_t p) {
            const double e = decode(f, golden.bits_at(p));
            if (dice.below(every) != 0) return golden.bits_at(p);
            return encode(f, e + (f.is_float() ? size : 20 * size) * normal(dice));
          });
          const Verdict v = judge(output, golden, *bound, options);
          EXPECT_TRUE(says_nothing(v.where))
              << standard << " " << dtype << " " << size << " " << every << ": " << v.where;
        }
      }
    }
  }
}

// No pattern is named if the data cannot show it: the transpose of a symmetric result, a factor of
// constant values, and a shift of rows that are alike.
TEST(NoPattern, WhereTheDataCannotTell) {
  const Bound bound = tolerance(1e-3, 1e-3);
  Tensor symmetric = drawn("float32", {kSide, kSide});
  for (std::int64_t p = 0; p < kSize; ++p) {
    symmetric.set_bits(p, symmetric.bits_at(std::min(p, p % kSide * kSide + p / kSide)));
  }
  Dice dice(2);
  // The upper triangle is right, and the lower one is not.
  const Tensor half = changed(symmetric, [&](std::int64_t p) {
    const double v = decode(symmetric.format(), symmetric.bits_at(p));
    return p / kSide > p % kSide ? encode(symmetric.format(), v + normal(dice))
                                 : symmetric.bits_at(p);
  });
  EXPECT_TRUE(says_nothing(judge(half, symmetric, bound).where))
      << judge(half, symmetric, bound).where;
  const Tensor constant = changed(symmetric, [](std::int64_t) { return 0x40000000; });
  const auto of_constant = [&](const std::function<double(std::int64_t)>& value) {
    const Tensor output = changed(
        constant, [&](std::int64_t p) { return encode(format_named("float32"), value(p)); });
    return judge(output, constant, bound).where;
  };
  EXPECT_EQ(of_constant([](std::int64_t) { return 1; }), "every element");
  EXPECT_EQ(of_constant([](std::int64_t p) { return p % kSide == 5 ? 1 : 2; }), "all in column 5");
  EXPECT_EQ(of_constant([](std::int64_t p) { return p % kSide == kSide - 1 ? 1 : 2; }),
            "all in column 47");
  // All rows are alike, so that a moved row would not be seen.
  const Tensor alike = moved(symmetric, [](std::int64_t p) { return p % kSide; });
  const Tensor one_row = changed(alike, [&](std::int64_t p) {
    return p / kSide == 4 ? encode(alike.format(), normal(dice)) : alike.bits_at(p);
  });
  EXPECT_EQ(judge(one_row, alike, bound).where, "all in row 4");
}

TEST(NoPattern, OfFewMissesOrLittleErrors) {
  const Bound bound = tolerance(1e-3, 1e-3);
  // Each error is little beyond its bound, so that flipping some low bit would explain it.
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Tensor golden = drawn("float32", {kSide, kSide}, seed);
    Dice dice(seed);
    const Tensor output = changed(golden, [&](std::int64_t p) {
      const double e = decode(golden.format(), golden.bits_at(p));
      return p == 77
                 ? encode(golden.format(), e + (1 + 3 * dice.uniform()) * 1e-3 * (1 + std::abs(e)))
                 : golden.bits_at(p);
    });
    EXPECT_EQ(judge(output, golden, bound).where, "");
  }
  EXPECT_EQ(judge(vector_of("float32", {1, 2, 5}), vector_of("float32", {1, 2, 4}), bound).where,
            "");
  EXPECT_EQ(judge(vector_of("float32", {2, 1}), vector_of("float32", {1, 2}), bound).where,
            "every element");
  // A random flag is right half of the time, so that wrong flags show no pattern.
  std::vector<double> flags(64), other(64);
  Dice dice(1);
  for (double& v : flags) v = static_cast<double>(dice.below(2));
  for (std::size_t i = 0; i < 64; ++i) other[i] = i % 13 == 0 ? 1 - flags[i] : flags[i];
  EXPECT_TRUE(
      says_nothing(judge(vector_of("bool", other), vector_of("bool", flags), same_bits()).where));
}

TEST(NoPattern, WhereNoneIsAskedFor) {
  const Tensor golden = drawn("float32", {kSide, kSide});
  JudgeOptions options;
  options.patterns = false;
  EXPECT_EQ(judge(scaled(golden, 2), golden, tolerance(0, 1e-3), options).where, "every element");
}

// The pattern is sought in a sample of a large tensor. The text says so, whatever the number of
// mismatches.
TEST(Pattern, OfALargeTensor) {
  const std::int64_t rows = 3000, columns = 1000;
  const Tensor golden = drawn("float32", {rows, columns});
  const Tensor output = moved(golden, [&](std::int64_t p) {
    return exchanged(p / columns, 17, 2100) * columns + p % columns;
  });
  EXPECT_THAT(
      judge(output, golden, tolerance(1e-3, 1e-3)).where,
      testing::MatchesRegex("all in rows 17 and 2100; the output with rows 17 and 2100 "
                            "exchanged explains 2 000 of "
                            "2 000 mismatches among 1 0.. ... elements that were looked at"));
  EXPECT_THAT(judge(scaled(golden, -3), golden, tolerance(1e-3, 1e-3)).where,
              testing::MatchesRegex("the output times -0.333333 explains 1 0.. ... of 1 0.. ... "
                                    "mismatches among 1 0.. ... elements that were looked at"));
}

// The standard has only limits on statistics. To test the cause, the judge replaces the elements
// that were never written by the golden result, which may have another dtype.
TEST(Pattern, OfWhatWasNeverWrittenUnderLimitsAlone) {
  const Tensor golden = drawn("float64", {kSide, kSide});
  std::vector<double> values = golden.view().values();
  std::fill(values.begin() + 1024, values.end(), 0);
  const Tensor output = oracle::tensor("float32", {kSide, kSide}, values);
  EXPECT_THAT(judge(output, golden, bound_of("mlu_ops", "float32")).where,
              StartsWith("from position 1 024 on, every element of the output is 0"));
}

// A code of float_e5m6 has twelve bits. Reversed bytes with other bits set are not a code, even if
// the twelve bits are the expected ones.
TEST(NoPattern, OfReversedBytesThatAreNoCodes) {
  constexpr std::int64_t kCodes = 256;
  const Format& f = format_named("float_e5m6");
  for (const std::uint64_t middle : {0U, 5U}) {
    Tensor golden(f, {kCodes}), output(f, {kCodes});
    for (std::int64_t i = 0; i < kCodes; ++i) {
      const auto code = static_cast<std::uint64_t>(i);
      const std::uint64_t high = code / 16, low = code % 16;
      golden.set_bits(i, high << 8 | low);
      output.set_bits(i, low << 8 | middle << 4 | high);
    }
    const std::string where = judge(output, golden, tolerance(1e-3, 1e-6)).where;
    EXPECT_THAT(where, middle == 0 ? testing::Matcher<std::string>(HasSubstr("bytes"))
                                   : testing::Matcher<std::string>(Not(HasSubstr("bytes"))));
  }
}

// Each of the worst mismatches shows how likely the flip is by chance. A small mismatch shows
// nothing. A single mismatch of 48 times its bound has a probability of 1 in 12, which is below the
// limit of 1 in 10, so that the flip is named, whatever the other mismatch is.
TEST(Pattern, OfAFlippedBitInALargeMissAndASmallOne) {
  Tensor golden = drawn("float32", {12, 12});
  const Format& f = golden.format();
  golden.set_bits(5, encode(f, 2));
  golden.set_bits(70, encode(f, 64));
  const Tensor output = changed(golden, [&](std::int64_t p) {
    return golden.bits_at(p) ^ (p == 5 || p == 70 ? std::uint64_t{1} << 22 : 0);
  });
  const auto where = [&](double atol) { return judge(output, golden, tolerance(atol, 0)).where; };
  EXPECT_THAT(where(1 / 1.5), HasSubstr("the output with bit 22 flipped back would pass"));
  EXPECT_THAT(where(0.79), HasSubstr("the output with bit 22 flipped back would pass"));
  EXPECT_THAT(where(0.81), Not(HasSubstr("flipped"))) << "less than 40 bounds";
}

}  // namespace
}  // namespace assay
