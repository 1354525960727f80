// Tests which models identify finds, and that it does not claim to find others.
#include "assay/identify/identify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "assay/identify/candidate_text.h"
#include "assay/identify/sentence.h"
#include "assay/identify/space_parameters.h"
#include "emulated.h"
#include "identify/blind.h"
#include "identify/computed.h"

namespace assay::identify {
namespace {

using testing::ElementsAre;
using testing::Pair;

// The nightly test takes a thousand models.
TEST(BlindIdentify, FindsRandomModelsUpToEquivalence) {
  const BlindResult result = blind(20, walks_a_share() ? 21 : 23, 1);
  EXPECT_EQ(result.excluded, 0) << result.failures;
  EXPECT_EQ(result.found, result.models) << result.failures;
}

enum class Rows : std::uint8_t { kLastOfEachMachine, kAll };

void expect_rows_are_found(Rows rows) {
  for (const Machine& machine : machines()) {
    for (const DotModel& row : machine.dots) {
      if (row.accumulator.value == "int32") continue;
      if (rows == Rows::kLastOfEachMachine && &row != &machine.dots.back()) continue;
      const bool converts = row.input == "tfloat32" || row.input == "hfloat32";
      const std::string dtype(converts ? "float32" : row.input);
      std::vector<Case> cases = probes(format_named(dtype), nullptr, 3);
      std::erase_if(cases, [](const Case& c) {
        return !c.name.ends_with("normal_k128") && c.name.find("near_1") == std::string::npos;
      });
      for (Case& c : cases) {
        Case asked = c;
        if (converts) asked.attributes["compute_dtype"] = std::string(row.input);
        c.output().recorded["device"].tensor = emulate(asked, machine, 0);
      }
      int found = 0;
      const std::vector<Finding> findings = identified(cases);
      for (std::size_t i = 0; i < findings.size(); ++i) {
        const Finding& f = findings[i];
        EXPECT_NE(f.outcome, Outcome::kNone) << machine.name << " " << row.input;
        found += f.outcome == Outcome::kFound ? 1 : 0;
        if (f.outcome != Outcome::kFound) continue;
        EXPECT_TRUE(f.is_row) << machine.name << " " << row.input << ": " << f.model;
        Case again = cases[i];
        for (const auto& [name, value] : f.parameters) again.attributes[name] = value;
        const Tensor ours = emulate(again, machine_named(f.model), 0);
        for (std::int64_t e = 0; e < ours.size(); ++e) {
          ASSERT_EQ(ours.bits_at(e), cases[i].output().recorded.at("device").tensor.bits_at(e))
              << f.model;
        }
      }
      // In products of 8-bit floats, hardly any term lies so far below another that 25 bits do not
      // hold both. So a unit that keeps 25 bits or more need not be found.
      const bool shows = format_named(dtype).bits > 8 || row.kept_bits.value < 25;
      EXPECT_GE(found, shows ? 1 : 0) << machine.name << " " << row.input;
    }
  }
}

TEST(Identify, FindsARowOfEachMachine) { expect_rows_are_found(Rows::kLastOfEachMachine); }
TEST(Identify, FindsEveryRowOfTheTable) { expect_rows_are_found(Rows::kAll); }

TEST(Identify, FindsHowKIsDivided) {
  for (const std::int64_t split : {1408, 36, 511, 3}) {
    const std::int64_t k = split == 1408 ? 4096 : split == 36 ? 129 : 1024;
    const Case c = computed("hopper", "float16", 8, k, 16,
                            {{"output_dtype", std::string("float32")}, {"split_k", split}});
    const Finding f = identified({c}).at(0);
    EXPECT_EQ(f.outcome, Outcome::kFound) << split;
    EXPECT_EQ(f.model, "hopper");
    EXPECT_THAT(f.parameters, ElementsAre(Pair("split_k", Attribute(split))));
  }
}

TEST(Identify, FindsWhereTheBiasEnters) {
  for (const char* machine : {"hopper", "hopper,bias_first=1"}) {
    const Case c = computed(machine, "bfloat16", 32, 64, 32,
                            {{"output_dtype", std::string("float32")}, {"with_bias", 1}});
    const Finding f = identified({c}).at(0);
    EXPECT_EQ(f.outcome, Outcome::kFound);
    EXPECT_EQ(f.model, machine);
  }
}

TEST(Identify, EvidenceCountsWhatWouldDiffer) {
  const Case c =
      computed("hopper", "float16", 32, 128, 32, {{"output_dtype", std::string("float32")}});
  const Finding f = identified({c}, true).at(0);
  ASSERT_EQ(f.outcome, Outcome::kFound);
  const auto kept = std::find_if(f.evidence.begin(), f.evidence.end(),
                                 [](const Evidence& e) { return e.parameter == "kept_bits"; });
  ASSERT_NE(kept, f.evidence.end());
  EXPECT_EQ(kept->value, "25");
  EXPECT_EQ(kept->of, 1024);
  // The product is computed with the rival model. It differs from the output in as many elements as
  // the finding says.
  Case other = c;
  const Tensor ours = emulate(other, machine_named("hopper,kept_bits=" + kept->rival), 1);
  std::int64_t differ = 0;
  for (std::int64_t i = 0; i < ours.size(); ++i) {
    differ += ours.bits_at(i) != c.output().recorded.at("device").tensor.bits_at(i) ? 1 : 0;
  }
  EXPECT_EQ(kept->differ, differ);
  EXPECT_GT(differ, 100);
}

TEST(Identify, OneOutputMayDecideWhatAnotherLeavesOpen) {
  // 16-bit results hardly ever show how many bits are kept.
  Case narrow =
      computed("hopper", "bfloat16", 8, 64, 8, {{"output_dtype", std::string("bfloat16")}}, 2);
  narrow.name = "narrow";
  const Finding alone = identified({narrow}).at(0);
  EXPECT_EQ(alone.outcome, Outcome::kUndecided);
  EXPECT_FALSE(alone.by_others);
  EXPECT_FALSE(alone.rivals.empty());
  Case wide =
      computed("hopper", "bfloat16", 16, 64, 16, {{"output_dtype", std::string("float32")}}, 3);
  wide.name = "wide";
  const std::vector<Finding> both = identified({narrow, wide});
  EXPECT_EQ(both[0].model, "hopper");
  EXPECT_EQ(both[1].model, "hopper");
  EXPECT_EQ(both[1].outcome, Outcome::kFound);
}

TEST(Identify, OfOneOutputNoOthersDecide) {
  const Case one = computed("cpu_mul_add", "float32", 64, 32, 16, {}, 1);
  const Finding f = identified({one}).at(0);
  EXPECT_EQ(f.model, "cpu_mul_add");
  EXPECT_FALSE(f.by_others);
}

TEST(Identify, NoiseOfOneUlpIsExplainedByNothing) {
  for (const char* dtype : {"float16", "float32"}) {
    Case c = computed(std::string_view(dtype) == "float32" ? "ascend910b" : "hopper", dtype, 32, 32,
                      32, {{"output_dtype", std::string("float32")}});
    Tensor& output = c.output().recorded.at("device").tensor;
    for (const std::int64_t i : {17, 400, 1000}) {
      output.set_bits(i, next_up(output.format(), output.bits_at(i)));
    }
    const Finding f = identified({c}).at(0);
    EXPECT_EQ(f.outcome, Outcome::kNone);
    EXPECT_EQ(f.agree, 1024 - 3);
    EXPECT_EQ(f.of, 1024);
    EXPECT_EQ(f.largest_ulps, 1u);
  }
}

TEST(Identify, AnOrderThatChangesFromElementToElementIsExplainedByNothing) {
  // The parts are added as they arrive, by atomic additions, so that their order differs between
  // elements.
  Case c = computed("hopper", "bfloat16", 32, 128, 32, {{"output_dtype", std::string("float32")}});
  std::vector<std::vector<double>> parts;
  const std::vector<double> a = c.input("a").view().values(), b = c.input("b").view().values();
  const DotModel& model = dot_model(machine_named("hopper"), format_named("bfloat16"));
  Random random(5, 0);
  std::vector<double> sums;
  for (std::int64_t i = 0; i < 32 * 32; ++i) {
    std::vector<float> of_parts;
    for (std::int64_t k = 0; k < 128; k += 32) {
      of_parts.push_back(static_cast<float>(dot_oracle(model, 32, a.data() + i / 32 * 128 + k, 1,
                                                       b.data() + k * 32 + i % 32, 32, 0)));
    }
    for (std::size_t left = of_parts.size(); left > 1; --left) {
      std::swap(of_parts[left - 1], of_parts[random.below(left)]);
    }
    float sum = 0;
    for (const float part : of_parts) sum += part;
    sums.push_back(static_cast<double>(sum));
  }
  c.output().recorded["device"].tensor =
      Tensor::from_values(format_named("float32"), {32, 32}, sums);
  const Finding f = identified({c}).at(0);
  EXPECT_EQ(f.outcome, Outcome::kNone);
  EXPECT_LT(f.agree, f.of);
}

TEST(Identify, AnotherOperatorsOutputIsExplainedByNothing) {
  Case c = computed("hopper", "float16", 16, 64, 16, {{"output_dtype", std::string("float32")}});
  std::vector<double> values = c.output().recorded.at("device").tensor.view().values();
  for (double& v : values) v = std::max(v, 0.0) + 0.125;
  c.output().recorded["device"].tensor =
      Tensor::from_values(format_named("float32"), {16, 16}, values);
  EXPECT_EQ(identified({c}).at(0).outcome, Outcome::kNone);
}

TEST(Identify, MutantsAreNotTakenForTheRow) {
  for (const char* change : {"kept_bits=24",
                             "kept_bits=26",
                             "kept_bits=0",
                             "chunk=8",
                             "chunk=32",
                             "chunk=4",
                             "rounding=nearest_even",
                             "rounding=up",
                             "rounding=down",
                             "rounding=nearest_away",
                             "rounding=to_odd",
                             "alignment=nearest_even",
                             "alignment=nearest_away",
                             "alignment=up",
                             "alignment=down",
                             "alignment=to_odd",
                             "mantissa_bits=22",
                             "mantissa_bits=13",
                             "mantissa_bits=21",
                             "mantissa_bits=20",
                             "kept_bits=23",
                             "kept_bits=22",
                             "kept_bits=27",
                             "kept_bits=28",
                             "chunk=2",
                             "chunk=1",
                             "chunk=64",
                             "chunk=12",
                             "accumulator=float16",
                             "promotion_interval=64",
                             "promotion_interval=32"}) {
    const std::string mutant = std::string("hopper,") + change;
    const Case c =
        computed(mutant, "bfloat16", 16, 128, 16, {{"output_dtype", std::string("float32")}});
    const Finding f = identified({c}).at(0);
    EXPECT_NE(f.outcome, Outcome::kNone) << mutant;
    EXPECT_FALSE(f.model == "hopper" && f.parameters.empty()) << mutant;
  }
}

// For every model that is tried, the printed text of the model leads back to it.
TEST(Identify, ATextMeansItsModel) {
  for (const char* dtype : {"float16", "bfloat16", "float8_e4m3fn", "float32"}) {
    const Case c = computed(std::string_view(dtype) == "float8_e4m3fn" ? "hopper" : "cpu_fma",
                            dtype, 4, 64, 4, {{"output_dtype", std::string("float32")}});
    const Sums s = sums_of(c, "device");
    std::vector<Candidate> candidates = grid(s, {}, false);
    for (const Candidate& row : row_candidates(s, {})) {
      for (Candidate& next : neighbours(s, row, false)) candidates.push_back(std::move(next));
    }
    const std::size_t step = walks_a_share() ? 997 : 31;
    for (std::size_t i = 0; i < candidates.size(); i += step) {
      Candidate candidate = candidates[i];
      candidate.split = {};
      candidate.inner_interval = 0;
      candidate = plain(candidate);
      if (candidate.compute != nullptr) continue;  // the case's
      const CandidateText text = text_of(s, candidate);
      const Machine machine = machine_named(text.machine);
      Candidate read = candidate_of(s, machine, dot_model(machine, *s.a_format), {});
      read.output_rounding = candidate.output_rounding;
      // The product has no bias, so that bias_first does not matter. It is copied for the
      // comparison.
      read.bias_first = candidate.bias_first;
      EXPECT_TRUE(same(read, candidate)) << text.machine << ": " << text_of_model(candidate.model)
                                         << ", read as " << text_of_model(read.model);
    }
  }
}

TEST(Identify, FindsTheOrderOfAReduction) {
  Random random(3, 0);
  for (const char* order : {"sequential", "pairwise"}) {
    Case c;
    c.name = "sum";
    c.op = "reduce_sum";
    std::vector<double> values;
    for (int i = 0; i < 64 * 300; ++i) values.push_back(random.normal());
    c.inputs["x"] = Tensor::from_values(format_named("float32"), {64, 300}, values);
    c.attributes["axis"] = std::int64_t{1};
    c.attributes["order"] = std::string(order);
    c.output().recorded["device"].tensor = emulate(c, machine_named("cpu_fma"), 1);
    const Finding f = identified({c}).at(0);
    EXPECT_EQ(f.outcome, Outcome::kFound) << order;
    EXPECT_EQ(attribute_text(f.parameters.at("order")), order);
  }
}

TEST(Identify, WhatItCannotExplainIsNamedWithTheReason) {
  Case c = computed("hopper", "float16", 4, 16, 4);
  c.op = "softmax";
  EXPECT_EQ(identified({c}).at(0).why,
            "identify does not explain softmax as sums of products; it explains matmul, dot and "
            "scaled_matmul");
}

TEST(Identify, RowsOfTheSameArithmeticAreNamedTogether) {
  const Finding f = identified({computed("cpu_fma", "float32", 16, 64, 16)}).at(0);
  EXPECT_EQ(f.outcome, Outcome::kFound);
  EXPECT_THAT(f.alike, testing::IsSupersetOf({"cpu_fma", "hopper"}));
  EXPECT_THAT(f.alike, testing::Not(testing::Contains("cpu_mul_add")));
  EXPECT_THAT(f.sentence,
              testing::StartsWith(
                  "Float32 FMA in ascending order: cpu_fma, Hopper's plain cores, CDNA1's"));
  EXPECT_THAT(f.sentence, testing::EndsWith(", K undivided."));
}

TEST(Identify, SentencesSayHowKIsDivided) {
  const Finding f =
      identified({computed("hopper", "float16", 8, 4096, 16,
                           {{"output_dtype", std::string("float32")}, {"split_k", 1024}})})
          .at(0);
  EXPECT_THAT(f.sentence, testing::StartsWith("Hopper's tensor cores"));
  EXPECT_THAT(f.sentence, testing::EndsWith(", K in 4 parts of 1 024, added in float32."));
}

TEST(Identify, EveryMachineOfTheTableHasWords) {
  for (const Machine& machine : machines()) {
    for (const DotModel& row : machine.dots) {
      EXPECT_THAT(units_in_words({std::string(machine.name)}, row.input),
                  testing::Not(testing::HasSubstr("the matrix unit of")))
          << machine.name << " has no entry in sentence.cc";
    }
  }
}

// A chunk that holds all terms is as good as any longer one, a floor below every product acts on
// none, and nothing is flushed if nothing is subnormal.
TEST(Identify, ModelsThatCannotDifferAreOne) {
  const Case short_sums = computed("hopper", "bfloat16", 8, 16, 8),
             long_sums = computed("hopper", "bfloat16", 8, 48, 8);
  const Machine& hopper = machine_named("hopper");
  for (const Case* c : {&short_sums, &long_sums}) {
    const Sums s = sums_of(*c, "device");
    const Candidate row = candidate_of(s, hopper, *row_of(s, hopper, {}), {});
    const Candidate form = canonical(s, row);
    const auto is_one = [&](auto change) {
      Candidate other = row;
      change(other);
      EXPECT_FALSE(same(other, row));
      return same(canonical(s, other), form);
    };
    EXPECT_EQ(is_one([](Candidate& o) { o.model.chunk.value = 32; }), c == &short_sums);
    EXPECT_TRUE(is_one([](Candidate& o) { o.model.emax_floor.value = DotModel::kNoFloor; }));
    EXPECT_TRUE(is_one([](Candidate& o) { o.model.flush_inputs.value = true; }));
    EXPECT_TRUE(is_one([](Candidate& o) { o.model.flush_sums.value = true; }));
    EXPECT_FALSE(is_one([](Candidate& o) { o.model.chunk.value = 8; }));
    EXPECT_FALSE(is_one([](Candidate& o) { o.model.kept_bits.value = 24; }));
    EXPECT_FALSE(is_one([](Candidate& o) { o.split.terms = 8; }));
  }
  Case subnormal = short_sums;
  std::vector<double> values = subnormal.inputs.at("a").view().values();
  values[3] = std::ldexp(1.0, -130);
  subnormal.inputs.insert_or_assign("a",
                                    Tensor::from_values(format_named("bfloat16"), {8, 16}, values));
  const Sums s = sums_of(subnormal, "device");
  const Candidate row = candidate_of(s, hopper, *row_of(s, hopper, {}), {});
  Candidate other = row;
  other.model.flush_inputs.value = true;
  EXPECT_FALSE(same(canonical(s, other), canonical(s, row)));
  other = row;
  other.model.emax_floor.value = -120;
  EXPECT_FALSE(same(canonical(s, other), canonical(s, row)));
}

// Sums that fit into one chunk leave the size of the chunk open. Models that differ only in this
// count as one.
TEST(Identify, ShortSumsOfOneUnitAreOneModel) {
  std::vector<Case> cases;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    cases.push_back(computed("hopper", "bfloat16", 8, 16, 16, {}, seed));
    cases.back().name = "short" + std::to_string(seed);
  }
  Case subnormal = computed("exact", "bfloat16", 8, 16, 16, {}, 4);
  std::vector<double> values = subnormal.inputs.at("a").view().values();
  for (double& v : values) v = std::ldexp(v, -125);
  subnormal.inputs.insert_or_assign("a",
                                    Tensor::from_values(format_named("bfloat16"), {8, 16}, values));
  cases.push_back(computed_by("hopper", std::move(subnormal)));
  cases.back().name = "subnormal";
  for (const Finding& f : identified(cases)) {
    // Subnormal operands leave open at which exponent they are cut.
    const Outcome outcome = f.case_name == "subnormal" ? Outcome::kUndecided : Outcome::kFound;
    EXPECT_EQ(f.outcome, outcome) << f.case_name << ": " << f.sentence;
    EXPECT_EQ(f.model, "hopper") << f.case_name;
  }
}

// Rounded results leave hundreds of models open. The next output rules out some of the models that
// explain the first one. The first model that is left explains all outputs.
TEST(Identify, OpenOutputsNarrowEachOther) {
  std::vector<Case> cases;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    cases.push_back(computed("hopper", "bfloat16", 16, 256, 16,
                             {{"output_dtype", std::string("bfloat16")}}, seed));
    cases.back().name = "rounded" + std::to_string(seed);
  }
  const std::vector<Finding> findings = identified(cases);
  int by_others = 0;
  for (const Finding& f : findings) {
    EXPECT_EQ(f.outcome, Outcome::kUndecided) << f.sentence;
    EXPECT_EQ(f.model, findings[0].model) << f.sentence;
    for (const Case& c : cases) EXPECT_EQ(computed_again(c, f), 16 * 16) << f.sentence;
    by_others += f.by_others ? 1 : 0;
  }
  EXPECT_EQ(by_others, 3);
  const auto [least, most] =
      std::minmax_element(findings.begin(), findings.end(),
                          [](const Finding& x, const Finding& y) { return x.fits < y.fits; });
  EXPECT_LT(least->fits, most->fits);
}

// Each machine's output on several shapes, with wide and narrow results: whatever is found for sure
// gives the results of that machine on other data, too.
void expect_no_wrong_model(Rows rows) {
  int found = 0;
  for (const Machine& machine : machines()) {
    for (const DotModel& row : machine.dots) {
      if (row.accumulator.value == "int32") continue;
      if (rows == Rows::kLastOfEachMachine && &row != &machine.dots.back()) continue;
      const bool converts = row.input == "tfloat32" || row.input == "hfloat32";
      if (converts) continue;
      const std::string dtype(row.input);
      for (const std::int64_t k : {3, 40, 256}) {
        for (const bool is_wide : {true, false}) {
          // Narrow results seldom decide between models and take long, so that they are tested for
          // one K only.
          if (!is_wide && k != 40) continue;
          const std::map<std::string, Attribute> attributes = {
              {"output_dtype", std::string(is_wide ? "float32" : "bfloat16")}};
          const std::string name(machine.name);
          const Case c = computed(name, dtype.c_str(), 8, k, 16, attributes, 1);
          const Finding f = identified({c}).at(0);
          SCOPED_TRACE(name + " " + dtype + " K " + std::to_string(k) + ": " + f.model);
          EXPECT_NE(f.outcome, Outcome::kNone);
          EXPECT_EQ(computed_again(c, f), 8 * 16);
          if (f.outcome != Outcome::kFound) continue;
          ++found;
          // Models that differ only for subnormal operands are named together.
          if (std::find(f.alike.begin(), f.alike.end(), name) != f.alike.end()) continue;
          const Case other = computed(name, dtype.c_str(), 16, k, 16, attributes, 2);
          EXPECT_EQ(computed_again(other, f), 16 * 16);
        }
      }
    }
  }
  EXPECT_GT(found, rows == Rows::kAll ? 20 : 5);
}

TEST(Identify, NoWrongModelIsFoundForSure) { expect_no_wrong_model(Rows::kLastOfEachMachine); }
TEST(Identify, NoWrongModelOfAnyRowIsFoundForSure) { expect_no_wrong_model(Rows::kAll); }

TEST(Identify, TwoUnitsOfOneProducerAreFoundBesideEachOther) {
  Case chain = computed("cpu_fma", "float32", 16, 96, 16, {}, 1);
  chain.name = "chain";
  Case converted =
      computed("hopper", "float32", 16, 96, 16, {{"compute_dtype", std::string("tfloat32")}}, 2);
  converted.name = "converted";
  const std::vector<Finding> found = identified({chain, converted});
  EXPECT_EQ(found[0].outcome, Outcome::kFound);
  EXPECT_TRUE(found[0].parameters.empty());
  EXPECT_EQ(found[1].outcome, Outcome::kFound);
  EXPECT_THAT(found[1].parameters,
              ElementsAre(Pair("compute_dtype", Attribute(std::string("tfloat32")))));
}

TEST(Identify, UndecidedSaysWhatWouldDecide) {
  const Case c =
      computed("hopper", "bfloat16", 4, 256, 8, {{"output_dtype", std::string("bfloat16")}});
  const Finding f = identified({c}).at(0);
  ASSERT_EQ(f.outcome, Outcome::kUndecided);
  EXPECT_THAT(f.sentence, testing::StartsWith("Undecided: "));
  ASSERT_TRUE(f.decision.has_value());
  const Decision& d = *f.decision;
  EXPECT_EQ(d.format, &format_named("bfloat16"));
  EXPECT_EQ(d.output, &format_named("bfloat16"));
  EXPECT_EQ(std::tuple(d.shape.m, d.shape.k, d.shape.n), std::tuple(4, 256, 8));
  EXPECT_EQ(d.command, "");
  EXPECT_GT(d.told_apart, 1u);
  EXPECT_LE(d.told_apart, d.arithmetics);
  EXPECT_LE(d.arithmetics, d.models);
  EXPECT_GE(d.like_first, 1u);
  EXPECT_FALSE(d.parameters.empty());
  // The probe tells the found model apart from some of those that fit as well.
  const std::vector<Case> all =
      probes(format_named("bfloat16"), &format_named("bfloat16"), 0, ProbeShape{4, 256, 8});
  const auto probe =
      std::find_if(all.begin(), all.end(), [&](const Case& one) { return one.name == d.probe; });
  ASSERT_NE(probe, all.end());
  const Tensor ours = emulate(*probe, machine_named(f.model), 0);
  int differ = 0;
  for (const std::string& rival : f.rivals) {
    // A rival with a blank also has parameters of the case, which emulate() would need.
    if (rival.find(' ') != std::string::npos) continue;
    const Tensor others = emulate(*probe, machine_named(rival), 0);
    bool is_same = true;
    for (std::int64_t i = 0; i < ours.size(); ++i) {
      is_same = is_same && ours.bits_at(i) == others.bits_at(i);
    }
    differ += is_same ? 0 : 1;
  }
  EXPECT_GT(differ, 0);
}

// Returns an int8 product in which all factors are `value`.
Case integer_product(const char* machine, std::int64_t k, double value) {
  Case c;
  c.name = "integers";
  c.op = "matmul";
  const std::vector<double> values(static_cast<std::size_t>(2 * k), value);
  c.inputs["a"] = Tensor::from_values(format_named("int8"), {2, k}, values);
  c.inputs["b"] = Tensor::from_values(format_named("int8"), {k, 2}, values);
  return computed_by(machine, std::move(c));
}

TEST(Identify, IntegerProductsAreExactSums) {
  // Sums of 64 int8 products stay within int32, whatever the factors are.
  const Finding f = identified({integer_product("hopper", 64, -128)}).at(0);
  EXPECT_EQ(f.outcome, Outcome::kFound);
  EXPECT_THAT(f.alike, testing::UnorderedElementsAre("ascend910b", "hopper"));
  EXPECT_THAT(f.sentence,
              testing::StartsWith("Exact int32 sums, which every order of adding gives"));
  // If sums leave int32, they show how the machine treats this.
  for (const char* machine : {"hopper", "ascend910b"}) {
    const Finding deep = identified({integer_product(machine, 131072, -128)}).at(0);
    EXPECT_EQ(deep.outcome, Outcome::kFound) << machine;
    EXPECT_EQ(deep.model, machine);
    EXPECT_EQ(deep.evidence.at(0).differ, 4) << machine;
  }
  // If sums could leave int32 but do not, this stays open.
  const Finding open = identified({integer_product("hopper", 131072, 1)}).at(0);
  EXPECT_EQ(open.outcome, Outcome::kUndecided);
  EXPECT_FALSE(open.rivals.empty());
  Case wrong = integer_product("hopper", 64, 3);
  wrong.output().recorded.at("device").tensor.set_bits(1, 7);
  const Finding none = identified({wrong}).at(0);
  EXPECT_EQ(none.outcome, Outcome::kNone);
  EXPECT_EQ(none.agree, 3);
}

}  // namespace
}  // namespace assay::identify
