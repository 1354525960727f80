// Tests thresholds as text: the texts that are read, those that are refused and with which message,
// and the printed texts.
#include "assay/abft/threshold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/abft/v_abft.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::abft {
namespace {

std::string refusal_of(const std::string& text) {
  try {
    (void)parse_threshold(text);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "(accepted)";
}

TEST(ThresholdSpec, Defaults) {
  EXPECT_EQ(kDefaultThreshold, "rounding_variance");
  const ThresholdSpec ours = parse_threshold(kDefaultThreshold);
  EXPECT_EQ(ours.threshold->name, "rounding_variance");
  EXPECT_EQ(ours.group_width(), 16);
  EXPECT_TRUE(ours.confirm);
  EXPECT_FALSE(ours.columns);
  EXPECT_FALSE(ours.coarse);
  EXPECT_EQ(ours.delta, 1e-9);
  EXPECT_FALSE(ours.kappa);
  EXPECT_EQ(ours.arithmetic, Arithmetic::kFloat64);
  EXPECT_EQ(parse_threshold("aclnn").group_width(), 256);
  EXPECT_EQ(parse_threshold("torch_npu").arithmetic, Arithmetic::kFloat32);
  EXPECT_TRUE(parse_threshold("v_abft,variant=sampling").recheck);
  EXPECT_EQ(parse_threshold("v_abft,sample_a=1/2,variant=sampling").sample_a, (Sampling{1, 2}));
  for (const char* name : {"v_abft", "a_abft"}) {
    const ThresholdSpec published = parse_threshold(name);
    EXPECT_EQ(published.threshold->name, name);
    EXPECT_EQ(published.group_width(), 0);  // whole rows
    EXPECT_FALSE(published.confirm);
    EXPECT_EQ(published.variant, name[0] == 'v' ? "seed" : "mixed");
  }
}

TEST(ThresholdSpec, ReadsEveryParameter) {
  const ThresholdSpec ours = parse_threshold(
      "rounding_variance,groups=3,columns=1,confirm=0,delta=1e-6,kappa=6.5,coarse=true,"
      "arithmetic=output");
  EXPECT_EQ(ours.group_width(), 3);
  EXPECT_TRUE(ours.columns);
  EXPECT_FALSE(ours.confirm);
  EXPECT_EQ(ours.delta, 1e-6);
  EXPECT_EQ(ours.kappa, 6.5);
  EXPECT_TRUE(ours.coarse);
  EXPECT_EQ(ours.arithmetic, Arithmetic::kOutput);
  EXPECT_EQ(parse_threshold("rounding_variance,groups=0").group_width(), 0);
  EXPECT_FALSE(parse_threshold("rounding_variance,confirm=false").confirm);
  const ThresholdSpec v = parse_threshold("v_abft,variant=recalibrated,e_max=0.25,c=3,confirm=1");
  EXPECT_EQ(v.variant, "recalibrated");
  EXPECT_EQ(v.e_max, 0.25);
  EXPECT_EQ(v.c, 3);
  EXPECT_TRUE(v.confirm);
  EXPECT_TRUE(parse_threshold("a_abft,columns=true,arithmetic=float64").columns);
}

TEST(ThresholdSpec, EveryParameterOfTheTableIsRead) {
  const auto value_of = [](const std::string& key) -> std::string {
    if (key == "arithmetic") return "output";
    if (key == "sigma") return "extreme";
    if (key.substr(0, 7) == "sample_") return "16/32";
    if (key == "delta") return "0.5";
    return "1";
  };
  for (const Threshold& t : thresholds()) {
    ASSERT_FALSE(t.parameters.empty());
    for (const ThresholdParameter* parameter : t.parameters) {
      const std::string key(parameter->name);
      const std::string value = key == "variant" ? std::string(t.default_variant()) : value_of(key);
      EXPECT_EQ(refusal_of(std::string(t.name) + "," + key + "=" + value), "(accepted)");
    }
    EXPECT_FALSE(t.summary.empty());
    EXPECT_FALSE(t.source.empty());
    EXPECT_FALSE(t.validity.empty());
  }
}

TEST(ThresholdSpec, UnknownNames) {
  const std::string known = "; known: " + joined(names_of(thresholds()));
  EXPECT_EQ(refusal_of("rounding_varience"),
            "unknown threshold 'rounding_varience': did you mean 'rounding_variance'?" + known);
  EXPECT_EQ(refusal_of("checksum"), "unknown threshold 'checksum'" + known);
  EXPECT_EQ(refusal_of(""), "unknown threshold ''" + known);
  EXPECT_EQ(refusal_of("V_ABFT,c=3").substr(0, 26), "unknown threshold 'V_ABFT'");
}

TEST(ThresholdSpec, UnknownParameters) {
  EXPECT_EQ(refusal_of("v_abft,variants=seed"),
            "threshold 'v_abft,variants=seed': v_abft takes no 'variants' (did you mean "
            "'variant'?); it takes variant, e_max, c, sigma, blocks, sample_a, sample_b, raise, "
            "recheck, columns, confirm, arithmetic");
  EXPECT_EQ(refusal_of("a_abft,kappa=3"),
            "threshold 'a_abft,kappa=3': a_abft takes no 'kappa'; it takes variant, columns, "
            "confirm, arithmetic");
  EXPECT_EQ(refusal_of("rounding_variance,blocks=2,groups=4"),
            "threshold 'rounding_variance,blocks=2,groups=4': rounding_variance takes no 'blocks'; "
            "it takes groups, columns, confirm, delta, kappa, coarse, arithmetic");
  // Blanks and capitals are not accepted.
  EXPECT_THAT(refusal_of("rounding_variance, groups=4"), testing::HasSubstr("takes no ' groups'"));
  EXPECT_THAT(refusal_of("rounding_variance,Groups=4"), testing::HasSubstr("takes no 'Groups'"));
}

TEST(ThresholdSpec, WrongValues) {
  for (const std::string value : {"groups", "groups=", "groups=-1", "groups=1.5", "groups=x",
                                  "groups=16 ", "groups=99999999999", "groups=+4"}) {
    const std::string spec = "rounding_variance," + value;
    const std::size_t equals = value.find('=');
    EXPECT_EQ(refusal_of(spec),
              "threshold '" + spec +
                  "': groups must be a number of columns, or 0 for whole rows, not '" +
                  (equals == std::string::npos ? "" : value.substr(equals + 1)) + "'");
  }
  for (const char* key : {"columns", "confirm", "coarse"}) {
    for (const char* value : {"", "2", "yes", "True", "01"}) {
      const std::string spec = std::string("rounding_variance,") + key + "=" + value;
      EXPECT_EQ(refusal_of(spec),
                "threshold '" + spec + "': " + key + " must be 0 or 1, not '" + value + "'");
    }
  }
  for (const char* key : {"delta", "kappa"}) {
    for (const char* value : {"", "0", "-1", "nan", "inf", "1e999", "1e-9x", "0x1"}) {
      const std::string spec = std::string("rounding_variance,") + key + "=" + value;
      EXPECT_EQ(refusal_of(spec), "threshold '" + spec + "': " + key +
                                      " must be a number above 0, not '" + value + "'");
    }
  }
  for (const char* key : {"e_max", "c"}) {
    const std::string spec = std::string("v_abft,") + key + "=-0.5";
    EXPECT_EQ(refusal_of(spec),
              "threshold '" + spec + "': " + key + " must be a number above 0, not '-0.5'");
  }
  EXPECT_EQ(refusal_of("rounding_variance,delta=1"),
            "threshold 'rounding_variance,delta=1': delta is a probability, below 1");
  EXPECT_EQ(refusal_of("v_abft,variant=apil"),
            "threshold 'v_abft,variant=apil': variant must be one of seed, recalibrated, april, "
            "sampling, h100, not 'apil' (did you mean 'april'?)");
  EXPECT_EQ(refusal_of("a_abft,arithmetic=bfloat16"),
            "threshold 'a_abft,arithmetic=bfloat16': arithmetic must be one of float64, float32, "
            "hi_lo, output, machine, not 'bfloat16'");
  EXPECT_EQ(refusal_of("v_abft,sigma=max"),
            "threshold 'v_abft,sigma=max': sigma must be one of bound, extreme, deviation, not "
            "'max'");
  for (const char* value : {"16", "0/32", "33/32", "a/b", "16/", "-1/4"}) {
    const std::string spec = std::string("v_abft,sample_b=") + value;
    EXPECT_EQ(refusal_of(spec),
              "threshold '" + spec +
                  "': sample_b must be WIDTH/PERIOD, as in 16/32: of every 32 the "
                  "first 16; not '" +
                  value + "'");
  }
  EXPECT_EQ(refusal_of("a_abft_original,top=-1"),
            "threshold 'a_abft_original,top=-1': top must be a number of values, or 0 for all, not "
            "'-1'");
  EXPECT_EQ(refusal_of("v_abft,c=3,c=4"), "threshold 'v_abft,c=3,c=4': 'c' is given twice");
}

TEST(ThresholdSpec, TextIsShortest) {
  for (const char* text : {"rounding_variance",
                           "rounding_variance,groups=0",
                           "rounding_variance,groups=16",
                           "rounding_variance,groups=0,columns=1",
                           "rounding_variance,confirm=0",
                           "v_abft",
                           "a_abft",
                           "v_abft,confirm=1",
                           "v_abft,variant=recalibrated",
                           "v_abft,e_max=0.008,c=2.5",
                           "a_abft,columns=1,confirm=1,arithmetic=output",
                           "rounding_variance,delta=1e-06,coarse=1",
                           "rounding_variance,kappa=6.5,arithmetic=output",
                           "aclnn,blocks=128",
                           "torch_npu",
                           "v_abft,variant=sampling",
                           "v_abft,variant=sampling,sample_b=16/32,raise=1.5,recheck=0",
                           "v_abft,blocks=256,sigma=extreme",
                           "a_abft,variant=components",
                           "analytic,lambda=4",
                           "mindspore,arithmetic=float64",
                           "a_abft_original,variant=matrix,top=2",
                           "residual_compensated,groups=0",
                           "rounding_variance,arithmetic=hi_lo"}) {
    EXPECT_EQ(parse_threshold(text).text(), text);
  }
  EXPECT_EQ(parse_threshold("rounding_variance,confirm=true,delta=1e-9,columns=0").text(),
            "rounding_variance");
}

TEST(ThresholdSpec, TextReadsBack) {
  Random random(99, 1);
  for (int trial = 0; trial < 500; ++trial) {
    const Threshold& t = thresholds()[random.below(thresholds().size())];
    ThresholdSpec spec = parse_threshold(t.name);
    const auto half = [&] { return random.below(2) == 0; };
    spec.columns = half();
    if (t.takes("confirm")) spec.confirm = half();
    if (t.takes("arithmetic")) {
      spec.arithmetic = arithmetics()[random.below(arithmetics().size())].arithmetic;
    }
    if (t.name == "rounding_variance") {
      if (half()) spec.groups = static_cast<int>(random.below(300));
      if (half()) spec.delta = random.uniform() + 0x1p-60;
      if (half()) spec.kappa = 10 * random.uniform() + 0x1p-60;
      spec.coarse = half();
    }
    if (t.name == "v_abft") {
      if (half()) spec.variant = "recalibrated";
      if (half()) spec.sigma = Spread::kDeviation;
      if (half()) spec.sample_a = {3, 7};
      if (half()) spec.raise = 1 + random.uniform();
      spec.recheck = half();
      if (half()) spec.e_max = random.uniform() + 0x1p-60;
      if (half()) spec.c = 6 * random.uniform() + 0x1p-60;
    }
    const ThresholdSpec again = parse_threshold(spec.text());
    ASSERT_EQ(again.text(), spec.text());
    ASSERT_EQ(again.threshold, spec.threshold);
    ASSERT_EQ(again.groups, spec.groups);
    ASSERT_EQ(again.columns, spec.columns);
    ASSERT_EQ(again.confirm, spec.confirm);
    ASSERT_EQ(again.delta, spec.delta);
    ASSERT_EQ(again.kappa, spec.kappa);
    ASSERT_EQ(again.coarse, spec.coarse);
    ASSERT_EQ(again.variant, spec.variant);
    ASSERT_EQ(again.e_max, spec.e_max);
    ASSERT_EQ(again.c, spec.c);
    ASSERT_EQ(again.arithmetic, spec.arithmetic);
  }
}

TEST(VAbftConstants, Variants) {
  const auto constants = [](const char* spec, const char* dtype, std::int64_t k) {
    return v_abft_constants(parse_threshold(spec), format_named(dtype), k);
  };
  struct Row {
    const char *spec, *dtype;
    std::int64_t k;
    double e_max, c;
  };
  for (const Row& row : {
           Row{"v_abft", "bfloat16", 1024, 8e-3, 2.5},
           Row{"v_abft", "float16", 1024, 1e-3, 2.5},
           Row{"v_abft", "float32", 1024, 2.2e-6, 2.5},
           Row{"v_abft", "float32", 4096, 2.2e-6, 2.5},
           // Formats without published constants get e_max = 3 u and c = 4, with u = 2^-precision.
           Row{"v_abft", "float8_e4m3fn", 64, 3.0 / 16, 4},
           Row{"v_abft", "float8_e5m2", 64, 3.0 / 8, 4},
           Row{"v_abft", "hfloat32", 64, 3.0 / 4096, 4},
           Row{"v_abft,variant=recalibrated", "bfloat16", 4096, 8e-3, 5.39},
           Row{"v_abft,variant=recalibrated", "float16", 4096, 1e-3, 5.39},
           Row{"v_abft,variant=recalibrated", "float64", 4096, 7.5e-16, 5.39},
           Row{"v_abft,variant=recalibrated", "float32", 1024, 1.377e-6, 5.39},
           Row{"v_abft,variant=recalibrated", "float32", 4096, 2.754e-6, 5.39},
           Row{"v_abft,variant=recalibrated", "float32", 256, 0.6885e-6, 5.39},
           Row{"v_abft,variant=april", "float32", 4096, 4e-6, 2.5},
           Row{"v_abft,variant=sampling", "float32", 256, 1e-6, 3},
           Row{"v_abft,variant=h100", "bfloat16", 64, 8e-3, 2.5},
           Row{"v_abft,variant=h100", "float32", 1024, 1.5 * (4.1e-9 * 32 + 9.4e-8), 2.5},
           Row{"v_abft,variant=h100", "float64", 1024, 1.5 * (8.3e-18 * 32 + 2.1e-16), 2.5},
           Row{"aclnn", "bfloat16", 64, 1e-3, 4},
           Row{"aclnn", "float32", 64, 2e-5, 4},
           Row{"v_abft,variant=recalibrated,e_max=0.5", "float8_e5m2", 1, 0.5, 5.39},
           Row{"v_abft,e_max=0.5", "bfloat16", 1, 0.5, 2.5},
           Row{"v_abft,c=3", "float8_e4m3fn", 1, 3.0 / 16, 3},
           Row{"v_abft,e_max=0.25,c=7", "float32", 1, 0.25, 7},
       }) {
    SCOPED_TRACE(std::string(row.spec) + " " + row.dtype);
    EXPECT_DOUBLE_EQ(constants(row.spec, row.dtype, row.k).e_max, row.e_max);
    EXPECT_DOUBLE_EQ(constants(row.spec, row.dtype, row.k).c, row.c);
  }
  // The recalibration's c is the quantile that its document names.
  EXPECT_NEAR(constants("v_abft,variant=recalibrated", "bfloat16", 1).c,
              std::sqrt(2 * std::log(2 / 1e-6)), 0.005);
}

TEST(VAbftConstants, AVariantThatLacksAFormatSaysSo) {
  const auto error = [](const char* spec, const char* dtype) -> std::string {
    try {
      (void)v_abft_constants(parse_threshold(spec), format_named(dtype), 64);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "(accepted)";
  };
  EXPECT_EQ(error("v_abft,variant=recalibrated", "float8_e4m3fn"),
            "the variant recalibrated of v_abft has no e_max for float8_e4m3fn; give e_max, or "
            "choose another variant");
  EXPECT_EQ(error("v_abft,variant=april", "bfloat16"),
            "the variant april of v_abft has no e_max for bfloat16; give e_max, or choose another "
            "variant");
  EXPECT_EQ(
      error("v_abft,variant=h100", "float16"),
      "the variant h100 of v_abft has no e_max for float16; give e_max, or choose another variant");
  EXPECT_EQ(error("aclnn", "float16"),
            "aclnn has no e_max for float16 operands; choose another threshold");
}

TEST(Kappa, FollowsFromTheBudget) {
  EXPECT_NEAR(kappa_for(1, 1e-9), 6.545, 0.001);
  EXPECT_DOUBLE_EQ(kappa_for(2048, 1e-9), std::sqrt(2 * std::log(2 * 2048 / 1e-9)));
  // Each of the 100 checks gets a hundredth of the budget.
  EXPECT_DOUBLE_EQ(kappa_for(100, 1e-6), kappa_for(1, 1e-8));
  EXPECT_EQ(kappa_for(0, 1e-9), kappa_for(1, 1e-9));
  // The budget is 2 exp(-kappa^2 / 2), the bound of P(|error| > kappa sigma), times the number of
  // checks.
  const double kappa = kappa_for(4096, 1e-3);
  EXPECT_NEAR(4096 * 2 * std::exp(-kappa * kappa / 2), 1e-3, 1e-12);
}

// The whole table, typed a second time. A line has the width of a check, the arithmetic of its sums
// and the variants. A variant has its sample of A and whether it checks again. Then follow the
// flags, and the parameters in the order in which a refusal lists them.
TEST(Thresholds, TheTableEntryByEntry) {
  std::vector<std::string> lines;
  for (const Threshold& t : thresholds()) {
    std::string line = formatted("{} {} {}", t.name, t.groups, arithmetic_name(t.arithmetic));
    for (const ThresholdVariant& v : t.variants) {
      line += formatted(" {}:{}/{}:{}", v.name, v.sample_a.width, v.sample_a.period, v.recheck);
    }
    const auto add = [&](bool is_set, const char* word) { line += is_set ? word : ""; };
    add(t.confirms, " confirms");
    add(t.golden_suffices, " golden_suffices");
    add(t.takes_residuals, " takes_residuals");
    add(t.by_variance, " by_variance");
    add(t.reads_sizes, " reads_sizes");
    add(t.reads_operand_sizes, " reads_operand_sizes");
    add(t.reads_peaks, " reads_peaks");
    add(t.prepare != nullptr, " prepare");
    add(t.why_not != nullptr, " why_not");
    line += " |";
    for (const ThresholdParameter* p : t.parameters) line += " " + std::string(p->name);
    lines.push_back(line);
  }
  const std::vector<std::string> wanted = {
      "rounding_variance 16 float64 confirms golden_suffices by_variance prepare why_not | groups "
      "columns confirm delta kappa coarse arithmetic",
      "residual_compensated 16 float64 confirms takes_residuals by_variance prepare why_not | "
      "groups "
      "columns confirm delta kappa coarse",
      "v_abft 0 float64 seed:1/1:false recalibrated:1/1:false april:1/1:false sampling:4/32:true "
      "h100:1/1:false prepare why_not | variant e_max c sigma blocks sample_a sample_b raise "
      "recheck "
      "columns confirm arithmetic",
      "aclnn 256 float32 aclnn:1/1:false prepare why_not | blocks columns confirm arithmetic",
      "a_abft 0 float64 mixed:1/1:false components:1/1:false reads_sizes reads_operand_sizes | "
      "variant columns "
      "confirm arithmetic",
      "a_abft_original 0 float64 row:1/1:false matrix:1/1:false prepare | variant top columns "
      "confirm "
      "arithmetic",
      "sea_abft 0 float64 prepare | columns confirm arithmetic",
      "analytic 0 float64 prepare why_not | lambda columns confirm arithmetic",
      "torch_npu 0 float32 reads_sizes reads_peaks | columns confirm arithmetic",
      "mindspore 0 float32 reads_sizes reads_peaks | columns confirm arithmetic",
  };
  EXPECT_EQ(lines, wanted);
}

// A spec without parameters has the initial values of its struct.
TEST(Thresholds, WhatASpecIsUnlessTold) {
  for (const Threshold& t : thresholds()) {
    const ThresholdSpec spec = parse_threshold(t.name);
    EXPECT_EQ(spec.text(), t.name);
    EXPECT_EQ(spec.groups, -1);
    EXPECT_FALSE(spec.columns);
    EXPECT_FALSE(spec.kappa || spec.e_max || spec.c || spec.lambda);
    EXPECT_EQ(spec.sigma, Spread::kBound);
    EXPECT_TRUE(spec.sample_a.all());
    EXPECT_TRUE(spec.sample_b.all());
    EXPECT_FALSE(spec.sampled());
    EXPECT_EQ(spec.raise, 1);
    EXPECT_FALSE(spec.recheck);
    EXPECT_EQ(spec.top, 0);
  }
  const ThresholdSpec sampling = parse_threshold("v_abft,variant=sampling");
  EXPECT_EQ(sampling.sample_a, (Sampling{4, 32}));
  EXPECT_TRUE(sampling.sampled());
  EXPECT_TRUE(parse_threshold("v_abft,sample_b=1/2").sampled());
  EXPECT_TRUE((Sampling{2, 2}).all());
  EXPECT_FALSE((Sampling{2, 3}).all());
}

// Tests the width of a check, and the number of checks in a row, which is never less than one.
TEST(ThresholdSpec, WidthsOfChecks) {
  const struct {
    const char* spec;
    std::int64_t columns, width, groups;
  } rows[] = {{"rounding_variance", 0, 1, 1},
              {"rounding_variance", 1, 1, 1},
              {"rounding_variance", 16, 16, 1},
              {"rounding_variance", 17, 16, 2},
              {"rounding_variance", 32, 16, 2},
              {"rounding_variance,groups=0", 0, 1, 1},
              {"rounding_variance,groups=0", 40, 40, 1},
              {"aclnn", 255, 255, 1},
              {"aclnn", 257, 256, 2},
              {"v_abft,blocks=3", 10, 3, 4}};
  for (const auto& row : rows) {
    const ThresholdSpec spec = parse_threshold(row.spec);
    EXPECT_EQ(spec.width_of(row.columns), row.width) << row.spec << " " << row.columns;
    EXPECT_EQ(spec.groups_of(row.columns), row.groups) << row.spec << " " << row.columns;
  }
}

}  // namespace
}  // namespace assay::abft
