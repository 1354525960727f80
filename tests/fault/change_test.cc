// Tests every change on every format. The oracles look through all codes of a format for the one
// that the row of the change describes, instead of computing it.
#include "assay/fault/change.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "error_of.h"

namespace assay::fault {
namespace {

using Changed = std::optional<std::uint64_t>;

Changed change(const Change& c, const Format& f, std::uint64_t bits, std::uint64_t draw = 0) {
  Random random(17, draw);
  return change_bits(c, f, bits, random);
}

std::vector<const Format*> small_formats() {
  std::vector<const Format*> small;
  for (const Format& f : formats()) {
    if (f.bits <= 12) small.push_back(&f);
  }
  return small;
}

// Returns all codes of a format of at most 12 bits.
std::vector<std::uint64_t> codes(const Format& f) {
  std::vector<std::uint64_t> all(std::size_t{1} << f.bits);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

// Returns codes of any format that are worth a test: the ends, the specials, and some drawn ones.
std::vector<std::uint64_t> some_codes(const Format& f) {
  if (f.bits <= 12) return codes(f);
  const std::uint64_t last = ~std::uint64_t{0} >> (64 - f.bits);
  std::vector<std::uint64_t> some = {0, 1, 2, last, last - 1, last / 2, last / 2 + 1, last / 2 + 2};
  Random random(5, 6);
  for (int i = 0; i < 200; ++i) some.push_back(random.next64() & last);
  if (f.is_float()) {
    const std::uint64_t inf = last / 2 - ((std::uint64_t{1} << f.mantissa_bits()) - 1);
    for (const std::uint64_t near : {inf - 1, inf, inf + 1}) {
      some.push_back(near);
      some.push_back(near + last / 2 + 1);
    }
  }
  for (std::uint64_t& code : some) code <<= f.padding;
  return some;
}

std::string bit_string(const Format& f, std::uint64_t bits) {
  std::string text;
  for (int bit = f.padding + f.bits - 1; bit >= f.padding; --bit) {
    text += bits / (std::uint64_t{1} << bit) % 2 == 1 ? '1' : '0';
  }
  return text;
}

// The fields of a code, one letter a bit: s, e, m, p for hifloat8's prefix, and i for integers.
std::string fields(const Format& f, std::uint64_t bits) {
  if (f.specials == Specials::kScale) return "eeeeeeee";
  if (f.specials == Specials::kTapered) {
    const std::string text = bit_string(f, bits);
    const std::pair<const char*, const char*> prefixes[] = {
        {"11", "sppeeeem"},  {"10", "sppeeemm"},   {"01", "sppeemmm"},
        {"001", "spppemmm"}, {"0001", "sppppmmm"}, {"0000", "sppppmmm"}};
    for (const auto& [prefix, letters] : prefixes) {
      if (text.compare(1, std::string(prefix).size(), prefix) == 0) return letters;
    }
  }
  std::string text;
  for (int i = 0; i < f.bits; ++i) {
    text += !f.is_float() ? 'i' : i == 0 ? 's' : i <= f.exponent_bits ? 'e' : 'm';
  }
  return text;
}

// Returns how many bits differ, or -1 if one of them is in a field of another letter.
int differing(const Format& f, std::uint64_t a, std::uint64_t b, char letter = 0) {
  const std::string x = bit_string(f, a), y = bit_string(f, b), of = fields(f, a);
  int count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    ++count;
    if (letter != 0 && of[i] != letter) return -1;
  }
  return count;
}

TEST(Change, SingleBits) {
  for (const Format& f : formats()) {
    for (int bit = f.padding; bit < f.padding + f.bits; ++bit) {
      const std::uint64_t unit = std::uint64_t{1} << bit;
      for (const std::uint64_t code : some_codes(f)) {
        const bool set = code / unit % 2 == 1;
        const std::uint64_t other = set ? code - unit : code + unit;
        const auto with = [&](ChangeKind kind, Direction direction = Direction::kEither) {
          return change({.kind = kind, .bit = bit, .direction = direction}, f, code);
        };
        ASSERT_EQ(with(ChangeKind::kFlip), other);
        ASSERT_EQ(with(ChangeKind::kFlip, Direction::kZeroToOne), set ? Changed() : other);
        ASSERT_EQ(with(ChangeKind::kFlip, Direction::kOneToZero), set ? other : Changed());
        ASSERT_EQ(with(ChangeKind::kStuckAt0), set ? other : Changed());
        ASSERT_EQ(with(ChangeKind::kStuckAt1), set ? Changed() : other);
      }
    }
  }
}

TEST(Change, SeveralBits) {
  for (const Format& f : formats()) {
    const std::vector<std::uint64_t> all = some_codes(f);
    for (int k = 1; k <= f.bits; k += f.bits > 12 ? 5 : 1) {
      for (std::size_t i = 0; i < all.size(); i += 7) {
        const auto drawn = change({.kind = ChangeKind::kFlips, .k = k}, f, all[i], i);
        ASSERT_TRUE(drawn && is_valid_code(f, *drawn)) << f.name;
        ASSERT_EQ(differing(f, all[i], *drawn), k) << f.name;
      }
      for (int first = 0; first + k <= f.bits; ++first) {
        const Change burst = {.kind = ChangeKind::kBurst, .bit = f.padding + first, .length = k};
        std::string expected = bit_string(f, all[3 % all.size()]);
        for (int i = first; i < first + k; ++i) {
          char& c = expected[expected.size() - 1 - static_cast<std::size_t>(i)];
          c = c == '0' ? '1' : '0';
        }
        ASSERT_EQ(bit_string(f, *change(burst, f, all[3 % all.size()])), expected) << f.name;
      }
    }
    const std::uint64_t mask = std::uint64_t{1} << f.padding | std::uint64_t{1}
                                                                   << (f.padding + f.bits - 1);
    EXPECT_EQ(change({.kind = ChangeKind::kFlips, .mask = mask}, f, all[0]), all[0] ^ mask);
  }
}

// Every pair of bits is drawn about equally often. For 28 pairs and 5600 draws, chi-square with 27
// degrees of freedom is 9.8 to 55.5 in 99.8 % of all runs.
TEST(Change, DrawnBitsAreUniform) {
  const Format& f = format_named("float8_e5m2");
  std::map<std::uint64_t, int> hits;
  for (std::uint64_t i = 0; i < 5600; ++i) {
    ++hits[*change({.kind = ChangeKind::kFlips, .k = 2}, f, 0, i)];
  }
  ASSERT_EQ(hits.size(), 28u);
  double chi_square = 0;
  for (const auto& [mask, n] : hits) chi_square += (n - 200.0) * (n - 200.0) / 200.0;
  EXPECT_GT(chi_square, 9.8);
  EXPECT_LT(chi_square, 55.5);
}

TEST(Change, RandomIsAnyOtherPattern) {
  for (const Format* f : small_formats()) {
    const std::size_t count = codes(*f).size();
    if (count > 256) continue;
    for (const std::uint64_t code : {std::uint64_t{0}, std::uint64_t{count / 2}, count - 1}) {
      std::set<std::uint64_t> seen;
      for (std::uint64_t i = 0; i < 12 * count; ++i) {
        const auto other = change({.kind = ChangeKind::kRandom}, *f, code, i);
        ASSERT_TRUE(other && is_valid_code(*f, *other));
        seen.insert(*other);
      }
      EXPECT_EQ(seen.size(), count - 1) << f->name;
      EXPECT_EQ(seen.count(code), 0u) << f->name;
    }
  }
  for (const Format& f : formats()) {
    for (const std::uint64_t code : some_codes(f)) {
      const auto other = change({.kind = ChangeKind::kRandom}, f, code, code);
      ASSERT_TRUE(other && *other != code && is_valid_code(f, *other)) << f.name;
    }
  }
}

// A special is the code that has this value. The test searches for it: the first code with the
// value, and for NaN the one that the format's specification calls quiet, with no other bit set.
TEST(Change, Specials) {
  const std::map<std::string, std::uint64_t> nans = {{"float64", 0x7ff8000000000000},
                                                     {"float32", 0x7fc00000},
                                                     {"float16", 0x7e00},
                                                     {"bfloat16", 0x7fc0},
                                                     {"tfloat32", 0x7fc00000},
                                                     {"hfloat32", 0x7fc00000},
                                                     {"float8_e4m3fn", 0x7f},
                                                     {"float8_e5m2", 0x7e},
                                                     {"float8_e4m3fnuz", 0x80},
                                                     {"float8_e5m2fnuz", 0x80},
                                                     {"float8_e8m0fnu", 0xff},
                                                     {"float_e5m6", 0x7e0},
                                                     {"hifloat8", 0x80}};
  const std::map<std::string, std::uint64_t> infinities = {{"float64", 0x7ff0000000000000},
                                                           {"float32", 0x7f800000},
                                                           {"float16", 0x7c00},
                                                           {"bfloat16", 0x7f80},
                                                           {"tfloat32", 0x7f800000},
                                                           {"hfloat32", 0x7f800000},
                                                           {"float8_e5m2", 0x7c},
                                                           {"float_e5m6", 0x7c0},
                                                           {"hifloat8", 0x6f}};
  for (const Format& f : formats()) {
    const auto row = [&](const std::map<std::string, std::uint64_t>& table) {
      const auto at = table.find(std::string(f.name));
      return at == table.end() ? Changed() : Changed(at->second);
    };
    const Changed nan = row(nans), inf = row(infinities);
    const Changed minus = inf ? Changed(*inf | std::uint64_t{1} << (f.padding + f.bits - 1)) : inf;
    const Changed zero = f.name == "float8_e8m0fnu" ? Changed() : Changed(0);
    for (const std::uint64_t code : some_codes(f)) {
      const auto expect = [&](ChangeKind kind, Changed pattern) {
        ASSERT_EQ(change({.kind = kind}, f, code), pattern == code ? Changed() : pattern)
            << f.name << " " << code;
      };
      expect(ChangeKind::kNan, nan);
      expect(ChangeKind::kInfinity, inf);
      expect(ChangeKind::kMinusInfinity, minus);
      expect(ChangeKind::kZero, zero);
    }
  }
}

// A change of sign gives the code of the negative value. This includes the signs of zero and of
// NaN.
TEST(Change, SignIsTheNegative) {
  for (const Format* f : small_formats()) {
    for (const std::uint64_t code : codes(*f)) {
      const double v = decode(*f, code);
      Changed expected;
      for (const std::uint64_t other : codes(*f)) {
        const double w = decode(*f, other);
        if (other == code || std::signbit(w) == std::signbit(v)) continue;
        // The negative of a NaN is the one with the same payload.
        if (w == -v || (std::isnan(v) && std::isnan(w) && differing(*f, code, other) == 1)) {
          expected = other;
        }
      }
      // Integers have no signed zero. Every other integer but the smallest has a negative.
      ASSERT_EQ(change({.kind = ChangeKind::kSign}, *f, code), expected) << f->name << " " << code;
    }
  }
  EXPECT_EQ(change({.kind = ChangeKind::kSign}, format_named("int64"), 5), std::uint64_t(-5));
  EXPECT_FALSE(change({.kind = ChangeKind::kSign}, format_named("int64"), std::uint64_t{1} << 63));
  EXPECT_EQ(change({.kind = ChangeKind::kSign}, format_named("tfloat32"), 0x3f802000), 0xbf802000u);
  EXPECT_EQ(change({.kind = ChangeKind::kSign}, format_named("float64"), 0),
            std::uint64_t{1} << 63);
}

TEST(Change, ExponentBitsAlone) {
  const auto bits_of = [](const Format& f, std::uint64_t code) {
    const std::string letters = fields(f, code);
    return static_cast<int>(std::count(letters.begin(), letters.end(), 'e'));
  };
  for (const Format& f : formats()) {
    int most = 1;
    for (const std::uint64_t code : some_codes(f)) most = std::max(most, bits_of(f, code));
    for (int k = 1; k <= most; ++k) {
      std::uint64_t seen = 0;
      for (const std::uint64_t code : some_codes(f)) {
        const int bits = bits_of(f, code);
        const auto after = change({.kind = ChangeKind::kExponent, .k = k}, f, code, code);
        ASSERT_EQ(after.has_value(), bits >= k) << f.name << " " << code;
        if (!after) continue;
        ASSERT_EQ(differing(f, code, *after, 'e'), k) << f.name << " " << code;
        seen |= code ^ *after;
      }
      if (f.is_float() && f.specials != Specials::kTapered) {
        EXPECT_EQ(std::popcount(seen), f.exponent_bits) << "each of them is drawn, " << f.name;
      }
    }
  }
}

// The magnitude, read as a number, goes up or down by the value of the bit. If both directions are
// possible, both occur.
TEST(Change, CarriesMoveTheMagnitude) {
  for (const Format* f : small_formats()) {
    const bool has_sign_bit = f->is_float() && f->name != "float8_e8m0fnu";
    const std::int64_t count = std::int64_t{1} << (f->bits - (has_sign_bit ? 1 : 0));
    const std::int64_t least = f->kind == Kind::kSigned ? -count / 2 : 0;
    for (int bit = 0; bit < f->bits - (has_sign_bit ? 1 : 0); ++bit) {
      for (const std::uint64_t code : codes(*f)) {
        // The code without its sign for floats, and the number for integers.
        const std::int64_t sign = static_cast<std::int64_t>(code) / count;
        const std::int64_t now = f->is_float() ? static_cast<std::int64_t>(code) % count
                                               : static_cast<std::int64_t>(decode(*f, code));
        const auto code_of = [&](std::int64_t magnitude) {
          if (magnitude < least || magnitude >= least + count) return Changed();
          return Changed(static_cast<std::uint64_t>((magnitude + count) % count +
                                                    sign * count * (f->is_float() ? 1 : 0)));
        };
        const Changed up = code_of(now + (1 << bit)), down = code_of(now - (1 << bit));
        const auto with = [&](Carry carry, std::uint64_t draw = 0) {
          return change({.kind = ChangeKind::kCarry, .bit = bit, .carry = carry}, *f, code, draw);
        };
        ASSERT_EQ(with(Carry::kWrong), up) << f->name << " " << code << " " << bit;
        ASSERT_EQ(with(Carry::kMissing), down) << f->name << " " << code << " " << bit;
        std::set<Changed> seen, expected;
        for (std::uint64_t draw = 0; draw < 40; ++draw) seen.insert(with(Carry::kEither, draw));
        if (up) expected.insert(up);
        if (down) expected.insert(down);
        if (expected.empty()) expected.insert(Changed());
        ASSERT_EQ(seen, expected) << f->name << " " << code << " " << bit;
      }
    }
  }
  // A carry runs through the mantissa into the exponent, at the ends of wide formats, too.
  const auto carry = [](const char* name, std::uint64_t bits, int bit, Carry which) {
    return change({.kind = ChangeKind::kCarry, .bit = bit, .carry = which}, format_named(name),
                  bits);
  };
  EXPECT_EQ(carry("float32", 0x3fffffff, 0, Carry::kWrong), 0x40000000u);
  EXPECT_EQ(carry("float32", 0x80800000, 22, Carry::kMissing), 0x80400000u);
  EXPECT_EQ(carry("tfloat32", 0x3f802000, 13, Carry::kMissing), 0x3f800000u);
  EXPECT_EQ(carry("float64", 0x7fffffffffffffff, 0, Carry::kWrong), Changed());
  EXPECT_EQ(carry("int64", 0x7fffffffffffffff, 0, Carry::kWrong), Changed());
  EXPECT_EQ(carry("int64", ~std::uint64_t{0}, 0, Carry::kWrong), 0u);
  EXPECT_EQ(carry("int64", 0, 63, Carry::kMissing), std::uint64_t{1} << 63);
}

// The result is the nearest of all values of the format, and the even code if there is a tie. More
// than half a gap beyond the largest value, it is the result of the format's overflow.
TEST(Change, AddOfAValueRounds) {
  for (const Format* f : small_formats()) {
    if (!f->is_float()) continue;
    for (const double addend : {1.0, -0.375, 0.0009765625, 96.0, -7.0}) {
      for (const std::uint64_t code : codes(*f)) {
        const double v = decode(*f, code), sum = v + addend;
        const auto after = change({.kind = ChangeKind::kAdd, .value = addend}, *f, code);
        ASSERT_TRUE(after) << f->name;
        if (!std::isfinite(v)) {
          ASSERT_EQ(*after, code);
          continue;
        }
        if (std::abs(sum) > max_finite(*f) || (sum <= 0 && f->name == "float8_e8m0fnu")) continue;
        double nearest = std::numeric_limits<double>::infinity();
        for (const std::uint64_t other : codes(*f)) {
          const double error = std::abs(decode(*f, other) - sum);
          if (error < nearest) nearest = error;  // false for NaN
        }
        ASSERT_EQ(std::abs(decode(*f, *after) - sum), nearest) << f->name << " " << v << addend;
      }
    }
  }
  const auto add = [](const char* name, double value, std::uint64_t bits) {
    return change({.kind = ChangeKind::kAdd, .value = value}, format_named(name), bits);
  };
  EXPECT_EQ(add("bfloat16", 0x1p-8, 0x3f80), 0x3f80u) << "a tie: absorbed, and the same element";
  EXPECT_EQ(add("bfloat16", 0x1.8p-8, 0x3f80), 0x3f81u);
  EXPECT_EQ(add("float16", 1e9, 0x3c00), 0x7c00u);
  EXPECT_EQ(add("float4_e2m1fn", 100, 0), 7u) << "a format without infinity saturates";
  EXPECT_EQ(add("int8", 100.4, 100), 127u);
  EXPECT_EQ(add("int8", -3, 1), 0xfeu);
  EXPECT_EQ(add("uint8", -3, 1), 0u);
  EXPECT_EQ(add("bool", -1, 1), 0u);
  EXPECT_EQ(add("int64", 1, (std::uint64_t{1} << 53) + 1), (std::uint64_t{1} << 53) + 2);
  EXPECT_EQ(add("int64", 1e300, 5), 0x7fffffffffffffffu);
  EXPECT_EQ(add("int64", -1e300, 5), std::uint64_t{1} << 63);
}

// A change by ulps steps through the list of all values in order.
TEST(Change, UlpsStepThroughTheValues) {
  for (const Format* f : small_formats()) {
    // Has one code for each value. Zero has the code of +0.
    std::map<double, std::uint64_t> ladder;
    for (const std::uint64_t code : codes(*f)) {
      const double v = decode(*f, code);
      if (!std::isnan(v) && !(v == 0 && std::signbit(v))) ladder.emplace(v, code);
    }
    std::vector<std::uint64_t> order;
    for (const auto& [v, code] : ladder) order.push_back(code);
    for (const std::int64_t ulps : {1, -1, 3, -20, 127}) {
      for (const std::uint64_t code : codes(*f)) {
        const double v = decode(*f, code);
        Changed expected;
        if (!std::isnan(v)) {
          const auto at = std::distance(ladder.begin(), ladder.find(v)) + ulps;
          if (at >= 0 && at < std::ssize(order)) expected = order[static_cast<std::size_t>(at)];
        }
        ASSERT_EQ(change({.kind = ChangeKind::kAdd, .ulps = ulps}, *f, code), expected)
            << f->name << " " << code << " " << ulps;
      }
    }
  }
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(change({.kind = ChangeKind::kAdd, .ulps = most}, format_named("float64"), 1));
  EXPECT_EQ(change({.kind = ChangeKind::kAdd, .ulps = -1}, format_named("float32"), 0x7f800000),
            0x7f7fffffu);
}

TEST(Change, WhatAFormatHasNot) {
  const auto error = [](const Change& c, const char* name) {
    return error_of([&] { change(c, format_named(name), 0); });
  };
  EXPECT_EQ(error({.kind = ChangeKind::kStuckAt1, .bit = 16}, "bfloat16"),
            "bfloat16 has no bit 16; its bits are 0 to 15");
  EXPECT_EQ(error({.kind = ChangeKind::kBurst, .bit = 14, .length = 3}, "bfloat16"),
            "bfloat16 has no bit 16; its bits are 0 to 15");
  for (const int bit : {-1, 12}) {  // the end of this burst lies within the format
    EXPECT_EQ(error({.kind = ChangeKind::kBurst, .bit = bit, .length = 16}, "tfloat32"),
              formatted("tfloat32 has no bit {}; its bits are 13 to 31", bit));
  }
  EXPECT_EQ(error({.kind = ChangeKind::kBurst, .bit = -1, .length = 3}, "int8"),
            "int8 has no bit -1; its bits are 0 to 7");
  for (const int bit : {-1, 32}) {
    for (const ChangeKind kind : {ChangeKind::kFlip, ChangeKind::kStuckAt0, ChangeKind::kStuckAt1,
                                  ChangeKind::kBurst, ChangeKind::kCarry}) {
      EXPECT_EQ(error({.kind = kind, .bit = bit}, "tfloat32"),
                formatted("tfloat32 has no bit {}; its bits are 13 to 31", bit));
    }
  }
  EXPECT_EQ(error({.kind = ChangeKind::kFlips, .mask = std::uint64_t{1} << 32}, "tfloat32"),
            "tfloat32 has no bit 32; its bits are 13 to 31");
  EXPECT_EQ(error({.kind = ChangeKind::kBurst, .bit = 1, .length = 0}, "bfloat16"),
            "length must be at least 1, not 0");
  EXPECT_EQ(error({.kind = ChangeKind::kBurst, .bit = 0, .length = 2000000000}, "float64"),
            "length is 2000000000, but an element has only 64 bits");
  EXPECT_EQ(error({.kind = ChangeKind::kFlips, .k = 17}, "bfloat16"),
            "k is 17, but bfloat16 has only 16 bits");
  EXPECT_EQ(error({.kind = ChangeKind::kFlips, .mask = 0x1001}, "tfloat32"),
            "tfloat32 has no bit 0; its bits are 13 to 31");
  EXPECT_EQ(error({.kind = ChangeKind::kExponent, .k = 9}, "bfloat16"),
            "k is 9, but the exponent of bfloat16 has only 8 bits");
  EXPECT_EQ(error({.kind = ChangeKind::kExponent, .k = 5}, "hifloat8"),
            "k is 5, but the exponent of hifloat8 has only 4 bits");
  EXPECT_EQ(error({.kind = ChangeKind::kExponent, .k = 4}, "hifloat8"), "no error");
  EXPECT_EQ(error({.kind = ChangeKind::kExponent, .k = 1}, "int8"), "no error");
  EXPECT_EQ(error({.kind = ChangeKind::kExponent, .k = 0}, "bfloat16"),
            "k must be at least 1, not 0");
  EXPECT_EQ(error({.kind = ChangeKind::kCarry, .bit = 31}, "float32"),
            "bit 31 of float32 is its sign, which has no carry; give a bit from 0 to 30");
  EXPECT_EQ(error({.kind = ChangeKind::kCarry, .bit = 31}, "int32"), "no error");
  EXPECT_EQ(error({.kind = ChangeKind::kAdd}, "float32"),
            "add needs a value or ulps that is not 0, and only one of the two");
  EXPECT_EQ(error({.kind = ChangeKind::kAdd, .value = 1, .ulps = 1}, "float32"),
            "add needs a value or ulps that is not 0, and only one of the two");
  EXPECT_EQ(error({.kind = ChangeKind::kAdd, .value = std::nan("")}, "float32"),
            "value must be finite, not nan");
}

// A change draws only if draws() says so. Otherwise the next numbers of the generator are
// untouched.
TEST(Change, DrawsWhereItSays) {
  for (const ChangeRow& row : change_rows()) {
    EXPECT_EQ(&row_of(row.kind), &row);
    Change c = {.kind = row.kind};
    if (row.kind == ChangeKind::kAdd) c.ulps = 1;
    Random random(1, 2), untouched(1, 2);
    change_bits(c, format_named("float16"), 0x4180, random);
    EXPECT_EQ(random.next64() != untouched.next64(), draws(c)) << row.name;
  }
  EXPECT_FALSE(draws({.kind = ChangeKind::kFlips, .mask = 3}));
  EXPECT_FALSE(draws({.kind = ChangeKind::kCarry, .carry = Carry::kWrong}));
}

// A flip is masked if the value stays the same. Two different values of a format never are.
TEST(Masked, IsTheSameValue) {
  for (const Format* f : small_formats()) {
    if (f->bits > 8) continue;
    for (const std::uint64_t a : codes(*f)) {
      for (const std::uint64_t b : codes(*f)) {
        const double x = decode(*f, a), y = decode(*f, b);
        ASSERT_EQ(is_masked(*f, a, b), x == y || (std::isnan(x) && std::isnan(y))) << f->name;
      }
    }
  }
  const Format& f32 = format_named("float32");
  EXPECT_TRUE(is_masked(f32, 0, 0x80000000));
  EXPECT_TRUE(is_masked(f32, 0x7fc00000, 0xffc00001));
  EXPECT_FALSE(is_masked(f32, 0x3f800000, 0x3f7fffff)) << "one value below a power of two";
  EXPECT_FALSE(is_masked(f32, 0x7f800000, 0x7f7fffff));
  EXPECT_FALSE(
      is_masked(format_named("int64"), std::uint64_t{1} << 62, (std::uint64_t{1} << 62) + 1));
}

// A seed always injects the same fault. A carry in either direction goes up if the draw from {0, 1}
// is 0. So old `reproduce:` lines repeat their failure.
TEST(Change, ACarrysDirectionIsThatOfTheDraw) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t draw = 0; draw < 40; ++draw) {
    Random random(17, draw);
    const std::uint64_t up = random.below(2) == 0 ? 1 : 0;
    EXPECT_EQ(change({.kind = ChangeKind::kCarry, .bit = 0}, format_named("int8"), 40, draw),
              up == 1 ? 41u : 39u)
        << draw;
    seen.insert(up);
  }
  EXPECT_EQ(seen.size(), 2u);
}

// The table of changes, typed again: the keys that a change takes, the keys of which it needs one,
// and whether an element gets its new value from another element.
TEST(Change, TheTableEntryByEntry) {
  const struct {
    ChangeKind kind;
    const char *name, *parts, *needs;
    bool moves, draws;
  } rows[] = {
      {ChangeKind::kFlip, "flip", "bit direction", "bit", false, false},
      {ChangeKind::kFlips, "flips", "k bits", "k bits", false, true},
      {ChangeKind::kBurst, "burst", "bit length", "bit", false, false},
      {ChangeKind::kStuckAt0, "stuck_at_0", "bit", "bit", false, false},
      {ChangeKind::kStuckAt1, "stuck_at_1", "bit", "bit", false, false},
      {ChangeKind::kZero, "zero", "", "", false, false},
      {ChangeKind::kRandom, "random", "", "", false, true},
      {ChangeKind::kInfinity, "infinity", "", "", false, false},
      {ChangeKind::kMinusInfinity, "minus_infinity", "", "", false, false},
      {ChangeKind::kNan, "nan", "", "", false, false},
      {ChangeKind::kSign, "sign", "", "", false, false},
      {ChangeKind::kExponent, "exponent", "k", "", false, true},
      {ChangeKind::kCarry, "carry", "bit carry", "bit", false, true},
      {ChangeKind::kAdd, "add", "value ulps", "value ulps", false, false},
      {ChangeKind::kStuckLane, "stuck_lane", "", "", true, false},
      {ChangeKind::kWrongRow, "wrong_row", "rows", "", true, false},
  };
  ASSERT_EQ(change_rows().size(), std::size(rows));
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    const ChangeRow& row = change_rows()[i];
    EXPECT_EQ(row.kind, rows[i].kind) << rows[i].name;
    EXPECT_EQ(row.name, rows[i].name);
    EXPECT_EQ(row.parts, rows[i].parts) << row.name;
    EXPECT_EQ(row.needs, rows[i].needs) << row.name;
    EXPECT_EQ(row.moves, rows[i].moves) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_EQ(&row_of(row.kind), &row);
    EXPECT_EQ(draws({.kind = row.kind}), rows[i].draws) << row.name;
  }
  EXPECT_FALSE(draws({.kind = ChangeKind::kFlips, .mask = 2}));
  EXPECT_FALSE(draws({.kind = ChangeKind::kCarry, .carry = Carry::kWrong}));
}

// Tests the defaults of a change, with expected values by hand in a format of four bits. By
// default, the length, k and the number of rows are 1, and carries go in either direction.
TEST(Change, WhatIsOneUnlessTold) {
  const Change c;
  EXPECT_EQ(c.length, 1);
  EXPECT_EQ(c.k, 1);
  EXPECT_EQ(c.rows, 1);
  EXPECT_EQ(c.bit, 0);
  EXPECT_EQ(c.mask, 0u);
  EXPECT_EQ(c.ulps, 0);
  EXPECT_EQ(c.value, 0);
  const Format& f = format_named("uint4");
  for (std::uint64_t bits = 0; bits < 16; ++bits) {
    // A wrong carry of bit 0 needs a code below 15, and a missing carry needs a code above 0. For
    // bit 2, whose unit is 4, they need a code below 12 and a code above 3.
    const auto carry = [&](int bit, Carry way) {
      return change({.kind = ChangeKind::kCarry, .bit = bit, .carry = way}, f, bits);
    };
    for (const int bit : {0, 1, 2, 3}) {
      const std::uint64_t unit = std::uint64_t{1} << bit;
      EXPECT_EQ(carry(bit, Carry::kWrong), bits + unit > 15 ? Changed() : Changed(bits + unit));
      EXPECT_EQ(carry(bit, Carry::kMissing), bits < unit ? Changed() : Changed(bits - unit));
      const Changed either = carry(bit, Carry::kEither);
      ASSERT_TRUE(either);
      EXPECT_TRUE(*either + unit == bits || *either == bits + unit);
    }
    EXPECT_EQ(change({.kind = ChangeKind::kBurst, .bit = 1, .length = 3}, f, bits), bits ^ 14);
    EXPECT_EQ(change({.kind = ChangeKind::kBurst, .bit = 3}, f, bits), bits ^ 8);
    EXPECT_EQ(change({.kind = ChangeKind::kAdd, .ulps = 3}, f, bits),
              bits > 12 ? Changed() : Changed(bits + 3));
    EXPECT_EQ(change({.kind = ChangeKind::kAdd, .value = 2.5}, f, bits),
              Changed(std::min<std::uint64_t>(bits + 2, 15)));
    EXPECT_EQ(change({.kind = ChangeKind::kAdd, .value = -3}, f, bits),
              Changed(bits < 3 ? 0 : bits - 3));
  }
}

}  // namespace
}  // namespace assay::fault
