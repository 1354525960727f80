// Tests that places of faults are disjoint, cover the output, and are drawn evenly.
#include "assay/fault/site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/fault/fault.h"
#include "error_of.h"

namespace assay::fault {
namespace {

using Positions = std::vector<std::int64_t>;

// True if two elements lie in the same place, according to the description of the site.
bool together(Site site, std::int64_t every, std::int64_t columns, std::int64_t a, std::int64_t b) {
  const std::int64_t ai = a / columns, aj = a % columns, bi = b / columns, bj = b % columns;
  switch (site) {
    case Site::kRow:
      return ai == bi;
    case Site::kColumn:
      return aj == bj;
    case Site::kTile:
      return ai / 16 == bi / 16 && aj / 16 == bj / 16;
    case Site::kPeriodic:
      return (a - b) % every == 0;
    default:
      return a == b;
  }
}

TEST(Site, PlacesArePartsOfTheMatrix) {
  for (const SiteRow& row : site_rows()) {
    if (!row.in_output) continue;
    const std::pair<std::int64_t, std::int64_t> shapes[] = {{1, 1},   {3, 5},   {16, 16}, {17, 15},
                                                            {33, 47}, {1, 100}, {40, 1}};
    for (const auto& [rows, columns] : shapes) {
      const std::int64_t every = 7;
      std::set<std::int64_t> seen;
      const std::int64_t count = place_count(row.site, every, rows, columns);
      for (std::int64_t place = 0; place < count; ++place) {
        const Positions at = place_positions(row.site, every, rows, columns, place);
        ASSERT_FALSE(at.empty());
        ASSERT_TRUE(std::is_sorted(at.begin(), at.end()));
        const std::set<std::int64_t> in(at.begin(), at.end());
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          ASSERT_EQ(in.count(i) > 0, together(row.site, every, columns, at[0], i)) << row.name;
        }
        for (const std::int64_t i : at) {
          ASSERT_TRUE(seen.insert(i).second) << row.name << ": an element in two places";
          ASSERT_EQ(place_of(row.site, every, columns, i), place) << row.name;
        }
      }
      EXPECT_EQ(static_cast<std::int64_t>(seen.size()), rows * columns) << row.name;
    }
    EXPECT_EQ(place_count(row.site, 7, 0, 5), 0);
    EXPECT_EQ(place_count(row.site, 7, 5, 0), 0);
  }
}

TEST(Site, WrongUse) {
  EXPECT_EQ(error_of([] { (void)place_of(Site::kPeriodic, 0, 4, 5); }),
            "every must be at least 1, not 0");
  EXPECT_EQ(error_of([] { (void)place_positions(Site::kPeriodic, -1, 4, 4, 0); }),
            "every must be at least 1, not -1");
  EXPECT_EQ(error_of([] { place_count(Site::kPeriodic, 0, 4, 4); }),
            "every must be at least 1, not 0");
  EXPECT_EQ(error_of([] { place_count(Site::kThreshold, 1, 4, 4); }),
            "site threshold does not lie in the output, so that it has no places there");
  EXPECT_THROW(place_positions(Site::kAccumulator, 1, 4, 4, 0), std::invalid_argument);
  EXPECT_THROW(place_of(Site::kInput, 1, 4, 0), std::invalid_argument);
}

Positions at(const char* text, std::int64_t rows, std::int64_t columns, std::uint64_t draw = 0) {
  Random random(3, draw);
  return positions_of(parse_fault(text), {rows, columns}, random);
}

TEST(PositionsOf, WhatIsGiven) {
  EXPECT_EQ(at("zero,at=1:2", 3, 4), Positions{6});
  EXPECT_EQ(at("zero,at=7", 3, 4), Positions{7});
  EXPECT_EQ(at("zero,site=row,at=1:2", 3, 4), (Positions{4, 5, 6, 7}));
  EXPECT_EQ(at("zero,site=column,at=1:2", 3, 4), (Positions{2, 6, 10}));
  EXPECT_EQ(at("zero,site=column,at=7", 3, 4), (Positions{3, 7, 11}));
  EXPECT_EQ(at("zero,site=periodic,every=5,at=1:2", 3, 4), (Positions{1, 6, 11}));
  EXPECT_EQ(at("zero,site=tile,at=17:17", 18, 18), (Positions{304, 305, 322, 323}));
  EXPECT_EQ(error_of([] { at("zero,at=3:0", 3, 4); }),
            "there is no element [3, 0] in an output of shape [3, 4]");
  EXPECT_EQ(error_of([] { at("zero,site=checksum,at=3", 3, 4); }),
            "fault 'zero,site=checksum,at=3': site checksum does not lie in the output: only a "
            "campaign, which computes the case again, can break it");
}

// Rows, columns and tiles are places in matrices of the last two dimensions. Elements and periods
// run through the whole tensor.
TEST(PositionsOf, AnyShape) {
  const auto of = [](const char* text, const Shape& shape) {
    Random random(3, 0);
    return positions_of(parse_fault(text), shape, random);
  };
  EXPECT_EQ(of("zero,at=1:2:3", {2, 3, 4}), Positions{23});
  EXPECT_EQ(of("zero,site=row,at=1:0:2", {2, 3, 4}), (Positions{12, 13, 14, 15}));
  EXPECT_EQ(of("zero,site=column,at=1:0:2", {2, 3, 4}), (Positions{14, 18, 22}));
  EXPECT_EQ(of("zero,site=tile,at=0:17:0", {2, 18, 2}), (Positions{32, 33, 34, 35}));
  EXPECT_EQ(of("zero,site=periodic,every=9,at=4", {2, 3, 4}), (Positions{4, 13, 22}));
  EXPECT_EQ(of("zero,site=row,at=2", {3}), (Positions{0, 1, 2}));
  EXPECT_EQ(of("zero", {}), Positions{0}) << "a scalar is one element";
  EXPECT_TRUE(of("zero,site=column", {2, 0, 4}).empty());
  EXPECT_EQ(error_of([&] {
              of("zero,at=1:2", {2, 3, 4});
            }),
            "there is no element [1, 2] in an output of shape [2, 3, 4]");
}

// Each place is drawn as often as any other, with 12 tiles and 600 draws. 99.8 % of chi-square with
// 11 degrees of freedom lie from 1.6 to 31.3.
TEST(PositionsOf, DrawsEvenly) {
  std::map<std::int64_t, int> hits;
  for (std::uint64_t i = 0; i < 600; ++i) ++hits[at("zero,site=tile", 40, 50, i)[0]];
  ASSERT_EQ(hits.size(), 12u);
  double chi_square = 0;
  for (const auto& [place, n] : hits) chi_square += (n - 50.0) * (n - 50.0) / 50.0;
  EXPECT_GT(chi_square, 1.6);
  EXPECT_LT(chi_square, 31.3);
  EXPECT_TRUE(at("zero,site=row", 0, 4).empty());
  EXPECT_TRUE(at("zero", 4, 0).empty());
}

// Changes every element of the place and nothing else. Matrices of a batch are separate places.
TEST(InjectAtASite, ChangesThePlace) {
  const Format& f = format_named("float32");
  for (const char* site : {"row", "column", "tile", "periodic,every=9", "element"}) {
    for (const Shape& shape : {Shape{3, 20, 18}, Shape{20, 18}, Shape{50}, Shape{}}) {
      Tensor t(f, shape);
      for (std::int64_t i = 0; i < t.size(); ++i) t.set_bits(i, encode(f, 1.0));
      const FaultSpec spec = parse_fault(formatted("zero,count=2,seed=4,site={}", site));
      const Injection done = inject(t, spec, 1);
      std::int64_t zeros = 0;
      for (std::int64_t i = 0; i < t.size(); ++i) zeros += t.bits_at(i) == 0 ? 1 : 0;
      ASSERT_EQ(zeros, static_cast<std::int64_t>(done.flips.size())) << site;
      // A scalar is one place for every site, and a vector is one row.
      const std::int64_t places = shape.empty()                                  ? 1
                                  : spec.site == Site::kRow && shape.size() == 1 ? 1
                                                                                 : 2;
      ASSERT_EQ(done.not_injectable, 2 - places) << site << " " << shape.size();
    }
  }
}

TEST(InjectAtASite, StaysWithinAMatrixOfABatch) {
  const Format& f = format_named("float32");
  Tensor t(f, {2, 3, 4});
  for (std::int64_t i = 0; i < t.size(); ++i) t.set_bits(i, encode(f, 1.0));
  const Injection done = inject(t, parse_fault("sign,site=column,at=1:0:2"), 0);
  Positions changed;
  for (const Flip& flip : done.flips) changed.push_back(flip.linear);
  EXPECT_EQ(changed, (Positions{14, 18, 22}));
  std::set<std::int64_t> columns;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Tensor fresh = t;
    FaultSpec spec = parse_fault("zero,site=column");
    spec.seed = seed;
    columns.insert(inject(fresh, spec, 0).flips[0].linear);
  }
  EXPECT_EQ(columns, (std::set<std::int64_t>{0, 1, 2, 3, 12, 13, 14, 15}));
}

// At a site, elements that cannot take the change stay as they are. A place such as a row can be
// drawn if at least one of its elements can take the change.
TEST(InjectAtASite, WhatCannotTakeIt) {
  const Format& f = format_named("float32");
  Tensor t(f, {3, 2});
  for (std::int64_t i = 0; i < 6; ++i) t.set_bits(i, encode(f, i == 3 ? 1.0 : 0.0));
  const Injection done = inject(t, parse_fault("zero,site=row,count=3"), 0);
  ASSERT_EQ(done.flips.size(), 1u);
  EXPECT_EQ(done.flips[0].linear, 3);
  EXPECT_EQ(done.not_injectable, 2);
  EXPECT_EQ(inject(t, parse_fault("zero,site=row,at=0:0"), 0).not_injectable, 1);
  Tensor small(format_named("float8_e4m3fn"), {4});
  for (std::int64_t i = 0; i < 4; ++i) small.set_bits(i, 0x38);
  EXPECT_EQ(inject(small, parse_fault("infinity"), 0).not_injectable, 1);
  EXPECT_EQ(inject(small, parse_fault("nan"), 0).flips[0].after, 0x7fu);
}

// The same seed changes the same places, whatever the change is.
TEST(InjectAtASite, PlacesDoNotDependOnTheChange) {
  const auto places = [](const char* what) {
    Tensor t(format_named("float16"), {30, 40});
    for (std::int64_t i = 0; i < t.size(); ++i) t.set_bits(i, 0x4200);
    Positions positions;
    for (const Flip& flip : inject(t, parse_fault(formatted("{},seed=8,count=5", what)), 6).flips) {
      positions.push_back(flip.linear);
    }
    return positions;
  };
  const Positions flips = places("flip,bit=3");
  EXPECT_EQ(flips.size(), 5u);
  for (const char* what : {"random", "flips,k=4", "exponent", "carry,bit=2", "nan", "add,ulps=2"}) {
    EXPECT_EQ(places(what), flips) << what;
  }
  Tensor a(format_named("float16"), {8}), b = a;
  for (std::int64_t i = 0; i < 8; ++i) a.set_bits(i, 0x4200);
  b = a;
  const Injection one = inject(a, parse_fault("random,at=3,seed=1"), 0);
  EXPECT_EQ(inject(b, parse_fault("random,at=3,seed=1"), 0).flips[0].after, one.flips[0].after);
  b.set_bits(3, 0x4200);
  EXPECT_NE(inject(b, parse_fault("random,at=3,seed=2"), 0).flips[0].after, one.flips[0].after);
}

// A change that rounding absorbs is injected, and counts as masked.
TEST(InjectAtASite, AbsorbedIsMasked) {
  Tensor t(format_named("bfloat16"), {1});
  t.set_bits(0, 0x3f80);
  const Injection done = inject(t, parse_fault("add,value=0.001,at=0"), 0);
  ASSERT_EQ(done.flips.size(), 1u);
  EXPECT_TRUE(is_masked(t.format(), done.flips[0].before, done.flips[0].after));
}

TEST(ParseSites, TextReadsBack) {
  for (const char* text : {"flips,k=3,seed=0,count=1",
                           "flips,bits=0:3:63,at=1:2",
                           "burst,bit=2,length=5,seed=1,count=2",
                           "stuck_at_0,bit=3,at=4",
                           "stuck_at_1,bit=3,site=row,at=4:1",
                           "zero,site=tile,seed=9,count=1",
                           "random,at=3,seed=5",
                           "random,at=3",
                           "infinity,at=0",
                           "minus_infinity,at=0",
                           "nan,at=0",
                           "sign,site=periodic,every=64,seed=0,count=1",
                           "exponent,k=2,site=column,seed=0,count=1",
                           "carry,bit=7,carry=wrong,at=0",
                           "carry,bit=7,carry=either,at=0,seed=3",
                           "add,value=-0.1,at=2",
                           "add,ulps=-3,at=2",
                           "zero,site=accumulator,step=3,at=1:1",
                           "zero,site=accumulator,at=1:1,seed=2",
                           "zero,site=input_a,when=before,seed=0,count=1",
                           "zero,site=input_b,seed=0,count=1",
                           "zero,site=input,input=weight,seed=0,count=1",
                           "zero,site=input,input=x,when=before,at=1:2:3",
                           "zero,site=checksum,at=5",
                           "zero,site=threshold,at=0"}) {
    EXPECT_EQ(parse_fault(text).text(), text);
  }
  EXPECT_EQ(parse_fault("exponent").text(), "exponent,k=1,seed=0,count=1");
  EXPECT_EQ(parse_fault("zero,site=element").text(), "zero,seed=0,count=1");
  EXPECT_EQ(parse_fault("zero,site=input_b,when=after").text(), "zero,site=input_b,seed=0,count=1");
  EXPECT_EQ(parse_fault("add,value=1e-3").change.value, 0.001);
  // input_a and input_b are short forms of the site `input`.
  const FaultSpec a = parse_fault("zero,site=input_a"), b = parse_fault("zero,input=b,site=input");
  EXPECT_EQ(a.site, Site::kInput);
  EXPECT_EQ(a.input, "a");
  EXPECT_EQ(b.text(), "zero,site=input_b,seed=0,count=1");
  EXPECT_EQ(b.site_row().name, "input_b");
  EXPECT_EQ(parse_fault("zero,site=input,input=x").site_row().name, "input");
}

TEST(ParseSites, Errors) {
  const auto error = [](const char* text) { return error_of([&] { parse_fault(text); }); };
  EXPECT_EQ(error("flips"), "fault 'flips' needs k or bits");
  EXPECT_EQ(error("flips,k=2,bits=1"), "fault 'flips,k=2,bits=1' takes k or bits, not both");
  EXPECT_EQ(error("flips,bits=64"),
            "fault 'flips,bits=64': no element has a bit 64; give one from 0 to 63");
  EXPECT_EQ(error("flips,bits=3:3"), "fault 'flips,bits=3:3': bit 3 is given twice");
  EXPECT_EQ(error("flips,k=0"),
            "fault 'flips,k=0': k must be a whole number from 1 to 64, not '0'");
  EXPECT_EQ(error("burst"), "fault 'burst' needs a bit, as in burst,bit=14");
  EXPECT_EQ(error("burst,bit=1,length=0"),
            "fault 'burst,bit=1,length=0': length must be a whole number from 1 to 64, not '0'");
  EXPECT_EQ(error("add"), "fault 'add' needs value or ulps");
  EXPECT_EQ(error("add,value=1,ulps=1"),
            "fault 'add,value=1,ulps=1' takes value or ulps, not both");
  EXPECT_EQ(error("add,value=nan"),
            "fault 'add,value=nan': value must be a finite number other than 0, not 'nan'");
  EXPECT_EQ(error("add,value=much"),
            "fault 'add,value=much': value must be a finite number other than 0, not 'much'");
  EXPECT_EQ(error("add,value=0"),
            "fault 'add,value=0': value must be a finite number other than 0, not '0'");
  EXPECT_EQ(error("add,ulps=1.5"),
            "fault 'add,ulps=1.5': ulps must be a whole number other than 0, not '1.5'");
  EXPECT_EQ(error("carry,bit=1,carry=up"),
            "fault 'carry,bit=1,carry=up': carry must be one of wrong, missing, either, not 'up'");
  EXPECT_EQ(
      error("zero,length=1"),
      "fault 'zero,length=1': zero takes no 'length'; it takes site, output, at, seed, count");
  EXPECT_EQ(
      error("stuck_at_2,bit=1"),
      "fault 'stuck_at_2,bit=1' must begin with what it does, as in flip,bit=14: did you mean "
      "'stuck_at_0'?; known: " +
          joined(names_of(change_rows())));
  EXPECT_EQ(
      error("zero,site=tiles"),
      "fault 'zero,site=tiles': unknown site 'tiles': did you mean 'tile'?; known: element, "
      "row, column, tile, periodic, accumulator, input, input_a, input_b, checksum, threshold");
  EXPECT_EQ(error("zero,site=periodic"),
            "fault 'zero,site=periodic' needs every, as in site=periodic,every=64");
  EXPECT_EQ(
      error("zero,site=periodic,every=0"),
      "fault 'zero,site=periodic,every=0': every must be a whole number of at least 1, not '0'");
  EXPECT_EQ(
      error("zero,every=3"),
      "fault 'zero,every=3': every is only for site=periodic, not for site=element; leave it out");
  EXPECT_EQ(error("zero,site=row,step=3"),
            "fault 'zero,site=row,step=3': step is only for site=accumulator, not for site=row; "
            "leave it out");
  EXPECT_EQ(error("zero,site=input"),
            "fault 'zero,site=input' needs input, as in site=input,input=x");
  EXPECT_EQ(error("zero,site=input,input="),
            "fault 'zero,site=input,input=' needs input, as in site=input,input=x");
  EXPECT_EQ(
      error("zero,input=x"),
      "fault 'zero,input=x': input is only for site=input, not for site=element; leave it out");
  EXPECT_EQ(error("zero,site=input_a,input=b"),
            "fault 'zero,site=input_a,input=b': input is only for site=input, not for "
            "site=input_a; leave it out");
  EXPECT_EQ(error("zero,site=input_a,when=later"),
            "fault 'zero,site=input_a,when=later': when must be one of before, after, not 'later' "
            "(did you mean 'after'?)");
}

// Returns a stack of matrices with the elements 0, 1, 2, ...
Tensor numbered(const Shape& shape) {
  Tensor t(format_named("int32"), shape);
  for (std::int64_t i = 0; i < t.size(); ++i) t.set_bits(i, static_cast<std::uint64_t>(i));
  return t;
}

std::vector<std::int64_t> injected(Tensor t, const char* fault) {
  inject(t, parse_fault(fault), 0);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < t.size(); ++i) {
    values.push_back(static_cast<std::int64_t>(t.bits_at(i)));
  }
  return values;
}

// A lane that is stuck writes the first value of its place to every element of the place.
TEST(InjectAtASite, AStuckLane) {
  EXPECT_EQ(injected(numbered({3, 4}), "stuck_lane,site=periodic,every=4,at=1:2"),
            (Positions{0, 1, 2, 3, 4, 5, 2, 7, 8, 9, 2, 11}));
  EXPECT_EQ(injected(numbered({2, 2, 3}), "stuck_lane,site=row,at=1:0:2"),
            (Positions{0, 1, 2, 3, 4, 5, 6, 6, 6, 9, 10, 11}));
  // The first element keeps its value, so it is not listed as a flip.
  Tensor t = numbered({3, 4});
  const Injection done = inject(t, parse_fault("stuck_lane,site=column,at=0:3"), 0);
  ASSERT_EQ(done.flips.size(), 2u);
  EXPECT_EQ(done.flips[0].linear, 7);
  EXPECT_EQ(done.flips[1].linear, 11);
  Tensor same(format_named("int32"), {3, 4});
  for (std::int64_t i = 0; i < same.size(); ++i) same.set_bits(i, 5);
  EXPECT_EQ(inject(same, parse_fault("stuck_lane,site=column"), 0).not_injectable, 1);
}

// An element takes the value that was some rows below before the fault. Rows wrap around inside a
// matrix, and never reach into another matrix.
TEST(InjectAtASite, AWrongRow) {
  EXPECT_EQ(injected(numbered({3, 2}), "wrong_row,site=row,at=0:0"), (Positions{2, 3, 2, 3, 4, 5}));
  EXPECT_EQ(injected(numbered({3, 2}), "wrong_row,rows=2,site=row,at=1:0"),
            (Positions{0, 1, 0, 1, 4, 5}));
  EXPECT_EQ(injected(numbered({3, 2}), "wrong_row,site=column,at=0:1"),
            (Positions{0, 3, 2, 5, 4, 1}));
  EXPECT_EQ(injected(numbered({2, 2, 2}), "wrong_row,site=row,at=1:1:0"),
            (Positions{0, 1, 2, 3, 4, 5, 4, 5}));
  EXPECT_EQ(injected(numbered({3, 2}), "wrong_row,at=2:1"), (Positions{0, 1, 2, 3, 4, 1}));
  // A shift by all rows moves nothing. A vector is one row, so that nothing moves either.
  Tensor t = numbered({3, 2});
  EXPECT_EQ(inject(t, parse_fault("wrong_row,rows=3,site=row"), 0).not_injectable, 1);
  Tensor vector = numbered({6});
  EXPECT_EQ(inject(vector, parse_fault("wrong_row,site=row"), 0).not_injectable, 1);
}

TEST(ParseSites, ChangesThatMoveElements) {
  const auto error = [](const char* text) { return error_of([&] { (void)parse_fault(text); }); };
  EXPECT_EQ(parse_fault("wrong_row,site=row").text(), "wrong_row,rows=1,site=row,seed=0,count=1");
  EXPECT_EQ(parse_fault("stuck_lane,site=periodic,every=16").text(),
            "stuck_lane,site=periodic,every=16,seed=0,count=1");
  EXPECT_EQ(error("stuck_lane"),
            "fault 'stuck_lane' needs a place of several elements, as in site=periodic,every=16");
  EXPECT_EQ(error("wrong_row,site=accumulator"),
            "fault 'wrong_row,site=accumulator' moves elements of the output, so that it cannot "
            "have the site accumulator");
  EXPECT_EQ(error("stuck_lane,site=input_a"),
            "fault 'stuck_lane,site=input_a' moves elements of the output, so that it cannot have "
            "the site input_a");
  EXPECT_EQ(error("wrong_row,rows=0"),
            "fault 'wrong_row,rows=0': rows must be a whole number of at least 1, not '0'");
}

TEST(InjectAtASite, RefusesWhatLiesInTheComputation) {
  for (const SiteRow& row : site_rows()) {
    if (row.in_output) continue;
    Tensor t(format_named("float32"), {2, 2});
    for (std::int64_t i = 0; i < 4; ++i) t.set_bits(i, 0x3f800000);
    const bool named = row.parts.find("input") != std::string_view::npos;
    const FaultSpec spec =
        parse_fault(formatted("zero,site={}{}", row.name, named ? ",input=x" : ""));
    EXPECT_EQ(
        error_of([&] { inject(t, spec, 0); }),
        formatted("fault '{}': site {} does not lie in the output: only a campaign, which computes "
                  "the case again, can break it",
                  spec.text(), row.name));
  }
}

TEST(FaultHelp, NamesEveryChangeAndSite) {
  std::string all;
  for (const std::string& line : fault_help()) all += "\n" + line;
  for (const ChangeRow& row : change_rows()) {
    EXPECT_NE(all.find(formatted("\n{} ", row.name)), std::string::npos) << row.name;
  }
  for (const SiteRow& row : site_rows()) {
    EXPECT_NE(all.find(formatted("\nsite={} ", row.name)), std::string::npos) << row.name;
  }
}

// Compares the sites that are in an output, and the sites that only matrix products have, with
// lists typed by hand.
TEST(Site, WhatIsOfProductsAlone) {
  std::vector<std::string_view> in_output, of_products;
  for (const SiteRow& row : site_rows()) {
    if (row.in_output) in_output.push_back(row.name);
    if (row.needs_product) of_products.push_back(row.name);
  }
  EXPECT_EQ(in_output,
            (std::vector<std::string_view>{"element", "row", "column", "tile", "periodic"}));
  EXPECT_EQ(of_products, (std::vector<std::string_view>{"accumulator", "checksum", "threshold"}));
}

// The table of sites, typed again: the keys that a site has besides those of every site, and the
// input that a short form stands for.
TEST(Site, TheTableEntryByEntry) {
  const struct {
    Site site;
    const char *name, *parts, *input;
  } rows[] = {
      {Site::kElement, "element", "", ""},        {Site::kRow, "row", "", ""},
      {Site::kColumn, "column", "", ""},          {Site::kTile, "tile", "", ""},
      {Site::kPeriodic, "periodic", "every", ""}, {Site::kAccumulator, "accumulator", "step", ""},
      {Site::kInput, "input", "input when", ""},  {Site::kInput, "input_a", "when", "a"},
      {Site::kInput, "input_b", "when", "b"},     {Site::kChecksum, "checksum", "", ""},
      {Site::kThreshold, "threshold", "", ""},
  };
  ASSERT_EQ(site_rows().size(), std::size(rows));
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    const SiteRow& row = site_rows()[i];
    EXPECT_EQ(row.site, rows[i].site) << rows[i].name;
    EXPECT_EQ(row.name, rows[i].name);
    EXPECT_EQ(row.parts, rows[i].parts) << row.name;
    EXPECT_EQ(row.input, rows[i].input) << row.name;
    EXPECT_EQ(&row_of(row.site, row.input), &row);
  }
  EXPECT_EQ(row_of(Site::kInput, "q").name, "input");
  EXPECT_EQ(row_of(Site::kRow, "a").name, "row");
}

}  // namespace
}  // namespace assay::fault
