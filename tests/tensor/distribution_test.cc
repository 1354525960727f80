// Tests the table of distributions: what it reads and refuses, its bits, and what its rows are made
// of. distribution_shape_test.cc tests the shapes of the distributions.
#include "assay/tensor/distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/sanitized.h"
#include "assay/simd/targets.h"

namespace assay {
namespace {

using testing::AnyOf;
using testing::Eq;

const Format& f64() { return format_named("float64"); }

std::vector<std::byte> bytes_of(const Tensor& t) { return {t.bytes(), t.bytes() + t.byte_count()}; }

std::vector<double> drawn(const std::string& text, const Shape& shape, std::uint64_t seed = 1,
                          std::uint64_t stream = 2, const Format& format = f64()) {
  return draw(parse_distribution(text), format, shape, seed, stream).view().values();
}

std::string refusal(const std::string& text) {
  try {
    (void)parse_distribution(text);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "(read)";
}

std::string cannot_draw(const std::string& text, const std::string& dtype, const Shape& shape) {
  try {
    (void)draw(parse_distribution(text), format_named(dtype), shape, 1, 2);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "(drawn)";
}

// -- What is read ---------------------------------------------------------------------------------

TEST(DistributionTest, TextReadsBack) {
  for (const Distribution& row : distributions()) {
    EXPECT_EQ(parse_distribution(row.name).text(), row.name) << "defaults are not printed";
    EXPECT_LE(row.parameters.size(), kMaxDistributionParameters);
    EXPECT_FALSE(row.summary.empty());
    EXPECT_FALSE(row.source.empty());
  }
  for (const char* text :
       {"normal,mean=1e-06", "normal,mean=-1,deviation=0.5,scale=0.01", "uniform,low=-6,high=6",
        "student_t,nu=2.5", "outlier_channels,count=3,factor=100,axis=0",
        "correlated,rho=0.99,standard=1,axis=-2", "integers,low=-127,high=127",
        "specials,zeros=0.5,nans=0"}) {
    EXPECT_EQ(parse_distribution(text).text(), text);
  }
  EXPECT_EQ(parse_distribution("normal,deviation=2,mean=1.0").text(), "normal,mean=1,deviation=2");
  EXPECT_EQ(parse_distribution("normal,mean=3").get("mean"), 3);
  EXPECT_FALSE(parse_distribution("outlier_channels").has("count"));
  EXPECT_TRUE(parse_distribution("outlier_channels,count=2").has("count"));
}

TEST(DistributionTest, EveryContinuousRowTakesAScale) {
  for (const Distribution& row : distributions()) {
    if (row.name == "integers" || row.name == "subnormals") continue;
    const std::string name(row.name);
    const std::vector<double> once = drawn(name, {4, 300}),
                              scaled = drawn(name + ",scale=0.1", {4, 300});
    for (std::size_t i = 0; i < once.size(); ++i) {
      if (std::isnan(once[i])) continue;
      ASSERT_EQ(scaled[i], 0.1 * once[i]) << name << " " << i;
    }
  }
}

TEST(DistributionTest, RefusesWithTheReason) {
  EXPECT_EQ(refusal("norml"),
            "unknown distribution 'norml': did you mean 'normal'?; known: normal, uniform, "
            "truncated_normal, clamped_normal, folded_normal, student_t, lognormal, "
            "outlier_channels, identical_columns, constant_columns, correlated, integers, "
            "subnormals, specials, sparse, one_hot, hilbert, block_constant, cancelling, stalling, "
            "halfway, masked");
  EXPECT_THAT(refusal(""), testing::StartsWith("unknown distribution ''; known: normal, "));
  EXPECT_EQ(refusal("normal,men=1"),
            "distribution 'normal,men=1': normal takes no 'men' (did you mean 'mean'?); it takes "
            "mean, deviation, scale");
  EXPECT_EQ(refusal("uniform,0,1"),
            "distribution 'uniform,0,1': uniform takes no '0'; it takes low, high, scale");
  EXPECT_EQ(refusal("normal,mean=1,mean=2"),
            "distribution 'normal,mean=1,mean=2': 'mean' is given twice");
  EXPECT_EQ(refusal("normal,deviation=-1"),
            "distribution 'normal,deviation=-1': deviation must be a number from 0 to 1e+300, not "
            "'-1'");
  for (const char* bad :
       {"normal,mean", "normal,mean=", "normal,mean=x", "normal,mean=1x", "normal,mean=nan",
        "normal,mean=inf", "student_t,nu=0", "integers,low=0.5", "outlier_channels,count=0",
        "specials,nans=2", "correlated,rho=1.5", "correlated,standard=2"}) {
    EXPECT_THAT(refusal(bad), testing::HasSubstr(" must be a ")) << bad;
  }
  EXPECT_EQ(refusal("integers,low=0.5"),
            "distribution 'integers,low=0.5': low must be a whole number from -4503599627370496 to "
            "4503599627370496, not '0.5'");
  EXPECT_EQ(refusal("uniform,low=2"),
            "distribution 'uniform,low=2': low must be below high, not 2 and 1");
  EXPECT_EQ(refusal("truncated_normal,low=50,high=51"),
            "distribution 'truncated_normal,low=50,high=51': the normal has next to no probability "
            "from low to high");
  EXPECT_EQ(refusal("truncated_normal,deviation=0"),
            "distribution 'truncated_normal,deviation=0': deviation must be above 0");
  EXPECT_EQ(refusal("outlier_channels,count=2,fraction=0.1"),
            "distribution 'outlier_channels,count=2,fraction=0.1': give fraction or count, not "
            "both");
  EXPECT_EQ(refusal("specials,zeros=0.9,nans=0.2"),
            "distribution 'specials,zeros=0.9,nans=0.2': the fractions add up to 1.13, above 1");
  EXPECT_THROW((void)parse_distribution("normal").get("nu"), std::invalid_argument);
}

TEST(DistributionTest, RefusesShapesAndFormats) {
  EXPECT_EQ(cannot_draw("outlier_channels,axis=2", "float32", {3, 4}),
            "distribution 'outlier_channels,axis=2': a tensor of shape [3, 4] has no axis 2");
  EXPECT_EQ(cannot_draw("outlier_channels", "float32", {}),
            "distribution 'outlier_channels': a tensor of shape [] has no axis -1");
  EXPECT_EQ(cannot_draw("outlier_channels,count=5", "float32", {3, 4}),
            "distribution 'outlier_channels,count=5': there are fewer than 5 channels in a tensor "
            "of shape [3, 4]");
  EXPECT_EQ(cannot_draw("correlated,axis=-3", "float32", {3, 4}),
            "distribution 'correlated,axis=-3': a tensor of shape [3, 4] has no axis -3");
  EXPECT_EQ(cannot_draw("subnormals", "int8", {3}),
            "distribution 'subnormals': int8 has no subnormal numbers");
  EXPECT_EQ(cannot_draw("subnormals", "float8_e8m0fnu", {3}),
            "distribution 'subnormals': float8_e8m0fnu has no subnormal numbers");
  std::byte to[8];
  const DistributionSpec normal = parse_distribution("normal");
  EXPECT_THROW(draw_part(normal, f64(), {3}, 0, 0, 2, 2, to), std::invalid_argument);
  EXPECT_THROW(draw_part(normal, f64(), {3}, 0, 0, -1, 2, to), std::invalid_argument);
}

// -- Addresses ------------------------------------------------------------------------------------

// Distributions with parameters that take every way through the code.
const char* const kWays[] = {"normal,mean=1",
                             "uniform",
                             "truncated_normal,low=0.5,high=4",
                             "clamped_normal",
                             "folded_normal,mean=1,scale=0.01",
                             "student_t",
                             "lognormal",
                             "outlier_channels,fraction=0.1",
                             "outlier_channels,count=3,axis=1",
                             "outlier_channels,count=2,axis=0",
                             "identical_columns",
                             "constant_columns",
                             "correlated",
                             "correlated,axis=-2",
                             "correlated,axis=-1,standard=1",
                             "correlated,axis=0",
                             "integers",
                             "subnormals",
                             "specials"};

TEST(DistributionTest, PartsEqualTheWhole) {
  const Format& format = format_named("bfloat16");
  for (const char* text : kWays) {
    const DistributionSpec spec = parse_distribution(text);
    for (const Shape& shape :
         {Shape{3, 41, 37}, Shape{2, 5, 1}, Shape{5, 3, 1100}, Shape{2, 3, 7}}) {
      const Tensor whole = draw(spec, format, shape, 3, 4);
      Random random(5, 6);
      for (int i = 0; i < 60; ++i) {
        const auto size = static_cast<std::uint64_t>(whole.size());
        const std::uint64_t begin = random.below(size + 1), count = random.below(size - begin + 1);
        std::vector<std::byte> part(2 * count);
        draw_part(spec, format, shape, 3, 4, static_cast<std::int64_t>(begin),
                  static_cast<std::int64_t>(count), part.data());
        ASSERT_TRUE(count == 0 ||
                    std::memcmp(part.data(), whole.bytes() + 2 * begin, 2 * count) == 0)
            << text << " " << begin << " " << count;
      }
    }
  }
}

// Each part has many blocks.
const Shape kSeveralParts = {3, 300, 251};

TEST(DistributionTest, ThreadsAgree) {
  int way = 0;
  for (const char* text : kWays) {
    const DistributionSpec spec = parse_distribution(text);
    ++way;
    for (const char* dtype : {"float64", "float16"}) {
      const Format& format = format_named(dtype);
      // The thread sanitizer needs no single thread, and one format in turn.
      if (kThreadSanitizer) {
        if ((way % 2 == 0) == (format.bits == 16)) draw(spec, format, kSeveralParts, 3, 4, 2);
        continue;
      }
      ASSERT_EQ(bytes_of(draw(spec, format, kSeveralParts, 3, 4, 2)),
                bytes_of(draw(spec, format, kSeveralParts, 3, 4, 1)))
          << text << " " << dtype;
    }
  }
}

TEST(DistributionTest, TargetsAgree) {
  for (const char* text : kWays) {
    const DistributionSpec spec = parse_distribution(text);
    for (const char* dtype : {"float64", "float16"}) {
      const Format& format = format_named(dtype);
      const std::vector<std::byte> best = bytes_of(draw(spec, format, kSeveralParts, 3, 4, 1));
      for (const std::string& target : simd::available_targets()) {
        simd::force_target(target);
        const std::vector<std::byte> other = bytes_of(draw(spec, format, kSeveralParts, 3, 4, 1));
        simd::force_target("");
        ASSERT_EQ(other, best) << text << " " << dtype << " " << target;
      }
    }
  }
}

TEST(DistributionTest, SeedsAndStreamsDiffer) {
  for (const char* text : kWays) {
    const DistributionSpec spec = parse_distribution(text);
    const auto bytes = [&](std::uint64_t seed, std::uint64_t stream) {
      return bytes_of(draw(spec, format_named("float32"), {4, 9, 30}, seed, stream));
    };
    EXPECT_NE(bytes(1, 2), bytes(2, 2)) << text;
    EXPECT_NE(bytes(1, 2), bytes(1, 3)) << text;
  }
}

TEST(DistributionTest, EmptyTensorsAndScalars) {
  for (const char* text : kWays) {
    EXPECT_EQ(draw(parse_distribution(text), f64(), {2, 3, 0}, 1, 2).size(), 0) << text;
  }
  EXPECT_EQ(drawn("normal", {}).size(), 1u);
  EXPECT_EQ(drawn("identical_columns", {}).size(), 1u);
  EXPECT_EQ(drawn("constant_columns", {}).size(), 1u);
}

// FNV-1a hash of the bits, for every row in float64, float32, bfloat16, float16, float8_e4m3fn and
// int8, or 0 if the dtype cannot be drawn. A change here is a change of everybody's seeded inputs.
TEST(DistributionTest, BitsAreFrozen) {
  const std::map<std::string, std::vector<std::uint64_t>> frozen = {
      {"normal",
       {7113741747804628517u, 7024921748663308723u, 11259746309048775751u, 12396280751843110649u,
        12171854094498495933u, 8660692917019214827u}},
      {"uniform",
       {1107136419017571271u, 2158791188757880130u, 5724823841365018101u, 13457661409060222935u,
        17898603438949304254u, 15538029625598811119u}},
      {"truncated_normal",
       {6766222212979419465u, 18350278234442245007u, 5536060013158174263u, 6309525636678811180u,
        14938690387937088599u, 1251758637197437514u}},
      {"clamped_normal",
       {13212914041956898730u, 8109551177438395155u, 841986494824098689u, 18375566942335859530u,
        18073316130209680372u, 8332722774139754295u}},
      {"folded_normal",
       {3911894361061173541u, 18343710688413555635u, 8504230842036024135u, 17155377859867090425u,
        18392470240327230909u, 11055232615904908349u}},
      {"student_t",
       {2869185765836377768u, 14909610138552258696u, 16221909893439972447u, 1127629254015763826u,
        6265170255666757180u, 16078422319051657948u}},
      {"lognormal",
       {3591316918577134756u, 5018291823241218909u, 3712550775230094776u, 11220344096492707833u,
        17556552134207754005u, 11946323045147266589u}},
      {"outlier_channels",
       {6301372885346025836u, 9646383471774721625u, 14219996116513914937u, 6394646985218272574u,
        17672804171903206913u, 8453228500595131755u}},
      {"identical_columns",
       {9636368597982153758u, 1770604232486635675u, 1855433830050331509u, 11607730432008138855u,
        4979715989476432647u, 17243208026555976113u}},
      {"constant_columns",
       {7651286753478149253u, 5626611442980912693u, 10487481785505590669u, 2539780934664629293u,
        13950802040978391709u, 1639008847624689805u}},
      {"correlated",
       {3541828641155541557u, 6806622155436229279u, 18043534810775711505u, 7556654539262304918u,
        7026217418451576759u, 4883648100259837686u}},
      {"integers",
       {14289566694040644201u, 3803478330104026178u, 6001804222127944874u, 5594478717165254904u,
        994961906934443931u, 7013337461136452009u}},
      {"subnormals",
       {9557757093218857282u, 8769267096174569507u, 5629573390973004505u, 10058099661606883891u,
        11543692832501631814u, 0u}},
      {"specials",
       {15667099492688340001u, 16417327863676725217u, 11963000645902268278u, 11670203821205950985u,
        11096727131635960348u, 11746575138879658427u}},
      {"sparse",
       {4110647799756723259u, 18086222311331710244u, 10512819726693785860u, 13329238187956827708u,
        16883607825687259495u, 9731838198793311403u}},
      {"one_hot",
       {11875995585259408421u, 6830618818672887461u, 12216440626517020709u, 16326931910646013829u,
        16602649494553036901u, 5482293213930586865u}},
      {"hilbert",
       {8956523722972294546u, 4415343841106809676u, 14657613131371575777u, 15567290207389548464u,
        14988466727323836033u, 778041517774565220u}},
      {"block_constant",
       {18115622868823956645u, 15319626585907420165u, 1948846754259963437u, 1324132053522081925u,
        18398365992697239273u, 789208797192329593u}},
      {"cancelling",
       {17183556698628000092u, 2938386229806199828u, 15615605859405220262u, 13218881710366278150u,
        11940208252310690309u, 3598163064797510407u}},
      {"stalling",
       {12743691164894926885u, 13218860323925036741u, 11563470668653590325u, 13357807021890823141u,
        2008634576787388897u, 928127457857762689u}},
      {"masked",
       {4983495697548350839u, 5752586101569334903u, 1404605524607879570u, 5759843503687091207u, 0u,
        0u}},
      {"halfway",
       {11246140161490562089u, 15859225150000766096u, 436328273463419110u, 3075170375112389694u,
        5992455640253016072u, 2059151422489382006u}},
  };
  for (const Distribution& row : distributions()) {
    std::vector<std::uint64_t> hashes;
    for (const char* dtype :
         {"float64", "float32", "bfloat16", "float16", "float8_e4m3fn", "int8"}) {
      std::uint64_t hash = 0;
      const bool has_infinity = format_named(dtype).specials == Specials::kInfNan;
      if (row.name == "masked" ? has_infinity
                               : row.name != "subnormals" || std::string(dtype) != "int8") {
        const Tensor t = draw(parse_distribution(row.name), format_named(dtype), {20, 173}, 7, 8);
        hash = 0xcbf29ce484222325u;
        for (const std::byte b : bytes_of(t)) {
          hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3u;
        }
      }
      hashes.push_back(hash);
    }
    const auto found = frozen.find(std::string(row.name));
    std::string line = "{\"" + std::string(row.name) + "\", {";
    for (const std::uint64_t h : hashes) line += std::to_string(h) + "u, ";
    EXPECT_EQ(hashes, found == frozen.end() ? std::vector<std::uint64_t>() : found->second)
        << "a new row is frozen by\n"
        << line << "}},";
  }
}

// -- What rows are made of ------------------------------------------------------------------------

TEST(DistributionTest, NormalIsWhatRandomDraws) {
  Random random(1, 2);
  for (const double v : drawn("normal", {50, 61})) ASSERT_EQ(v, random.normal());
  Random again(1, 2);
  for (const double v : drawn("normal,mean=3,deviation=0.1,scale=7", {999})) {
    const double unscaled = 3 + 0.1 * again.normal();
    ASSERT_EQ(v, unscaled * 7);
  }
}

// Values are rounded only once. Through float32, some of them would come out differently.
TEST(DistributionTest, ValuesAreRoundedOnce) {
  const Shape shape = {1 << 16};
  const std::vector<double> wide = drawn("normal", shape);
  for (const char* dtype : {"float32", "bfloat16", "float16", "float8_e4m3fn", "int8"}) {
    const Format& format = format_named(dtype);
    const Tensor t = draw(parse_distribution("normal"), format, shape, 1, 2);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      ASSERT_EQ(t.bits_at(static_cast<std::int64_t>(i)), encode(format, wide[i])) << dtype;
    }
  }
}

TEST(DistributionTest, ClampedIsClamped) {
  const std::vector<double> plain = drawn("normal,mean=0.5", {5000});
  const std::vector<double> clamped = drawn("clamped_normal,mean=0.5,low=-0.25,high=2", {5000});
  for (std::size_t i = 0; i < plain.size(); ++i) {
    ASSERT_EQ(clamped[i], std::min(2.0, std::max(-0.25, plain[i])));
  }
}

// `assay calibrate` draws its inputs in this way.
TEST(DistributionTest, FoldedIsTheMagnitude) {
  const std::vector<double> plain = drawn("normal,mean=1", {5000});
  const std::vector<double> folded = drawn("folded_normal,mean=1,shift=0.5,scale=0.25", {5000});
  for (std::size_t i = 0; i < plain.size(); ++i) {
    ASSERT_EQ(folded[i], (std::abs(plain[i]) + 0.5) * 0.25);
  }
}

// The channels of an axis that are scaled, which must be scaled in all of their elements.
std::vector<std::int64_t> scaled_channels(const std::string& text, const Shape& shape,
                                          std::size_t axis, std::uint64_t seed) {
  const std::vector<double> plain = drawn("normal", shape, seed);
  const std::vector<double> scaled = drawn(text, shape, seed);
  std::int64_t stride = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) stride *= shape[d];
  std::map<std::int64_t, std::set<bool>> seen;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_THAT(scaled[i], AnyOf(plain[i], Eq(20 * plain[i])));
    seen[static_cast<std::int64_t>(i) / stride % shape[axis]].insert(scaled[i] != plain[i]);
  }
  std::vector<std::int64_t> channels;
  for (const auto& [channel, is_scaled] : seen) {
    EXPECT_EQ(is_scaled.size(), 1u) << "channel " << channel << " in part";
    if (*is_scaled.begin()) channels.push_back(channel);
  }
  return channels;
}

TEST(DistributionTest, OutlierChannelsAreWholeChannels) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    EXPECT_EQ(scaled_channels("outlier_channels", {7, 300}, 1, seed).size(), 3u);
    EXPECT_EQ(scaled_channels("outlier_channels", {7, 30}, 1, seed).size(), 1u) << "at least one";
    EXPECT_EQ(scaled_channels("outlier_channels,fraction=0.5", {3, 7, 10}, 2, seed).size(), 5u);
    EXPECT_EQ(scaled_channels("outlier_channels,count=7,axis=0", {40, 33}, 0, seed).size(), 7u);
    EXPECT_EQ(scaled_channels("outlier_channels,count=4,axis=-2", {3, 9, 50}, 1, seed).size(), 4u);
    EXPECT_EQ(scaled_channels("outlier_channels,count=9,axis=1", {3, 9, 50}, 1, seed).size(), 9u);
    EXPECT_EQ(scaled_channels("outlier_channels,count=2", {2, 5000}, 1, seed).size(), 2u);
  }
  // One channel is scaled in each part of the axis, and another seed scales other channels.
  std::set<std::int64_t> first;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto channels = scaled_channels("outlier_channels,count=4", {2, 100}, 1, seed);
    for (std::size_t part = 0; part < 4; ++part) {
      EXPECT_EQ(channels[part] / 25, static_cast<std::int64_t>(part));
    }
    first.insert(channels[0]);
  }
  EXPECT_GT(first.size(), 12u) << "drawn, not fixed";
}

// Compares the density within five deviations. The values that are not zero are those that `normal`
// draws.
TEST(DistributionTest, SparseIsANormalWithZeros) {
  const std::vector<double> plain = drawn("normal,mean=2", {300, 100});
  const std::vector<double> sparse = drawn("sparse,mean=2,density=0.05", {300, 100});
  int nonzero = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (sparse[i] == 0) continue;
    ++nonzero;
    ASSERT_EQ(sparse[i], plain[i]);
  }
  EXPECT_NEAR(nonzero, 1500, 5 * std::sqrt(30000 * 0.05 * 0.95));
  for (const double v : drawn("sparse,density=0", {50})) ASSERT_EQ(v, 0);
  EXPECT_EQ(drawn("sparse,density=1", {50}), drawn("normal", {50}));
}

// One place in each row, for every matrix and for rows that are longer than a block. All places
// occur.
TEST(DistributionTest, OneHot) {
  for (const Shape& shape : {Shape{400, 7}, Shape{2, 3, 2000}, Shape{5}, Shape{}}) {
    const std::vector<double> values = drawn("one_hot,scale=3", shape);
    const auto columns = static_cast<std::size_t>(shape.empty() ? 1 : shape.back());
    std::set<std::size_t> places;
    for (std::size_t row = 0; row < values.size() / columns; ++row) {
      int hot = 0;
      for (std::size_t j = 0; j < columns; ++j) {
        const double v = values[row * columns + j];
        ASSERT_TRUE(v == 0 || v == 3);
        if (v != 3) continue;
        ++hot;
        places.insert(j);
      }
      ASSERT_EQ(hot, 1) << row;
    }
    if (columns == 7) {
      EXPECT_EQ(places.size(), 7u);
    }
  }
}

TEST(DistributionTest, Hilbert) {
  const std::vector<double> values = drawn("hilbert", {2, 3, 4});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = i % 12;
    EXPECT_EQ(values[i], 1.0 / static_cast<double>(at / 4 + at % 4 + 1)) << i;
  }
  EXPECT_EQ(drawn("hilbert", {3}), (std::vector<double>{1, 0.5, 1.0 / 3}));
}

// Block c of all blocks, matrix by matrix, holds normal draw c.
TEST(DistributionTest, BlockConstant) {
  const std::vector<double> values = drawn("block_constant,block=4,mean=1", {2, 10, 9});
  std::map<std::size_t, double> blocks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = i % 90;
    const std::size_t block = i / 90 * 9 + at / 9 / 4 * 3 + at % 9 / 4;
    const auto [found, is_new] = blocks.emplace(block, values[i]);
    ASSERT_EQ(values[i], found->second) << i;
  }
  Random random(1, 2);
  ASSERT_EQ(blocks.size(), 18u);
  for (const auto& [block, value] : blocks) EXPECT_EQ(value, 1 + random.normal()) << block;
}

TEST(DistributionTest, IdenticalAndConstantColumns) {
  for (const Shape& shape : {Shape{3, 70, 40}, Shape{2, 3, 2000}, Shape{1, 1500, 2}}) {
    const std::vector<double> alike = drawn("identical_columns", shape);
    const std::vector<double> constant = drawn("constant_columns", shape);
    const auto rows = static_cast<std::size_t>(shape[1]),
               columns = static_cast<std::size_t>(shape[2]);
    Random by_row(1, 2), by_column(1, 2);
    for (std::size_t batch = 0; batch < static_cast<std::size_t>(shape[0]); ++batch) {
      std::vector<double> values(columns);
      for (double& v : values) v = by_column.normal();
      for (std::size_t r = 0; r < rows; ++r) {
        const double value = by_row.normal();
        for (std::size_t c = 0; c < columns; ++c) {
          const std::size_t i = (batch * rows + r) * columns + c;
          ASSERT_EQ(alike[i], value) << i;
          ASSERT_EQ(constant[i], values[c]) << i;
        }
      }
    }
  }
}

TEST(DistributionTest, CorrelatedTensorsShareAPart) {
  const Shape shape = {100, 200};
  const auto correlation = [&](const std::string& x, const std::string& y) {
    const std::vector<double> a = drawn(x, shape, 1, stream_of("a")),
                              b = drawn(y, shape, 1, stream_of("b"));
    double products = 0, squares_a = 0, squares_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      products += a[i] * b[i];
      squares_a += a[i] * a[i];
      squares_b += b[i] * b[i];
    }
    return products / std::sqrt(squares_a * squares_b);
  };
  // The correlation of z1 and rho z1 + (1 - rho) z2 is rho / sqrt(rho^2 + (1 - rho)^2).
  EXPECT_NEAR(correlation("correlated,rho=1", "correlated,rho=0.5"), std::sqrt(0.5), 0.02);
  EXPECT_NEAR(correlation("correlated,rho=1", "correlated,rho=0.9"), 0.9 / std::sqrt(0.82), 0.02);
  EXPECT_NEAR(correlation("correlated,rho=1", "correlated,rho=0"), 0, 0.02);
  EXPECT_NEAR(correlation("correlated,rho=1", "correlated,rho=0.6,standard=1"), 0.6, 0.02);
  EXPECT_NEAR(correlation("correlated,rho=1", "correlated,rho=-0.6,standard=1"), -0.6, 0.02);
  EXPECT_NEAR(correlation("correlated,rho=1", "correlated,rho=1"), 1, 1e-12);
  EXPECT_EQ(drawn("correlated,rho=0", shape), drawn("normal", shape));
  // Along K, a row of A and a column of B hold the same numbers.
  const std::vector<double> a = drawn("correlated,rho=1,axis=-1", {3, 50}, 1, 8),
                            b = drawn("correlated,rho=1,axis=-2", {50, 4}, 1, 9);
  for (std::size_t k = 0; k < 50; ++k) {
    for (std::size_t m = 0; m < 3; ++m) {
      for (std::size_t n = 0; n < 4; ++n) ASSERT_EQ(a[m * 50 + k], b[k * 4 + n]);
    }
  }
}

TEST(DistributionTest, IntegersReachBothEndsEqually) {
  std::map<double, int> counts;
  for (const double v : drawn("integers,low=-3,high=6", {20000})) ++counts[v];
  ASSERT_EQ(counts.size(), 10u);
  double chi = 0;
  for (const auto& [value, count] : counts) {
    EXPECT_TRUE(value == std::floor(value) && value >= -3 && value <= 6);
    chi += (count - 2000.0) * (count - 2000.0) / 2000;
  }
  EXPECT_LT(chi, 27.9) << "9 degrees of freedom, p = 0.001";
  std::set<double> wide;
  for (const double v : drawn("integers,low=-4503599627370496,high=4503599627370496", {1000})) {
    EXPECT_EQ(v, std::floor(v));
    wide.insert(v);
  }
  EXPECT_EQ(wide.size(), 1000u);
}

TEST(DistributionTest, SubnormalsAreOfTheFormat) {
  for (const Format& format : formats()) {
    if (!format.is_float() || min_normal(format) == min_subnormal(format)) continue;
    const Tensor t = draw(parse_distribution("subnormals,fraction=0.75"), format, {4000}, 1, 2);
    int subnormal = 0, negative = 0;
    std::set<std::uint64_t> codes;
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const double value = t.view().value_at(i);
      ASSERT_NE(value, 0) << format.name;
      ASSERT_LE(std::abs(value), 2 * min_normal(format)) << format.name;
      subnormal += std::abs(value) < min_normal(format) ? 1 : 0;
      negative += value < 0 ? 1 : 0;
      codes.insert(t.bits_at(i));
    }
    EXPECT_NEAR(subnormal, 3000, 140) << format.name;
    EXPECT_NEAR(negative, 2000, 160) << format.name;
    const bool e4m3 = format.name == "float8_e4m3fn" || format.name == "float8_e4m3fnuz";
    if (e4m3) {
      EXPECT_EQ(codes.size(), 30u) << format.name;
    }
  }
}

TEST(DistributionTest, SpecialsCome) {
  const std::string text =
      "specials,zeros=0.1,negative_zeros=0.1,infinities=0.1,nans=0.1,largest=0.1";
  struct Counts {
    int zeros = 0, negative_zeros = 0, infinities = 0, negative_infinities = 0, nans = 0,
        largest = 0, negative_largest = 0;
  };
  const auto count = [&](const char* dtype) {
    const Format& format = format_named(dtype);
    const double largest = max_finite(format);
    Counts c;
    for (const double v : drawn(text, {10000}, 1, 2, format)) {
      c.zeros += v == 0 && !std::signbit(v) ? 1 : 0;
      c.negative_zeros += v == 0 && std::signbit(v) ? 1 : 0;
      c.infinities += std::isinf(v) ? 1 : 0;
      c.negative_infinities += std::isinf(v) && v < 0 ? 1 : 0;
      c.nans += std::isnan(v) ? 1 : 0;
      c.largest += std::abs(v) == largest ? 1 : 0;
      c.negative_largest += v == -largest ? 1 : 0;
    }
    return c;
  };
  for (const char* dtype : {"float64", "float32", "bfloat16", "float16", "float8_e5m2"}) {
    const Counts c = count(dtype);
    EXPECT_NEAR(c.zeros, 1000, 120) << dtype;
    EXPECT_NEAR(c.negative_zeros, 1000, 120) << dtype;
    EXPECT_NEAR(c.infinities, 1000, 120) << dtype;
    EXPECT_NEAR(c.negative_infinities, 500, 90) << dtype;
    EXPECT_NEAR(c.nans, 1000, 120) << dtype;
    EXPECT_NEAR(c.largest, 1000, 120) << dtype;
    EXPECT_NEAR(c.negative_largest, 500, 90) << dtype;
  }
  // A special value that a format lacks is replaced by a normal draw.
  EXPECT_EQ(count("float8_e4m3fn").infinities, 0);
  EXPECT_NEAR(count("float8_e4m3fn").nans, 1000, 120);
  EXPECT_EQ(count("int8").nans, 0);
  EXPECT_NEAR(count("int8").largest, 1000, 120);
  EXPECT_EQ(count("float4_e2m1fn").nans, 0);
}

}  // namespace
}  // namespace assay
