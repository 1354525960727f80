// Tests cells of any operator: their inputs, how gates and faults take results of any shape, and
// plans that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/base/hash.h"
#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/campaign/engine.h"
#include "assay/campaign/results.h"
#include "assay/campaign/trial.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "assay/op/sum_bound.h"
#include "assay/report/campaign_report.h"
#include "assay/wire/campaign_results_file.h"
#include "assay/wire/plan_file.h"
#include "campaign/bench.h"
#include "campaign/op_reference.h"
#include "error_of.h"

namespace assay::campaign {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Plan plan_of(const std::string& cells, int seed = 1) {
  return check_plan(wire::parse_plan(
      formatted(R"({{"schema": 1, "name": "n", "seed": {}, "cells": [{}]}})", seed, cells),
      "p.json", ""));
}
std::string cell_of(const std::string& op, const std::string& more) {
  return formatted(R"({{"operator": "{}", "dtype": "bfloat16", "clean_rows": 4, {}}})", op, more);
}
std::string bytes_of(const Tensor& t) {
  return {reinterpret_cast<const char*>(t.bytes()), at(t.size() * t.format().storage_bytes)};
}
std::string hash_of(const Tensor& t) { return formatted("{:016x}", fnv1a(bytes_of(t))); }

struct OperatorBench : testing_bench::Bench {
  explicit OperatorBench(const std::string& cell) : Bench(plan_of(cell)) {}

  // Returns the output with a trial's changes.
  Tensor changed(const Trial& t) const {
    Tensor out = matrix.output;
    const std::int64_t n = columns_of(out);
    for (const ElementChange& c : t.changes) out.set_bits(c.row * n + c.column, c.bits);
    return out;
  }
};

// Expects the result of the operator's formula. Roundings may change it by 2 percent of the largest
// value.
void expect_near_reference(const Case& c, const Tensor& output) {
  const testing_reference::Values right = testing_reference::reference(c);
  ASSERT_EQ(right.size(), at(output.size()));
  testing_reference::Real largest = 0;
  for (const auto v : right) largest = std::max(largest, std::abs(v));
  for (std::int64_t i = 0; i < output.size(); ++i) {
    EXPECT_NEAR(output.view().value_at(i), static_cast<double>(right[at(i)]),
                static_cast<double>(largest) * 0.02)
        << c.op << " element " << i;
  }
}

// The draws for matmul have the same bits as before there were other operators, because published
// rates were measured with them.
TEST(OperatorCells, MatmulDrawsWhatItAlwaysDrew) {
  const Plan plan = plan_of(R"({"dtype": "bfloat16", "shape": [8, 32, 16], "rows": 5,
      "distribution": {"a": "normal,mean=1", "b": "uniform"}, "gates": "v_abft", "clean_rows": 5})");
  const Matrix m = make_matrix(plan, plan.cells[0], 3);
  EXPECT_EQ(plan.fingerprint, "e4c6db07fd5c54d8ca7a8baa5d41c119");
  EXPECT_EQ(hash_of(m.test_case.input("a")), "50a0acfde1e71779");
  EXPECT_EQ(hash_of(m.test_case.input("b")), "23bda6dbe425e9c7");
  EXPECT_EQ(hash_of(m.output), "67723533dff017c7");
  EXPECT_EQ(m.test_case.input("a").shape(), (Shape{5, 32}));
}

TEST(OperatorCells, AreWhatGenerateMakes) {
  const Plan plan = plan_of(cell_of("layernorm", R"("shape": [3, 4, 16], "gates": "tolerance",
      "attributes": {"eps": 0.001}, "output_dtype": "float32",
      "distribution": {"draw": "normal,mean=1", "weight": "uniform", "bias": "normal"})"));
  const Cell& cell = plan.cells[0];
  EXPECT_EQ(cell.name, "layernorm bfloat16 3x4x16 normal,mean=1 weight=uniform bias=normal");
  EXPECT_EQ(cell.output->name, "float32");
  EXPECT_EQ(cell.rows_a_matrix(), 12) << "of the result";
  EXPECT_EQ(cell.matrices(), 1);
  const Matrix m = make_matrix(plan, cell, 2);
  Recipe recipe;
  recipe.dtype = &format_named("bfloat16");
  recipe.sizes = {3, 4, 16};
  recipe.attributes = {{"eps", 0.001}, {"output_dtype", std::string("float32")}};
  recipe.distribution = parse_distribution("normal,mean=1");
  recipe.distributions = {{"weight", parse_distribution("uniform")},
                          {"bias", parse_distribution("normal")}};
  recipe.seed = static_cast<std::uint64_t>(m.test_case.integer("seed").value());
  const Case right = generate_case("layernorm", recipe);
  ASSERT_EQ(m.test_case.inputs.size(), 3u);
  for (const auto& [name, tensor] : right.inputs) {
    EXPECT_EQ(bytes_of(m.test_case.input(name)), bytes_of(tensor)) << name;
  }
  EXPECT_EQ(bytes_of(m.output), bytes_of(emulate(right, machine_named("ascend910b"), 1)));
  expect_near_reference(m.test_case, m.output);
}

// The inputs follow from the seed, dtype, sizes, distributions, attributes and the matrix.
TEST(OperatorCells, WhatInputsFollowFrom) {
  const auto x_of = [](const std::string& cell, int seed = 1, std::int64_t index = 0) {
    const Plan plan = plan_of(cell, seed);
    return bytes_of(make_matrix(plan, plan.cells[0], index).test_case.input("x"));
  };
  const std::string base = R"("shape": [4, 8], "distribution": "normal", )";
  const std::string x = x_of(cell_of("softmax", base + R"("gates": "tolerance")"));
  // The input does not depend on the operator, machine, output dtype, gates, faults or name.
  EXPECT_EQ(x_of(cell_of("exp", base + R"("gates": "standard:torch", "name": "other")")), x);
  EXPECT_EQ(x_of(cell_of("softmax", base + R"("gates": "standard:torch", "machine": "exact",
      "output_dtype": "float32", "faults": [{"census": 1}])")),
            x);
  const std::set<std::string> all = {
      x,
      x_of(cell_of("softmax", base + R"("gates": "tolerance")"), 2),
      x_of(cell_of("softmax", base + R"("gates": "tolerance")"), 1, 1),
      x_of(cell_of("softmax", base + R"("gates": "tolerance", "attributes": {"axis": 0})")),
      x_of(
          cell_of("softmax", R"("shape": [8, 4], "distribution": "normal", "gates": "tolerance")")),
      x_of(cell_of(
          "softmax",
          R"("shape": [4, 8], "distribution": "normal,mean=0.001", "gates": "tolerance")"))};
  EXPECT_EQ(all.size(), 6u);
}

TEST(OperatorCells, ListsOfOperators) {
  const Plan plan = plan_of(R"({"operator": ["exp", "reduce_max"], "dtype": "float16",
      "attributes": {}, "shape": [[3], [2, 3]], "distribution": "uniform", "gates": "tolerance",
      "clean_rows": 3})");
  std::vector<std::string> names;
  for (const Cell& cell : plan.cells) names.push_back(cell.name);
  EXPECT_THAT(names, ElementsAre("exp float16 3 uniform", "exp float16 2x3 uniform",
                                 "reduce_max float16 3 uniform", "reduce_max float16 2x3 uniform"));
  EXPECT_EQ(plan.cells[0].rows_a_matrix(), 1);
  EXPECT_EQ(plan.cells[1].rows_a_matrix(), 2);
  EXPECT_EQ(plan.cells[3].rows_a_matrix(), 1) << "a scalar is one row";
  EXPECT_EQ(plan.cells[3].matrices(), 3);
  const Campaign campaign(plan, {.threads = 1});
  EXPECT_EQ(campaign.run_matrix(plan.cells[3], 0).matrices[0].clean[0].checks, 1);
}

// Any number of threads and any order of blocks give the same bytes.
TEST(OperatorCells, ThreadsAndOrderChangeNothing) {
  const std::string faults = R"("faults": [{"census": 3, "bits": [3, 9, 14]},
      {"fault": "random,site=tile", "trials": 20, "per_matrix": 4},
      {"fault": "flip,bit=14,site=input,input=k", "trials": 20, "per_matrix": 4}])";
  const Plan plan = plan_of(cell_of("attention", R"("shape": [2, 4, 5, 8], "distribution": "normal",
      "gates": ["tolerance", "standard:torch"], )" + faults));
  std::vector<std::string> texts;
  for (const int threads : {1, 2, 3}) {
    const Campaign campaign(plan, {.threads = threads});
    std::map<std::int64_t, BlockTally> tallies;
    std::vector<BlockAddress> blocks = campaign.blocks();
    if (threads == 3) std::reverse(blocks.begin(), blocks.end());
    campaign.run(blocks, [&](const BlockAddress& b, const BlockTally& t) {
      tallies.emplace(b.index,
                      parse_block(block_text(b, plan.fingerprint, t), b, plan.fingerprint));
    });
    const auto results =
        results_of(campaign, [&](const BlockAddress& b) { return tallies.at(b.index); });
    texts.push_back(wire::campaign_json(plan, results) + report::campaign_csv(plan, results));
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[0], texts[2]);
  EXPECT_THAT(texts[0], HasSubstr("\nattention bfloat16 2x4x5x8 normal,ascend910b,bfloat16,,,,"));
}

// Returns how far the sum of 16 bfloat16 products, in one fused chunk of the ascend910b, may be
// from the exact sum. The bound allows for one rounding to float32, u S / (1 - u) with u = 2^-24
// and the sum S of the magnitudes, or float32's smallest subnormal. The sum is rounded once more to
// bfloat16, which enlarges its error by at most the factor 1 + 2^-8; the error of that rounding
// itself is not included.
double matmul_bound(const Case& c, std::int64_t p) {
  const Tensor &a = c.input("a"), &b = c.input("b");
  const std::int64_t k = a.shape()[1], n = b.shape()[1];
  EXPECT_EQ(k, 16);
  double size = 0;
  for (std::int64_t kk = 0; kk < k; ++kk) {
    size += std::abs(a.view().value_at(p / n * k + kk) * b.view().value_at(kk * n + p % n));
  }
  const double u = 0x1p-24;
  return (u / (1 - u) * size + 0x1p-149) * (1 + 0x1p-8);
}

// Checks the gate `tolerance` by its definition, |actual - golden| <= atol + rtol |golden|, and
// `accumulation` by the bounds of each element. Covers each flip of a census and every kind of
// check.
TEST(OperatorGates, ElementByElement) {
  const std::vector<std::pair<std::string, std::string>> cells = {
      {"softmax", R"("shape": [2, 3, 8])"},
      {"exp", R"("shape": [7])"},
      {"reduce_sum", R"("shape": [2, 9, 3], "attributes": {"axis": 1})"},
      {"reduce_sum", R"("shape": [9])"},
      {"attention", R"("shape": [2, 3, 4, 8])"},
      {"matmul", R"("shape": [3, 16, 5])"}};
  int flagged = 0, missed = 0;
  for (const auto& cell : cells) {
    const std::string &op = cell.first, &more = cell.second;
    for (const char* gate : {"tolerance", "standard:accumulation"}) {
      const bool given = gate[0] == 's';
      // The standard `accumulation` has no bounds for exp.
      if (given && op == "exp") continue;
      const OperatorBench b(
          cell_of(op, more + formatted(R"(, "distribution": "normal", "gates": "{}")", gate)));
      const Tensor& output = b.matrix.output;
      const Format& f = output.format();
      const testing_reference::Values golden = testing_reference::reference(b.matrix.test_case);
      Case on_machine = b.matrix.test_case;
      on_machine.attributes["machine"] = std::string("ascend910b");
      DerivedTolerance t = derived_tolerance(on_machine);
      Tensor bounds;
      if (given) bounds = accumulation_bounds(b.matrix.test_case, machine_named("ascend910b"), 1);
      const auto own = [&](std::int64_t p) -> double {  // the bound without the output's rounding
        if (!given) return 0;
        if (op != "matmul") return bounds.view().value_at(p);
        return matmul_bound(b.matrix.test_case, p);
      };
      if (op == "matmul") {
        // rtol is half an ulp. atol is the largest bound, enlarged by the rounding of the output.
        t.rtol = std::ldexp(1.0, -f.precision);
        t.atol = 0;
        for (std::int64_t p = 0; p < output.size(); ++p) {
          t.atol = std::max(t.atol, (1 + t.rtol) * matmul_bound(b.matrix.test_case, p));
        }
        t.atol += min_subnormal(f) / 2;
      }
      const auto mismatches = [&](std::int64_t p, std::uint64_t bits) {
        const auto e = static_cast<double>(golden[at(p)]), error = std::abs(decode(f, bits) - e);
        // The rounding of the output is added to the error of its accumulation.
        const double bound = given ? own(p) + std::max(std::abs(e) * std::ldexp(1.0, -f.precision),
                                                       min_subnormal(f) / 2)
                                   : t.atol + t.rtol * std::abs(e);
        return !(error <= bound);
      };
      for (std::int64_t p = 0; p < output.size(); ++p) {
        ASSERT_FALSE(mismatches(p, output.bits_at(p))) << op << " is right";
      }
      RatioCounts ratios{};
      const CleanCounts clean = b.gates[0].clean(ratios);
      EXPECT_EQ(clean.alarms, 0) << op << " " << gate;
      EXPECT_EQ(clean.rows, output.size() / columns_of(output));
      EXPECT_EQ(clean.checks, output.size());
      std::vector<int> bits(at(f.bits));
      for (int bit = 0; bit < f.bits; ++bit) bits[at(bit)] = bit;
      std::vector<std::uint16_t> bins(at(output.size()) * bits.size());
      b.gates[0].census(bits, false, bins.data());
      const std::int64_t n = columns_of(output);
      for (std::size_t i = 0; i < bins.size(); ++i) {
        const auto p = static_cast<std::int64_t>(i % at(output.size()));
        const std::uint64_t before = output.bits_at(p),
                            after = before ^ (std::uint64_t{1} << bits[i / at(output.size())]);
        const bool down = after < before;
        const int bin = bins[i] - (down ? int{simd::kFlipBins} : 0);
        if (bin == simd::kBinMasked) {
          EXPECT_EQ(decode(f, before), decode(f, after));
          continue;
        }
        const bool wrong = mismatches(p, after);
        EXPECT_EQ(bin > simd::kBinAtOne && bin <= simd::kBinNotFinite, wrong)
            << op << " " << gate << ": element " << p << " bit " << bits[i / at(output.size())];
        const ElementChange change{p / n, p % n, after};
        EXPECT_EQ(b.gates[0].detect({&change, 1}).flagged, wrong);
        ++(wrong ? flagged : missed);
      }
    }
  }
  EXPECT_GT(flagged, 1000);
  EXPECT_GT(missed, 50);
}

TEST(OperatorFaults, OutputSitesOfAnyShape) {
  const auto bench = [](const std::string& fault) {
    return OperatorBench(
        cell_of("softmax", formatted(R"("shape": [2, 20, 24], "distribution": "normal",
        "gates": "tolerance", "faults": [{{"fault": "{}", "trials": 4}}])",
                                     fault)));
  };
  const auto rows_of = [](const Trial& t) {
    std::set<std::int64_t> rows;
    for (const ElementChange& c : t.changes) rows.insert(c.row);
    return rows;
  };
  const OperatorBench one = bench("flip,bit=14,at=1:2:3");
  const Trial t = one.trial();
  ASSERT_EQ(t.changes.size(), 1u);
  EXPECT_EQ(t.changes[0].row, 22);
  EXPECT_EQ(t.changes[0].column, 3);
  EXPECT_EQ(t.changes[0].bits, one.matrix.output.bits_at(22 * 24 + 3) ^ 0x4000);
  EXPECT_TRUE(t.detections[0].flagged);
  EXPECT_THAT(t.what, StartsWith("element [1, 2, 3]: "));
  EXPECT_THAT(rows_of(bench("flip,bit=14,site=row,at=1:0:0").trial()), ElementsAre(20));
  const auto column = rows_of(bench("flip,bit=14,site=column,at=1:0:7").trial());
  EXPECT_EQ(column.size(), 20u);
  EXPECT_EQ(*column.begin(), 20) << "of the second matrix alone";
  EXPECT_EQ(rows_of(bench("flip,bit=14,site=tile,at=0:19:23").trial()).size(), 4u);
  EXPECT_EQ(bench("flip,bit=14,site=periodic,every=100,at=3").trial().changes.size(), 10u);
  EXPECT_EQ(error_of([&] { (void)bench("zero,at=2:0:0").trial(); }),
            "cell softmax bfloat16 2x20x24 normal: there is no element [2, 0, 0] in an output of "
            "shape [2, 20, 24]");
}

// The changed result is that of the operator on the changed input. This holds for each input.
TEST(OperatorFaults, EveryInput) {
  const std::map<std::string, std::string> cells = {
      {"layernorm", R"("shape": [3, 16], "distribution": {"weight": "uniform", "bias": "normal"})"},
      {"attention", R"("shape": [2, 4, 5, 8], "distribution": "normal")"},
      {"axpy", R"("shape": [5, 7], "distribution": "normal")"},
      {"reduce_mean", R"("shape": [30], "distribution": "normal")"},
      {"matmul", R"("shape": [4, 16, 6], "distribution": {"draw": "normal", "bias": "normal"})"}};
  int trials = 0;
  for (const auto& [op, more] : cells) {
    const Plan named = plan_of(cell_of(op, more + R"(, "gates": "tolerance")"));
    for (const auto& [input, tensor] : make_matrix(named, named.cells[0], 0).test_case.inputs) {
      const OperatorBench b(cell_of(op, more + formatted(R"(, "gates": "tolerance",
          "faults": [{{"fault": "add,value=100,site=input,input={}", "trials": 3}}])",
                                                         input)));
      std::set<std::string> whats;
      for (std::int64_t number = 0; number < 3; ++number) {
        const Trial t = b.trial(number);
        ASSERT_THAT(t.what, StartsWith(input + "["));
        whats.insert(t.what);
        // A text such as "x[1, 2]: ..." names the element.
        Case changed = b.matrix.test_case;
        Tensor& to = changed.inputs.at(input);
        std::int64_t p = 0;
        const std::string place = t.what.substr(input.size());
        while (shape_text(to.view().multi_index(p)) != place.substr(0, place.find(':'))) ++p;
        to.set_bits(p, encode(to.format(), to.view().value_at(p) + 100));
        EXPECT_EQ(bytes_of(b.changed(t)),
                  bytes_of(emulate(changed, machine_named("ascend910b"), 1)))
            << op << " " << t.what;
        expect_near_reference(changed, b.changed(t));
        EXPECT_EQ(t.masked, t.changes.empty());
        EXPECT_EQ(t.detections[0].flagged, !t.masked) << op << " " << t.what;
        ++trials;
      }
      EXPECT_GT(whats.size(), tensor.size() > 8 ? 1u : 0u);
    }
  }
  EXPECT_EQ(trials, 3 * (3 + 3 + 3 + 1 + 3));
}

TEST(OperatorFaults, WhatIsRefused) {
  const auto error = [](const std::string& op, const std::string& gate, const std::string& fault) {
    return error_of([&] {
      const Plan plan =
          plan_of(cell_of(op, formatted(R"("shape": [4, 8, 8], "distribution": "normal",
          "gates": "{}", "faults": [{{"fault": "{}", "trials": 2}}])",
                                        gate, fault)));
      const Campaign campaign(plan, {.threads = 1});
    });
  };
  EXPECT_EQ(error("softmax", "a_abft", "zero"),
            formatted("p.json: cell 1: gate {}: the operator softmax has no checksums; give "
                      "tolerance or standard:NAME as the gate, or the operator matmul",
                      parse_threshold("a_abft").text()));
  for (const char* site : {"accumulator", "checksum", "threshold"}) {
    EXPECT_EQ(
        error("exp", "tolerance", formatted("zero,site={}", site)),
        formatted("p.json: cell 1: fault 'zero,site={}': only a matmul has a site {}, and exp is "
                  "not one; break its output (site=element, row, column, tile, periodic) or an "
                  "input (site=input,input=NAME)",
                  site, site));
    EXPECT_EQ(error("matmul", "v_abft", formatted("zero,site={}", site)), "no error") << site;
  }
  EXPECT_EQ(error("exp", "tolerance", "zero,site=input,input=x,when=before"),
            "p.json: cell 1: fault 'zero,site=input,input=x,when=before': when=before is only for "
            "a matmul, and exp is not one; leave it out");
  EXPECT_EQ(error("fma", "tolerance", "zero,site=input,input=x"),
            "cell fma bfloat16 4x8x8 normal: fault 'zero,site=input,input=x,seed=0,count=1': this "
            "fma has no input 'x'; it has a, b, c");
  EXPECT_EQ(error("exp", "tolerance", "zero,site=input,input=x,at=4:0:0"),
            "cell exp bfloat16 4x8x8 normal: fault 'zero,site=input,input=x,at=4:0:0': there is no "
            "element [4, 0, 0] in an input of shape [4, 8, 8]");
  EXPECT_THAT(error("exp", "standard:accumulation", "zero"),
              StartsWith("cell exp bfloat16 4x8x8 normal: gate standard:accumulation: "));
}

TEST(OperatorPlans, Mistakes) {
  const auto message = [](const std::string& op, const std::string& more) {
    return error_of([&] { (void)plan_of(cell_of(op, more)); });
  };
  const std::string right = R"("distribution": "normal", "gates": "tolerance", )";
  EXPECT_THAT(message("sofmax", right + R"("shape": [4])"),
              StartsWith("p.json: cell 1: unknown operator 'sofmax': did you mean 'softmax'?"));
  EXPECT_EQ(message("softmax", right + R"("rows": 2, "shape": [4, 8])"),
            "p.json: cell 1: 'rows' is for matmul; all of the result of softmax is computed");
  EXPECT_EQ(message("softmax", right + R"("shape": [4, 0])"),
            "p.json: cell 1: 'shape' is a list of sizes, each from 1 to 1048576, or a list of "
            "those, not [4,0]");
  EXPECT_EQ(message("softmax", R"("distribution": "normal", "gates": "tolerance")"),
            "p.json: cell 1: 'shape' is missing: the sizes of the operator");
  EXPECT_THAT(message("attention", right + R"("shape": [4, 8])"),
              StartsWith("p.json: cell 1: attention takes sizes L,S,D of at least 1"));
  EXPECT_THAT(
      message("softmax", right + R"("shape": [4], "attributes": {"axes": 1})"),
      StartsWith("p.json: cell 1: case softmax: softmax does not know the parameter 'axes'"));
  EXPECT_EQ(
      message("softmax", right + R"("shape": [4], "attributes": {"output_dtype": "float32"})"),
      "p.json: cell 1: 'output_dtype' is a key of the cell; move it out of 'attributes'");
  EXPECT_THAT(message("layernorm", R"("gates": "tolerance", "shape": [4, 8],
                                      "distribution": {"wieght": "uniform"})"),
              StartsWith("p.json: cell 1: layernorm has no input 'wieght' (did you mean "
                         "'weight'?): x (...)"));
}

// Tests cases of a dataset, read by a loader: cases with their own tolerance, operators that assay
// does not know, and batches.
TEST(OperatorPlans, Datasets) {
  std::map<std::string, Case> cases;
  const auto add = [&](Case c, const std::string& name) {
    c.name = name;
    c.output().recorded["device"].tensor = emulate(c, machine_named("ascend910b"), 1);
    c.output().golden = golden_result(c, 1);
    cases[name] = std::move(c);
  };
  Recipe recipe;
  recipe.dtype = &format_named("bfloat16");
  recipe.sizes = {3, 8};
  add(generate_case("softmax", recipe), "plain");
  cases["own"] = cases["plain"];
  cases["own"].attributes["rtol"] = 0.5;
  cases["own"].attributes["atol"] = 0.25;
  cases["two"] = cases["own"];
  cases["two"].attributes.erase("rtol");
  cases["two"].attributes.erase("atol");
  cases["two"].attributes["standard"] = std::string("torch, atb");
  cases["strange"] = cases["own"];
  cases["strange"].op = "fancy_softmax";
  recipe.sizes = {2, 3, 16, 5};
  add(generate_case("matmul", recipe), "batch");
  for (auto& [name, c] : cases) c.name = name;
  const auto list = [&](const std::string&, const std::string& glob) {
    wire::DatasetCases found;
    for (const auto& [name, c] : cases) {
      if (!glob_match(glob, name)) continue;
      const Format& f = format_named("bfloat16");
      found.cases.push_back({name, c.op, &f, &f, c.inputs.begin()->second.shape()});
    }
    return found;
  };
  const CaseLoader load = [&](const std::string&, const std::string& name) {
    return cases.at(name);
  };
  const auto plan = [&](const std::string& cell) {
    return check_plan(
        wire::parse_plan(formatted(R"({{"schema": 1, "name": "n", "cells": [{{"dataset": "d.h5",
        "clean_rows": 1, {}}}]}})",
                                   cell),
                         "p.json", "", list));
  };
  const auto error = [&](const std::string& cell) {
    return error_of([&] { const Campaign c(plan(cell), {.threads = 1, .load = load}); });
  };
  // With atol 0.25, no flip of the lower bits takes a probability outside its bound.
  const Plan own = plan(R"("case": "own", "gates": ["tolerance", "standard:torch"],
      "faults": [{"census": 1}, {"fault": "flip,bit=14,site=input,input=x", "trials": 5}])");
  const Campaign campaign(own, {.threads = 1, .load = load});
  const BlockTally tally = campaign.run_matrix(own.cells[0], 0);
  EXPECT_EQ(tally.matrices[0].clean[0].alarms, 0);
  EXPECT_EQ(tally.matrices[0].detections[2 * 2].detected, 0) << "bit 2 by the case's own";
  EXPECT_GT(tally.matrices[0].detections[3 * 2 + 1].detected, 0) << "bit 3 by torch";
  EXPECT_EQ(error(R"("case": "plain", "gates": "tolerance")"), "no error")
      << "by the operator's own bound";
  EXPECT_EQ(error(R"("case": "two", "gates": "tolerance")"),
            "cell two: gate tolerance: case two names 2 standards, but a campaign takes one; name "
            "it, as in standard:torch");
  EXPECT_EQ(error(R"("case": "plain", "recorded": "device", "gates": "standard:torch")"),
            "no error");
  EXPECT_THAT(error(R"("case": "plain", "recorded": "device", "gates": "standard:torch",
      "faults": [{"fault": "zero,site=input,input=x", "trials": 2}])"),
              HasSubstr("a fault in an input needs a result that is computed again, but these "
                        "results were recorded by device; leave out 'recorded'"));
  // Recorded results of an operator that assay does not emulate are judged by the golden result of
  // the file.
  EXPECT_EQ(error(R"("case": "strange", "recorded": "device", "gates": "tolerance",
      "faults": [{"census": 1}])"),
            "no error");
  EXPECT_THAT(error(R"("case": "strange", "gates": "tolerance")"),
              HasSubstr("does not emulate the operator 'fancy_softmax'"));
  // A batch can be judged by its elements, but not by checksums, which need one matrix.
  EXPECT_EQ(error(R"("case": "batch", "gates": "standard:torch", "faults": [{"census": 1},
      {"fault": "zero,site=input_b", "trials": 2}, {"fault": "zero,site=tile", "trials": 2}])"),
            "no error");
  EXPECT_THAT(error(R"("case": "batch", "gates": "v_abft")"),
              HasSubstr("checksums in a campaign need an output that is one matrix, but that of "
                        "case batch has the shape [2, 3, 5]"));
  EXPECT_THAT(error(R"("case": "batch", "gates": "standard:torch",
      "faults": [{"fault": "zero,site=accumulator", "trials": 2}])"),
              HasSubstr("it can be put only into a product of two matrices, but this result has "
                        "the shape [2, 3, 5]"));
  // `operator` picks cases.
  EXPECT_EQ(plan(R"("operator": "softmax", "gates": "standard:torch")").cells.size(), 3u);
  EXPECT_EQ(plan(R"("operator": ["softmax", "matmul"], "gates": "standard:torch")").cells.size(),
            4u);
  EXPECT_EQ(error(R"("operator": "exp", "gates": "standard:torch")"),
            "p.json: cell 1: no case of d.h5 matches '*' with the operator exp");
}

// Tests the shipped plan for operators. No derived bound raises an alarm on a clean result, and
// flips that enlarge the exponent are detected.
TEST(OperatorPlans, TheShippedOne) {
  const Plan plan = check_plan(wire::read_plan(ASSAY_SOURCE_DIR "/plans/operators.json"));
  std::set<std::string> ops;
  for (std::size_t c = 0; c < plan.cells.size(); ++c) {
    const Cell& cell = plan.cells[c];
    ops.insert(cell.op);
    const bool derived = cell.gates[0].text == "tolerance";
    EXPECT_TRUE(derived || cell.gates[0].text == "standard:accumulation") << cell.name;
    for (std::int64_t i = 0; i < cell.clean_matrices(); ++i) {
      const Matrix matrix = make_matrix(plan, cell, i);
      RatioCounts ratios{};
      const CleanCounts clean = MatrixDetector(cell.gates[0], cell, matrix).clean(ratios);
      EXPECT_EQ(clean.alarms, 0) << cell.name << ", matrix " << i << ": " << clean.worst;
    }
    Plan one = plan;
    one.cells = {cell};
    const Campaign campaign(one, {.threads = 1});
    const CellResult result = cell_result(one, 0, campaign.run_matrix(cell, 0));
    const int top = cell.output->bits - 2;  // of the exponent
    std::int64_t injected = 0, seen = 0;
    for (const SeriesResult& s : result.gates[0].series) {
      if (s.series.bit != top || s.series.direction != fault::Direction::kZeroToOne) continue;
      injected += s.detected.rate.trials;
      seen += s.detected.rate.events;
    }
    EXPECT_GT(injected, 0) << cell.name;
    EXPECT_EQ(seen, injected) << cell.name;
    // The last series has the faults in an input. They change results, and the gate detects some of
    // them.
    const SeriesResult& input = result.gates[0].series.back();
    EXPECT_EQ(input.series.bit, -1) << cell.name;
    EXPECT_GT(input.detected.rate.events, 0) << cell.name;
  }
  // Every operator has a cell, so that a new one is not forgotten.
  for (const Operator& op : operators()) {
    EXPECT_EQ(ops.count(std::string(op.name)), 1u) << op.name;
  }
}

}  // namespace
}  // namespace assay::campaign
