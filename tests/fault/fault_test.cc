#include "assay/fault/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/format/format.h"

namespace assay::fault {
namespace {

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "(nothing was thrown)";
}
std::string parse_error(const std::string& text) {
  return message_of([&] { parse_fault(text); });
}

Tensor counting(const char* dtype, Shape shape) {
  Tensor t(format_named(dtype), std::move(shape));
  for (std::int64_t i = 0; i < t.size(); ++i) {
    t.set_bits(i, encode(t.format(), static_cast<double>(i % 100) + 1));
  }
  return t;
}

bool same_but(const Tensor& before, const Tensor& after, const Injection& done, int bit) {
  std::map<std::int64_t, Flip> flips;
  for (const Flip& flip : done.flips) flips[flip.linear] = flip;
  if (flips.size() != done.flips.size()) return false;  // an element twice
  for (std::int64_t i = 0; i < before.size(); ++i) {
    const auto at = flips.find(i);
    const std::uint64_t change = at == flips.end() ? std::uint64_t{0} : std::uint64_t{1} << bit;
    if ((before.bits_at(i) ^ after.bits_at(i)) != change) return false;
    if (at != flips.end() &&
        (at->second.before != before.bits_at(i) || at->second.after != after.bits_at(i))) {
      return false;
    }
  }
  return true;
}

TEST(ParseFault, AllParts) {
  const FaultSpec s = parse_fault("flip,bit=14,direction=0to1,seed=7,count=3");
  EXPECT_EQ(s.change.bit, 14);
  EXPECT_EQ(s.change.direction, Direction::kZeroToOne);
  EXPECT_EQ(s.seed, 7u);
  EXPECT_EQ(s.count, 3);
  EXPECT_FALSE(s.at.has_value());
  const FaultSpec at = parse_fault("flip,at=3:17:0,direction=1to0,bit=0");
  EXPECT_EQ(at.at, (std::vector<std::int64_t>{3, 17, 0}));
  EXPECT_EQ(at.change.direction, Direction::kOneToZero);
  const FaultSpec plain = parse_fault("flip,bit=63");
  EXPECT_EQ(plain.change.bit, 63);
  EXPECT_EQ(plain.change.direction, Direction::kEither);
  EXPECT_EQ(plain.seed, 0u);
  EXPECT_EQ(plain.count, 1);
  EXPECT_EQ(parse_fault("flip,bit=1,at=5").at, std::vector<std::int64_t>{5});
}

TEST(ParseFault, TextReadsBack) {
  for (const char* text :
       {"flip,bit=14,direction=0to1,seed=7,count=3", "flip,bit=0,direction=either,seed=0,count=1",
        "flip,bit=3,direction=1to0,at=1:2:3", "flip,bit=3,direction=either,at=0"}) {
    EXPECT_EQ(parse_fault(text).text(), text);
  }
  EXPECT_EQ(parse_fault("flip,bit=5").text(), "flip,bit=5,direction=either,seed=0,count=1");
}

// A fault may name the output that it changes.
TEST(ParseFault, AnOutputHasAName) {
  const FaultSpec spec = parse_fault("flip,bit=3,output=mean");
  EXPECT_EQ(spec.output, "mean");
  EXPECT_EQ(parse_fault(spec.text()).output, "mean");
  EXPECT_EQ(parse_fault("flip,bit=3").output, "");
  EXPECT_THROW((void)parse_fault("flip,bit=3,output="), std::invalid_argument);
  // A fault at another site than an output must not name an output.
  EXPECT_THROW((void)parse_fault("flip,bit=3,site=input,input=x,output=y"), std::invalid_argument);
}

// A seed is any of 2^64 numbers.
TEST(ParseFault, LargeSeedsReadBack) {
  FaultSpec spec;
  spec.seed = ~std::uint64_t{0};
  FaultSpec back;
  EXPECT_NO_THROW(back = parse_fault(spec.text()));
  EXPECT_EQ(back.seed, spec.seed);
}

TEST(ParseFault, Errors) {
  const std::string known = "; known: " + joined(names_of(change_rows()));
  EXPECT_EQ(parse_error(""), "fault '' must begin with what it does, as in flip,bit=14" + known);
  EXPECT_EQ(parse_error("flop,bit=1"),
            "fault 'flop,bit=1' must begin with what it does, as in flip,bit=14: did you mean "
            "'flip'?" +
                known);
  EXPECT_EQ(parse_error("bit=1"),
            "fault 'bit=1' must begin with what it does, as in flip,bit=14" + known);
  EXPECT_EQ(parse_error("flip"), "fault 'flip' needs a bit, as in flip,bit=14");
  EXPECT_EQ(parse_error("flip,seed=3"), "fault 'flip,seed=3' needs a bit, as in flip,bit=14");
  EXPECT_EQ(parse_error("flip,bit="),
            "fault 'flip,bit=': bit must be a whole number of at least 0, not ''");
  EXPECT_EQ(parse_error("flip,bit"),
            "fault 'flip,bit': bit must be a whole number of at least 0, not ''");
  EXPECT_EQ(parse_error("flip,bit=-1"),
            "fault 'flip,bit=-1': bit must be a whole number of at least 0, not '-1'");
  EXPECT_EQ(parse_error("flip,bit=1.5"),
            "fault 'flip,bit=1.5': bit must be a whole number of at least 0, not '1.5'");
  EXPECT_EQ(parse_error("flip,bit=0x3"),
            "fault 'flip,bit=0x3': bit must be a whole number of at least 0, not '0x3'");
  EXPECT_EQ(
      parse_error("flip,bit=1,direction=up"),
      "fault 'flip,bit=1,direction=up': direction must be one of 0to1, 1to0, either, not 'up'");
  EXPECT_EQ(parse_error("flip,bit=1,direction="),
            "fault 'flip,bit=1,direction=': direction must be one of 0to1, 1to0, either, not ''");
  EXPECT_EQ(parse_error("flip,bit=1,at="),
            "fault 'flip,bit=1,at=': at needs an index, as in at=3:17");
  EXPECT_EQ(parse_error("flip,bit=1,at=1:x"),
            "fault 'flip,bit=1,at=1:x': at must be a whole number of at least 0, not 'x'");
  EXPECT_EQ(parse_error("flip,bit=1,at=-2"),
            "fault 'flip,bit=1,at=-2': at must be a whole number of at least 0, not '-2'");
  EXPECT_EQ(parse_error("flip,bit=1,count=0"),
            "fault 'flip,bit=1,count=0': count must be a whole number of at least 1, not '0'");
  EXPECT_EQ(parse_error("flip,bit=1,count=99999999999999999999"),
            "fault 'flip,bit=1,count=99999999999999999999': count must be a whole number of at "
            "least 1, not '99999999999999999999'");
}

TEST(ParseFault, UnknownParts) {
  EXPECT_EQ(parse_error("flip,bti=3"),
            "fault 'flip,bti=3': flip takes no 'bti' (did you mean 'bit'?); it takes bit, "
            "direction, site, output, at, seed, count");
  EXPECT_EQ(parse_error("flip,bit=1,cuont=2"),
            "fault 'flip,bit=1,cuont=2': flip takes no 'cuont' (did you mean 'count'?); it takes "
            "bit, direction, site, output, at, seed, count");
  EXPECT_EQ(parse_error("flip,bit=1,magnitude=2"),
            "fault 'flip,bit=1,magnitude=2': flip takes no 'magnitude'; it takes bit, "
            "direction, site, output, at, seed, count");
}

// The text of a fault is refused if one of its parts is given twice or is empty, because such a
// slip would go unseen.
TEST(ParseFault, RefusesTwiceAndEmpty) {
  EXPECT_THROW(parse_fault("flip,bit=3,bit=4"), std::invalid_argument);
  EXPECT_THROW(parse_fault("flip,,bit=3"), std::invalid_argument);
  EXPECT_THROW(parse_fault("flip,bit=3,at=1:"), std::invalid_argument);
  EXPECT_THROW(parse_fault("flip,bit=3,at=1::2"), std::invalid_argument);
}

TEST(Inject, AtAnIndex) {
  const Tensor before = counting("float32", {4, 5});
  Tensor after = before;
  const Injection done = inject(after, parse_fault("flip,bit=31,at=2:3"), 0);
  ASSERT_EQ(done.flips.size(), 1u);
  EXPECT_EQ(done.flips[0].linear, 13);
  EXPECT_EQ(done.flips[0].after, done.flips[0].before ^ 0x80000000u);
  EXPECT_EQ(done.not_injectable, 0);
  EXPECT_TRUE(same_but(before, after, done, 31));
  // A single number is a position in row-major order, whatever the rank.
  Tensor linear = before;
  EXPECT_EQ(inject(linear, parse_fault("flip,bit=31,at=13"), 0).flips[0].linear, 13);
  Tensor scalar = counting("int8", {});
  EXPECT_EQ(inject(scalar, parse_fault("flip,bit=7,at=0"), 0).flips.size(), 1u);
  EXPECT_EQ(decode(scalar.format(), scalar.bits_at(0)), -127);
}

TEST(Inject, AtAnElementThatCannotTakeIt) {
  Tensor t = Tensor::from_values(format_named("float32"), {2}, std::vector<double>{1, -1});
  const Tensor before = t;
  const Injection down = inject(t, parse_fault("flip,bit=31,at=0,direction=1to0"), 0);
  EXPECT_TRUE(down.flips.empty());
  EXPECT_EQ(down.not_injectable, 1);
  EXPECT_EQ(t.bits_at(0), before.bits_at(0));
  EXPECT_EQ(inject(t, parse_fault("flip,bit=31,at=1,direction=0to1"), 0).not_injectable, 1);
  EXPECT_EQ(inject(t, parse_fault("flip,bit=31,at=1,direction=1to0"), 0).flips.size(), 1u);
  EXPECT_EQ(t.bits_at(1), before.bits_at(0));
}

TEST(Inject, AtOutsideTheShape) {
  Tensor t = counting("float32", {4, 5});
  const auto message = [&](const char* spec) {
    return message_of([&] { inject(t, parse_fault(spec), 0); });
  };
  EXPECT_EQ(message("flip,bit=1,at=4:0"),
            "there is no element [4, 0] in an output of shape [4, 5]");
  EXPECT_EQ(message("flip,bit=1,at=0:5"),
            "there is no element [0, 5] in an output of shape [4, 5]");
  EXPECT_EQ(message("flip,bit=1,at=20"), "there is no element [20] in an output of shape [4, 5]");
  EXPECT_EQ(message("flip,bit=1,at=0:0:0"),
            "there is no element [0, 0, 0] in an output of shape [4, 5]");
  Tensor vector = counting("float32", {6});
  EXPECT_EQ(message_of([&] { inject(vector, parse_fault("flip,bit=1,at=6"), 0); }),
            "there is no element [6] in an output of shape [6]");
  Tensor none = counting("float32", {0, 5});
  EXPECT_THROW(inject(none, parse_fault("flip,bit=1,at=0"), 0), std::invalid_argument);
}

// A negative index, which only a program can request, is refused and does not reach another
// element.
TEST(Inject, NegativeIndices) {
  Tensor t = counting("float32", {2, 3});
  FaultSpec spec;
  spec.at = std::vector<std::int64_t>{1, -1};
  EXPECT_THROW(inject(t, spec, 0), std::invalid_argument);
  spec.at = std::nullopt;
  spec.count = -3;
  EXPECT_GE(inject(t, spec, 0).not_injectable, 0);
}

TEST(Inject, BitsThatAFormatHas) {
  const auto message = [](const char* dtype, int bit) {
    return message_of([&] {
      Tensor t = counting(dtype, {8});
      FaultSpec spec;
      spec.change.bit = bit;
      inject(t, spec, 0);
    });
  };
  EXPECT_EQ(message("bfloat16", 15), "(nothing was thrown)");
  EXPECT_EQ(message("bfloat16", 16), "bfloat16 has no bit 16; its bits are 0 to 15");
  EXPECT_EQ(message("float64", 63), "(nothing was thrown)");
  EXPECT_EQ(message("float64", 64), "float64 has no bit 64; its bits are 0 to 63");
  EXPECT_EQ(message("bool", 0), "(nothing was thrown)");
  EXPECT_EQ(message("float4_e2m1fn", 4), "float4_e2m1fn has no bit 4; its bits are 0 to 3");
  EXPECT_EQ(message("tfloat32", 12), "tfloat32 has no bit 12; its bits are 13 to 31");
  EXPECT_EQ(message("tfloat32", 13), "(nothing was thrown)");
  EXPECT_EQ(message("tfloat32", 32), "tfloat32 has no bit 32; its bits are 13 to 31");
  EXPECT_EQ(message("hfloat32", 11), "hfloat32 has no bit 11; its bits are 12 to 31");
  EXPECT_EQ(message("float32", -1), "float32 has no bit -1; its bits are 0 to 31");
}

TEST(Inject, NamesTheBitThatWasAskedFor) {
  Tensor t = counting("float32", {8});
  EXPECT_EQ(message_of([&] { inject(t, parse_fault("flip,bit=40"), 0); }),
            "float32 has no bit 40; its bits are 0 to 31");
}

// For every format and every bit, exactly one bit of each changed element changes. As many
// different elements change as requested, or all that can, and their codes stay valid.
TEST(Inject, OnlyTheBitDiffers) {
  for (const Format& f : formats()) {
    for (int bit = f.padding; bit < f.padding + f.bits; ++bit) {
      for (const Direction direction :
           {Direction::kEither, Direction::kZeroToOne, Direction::kOneToZero}) {
        SCOPED_TRACE(std::string(f.name) + " bit " + std::to_string(bit));
        Tensor before(f, {6, 7});
        std::int64_t able = 0;
        for (std::int64_t i = 0; i < 42; ++i) {
          before.set_bits(i, encode(f, static_cast<double>(i % 5) * 0.75 + 0.25));
          const bool set = ((before.bits_at(i) >> bit) & 1) != 0;
          able += direction == Direction::kEither || set == (direction == Direction::kOneToZero);
        }
        Tensor after = before;
        FaultSpec spec;
        spec.change.bit = bit;
        spec.change.direction = direction;
        spec.count = 9;
        spec.seed = static_cast<std::uint64_t>(bit);
        const Injection done = inject(after, spec, stream_of(f.name));
        const std::int64_t flips = std::min<std::int64_t>(able, 9);
        ASSERT_EQ(static_cast<std::int64_t>(done.flips.size()), flips);
        EXPECT_EQ(done.not_injectable, 9 - flips);
        EXPECT_TRUE(same_but(before, after, done, bit));
        for (const Flip& flip : done.flips) {
          EXPECT_TRUE(is_valid_code(f, flip.after));
          if (direction == Direction::kEither) continue;
          EXPECT_EQ((flip.after >> bit) & 1, direction == Direction::kZeroToOne ? 1u : 0u);
        }
      }
    }
  }
}

TEST(Inject, MoreThanThereAre) {
  Tensor t = counting("int32", {3, 4});
  const Tensor before = t;
  const Injection done = inject(t, parse_fault("flip,bit=31,count=1000000000000"), 1);
  EXPECT_EQ(done.flips.size(), 12u);
  EXPECT_EQ(done.not_injectable, 1000000000000 - 12);
  EXPECT_TRUE(same_but(before, t, done, 31));
  Tensor none(format_named("int32"), {0});
  EXPECT_EQ(inject(none, parse_fault("flip,bit=3,count=5"), 1).not_injectable, 5);
}

TEST(Inject, NothingThatCanTakeIt) {
  Tensor t = Tensor::from_values(format_named("float16"), {500}, std::vector<double>(500, 1.0));
  const Injection done = inject(t, parse_fault("flip,bit=15,direction=1to0,count=2"), 1);
  EXPECT_TRUE(done.flips.empty());
  EXPECT_EQ(done.not_injectable, 2);
}

// If only few elements among many can take the change, they are drawn from a list, so that every
// one of them is found.
TEST(Inject, NeedlesInAHaystack) {
  Tensor t(format_named("float32"), {300000});
  for (std::int64_t i = 0; i < t.size(); ++i) t.set_bits(i, 0x3f800000);
  const std::set<std::int64_t> needles = {17, 150000, 299999};
  for (const std::int64_t i : needles) t.set_bits(i, 0xbf800000);
  const Injection done = inject(t, parse_fault("flip,bit=31,direction=1to0,count=4,seed=2"), 9);
  std::set<std::int64_t> found;
  for (const Flip& flip : done.flips) found.insert(flip.linear);
  EXPECT_EQ(found, needles);
  EXPECT_EQ(done.not_injectable, 1);
}

// The seed and the stream determine all draws: places are drawn from (seed, stream), and the
// changes there from (seed, ~stream).
TEST(Inject, DrawsByHand) {
  for (const std::uint64_t seed : {std::uint64_t{5}, std::uint64_t{1} << 40}) {
    constexpr std::uint64_t kStream = 9;
    Tensor t = counting("float32", {50});
    const Tensor before = t;
    Random places(seed, kStream), changes(seed, ~kStream);
    std::vector<std::int64_t> at;
    std::vector<std::uint64_t> changed;
    while (at.size() < 6) {
      const auto place = static_cast<std::int64_t>(places.below(50));
      if (std::find(at.begin(), at.end(), place) != at.end()) continue;
      // Draws one of the other 2^32 - 1 patterns.
      const std::uint64_t any = changes.below(0xffffffff);
      at.push_back(place);
      changed.push_back(any + (any >= before.bits_at(place) ? 1 : 0));
    }
    const Injection done =
        inject(t, parse_fault(formatted("random,seed={},count=6", seed)), kStream);
    ASSERT_EQ(done.flips.size(), 6u);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(done.flips[i].linear, at[i]);
      EXPECT_EQ(done.flips[i].before, before.bits_at(at[i]));
      EXPECT_EQ(done.flips[i].after, changed[i]);
      EXPECT_EQ(t.bits_at(at[i]), changed[i]);
    }
  }
}

// If 1000 draws find no element that can take the change, the next ones are drawn from the list of
// those that can. Each draw takes an element from the list, and the last of the list replaces it.
TEST(Inject, AThousandDrawsBeforeTheListByHand) {
  Tensor t(format_named("float32"), {300000});
  for (std::int64_t i = 0; i < t.size(); ++i) t.set_bits(i, 0x3f800000);
  std::vector<std::int64_t> needles;
  for (std::int64_t i = 0; i < 12; ++i) needles.push_back(20000 * i + 11);
  for (const std::int64_t i : needles) t.set_bits(i, 0xbf800000);
  Random places(3, 9);
  for (int draw = 0; draw < 1000; ++draw) {
    const auto place = static_cast<std::int64_t>(places.below(300000));
    ASSERT_EQ(t.bits_at(place), 0x3f800000u) << "a needle by chance: take another seed";
  }
  std::vector<std::int64_t> wanted;
  for (std::vector<std::int64_t> rest = needles; !rest.empty(); rest.pop_back()) {
    std::swap(rest[places.below(rest.size())], rest.back());
    wanted.push_back(rest.back());
  }
  std::vector<std::int64_t> got;
  for (const Flip& flip :
       inject(t, parse_fault("flip,bit=31,direction=1to0,seed=3,count=12"), 9).flips) {
    got.push_back(flip.linear);
  }
  EXPECT_EQ(got, wanted);
}

// Changes as many elements as requested, even if only few elements can take the change.
TEST(Inject, NoMoreNeedlesThanAreAskedFor) {
  Tensor t(format_named("float32"), {300000});
  for (std::int64_t i = 0; i < t.size(); ++i) t.set_bits(i, 0x3f800000);
  for (const std::int64_t i : {17, 1500, 150000, 299999}) t.set_bits(i, 0xbf800000);
  for (const std::int64_t count : {1, 2, 3}) {
    Tensor output = t;
    const FaultSpec spec = parse_fault("flip,bit=31,direction=1to0,seed=2");
    FaultSpec several = spec;
    several.count = count;
    const Injection done = inject(output, several, 9);
    EXPECT_EQ(static_cast<std::int64_t>(done.flips.size()), count);
    EXPECT_EQ(done.not_injectable, 0);
  }
}

TEST(ParseFault, BurstsEndWithinTheElement) {
  EXPECT_EQ(parse_error("burst,bit=60,length=4"), "(nothing was thrown)");
  EXPECT_EQ(parse_error("burst,bit=61,length=4"),
            "fault 'burst,bit=61,length=4' goes beyond bit 63, the highest that an element has");
}

std::vector<std::int64_t> drawn(std::uint64_t seed, std::uint64_t stream, std::int64_t count,
                                const char* dtype = "float32", int bit = 20) {
  Tensor t = counting(dtype, {40, 50});
  FaultSpec spec;
  spec.change.bit = bit;
  spec.seed = seed;
  spec.count = count;
  std::vector<std::int64_t> at;
  for (const Flip& flip : inject(t, spec, stream).flips) at.push_back(flip.linear);
  return at;
}

TEST(Inject, AddressedBySeedAndStream) {
  EXPECT_EQ(drawn(1, 2, 10), drawn(1, 2, 10));
  EXPECT_NE(drawn(1, 2, 10), drawn(2, 2, 10));
  EXPECT_NE(drawn(1, 2, 10), drawn(1, 3, 10));
  EXPECT_NE(drawn(1, 2, 10), drawn(2, 1, 10));
  // A larger count adds faults to the same first ones. The bit and the dtype do not change the
  // places.
  const std::vector<std::int64_t> three = drawn(5, 6, 3), ten = drawn(5, 6, 10);
  EXPECT_TRUE(std::equal(three.begin(), three.end(), ten.begin()));
  EXPECT_EQ(drawn(5, 6, 10, "float32", 3), ten);
  EXPECT_EQ(drawn(5, 6, 10, "bfloat16", 15), ten);
}

// Tests with chi-square that flips are uniform over the elements that can take them, 64 of 100
// cells, with 16 000 draws. The 0.1 and the 99.9 percent points at 63 degrees of freedom are 33.9
// and 103.4.
TEST(Inject, UniformOverWhatCanTakeIt) {
  for (const std::int64_t count : {1, 4}) {
    std::map<std::int64_t, int> hits;
    constexpr int kFlips = 16000;
    for (int trial = 0; trial < kFlips / count; ++trial) {
      Tensor t = Tensor::from_values(format_named("float16"), {100}, std::vector<double>(100, 1.0));
      for (std::int64_t i = 0; i < 100; ++i) {
        if (i % 25 < 16) t.set_bits(i, encode(t.format(), -1.0));
      }
      FaultSpec spec;
      spec.change.bit = 15;
      spec.change.direction = Direction::kOneToZero;
      spec.seed = static_cast<std::uint64_t>(trial);
      spec.count = count;
      for (const Flip& flip : inject(t, spec, 42).flips) ++hits[flip.linear];
    }
    ASSERT_EQ(hits.size(), 64u);
    const double mean = kFlips / 64.0;
    double chi_square = 0;
    for (const auto& [at, n] : hits) {
      EXPECT_LT(at % 25, 16);
      chi_square += (n - mean) * (n - mean) / mean;
    }
    EXPECT_GT(chi_square, 33.9);
    EXPECT_LT(chi_square, 103.4);
  }
}

TEST(Stream, IsFnv1a) {
  EXPECT_EQ(stream_of(""), 0xcbf29ce484222325u);
  EXPECT_EQ(stream_of("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(stream_of("foobar"), 0x85944171f73967e8u);
  EXPECT_NE(stream_of("\xff"), stream_of("\x7f"));
}

TEST(FaultHelp, NamesEveryPart) {
  std::string all;
  for (const std::string& line : fault_help()) all += line + "\n";
  for (const char* part : {"flip", "bit=N", "direction=either", "0to1", "1to0", "output=NAME",
                           "at=I:J", "seed=N", "count=N"}) {
    EXPECT_THAT(all, testing::HasSubstr(part));
  }
}

bool takes_a_bit(const ChangeRow& row) {
  return formatted(" {} ", row.parts).find(" bit ") != std::string::npos;
}

// No element has more than 64 bits, so that a higher bit is refused, whatever the change is.
TEST(ParseFault, BitsThatNoElementHas) {
  for (const ChangeRow& row : change_rows()) {
    if (!takes_a_bit(row)) continue;
    EXPECT_EQ(parse_fault(formatted("{},bit=63", row.name)).change.bit, 63) << row.name;
    for (const int bit : {64, 65, 2147483647}) {
      const std::string text = formatted("{},bit={}", row.name, bit);
      EXPECT_EQ(parse_error(text),
                formatted("fault '{}': no element has a bit {}; give one from 0 to 63", text, bit));
    }
  }
}

// The least value of each setting is accepted, and a lower value is refused.
TEST(ParseFault, EverySettingHasItsLeastValue) {
  const struct {
    const char* text;  // the text before the value
    int least;
  } settings[] = {
      {"flip,bit=", 0},
      {"flips,k=", 1},
      {"flips,bits=", 0},
      {"burst,bit=3,length=", 1},
      {"exponent,k=", 1},
      {"wrong_row,rows=", 1},
      {"flip,bit=3,site=periodic,every=", 1},
      {"flip,bit=3,site=accumulator,step=", 0},
      {"flip,bit=3,at=", 0},
      {"flip,bit=3,seed=", 0},
      {"flip,bit=3,count=", 1},
  };
  for (const auto& [text, least] : settings) {
    const std::string at_least = formatted("{}{}", text, least);
    EXPECT_EQ(parse_error(at_least), "(nothing was thrown)");
    const std::string below = formatted("{}{}", text, least - 1);
    EXPECT_THAT(parse_error(below), testing::StartsWith(formatted("fault '{}': ", below)))
        << "must be at least " << least;
  }
  EXPECT_EQ(parse_fault("flip,bit=3,site=accumulator,step=0").step, 0);
}

// In the help, the lines below a change are those of its parts, in their order.
TEST(FaultHelp, PartsAreBelowTheirChange) {
  const std::vector<std::string> lines = fault_help();
  std::size_t line = 0;
  for (const ChangeRow& row : change_rows()) {
    EXPECT_THAT(lines.at(line++), testing::StartsWith(formatted("{} ", row.name)));
    for (const std::string& part : split(row.parts, ' ')) {
      EXPECT_THAT(lines.at(line++), testing::StartsWith(formatted("  {}=", part))) << row.name;
    }
  }
  EXPECT_EQ(lines.at(line), "");
}

// The help has changes, sites with the keys of all sites, and an example, with an empty line
// between them.
TEST(FaultHelp, ItsPartsStandApart) {
  const std::vector<std::string> lines = fault_help();
  std::vector<std::string> after;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) after.push_back(lines.at(i + 1));
  }
  ASSERT_EQ(after.size(), 2u);
  EXPECT_THAT(after[0], testing::StartsWith("site=element "));
  EXPECT_THAT(after[1], testing::StartsWith("as in: flip,bit=14"));
}

// If no faults are requested, none are reported as not injectable.
TEST(Inject, NoFaultsAtAll) {
  Tensor t = counting("int32", {3, 4});
  const Tensor before = t;
  FaultSpec spec = parse_fault("flip,bit=31");
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-3}}) {
    spec.count = count;
    const Injection done = inject(t, spec, 1);
    EXPECT_TRUE(done.flips.empty());
    EXPECT_EQ(done.not_injectable, 0) << count;
    EXPECT_TRUE(same_but(before, t, done, 31));
  }
}

}  // namespace
}  // namespace assay::fault
